package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Config is what the configuration file of one agent says. Paths are absolute.
type Config struct {
	Name    string
	Dir     string // holds the configuration, the data directory and the logs
	Catalog string // path of the catalog
	API     string // address
	Mesh    []string
	// MeshExtra is appended to what is said of the mesh, as it is.
	MeshExtra string
	// Join is the path of a file with an invitation; empty for the first site and for those that were let in.
	Join     string
	Services []Service
	// Extra is appended to the file as it is.
	Extra string
}

// Service is one service of a site's instance of the application.
type Service struct {
	Name     string
	Listen   string // address of the agent's listener
	Upstream string // base URL of the application
	Token    string // path of the file with the agent's token for it; empty: it needs none
	Header   string // that carries the token; empty: Authorization
	Keystone string // that a service of OpenStack asks about tokens; empty: it is not said
	// TLS are the files of the listener's certificate and key, UpstreamCA that of who has signed the application's; empty: no TLS.
	TLS        [2]string
	UpstreamCA string
	// ClientCA is the file of the authorities of clients, Front are those of the certificate and key of a front proxy, FrontSites the sites that
	// it believes; empty: no such.
	ClientCA   string
	Front      [2]string
	FrontSites []string
}

// File returns the path of the configuration file.
func (c *Config) File() string { return filepath.Join(c.Dir, "agent.yaml") }

// Data returns the path of the data directory.
func (c *Config) Data() string { return filepath.Join(c.Dir, "data") }

// Log returns the path of the agent's log.
func (c *Config) Log() string { return filepath.Join(c.Dir, "agent.log") }

// YAML returns the file's content.
func (c *Config) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "site: %s\ndata_dir: %q\napplication: %q\napi:\n  listen: %s\n", c.Name, c.Data(), c.Catalog, c.API)
	b.WriteString("mesh:\n  listen:\n")
	for _, m := range c.Mesh {
		fmt.Fprintf(&b, "    - %s\n", m)
	}
	b.WriteString(c.MeshExtra)
	if c.Join != "" {
		fmt.Fprintf(&b, "  join_file: %q\n", c.Join)
	}
	b.WriteString("services:\n")
	for _, s := range c.Services {
		fmt.Fprintf(&b, "  %s:\n    listen: %s\n    upstream: %s\n", s.Name, s.Listen, s.Upstream)
		if s.Token != "" && s.Header != "" {
			fmt.Fprintf(&b, "    credentials: {header: %s, value_file: %q}\n", s.Header, s.Token)
		} else if s.Token != "" {
			fmt.Fprintf(&b, "    credentials: {token_file: %q}\n", s.Token)
		}
		if s.Keystone != "" {
			fmt.Fprintf(&b, "    keystone: %s\n", s.Keystone)
		}
		if s.TLS != [2]string{} {
			more := ""
			if s.ClientCA != "" {
				more = fmt.Sprintf(", client_ca: %q", s.ClientCA)
			}
			fmt.Fprintf(&b, "    tls: {cert: %q, key: %q%s}\n", s.TLS[0], s.TLS[1], more)
		}
		if s.Front != [2]string{} {
			fmt.Fprintf(&b, "    front_proxy: {cert: %q, key: %q, sites: [%s]}\n", s.Front[0], s.Front[1], strings.Join(s.FrontSites, ", "))
		}
		if s.UpstreamCA != "" {
			fmt.Fprintf(&b, "    upstream_tls: {ca: %q}\n", s.UpstreamCA)
		}
	}
	b.WriteString(c.Extra)
	return b.String()
}

// Write writes the configuration file; it makes the site's directory where it is missing.
func (c *Config) Write() error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("write configuration of %s: %w", c.Name, err)
	}
	if err := os.WriteFile(c.File(), []byte(c.YAML()), 0o600); err != nil {
		return fmt.Errorf("write configuration of %s: %w", c.Name, err)
	}
	return nil
}
