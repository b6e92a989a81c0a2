package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/skerry/skerry/glue/strictyaml"
)

// Invitation returns the invitation of mesh.join or mesh.join_file, empty without one. It fails when the file cannot be
// read.
func (m Mesh) Invitation() (string, error) {
	if m.JoinFile == "" {
		return m.Join, nil
	}
	return readSecret(m.JoinFile)
}

// Read returns the header to send and its value, as the file has it now.
func (c Credentials) Read() (header, value string, err error) {
	if c.TokenFile != "" {
		token, err := readSecret(c.TokenFile)
		return "Authorization", "Bearer " + token, err
	}
	value, err = readSecret(c.ValueFile)
	return c.Header, value, err
}

// readSecret returns the one line of a file.
func readSecret(path string) (string, error) {
	b, err := strictyaml.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(b))
	switch {
	case secret == "":
		return "", fmt.Errorf("%s: the file is empty", path)
	case strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("%s: expected one line", path)
	}
	return secret, nil
}

// isFile reports why path cannot be read as a file, nil when it can.
func isFile(path string) error {
	info, err := os.Stat(path)
	if reason := (*fs.PathError)(nil); errors.As(err, &reason) {
		return fmt.Errorf("%s: %w", path, reason.Err)
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	}
	return nil
}
