package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/next/engine"
)

func TestVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "paris")
	v, err := openVault(dir, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, vaultFile)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", fi, err)
	}
	secret := []byte("Authorization: Bearer 42")
	sealed := v.Seal("op1", secret)
	if bytes.Contains(sealed, secret[:8]) || bytes.Equal(sealed, v.Seal("op1", secret)) {
		t.Error("sealed bytes show what is in them")
	}
	again, err := openVault(dir, "", true) // as after a restart
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Unseal("op1", sealed); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("Unseal: %q, %v", got, err)
	}
	other, err := openVault(t.TempDir(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(sealed)
	broken[len(broken)-1] ^= 1
	for name, try := range map[string]func() ([]byte, error){
		"another operation": func() ([]byte, error) { return v.Unseal("op2", sealed) },
		"another key":       func() ([]byte, error) { return other.Unseal("op1", sealed) },
		"a flipped bit":     func() ([]byte, error) { return v.Unseal("op1", broken) },
		"too short":         func() ([]byte, error) { return v.Unseal("op1", sealed[:10]) },
	} {
		if got, err := try(); !errors.Is(err, engine.ErrRefused) || got != nil {
			t.Errorf("%s: %q, %v, want ErrRefused", name, got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, vaultFile), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openVault(dir, "", true); err == nil {
		t.Error("opened with a key of 5 bytes")
	}
}
