package openstack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Identity is Keystone's name in the catalog.
const Identity = "identity"

// Password is that of the administrator, the same at both sites.
const Password = "secret"

// Keystone is what all sites' Keystones begin with: a database with one user, and the keys that tokens are made with.
type Keystone struct {
	Dir string
	// Services are where clients find the services, as lines of a template. Empty: services are resources like any other.
	Services string
	// Token is that of an administrator whom the database does not know, empty for none.
	Token string
}

// Prepare makes that once, which takes seconds. Each site gets a copy: the same users, under the same identifiers, and the same keys.
func (k Keystone) Prepare(ctx context.Context) error {
	if _, err := exec.LookPath("keystone-manage"); err != nil {
		return fmt.Errorf("%w: install the Debian packages keystone and uwsgi-plugin-python3 (they need not be started)", err)
	}
	if err := errors.Join(k.configure(k.Dir), NewKeys(k.Dir)); err != nil {
		return err
	}
	for _, args := range [][]string{{"db_sync"}, {"bootstrap", "--bootstrap-password", Password}} {
		cmd := exec.CommandContext(ctx, "keystone-manage", append([]string{"--config-file", filepath.Join(k.Dir, "keystone.conf")}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("keystone-manage %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// Furnish gives a site its Keystone.
func (k Keystone) Furnish(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(k.Dir)); err != nil {
		return err
	}
	return k.configure(dir)
}

// Command returns what runs the Keystone in dir at an address, until SIGTERM. Its server closes each connection after the answer, and says so only
// if it is told to: else a request may be sent on one that is being closed, after an answer without a body.
func (k Keystone) Command(dir, address string) []string {
	return []string{"env", "OS_KEYSTONE_CONFIG_FILES=" + filepath.Join(dir, "keystone.conf"), "uwsgi_python3", "--http-socket", address, "--master",
		"--no-orphans", "--die-on-term", "--processes", "1", "--lazy-apps", "--buffer-size", "65535", "--rem-header", "Content-Length",
		"--add-header", "Connection: close",
		"--disable-logging", "--wsgi-file", "/usr/bin/keystone-wsgi-public"}
}

// NewKeys gives a Keystone keys of its own in place of those that it has, as keystone-manage fernet_setup does, which takes seconds.
func NewKeys(dir string) error {
	keys := filepath.Join(dir, "fernet-keys")
	err := os.MkdirAll(keys, 0o700)
	for _, name := range []string{"0", "1"} {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		err = errors.Join(err, os.WriteFile(filepath.Join(keys, name), []byte(base64.URLEncoding.EncodeToString(key)), 0o600))
	}
	return err
}

func (k Keystone) configure(dir string) error {
	catalog, token := "driver = sql", ""
	if k.Services != "" {
		catalog = fmt.Sprintf("driver = templated\ntemplate_file = %s/catalog.templates", dir)
		if err := os.WriteFile(filepath.Join(dir, "catalog.templates"), []byte(k.Services), 0o600); err != nil {
			return err
		}
	}
	if k.Token != "" {
		token = "admin_token = " + k.Token
	}
	return os.WriteFile(filepath.Join(dir, "keystone.conf"), []byte(fmt.Sprintf(`[DEFAULT]
use_stderr = true
%[2]s
[database]
connection = sqlite:///%[1]s/keystone.db
[catalog]
%[3]s
[fernet_tokens]
key_repository = %[1]s/fernet-keys
[fernet_receipts]
key_repository = %[1]s/fernet-keys
[cache]
enabled = false
[identity]
password_hash_rounds = 4
`, dir, token, catalog)), 0o600)
}
