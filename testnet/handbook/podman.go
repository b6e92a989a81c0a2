package handbook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Podman makes podman keep all that it has in a folder, and returns the variables that say so. The rest is in /run, of which it wants one of its own.
func Podman(folder string) (env []string, err error) {
	for variable, text := range map[string]string{
		// The runtime that takes control groups of both kinds, and limits that root may have everywhere.
		"CONTAINERS_CONF":         "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=1024:4096\"]\n",
		"CONTAINERS_STORAGE_CONF": fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = \"/run/containers\"\n", filepath.Join(folder, "storage")),
	} {
		path := filepath.Join(folder, variable)
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
		env = append(env, variable+"="+path)
	}
	return env, err
}
