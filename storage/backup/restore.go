package backup

import (
	"archive/tar"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skerry/skerry/storage"
)

var (
	// ErrNotEmpty: the data directory has something in it.
	ErrNotEmpty = errors.New("not empty")
	// ErrDamaged: what was read is no backup, is cut off, was changed, or is of another key.
	ErrDamaged = errors.New("the backup is damaged, was changed, or belongs to another key")
)

// Target is where a backup is put back.
type Target struct {
	// Dir is the data directory: empty, or not there.
	Dir string
	// Key is where the vault's key is to be, or is; empty: in Dir.
	Key string
	// Site is whose backup it has to be.
	Site string
}

// Restore puts a backup back, checked and durable. Whatever breaks it off, no agent takes the directory before it is whole. The files get the
// owner of the directory.
func (t Target) Restore(r io.Reader) (about About, err error) {
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return about, err
	}
	lock, err := storage.Lock(t.Dir)
	if err != nil {
		return about, err
	}
	defer lock.Close()
	if err := t.begin(); err != nil {
		return about, err
	}
	key := filepath.Join(t.Dir, storage.Layout.Key)
	if t.Key != "" {
		key = t.Key
	}
	x := extraction{target: t, key: key, sums: map[string]string{}}
	if about, err = x.run(r); err == nil {
		err = x.finish()
	}
	if err != nil {
		err = errors.Join(err, t.clear())
		if x.madeKey {
			err = errors.Join(err, os.Remove(key))
		}
	}
	return about, err
}

// Check reads a backup to its end, as Restore would, and writes nothing. Of a key that is not in it, it needs the file.
func (t Target) Check(r io.Reader) (About, error) {
	x := extraction{target: t, key: t.Key, sums: map[string]string{}, only: true}
	if t.Key == "" {
		x.key = filepath.Join(t.Dir, storage.Layout.Key)
	}
	return x.run(r)
}

// begin marks the directory as one that is not whole, and takes away what was put there by somebody who did not come to an end.
func (t Target) begin() error {
	mark := filepath.Join(t.Dir, storage.Layout.Restoring)
	if _, err := os.Stat(mark); err == nil {
		if err := t.empty(); err != nil {
			return err
		}
		return syncDir(t.Dir)
	}
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !stays(e.Name()) {
			return fmt.Errorf("%s is %w: put %s and the rest aside first", t.Dir, ErrNotEmpty, e.Name())
		}
	}
	if err := os.Mkdir(mark, 0o700); err != nil {
		return err
	}
	return syncDir(t.Dir)
}

// stays reports whether a file may be in an empty directory: the key of a backup that goes without may be there first.
func stays(name string) bool {
	return name == storage.Layout.Lock || name == storage.Layout.Key || name == "lost+found"
}

