package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
)

// Kubeconfig is a configuration of kubectl and of other clients. What is not understood here stays as it is.
type Kubeconfig struct{ doc map[string]any }

// ParseKubeconfig reads a configuration whose relative paths count from folder; they become absolute.
func ParseKubeconfig(b []byte, folder string) (*Kubeconfig, error) {
	c := &Kubeconfig{}
	if err := yaml.Unmarshal(b, &c.doc); err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	for list, kinds := range map[string][]string{
		"clusters": {"certificate-authority"}, "users": {"client-certificate", "client-key", "tokenFile"},
	} {
		for _, entry := range c.list(list) {
			for _, name := range kinds {
				about := inner(entry, list)
				if path, ok := about[name].(string); ok && path != "" && !filepath.IsAbs(path) {
					about[name] = filepath.Join(folder, path)
				}
			}
		}
	}
	return c, nil
}

// list returns the entries of one of the lists of names.
func (c *Kubeconfig) list(name string) []map[string]any {
	var entries []map[string]any
	all, _ := c.doc[name].([]any)
	for _, e := range all {
		if entry, ok := e.(map[string]any); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// inner is what an entry of a list names.
func inner(entry map[string]any, list string) map[string]any {
	about, _ := entry[map[string]string{"clusters": "cluster", "users": "user", "contexts": "context"}[list]].(map[string]any)
	return about
}

func (c *Kubeconfig) named(list, name string) map[string]any {
	for _, e := range c.list(list) {
		if e["name"] == name {
			return inner(e, list)
		}
	}
	return nil
}

// Servers gives every cluster the address that move returns for its own, and reports whether one is another now.
func (c *Kubeconfig) Servers(move func(server string) string) (changed bool) {
	for _, e := range c.list("clusters") {
		about := inner(e, "clusters")
		if server, ok := about["server"].(string); ok {
			if to := move(server); to != server {
				about["server"], changed = to, true
			}
		}
	}
	return changed
}

// Proxy has clients reach the servers that are meant by way of a proxy, unless their entries name one already, and reports whether any does.
func (c *Kubeconfig) Proxy(proxy string, meant func(server string) bool) (changed bool) {
	for _, e := range c.list("clusters") {
		about := inner(e, "clusters")
		if server, ok := about["server"].(string); ok && meant(server) && about["proxy-url"] == nil {
			about["proxy-url"], changed = proxy, true
		}
	}
	return changed
}

// Stand has clients reach the servers that are meant by way of a proxy that stands in for them, with certificates of an authority (PEM), and calls
// trusted with each of them, whom its certificate is for (empty: its address), and the authorities that clients trusted there before (PEM; none: the
// system's). Entries that name a proxy, that trust in another way, or whose users may show certificates, which would not get past the proxy, stay as
// they are.
func (c *Kubeconfig) Stand(proxy string, authority []byte, meant func(server string) bool, trusted func(server, certified string, ca []byte)) error {
	for _, e := range c.list("clusters") {
		about := inner(e, "clusters")
		server, ok := about["server"].(string)
		name, _ := e["name"].(string)
		if !ok || !meant(server) || about["proxy-url"] != nil || about["insecure-skip-tls-verify"] == true || c.certified(name) {
			continue
		}
		ca, err := authorities(about)
		if err != nil {
			return fmt.Errorf("the authority of the cluster %q: %w", name, err)
		}
		certified, _ := about["tls-server-name"].(string)
		trusted(server, certified, ca)
		delete(about, "certificate-authority")
		delete(about, "tls-server-name")
		about["certificate-authority-data"], about["proxy-url"] = base64.StdEncoding.EncodeToString(authority), proxy
	}
	return nil
}

// certified reports whether a user of a cluster may show a certificate there: some program knows what one with exec has.
func (c *Kubeconfig) certified(cluster string) bool {
	for _, e := range c.list("contexts") {
		about := inner(e, "contexts")
		user, _ := about["user"].(string)
		of := c.named("users", user)
		for _, means := range []string{"client-certificate", "client-certificate-data", "exec"} {
			if about["cluster"] == cluster && of[means] != nil {
				return true
			}
		}
	}
	return false
}

// authorities reads what the certificate of a cluster is trusted by, in PEM; none: the system's.
func authorities(about map[string]any) ([]byte, error) {
	data, _ := about["certificate-authority-data"].(string)
	if file, _ := about["certificate-authority"].(string); data == "" && file != "" {
		return os.ReadFile(file)
	}
	return base64.StdEncoding.DecodeString(data)
}

// Through returns the configuration of a client that reaches a cluster at server, through an agent whose certificate is for certified (empty: for that
// address) and signed by one of the authorities in ca (PEM; none: the system's), as the user and in the namespace of a context (empty: the current
// one). Token says whether that user has something which the cluster sees through an agent: a certificate it does not.
func (c *Kubeconfig) Through(context, name, server, certified string, ca []byte) (_ *Kubeconfig, token bool, err error) {
	if context == "" {
		context, _ = c.doc["current-context"].(string)
	}
	from := c.named("contexts", context)
	if from == nil {
		return nil, false, fmt.Errorf("the kubeconfig has no context %q", context)
	}
	user, _ := from["user"].(string)
	about := c.named("users", user)
	if about == nil {
		return nil, false, fmt.Errorf("the kubeconfig has no user %q, whom the context %q names", user, context)
	}
	for _, means := range []string{"token", "tokenFile", "exec", "auth-provider", "username"} {
		token = token || about[means] != nil
	}
	cluster := map[string]any{"server": server}
	if len(ca) > 0 {
		cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(ca)
	}
	if certified != "" {
		cluster["tls-server-name"] = certified
	}
	to := map[string]any{"cluster": name, "user": user}
	if ns, ok := from["namespace"]; ok {
		to["namespace"] = ns
	}
	return &Kubeconfig{map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []any{map[string]any{"name": name, "cluster": cluster}},
		"users":    []any{map[string]any{"name": user, "user": about}},
		"contexts": []any{map[string]any{"name": name, "context": to}},
	}}, token, nil
}

// Cluster is where a context leads.
type Cluster struct {
	Context, Server string
	// CAFile and CA have the authorities of its certificate, in PEM; one of them, or neither: the system's.
	CAFile string
	CA     []byte
}

// Cluster tells of the cluster of a context (empty: the current one).
func (c *Kubeconfig) Cluster(context string) (found Cluster, err error) {
	if context == "" {
		context, _ = c.doc["current-context"].(string)
	}
	from := c.named("contexts", context)
	if from == nil {
		return found, fmt.Errorf("the kubeconfig has no context %q", context)
	}
	name, _ := from["cluster"].(string)
	about := c.named("clusters", name)
	found.Context = context
	if found.Server, _ = about["server"].(string); found.Server == "" {
		return found, fmt.Errorf("the kubeconfig has no server for the cluster %q, which the context %q names", name, context)
	}
	found.CAFile, _ = about["certificate-authority"].(string)
	data, _ := about["certificate-authority-data"].(string)
	if found.CA, err = base64.StdEncoding.DecodeString(data); err != nil {
		return found, fmt.Errorf("the authority of the cluster %q: %w", name, err)
	}
	return found, nil
}

// YAML returns the file's content.
func (c *Kubeconfig) YAML() ([]byte, error) {
	if c.doc == nil {
		return nil, errors.New("an empty kubeconfig")
	}
	return yaml.Marshal(c.doc)
}
