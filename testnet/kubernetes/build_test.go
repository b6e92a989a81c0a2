//go:build kubernetes

package kubernetes

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules is where the module is that fixes the version of the programs.
const modules = "../apps/kubernetes"

// build returns the folder of kube-apiserver and kubectl. They are built once for each version, into the user's cache.
func build(ctx context.Context) (string, error) {
	sum, err := os.ReadFile(filepath.Join(modules, "go.sum"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "skerry", "kubernetes", fmt.Sprintf("%x", sha256.Sum256(sum))[:16])
	if _, err := os.Stat(filepath.Join(dir, "kubectl")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	list.Dir = modules
	version, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find out the version of Kubernetes: %w", err)
	}
	v := strings.TrimSpace(string(version))
	major, rest, _ := strings.Cut(strings.TrimPrefix(v, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := "-s -w"
	for name, value := range map[string]string{"gitVersion": v, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"} {
		flags += " -X k8s.io/component-base/version." + name + "=" + value
	}
	// Built beside its place and moved there whole: another run may be doing the same.
	building := fmt.Sprintf("%s.%d", dir, os.Getpid())
	defer os.RemoveAll(building)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", building+"/",
		"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl")
	cmd.Dir = modules
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Kubernetes: %w\n%s", err, out)
	}
	if err := os.Rename(building, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}
