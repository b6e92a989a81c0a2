package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Podman runs the container of each pod on the network of the node, as pods with hostNetwork have it.
type Podman struct {
	// Command is podman there, with arguments.
	Command func(args ...string) []string
	// Prefix begins the names of its containers: podman has those of other nodes too.
	Prefix string
	// Dir has what is in volumes.
	Dir string
	// Names are lines of /etc/hosts, HOST:ADDRESS, that the cluster's DNS would tell.
	Names []string
	// Address is the node's, at whose port the API server asks for commands to be run.
	Address string
	Port    int
}

// container is what is read of one.
type container struct {
	Name, Image  string
	Args         []string
	Ports        []struct{ Name, ContainerPort any }
	VolumeMounts []struct {
		Name, MountPath string
		ReadOnly        bool
	}
	ReadinessProbe *struct {
		HTTPGet struct{ Path, Port any }
	}
}

// volume is one of a pod's. What is none of these is an empty folder.
type volume struct {
	Name                  string
	ConfigMap             *struct{ Name string }
	Secret                *struct{ SecretName string }
	Projected             *struct{}
	PersistentVolumeClaim *struct{ ClaimName string }
}

// status is what the node says of itself.
func (m *Podman) status() map[string]any {
	return map[string]any{"addresses": []any{map[string]any{"type": "InternalIP", "address": m.Address}},
		"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]any{"Port": m.Port}}}
}

func (m *Podman) name(p *pod) string { return m.Prefix + p.Metadata.Namespace + "-" + p.Metadata.Name }

// end ends a pod.
func (m *Podman) end(ctx context.Context, p *pod) error {
	return m.run(ctx, "rm", "--force", "--ignore", m.name(p))
}

// start starts a pod, and waits until it is ready.
func (m *Podman) start(ctx context.Context, n *Nodes, p *pod) error {
	c := p.Spec.Containers[0]
	argv := []string{"run", "--detach", "--replace", "--name", m.name(p), "--network", "host", "--read-only"}
	for _, name := range m.Names {
		argv = append(argv, "--add-host", name)
	}
	if s := p.Spec.SecurityContext; s.RunAsUser != 0 {
		argv = append(argv, "--user", fmt.Sprintf("%d:%d", s.RunAsUser, s.RunAsGroup))
	}
	folders := map[string]string{}
	for _, v := range p.Spec.Volumes {
		folder, err := m.fill(ctx, n, p, v)
		if err != nil {
			return err
		}
		folders[v.Name] = folder
	}
	for _, v := range c.VolumeMounts {
		mount := folders[v.Name] + ":" + v.MountPath
		if v.ReadOnly {
			mount += ":ro"
		}
		argv = append(argv, "--volume", mount)
	}
	if err := m.run(ctx, append(append(argv, c.Image), c.Args...)...); err != nil {
		return err
	}
	if c.ReadinessProbe == nil {
		return nil
	}
	port := c.ReadinessProbe.HTTPGet.Port
	for _, named := range c.Ports {
		if named.Name == port {
			port = named.ContainerPort
		}
	}
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%v%v", port, c.ReadinessProbe.HTTPGet.Path), nil)
		if err != nil {
			return err
		}
		if resp, err := n.client.Do(r); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// fill makes the folder of a volume, and what is in it.
func (m *Podman) fill(ctx context.Context, n *Nodes, p *pod, v volume) (folder string, err error) {
	folder = filepath.Join(m.Dir, m.name(p), v.Name)
	at := "/api/v1/namespaces/" + p.Metadata.Namespace
	files := map[string][]byte{}
	switch {
	case v.PersistentVolumeClaim != nil:
		folder = filepath.Join(m.Dir, v.PersistentVolumeClaim.ClaimName)
	case v.ConfigMap != nil:
		files, err = n.texts(ctx, at+"/configmaps/"+v.ConfigMap.Name)
	case v.Secret != nil:
		var has struct{ Data map[string][]byte }
		err = n.read(ctx, at+"/secrets/"+v.Secret.SecretName, &has)
		files = has.Data
	case v.Projected != nil: // the account's token, and what goes with it
		var made struct{ Status struct{ Token string } }
		b, wrong := n.do(ctx, http.MethodPost, at+"/serviceaccounts/"+p.Spec.ServiceAccountName+"/token", "application/json",
			map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{}})
		if err = errors.Join(wrong, json.Unmarshal(b, &made)); err == nil {
			files, err = n.texts(ctx, at+"/configmaps/kube-root-ca.crt")
			maps.Copy(files, map[string][]byte{"token": []byte(made.Status.Token), "namespace": []byte(p.Metadata.Namespace)})
		}
	}
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	for name, b := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), b, 0o644))
	}
	return folder, errors.Join(err, os.Chown(folder, p.Spec.SecurityContext.RunAsUser, p.Spec.SecurityContext.RunAsGroup))
}

func (m *Podman) run(ctx context.Context, args ...string) error {
	argv := m.Command(args...)
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("podman %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// texts are those of a config map.
func (n *Nodes) texts(ctx context.Context, path string) (map[string][]byte, error) {
	var has struct{ Data map[string]string }
	err := n.read(ctx, path, &has)
	files := map[string][]byte{}
	for name, text := range has.Data {
		files[name] = []byte(text)
	}
	return files, err
}

func (n *Nodes) read(ctx context.Context, path string, v any) error {
	b, err := n.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
