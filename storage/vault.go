package storage

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/skerry/skerry/engine"
)

const (
	vaultFile = "vault.key" // unless the configuration says where it is
	// sealOverhead is how many bytes longer than its data a sealed box is.
	sealOverhead = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
)

// Vault encrypts what may not lie on the disk in clear, such as the credentials of kept requests, with
// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha) under a key of the site that is kept in its data directory. It
// protects a copy of the database without that file, not a copy of both. It is safe for concurrent use.
type Vault struct {
	aead cipher.AEAD
	key  []byte
	path string
}

// Derive returns a key for one purpose, which tells nothing of the vault's own or of those for other purposes (HKDF, RFC 5869).
func (v *Vault) Derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, v.key, nil, "skerry "+purpose, sha256.Size)
	if err != nil {
		panic(err) // the length is one that SHA-256 gives
	}
	return key
}

// openVault reads the key of the data directory dir at path (empty: in it). When there is none it makes one, with mode 0600,
// if fresh says that nothing is encrypted yet.
func openVault(dir, path string, fresh bool) (*Vault, error) {
	own := filepath.Join(dir, vaultFile)
	if path == "" {
		path = own
	}
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Stat(own); there == nil {
			return nil, fmt.Errorf("open vault: there is no key at %s, and one at %s: move it there", path, own)
		}
		if !fresh {
			return nil, fmt.Errorf("open vault: the data are encrypted, and their key is not at %s: put it there, or say in the "+
				"configuration where it is", path)
		}
		key, err = newKey(filepath.Dir(path), path)
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
	return &Vault{aead, key, path}, nil
}

// ReadVault opens the vault of the data directory dir whose key is at path (empty: in it), and makes none.
func ReadVault(dir, path string) (*Vault, error) { return openVault(dir, path, false) }

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
	return v.sealIn(make([]byte, 0, len(data)+sealOverhead), []byte(operation), data)
}

// sealIn is Seal in room that the caller has, bound to any place.
func (v *Vault) sealIn(room, place, data []byte) []byte { return v.appendSealed(room[:0], place, data) }

// appendSealed appends to b what sealIn returns.
func (v *Vault) appendSealed(b, place, data []byte) []byte {
	before := len(b)
	b = append(b, make([]byte, chacha20poly1305.NonceSizeX)...)
	nonce := b[before:]
	rand.Read(nonce)
	return v.aead.Seal(b, nonce, data, place)
}

// Unseal returns what Seal was given, or ErrRefused for anything else.
func (v *Vault) Unseal(operation engine.OperationID, sealed []byte) ([]byte, error) {
	return v.unsealIn(make([]byte, 0, max(len(sealed)-sealOverhead, 0)), []byte(operation), sealed)
}

// inPlace is where unsealIn may put what it finds, for callers who do not need what was sealed any more.
func inPlace(sealed []byte) []byte {
	return sealed[min(chacha20poly1305.NonceSizeX, len(sealed)):][:0]
}

// unsealIn is Unseal in room that the caller has, of any place.
func (v *Vault) unsealIn(room, place, sealed []byte) ([]byte, error) {
	if len(sealed) < chacha20poly1305.NonceSizeX {
		return nil, fmt.Errorf("unseal %s: %w: too short", words(place), engine.ErrRefused)
	}
	nonce, box := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	data, err := v.aead.Open(room[:0], nonce, box, place)
	if err != nil {
		return nil, fmt.Errorf("unseal %s: %w: it was changed, or encrypted under another key than that of %s: put the file "+
			"back that belongs to this data directory: %w", words(place), engine.ErrRefused, v.path, err)
	}
	return data, nil
}

// words makes a place legible.
func words(place []byte) string { return strings.ReplaceAll(string(place), "\x00", " ") }
