package openstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// Volume is Cinder's name in the catalog.
const Volume = "volume"

// CinderToken is what says who asks a Cinder without Keystone: a user and a project.
const CinderToken = "admin:demo"

//go:embed cinder.py
var cinderProgram []byte

// Cinder is one instance of the block storage service, without Keystone: its API, its scheduler and its volumes, in one process. There are no
// disks: its driver is the one for tests.
type Cinder struct {
	Dir     string // of its configuration and database
	Address string // host and port that it listens on
}

// Furnish writes the instance's configuration and makes its database, which takes seconds.
func (c Cinder) Furnish(ctx context.Context) error {
	return furnish(ctx, "cinder-manage", "cinder-api", map[string][]byte{c.file(): []byte(c.configuration()), c.program(): cinderProgram},
		"cinder-manage", "--config-file", c.file(), "db", "sync")
}

// furnish writes the files of an instance and makes its database with a command. Program is one that the Debian package has.
func furnish(ctx context.Context, program, debian string, files map[string][]byte, database ...string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%w: install the Debian package %s (it need not be started)", err, debian)
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			return fmt.Errorf("furnish an instance of %s: %w", debian, err)
		}
	}
	if out, err := exec.CommandContext(ctx, database[0], database[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("make a database for %s: %w\n%s", debian, err, out)
	}
	return nil
}

// Command returns what runs the instance until SIGTERM. It runs Debian's Python, which has what Debian packages.
func (c Cinder) Command() []string {
	return []string{"/usr/bin/python3", "-I", c.program(), "--config-file", c.file()}
}

func (c Cinder) file() string    { return filepath.Join(c.Dir, "cinder.conf") }
func (c Cinder) program() string { return filepath.Join(c.Dir, "all.py") }

func (c Cinder) configuration() string {
	host, port, _ := net.SplitHostPort(c.Address) // as its caller has it; Cinder says what is wrong
	return fmt.Sprintf(`[DEFAULT]
use_stderr = true
auth_strategy = noauth
host = here
state_path = %[1]s
transport_url = fake://
api_paste_config = /etc/cinder/api-paste.ini
osapi_volume_listen = %[2]s
osapi_volume_listen_port = %[3]s
osapi_volume_workers = 1
enabled_backends = tests
# A busy machine is no reason to take a service for dead.
rpc_response_timeout = 600
service_down_time = 3600
quota_volumes = -1
quota_snapshots = -1
quota_gigabytes = -1
[tests]
volume_driver = cinder.tests.fake_driver.FakeLoggingVolumeDriver
volume_backend_name = tests
[database]
connection = sqlite:///%[1]s/cinder.db
[coordination]
backend_url = file://%[1]s
[oslo_concurrency]
lock_path = %[1]s
`, c.Dir, host, port)
}
