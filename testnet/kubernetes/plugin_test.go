//go:build kubernetes

package kubernetes

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlugin: kubectl runs the program as its plugin.
func TestPlugin(t *testing.T) {
	_, all := sites(t, "site1", "site2")
	for _, s := range all {
		if out, err := s.run("direct.yaml", configMap("of-"+s.Name(), "a", "b"), s.kubectl, "create", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
	}
	bin := t.TempDir()
	for name, target := range map[string]string{"kubectl-scope": program, "kubectl": all[0].kubectl} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("SKERRY_API", "http://"+all[0].Config().API)
	table, err := all[0].run("agent.yaml.kube", "", "kubectl", "scope", both, "get", "configmaps")
	if err != nil || !ends(row(table, "of-site1"), "site1") || !ends(row(table, "of-site2"), "site2") {
		t.Errorf("%s, %v", table, err)
	}
}
