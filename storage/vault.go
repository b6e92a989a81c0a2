package storage

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/skerry/skerry/engine"
)

const (
	vaultFile = "vault.key"
	// sealOverhead is how many bytes longer than its data a sealed box is.
	sealOverhead = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
)

// Vault encrypts what may not lie on the disk in clear, such as the credentials of kept requests, with
// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha) under a key of the site that is kept in its data directory. It
// protects a copy of the database without that file, not a copy of the whole directory. It is safe for concurrent use.
type Vault struct{ aead cipher.AEAD }

// OpenVault reads the key of the data directory dir, and makes one, with mode 0600, when there is none.
func OpenVault(dir string) (*Vault, error) {
	path := filepath.Join(dir, vaultFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = newKey(dir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	if len(key) != chacha20poly1305.KeySize {
		return nil, fmt.Errorf("open vault: %s has %d bytes, need %d", path, len(key), chacha20poly1305.KeySize)
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	return &Vault{aead}, nil
}

// newKey makes the key durable under another name first, so that the file is whole or not there.
func newKey(dir, path string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, vaultFile+".*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	key := make([]byte, chacha20poly1305.KeySize)
	rand.Read(key) // never fails (crypto/rand)
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	// A link, unlike a rename, never replaces a key that someone else made meanwhile.
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(path)
	} else if err != nil {
		return nil, err
	}
	return key, syncDir(dir)
}

// Seal encrypts data and binds it to the operation: Unseal needs the same one.
func (v *Vault) Seal(operation engine.OperationID, data []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(data)+v.aead.Overhead())
	rand.Read(nonce)
	return v.aead.Seal(nonce, nonce, data, []byte(operation))
}

// Unseal returns what Seal was given, or ErrRefused for anything else.
func (v *Vault) Unseal(operation engine.OperationID, sealed []byte) ([]byte, error) {
	if len(sealed) < chacha20poly1305.NonceSizeX {
		return nil, fmt.Errorf("unseal operation %s: %w: too short", operation, engine.ErrRefused)
	}
	nonce, box := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	data, err := v.aead.Open(nil, nonce, box, []byte(operation))
	if err != nil {
		return nil, fmt.Errorf("unseal operation %s: %w: it was changed, or encrypted under another key than that of %s: put the file back that belongs to this data directory: %w",
			operation, engine.ErrRefused, vaultFile, err)
	}
	return data, nil
}
