package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Invitation returns the invitation of mesh.join or mesh.join_file, empty without one. It fails when the file cannot be
// read.
func (m Mesh) Invitation() (string, error) {
	if m.JoinFile == "" {
		return m.Join, nil
	}
	b, err := os.ReadFile(m.JoinFile)
	if err != nil {
		return "", fmt.Errorf("read the invitation: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
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
