//go:build openstack

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// client has the unmodified client carry a scope: in the endpoint's path, and through `skerry exec`.
func client(t *testing.T, e *env.Env) {
	paris := e.Site("paris")
	file := filepath.Join(t.TempDir(), "debian.raw")
	if err := os.WriteFile(file, []byte(bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	create := func(args ...string) []string {
		return append(args, "--os-image-api-version", "2", "image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", file, "-f", "json")
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"in the path", create("openstack", "--os-auth-type", "admin_token", "--os-token", "t",
			"--os-endpoint", "http://127.0.0.1:9192/~scope/%7Bimage%3A%20paris%20%26%20nantes%7D/v2")},
		{"skerry exec", create(program, "exec", "--api", "http://127.0.0.1:8701", "--scope", both, "--", "openstack", "--os-auth-type", "admin_token", "--os-token", "t",
			"--os-endpoint", "{url:image}/v2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var made struct{ ID string }
			if out := output(t, paris, append(c.args, c.name)...); json.Unmarshal(out, &made) != nil || made.ID == "" {
				t.Fatalf("the client shows %s", out)
			}
			shows(t, e, made.ID, "has the file", func(s *env.Site) error {
				if a := s.Application(t, Image, "GET /v2/images/"+made.ID+"/file", ""); a.Status != 200 || a.Body != bytes {
					return fmt.Errorf("%d %q", a.Status, a.Body)
				}
				return nil
			})
			converged(t, e, made.ID)
		})
	}
}

// output runs a program on the host of a site, and returns what it prints.
func output(t *testing.T, s *env.Site, args ...string) []byte {
	t.Helper()
	argv := s.Host().Command(args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	out, err := cmd.Output()
	if err != nil {
		if failed := new(exec.ExitError); errors.As(err, &failed) {
			t.Fatalf("%v: %v\n%s%s", args, err, out, failed.Stderr)
		}
		t.Fatalf("%v: %v", args, err)
	}
	return out
}
