package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs are those that a cluster and its user need, beside etcd, which is Debian's.
var Programs = []string{"kube-apiserver", "kube-controller-manager", "kubectl"}

// Build returns the folder of Kubernetes' programs that are the tools of a module, which fixes their version; modules is its folder.
func Build(ctx context.Context, modules string) (string, error) {
	return Tools(ctx, modules, func() (string, error) {
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
		list.Dir = modules
		version, err := list.Output()
		if err != nil {
			return "", fmt.Errorf("find out the version of Kubernetes: %w", err)
		}
		v := strings.TrimSpace(string(version))
		major, rest, _ := strings.Cut(strings.TrimPrefix(v, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		flags := ""
		for name, value := range map[string]string{"gitVersion": v, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"} {
			flags += " -X k8s.io/component-base/version." + name + "=" + value
		}
		return flags, nil
	})
}

// Helm returns the folder of helm, and of render, which renders charts as Helm does; modules is its folder.
func Helm(ctx context.Context, modules string) (string, error) {
	return Tools(ctx, modules, func() (string, error) { return "", nil })
}

// Tools returns the folder of the programs that are the tools of a module. They are built once for each version, into the user's cache. flags are
// asked for what the linker is to be told besides.
func Tools(ctx context.Context, modules string, flags func() (string, error)) (string, error) {
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "render/main.go"} {
		b, err := os.ReadFile(filepath.Join(modules, name))
		if err != nil && !(name == "render/main.go" && errors.Is(err, os.ErrNotExist)) {
			return "", err
		}
		digest.Write(b)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "skerry", "kubernetes", fmt.Sprintf("%x", digest.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	more, err := flags()
	if err != nil {
		return "", err
	}
	// Built beside its place and moved there whole: another run may be doing the same.
	building := fmt.Sprintf("%s.%d", dir, os.Getpid())
	defer os.RemoveAll(building)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w"+more, "-o", building+"/", "tool")
	cmd.Dir = modules
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tools of %s: %w\n%s", modules, err, out)
	}
	if err := os.Rename(building, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// Program builds a program of one file into a folder, with what a module has, such as client-go; modules is its folder.
func Program(ctx context.Context, modules, source, dir string) (string, error) {
	modules, err := filepath.Abs(modules)
	if err != nil {
		return "", err
	}
	source, err = filepath.Abs(source)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(filepath.Base(source), ".")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(modules, name, "main.go"): source}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./"+name)
	cmd.Dir, cmd.Env = modules, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return program, nil
}
