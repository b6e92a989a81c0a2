package p2p

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
)

// identityFile is the name of the key's file in the data directory. It holds the key in libp2p's protobuf form.
const identityFile = "identity.key"

// Identity returns the Ed25519 key of the site whose data directory is dir, and makes it on the first start. The file
// has mode 0600; a file that others may read is refused. The caller makes sure that only one agent uses dir.
func Identity(dir string) (crypto.PrivKey, error) {
	path := filepath.Join(dir, identityFile)
	key, err := ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return MakeKey(path)
	}
	return key, err
}

// ReadKey returns the Ed25519 key in a file that nobody else may read. The error wraps fs.ErrNotExist where there is none.
func ReadKey(path string) (crypto.PrivKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read identity: %s may be read by others (mode %04o): make it 0600", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	key, err := crypto.UnmarshalPrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("read identity: %s holds no key: %w", path, err)
	}
	if key.Type() != crypto.Ed25519 {
		return nil, fmt.Errorf("read identity: %s holds a key that is not Ed25519", path)
	}
	return key, nil
}

// MakeKey makes an Ed25519 key and writes it to a file, to another name first, so that a crash leaves a whole key or none. The file takes
// the place of one that is there.
func MakeKey(path string) (crypto.PrivKey, error) {
	dir := filepath.Dir(path)
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	b, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	f, err := os.CreateTemp(dir, identityFile+".*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, fmt.Errorf("make identity: %w", errors.Join(err, os.Remove(f.Name())))
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	return key, nil
}

// SiteIDOf returns the SiteID of the site that holds key.
func SiteIDOf(key crypto.PrivKey) (engine.SiteID, error) {
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("site id of key: %w", err)
	}
	return siteOf(id), nil
}

// siteOf is the SiteID of a libp2p peer.
func siteOf(id peer.ID) engine.SiteID { return engine.SiteID(id.String()) }

// peerOf is the libp2p peer of a SiteID.
func peerOf(site engine.SiteID) (peer.ID, error) {
	id, err := peer.Decode(string(site))
	if err != nil {
		return "", fmt.Errorf("%q is no site id: %w", site, err)
	}
	// Other texts (CIDs) may name the same peer; inside documents a site has one name.
	if siteOf(id) != site {
		return "", fmt.Errorf("%q is no site id in base58", site)
	}
	return id, nil
}
