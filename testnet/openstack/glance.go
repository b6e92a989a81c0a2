package openstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// Image is the name of the image service in the catalog.
const Image = "image"

// Glance is one instance of the image service, without Keystone: whoever asks may do everything.
type Glance struct {
	Dir     string // of its configuration, database and files
	Address string // host and port that it listens on
}

// NewGlanceDatabase makes an empty database. That takes seconds; each instance gets a copy.
func NewGlanceDatabase(ctx context.Context, path string) error {
	if err := Installed("glance-manage"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "skerry-glance-")
	if err != nil {
		return fmt.Errorf("make a database for Glance: %w", err)
	}
	defer os.RemoveAll(dir)
	g := Glance{Dir: dir, Address: "127.0.0.1:9292"}
	if err := os.WriteFile(g.file(), []byte(g.configuration()), 0o600); err != nil {
		return fmt.Errorf("make a database for Glance: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "glance-manage", "--config-file", g.file(), "db_sync").CombinedOutput(); err != nil {
		return fmt.Errorf("make a database for Glance: %w\n%s", err, out)
	}
	return os.Rename(g.database(), path)
}

// Installed says which package is missing when a program of OpenStack is not here.
func Installed(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%w: install the Debian packages glance-api and python3-openstackclient (they need not be started)", err)
	}
	return nil
}

// Furnish writes the instance's configuration, and gives it a copy of the database unless it has one.
func (g Glance) Furnish(database string) error {
	if err := os.MkdirAll(filepath.Join(g.Dir, "store"), 0o700); err != nil {
		return fmt.Errorf("furnish Glance: %w", err)
	}
	if err := os.WriteFile(g.file(), []byte(g.configuration()), 0o600); err != nil {
		return fmt.Errorf("furnish Glance: %w", err)
	}
	if _, err := os.Stat(g.database()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := os.ReadFile(database)
	if err == nil {
		err = os.WriteFile(g.database(), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("furnish Glance: %w", err)
	}
	return nil
}

// Command returns what runs the instance until SIGTERM. Glance ends with its starter.
func (g Glance) Command() []string {
	return []string{"sh", "-c", `setpriv --pdeathsig KILL glance-api --config-file "$1" & glance=$!
trap 'kill $glance; wait $glance; exit 0' TERM
wait $glance
exit 1`, "glance", g.file()}
}

func (g Glance) file() string     { return filepath.Join(g.Dir, "glance.conf") }
func (g Glance) database() string { return filepath.Join(g.Dir, "glance.db") }

func (g Glance) configuration() string {
	host, port, _ := net.SplitHostPort(g.Address) // as its caller has it; Glance says what is wrong
	return fmt.Sprintf(`[DEFAULT]
bind_host = %s
bind_port = %s
workers = 0
use_stderr = true
[database]
connection = sqlite:///%s
[glance_store]
stores = file
default_store = file
filesystem_store_datadir = %s
[oslo_middleware]
enable_proxy_headers_parsing = true
[paste_deploy]
flavor =
config_file = /etc/glance/glance-api-paste.ini
`, host, port, g.database(), filepath.Join(g.Dir, "store"))
}