// empty removes all but those and the mark.
func (t Target) empty() error {
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !stays(e.Name()) && e.Name() != storage.Layout.Restoring {
			if err := os.RemoveAll(filepath.Join(t.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear leaves the directory as it was found.
func (t Target) clear() error {
	return errors.Join(t.empty(), os.Remove(filepath.Join(t.Dir, storage.Layout.Restoring)))
}

// extraction takes a backup out of its file.
type extraction struct {
	target  Target
	key     string // file of the vault's key
	madeKey bool
	only    bool // nothing is written
	seals   *seals
	sums    map[string]string
	sealed  map[string][]byte // files that wait for the key
}

func (x *extraction) run(r io.Reader) (About, error) {
	var manifest, sum, key []byte
	x.sealed = map[string][]byte{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return About{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		name, most := h.Name, int64(0)
		switch folder, file := path.Split(name); {
		case h.Typeflag != tar.TypeReg || x.sums[name] != "":
			return About{}, fmt.Errorf("%w: %q does not belong into it", ErrDamaged, name)
		case name == manifestName:
			most = mostManifest
		case name == sumName || name == storage.Layout.Key:
			most = 1 << 10
		case folder == filesDir+"/" && plain(file):
			most = mostFile + 1<<10
		case name == storage.Layout.Database || plain(file) && slices.Contains(storage.Layout.Bodies, strings.TrimSuffix(folder, "/")):
			if x.sums[name], err = x.write(name, t); err != nil {
				return About{}, err
			}
			continue
		default:
			return About{}, fmt.Errorf("%w: %q does not belong into it", ErrDamaged, name)
		}
		b, err := io.ReadAll(io.LimitReader(t, most+1))
		if err != nil || int64(len(b)) > most {
			return About{}, fmt.Errorf("%w: %s: too long, or cut off (%w)", ErrDamaged, name, err)
		}
		digest := sha256.Sum256(b)
		x.sums[name] = hex.EncodeToString(digest[:])
		switch name {
		case manifestName:
			manifest = b
		case sumName:
			sum = b
		case storage.Layout.Key:
			key = b
		default:
			x.sealed[path.Base(name)] = b
		}
	}
	return x.judge(manifest, sum, key)
}

// plain reports whether a name is one of a file in a folder, and of no other place.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// judge says whether all that was read is what was written once, and writes the small files.
func (x *extraction) judge(manifest, sum, key []byte) (About, error) {
	var m Manifest
	if manifest == nil || json.Unmarshal(manifest, &m) != nil {
		return About{}, fmt.Errorf("%w: it has no manifest: it was cut off, or is something else", ErrDamaged)
	}
	if m.Format != format {
		return About{}, fmt.Errorf("the backup has format %d, made by %s; this program knows %d", m.Format, m.By, format)
	}
	if x.target.Site != "" && m.Site != x.target.Site {
		return m.About, fmt.Errorf("it is a backup of %s, and the configuration is that of %s", m.Site, x.target.Site)
	}
	if err := x.unlock(key); err != nil {
		return m.About, err
	}
	if !hmac.Equal(sum, x.seals.sum(manifest)) {
		return m.About, ErrDamaged
	}
	delete(x.sums, manifestName)
	delete(x.sums, sumName)
	if !maps.Equal(x.sums, m.Members) {
		return m.About, fmt.Errorf("%w: its members are not those of its manifest", ErrDamaged)
	}
	for name, sealed := range x.sealed {
		b, err := x.seals.unseal(name, sealed)
		if err != nil {
			return m.About, fmt.Errorf("%w: %s", ErrDamaged, name)
		}
		if _, err := x.write(name, bytes.NewReader(b)); err != nil {
			return m.About, err
		}
	}
	return m.About, nil
}

// unlock finds the key: in the backup, or where the target has it.
func (x *extraction) unlock(key []byte) error {
	there, err := os.ReadFile(x.key)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case key == nil && err != nil:
		return fmt.Errorf("the vault's key is not in the backup: put it at %s first", x.key)
	case key != nil && err == nil && !bytes.Equal(key, there):
		return fmt.Errorf("the key at %s is another than that of the backup", x.key)
	case key == nil:
		key = there
	}
	// A vault is opened from a file; without a target it is one that goes away again.
	at := x.key
	if x.only {
		f, err := os.CreateTemp("", "skerry-key-") // mode 0600
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		_, err = f.Write(key)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		at = f.Name()
	} else if err != nil {
		x.madeKey = true
		if err := writeFile(at, bytes.NewReader(key)); err != nil {
			return err
		}
	}
	vault, err := storage.ReadVault(filepath.Dir(at), at)
	if err != nil {
		return err
	}
	x.seals, err = newSeals(vault)
	return err
}

// write puts a member into the directory, durable, and returns its sum.
func (x *extraction) write(name string, r io.Reader) (string, error) {
	sum := sha256.New()
	r = io.TeeReader(r, sum)
	if x.only {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	to := filepath.Join(x.target.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	if err := writeFile(to, r); err != nil {
		return "", fmt.Errorf("put %s back: %w", name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func writeFile(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Sync(), f.Close())
}

// finish gives everything to whom the directory belongs, makes the names durable, and takes the mark away.
func (x *extraction) finish() error {
	dir := x.target.Dir
	paths := []string{}
	if x.madeKey {
		paths = append(paths, x.key)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "lost+found" {
			return filepath.SkipDir
		}
		paths = append(paths, path)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := sameOwner(dir, p); err != nil {
			return err
		}
	}
	for _, folder := range storage.Layout.Bodies {
		if err := syncDir(filepath.Join(dir, folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := errors.Join(syncDir(filepath.Dir(x.key)), syncDir(dir)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, storage.Layout.Restoring)); err != nil {
		return err
	}
	return errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir))))
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
