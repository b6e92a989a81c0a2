package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/skerry/skerry/next/engine"
)

func openSpools(t *testing.T, dir string) *Spools {
	t.Helper()
	v, err := openVault(dir, "", true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenSpools(dir, v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all reads a body from its beginning.
func all(b engine.Body) ([]byte, error) {
	r, err := b.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func TestSpooledBodiesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{1, pieceSize - 1, pieceSize, pieceSize + 1, 5*pieceSize + 3} {
		for _, told := range []int64{int64(size), -1} {
			s := openSpools(t, dir)
			body := bytesOf(1, size)
			spool, err := s.Spool(io.NopCloser(iotest.HalfReader(bytes.NewReader(body))), told)
			if err != nil {
				t.Fatal(err)
			}
			first, err := spool.Open()
			if err != nil {
				t.Fatal(err)
			}
			begun := make([]byte, size/2+1)
			if _, err := io.ReadFull(first, begun); err != nil || !bytes.Equal(begun, body[:len(begun)]) {
				t.Fatalf("the first reader gets %v", err)
			}
			if got, err := all(spool); err != nil || !bytes.Equal(got, body) {
				t.Errorf("read again, %d bytes are %d, %v", size, len(got), err)
			}
			if _, err := first.Read(begun); err == nil {
				t.Error("an earlier reader goes on")
			}
			name, length, err := spool.Keep()
			if err != nil || length != int64(size) {
				t.Fatalf("Keep: %d bytes, %v", length, err)
			}
			if err := spool.Close(); err != nil {
				t.Fatal(err)
			}
			s = openSpools(t, dir)
			kept := s.Open(name, length)
			for range 2 {
				if got, err := all(kept); err != nil || !bytes.Equal(got, body) {
					t.Errorf("kept, %d bytes are %d, %v", size, len(got), err)
				}
			}
			if err := s.Sweep(map[string]bool{name: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := all(kept); err != nil {
				t.Errorf("what is needed does not stay: %v", err)
			}
			if err := s.Sweep(nil); err != nil {
				t.Fatal(err)
			}
			if left := files(t, s.dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		}
	}
}

// Who copies the disk without its key reads nothing, and what somebody has changed on it is not taken for the body.
func TestKeptBodiesAreEncrypted(t *testing.T) {
	dir := t.TempDir()
	s := openSpools(t, dir)
	body := bytes.Repeat([]byte("a secret that nobody may see. "), 10_000)
	spool, err := s.Spool(io.NopCloser(bytes.NewReader(body)), -1)
	if err != nil {
		t.Fatal(err)
	}
	name, size, err := spool.Keep()
	if err != nil {
		t.Fatal(err)
	}
	spool.Close()
	path := filepath.Join(s.dir, name)
	sealed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("it lies there in clear")
	}
	swapped := append(bytes.Clone(sealed[sealedSize:2*sealedSize]), append(bytes.Clone(sealed[:sealedSize]), sealed[2*sealedSize:]...)...)
	for what, b := range map[string][]byte{"swapped": swapped, "cut": sealed[:2*sealedSize]} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := all(s.Open(name, size)); err == nil {
			t.Errorf("%s, it is read as %d bytes", what, len(got))
		}
	}
}

func TestBodiesThatDoNotComeWholeAreForgotten(t *testing.T) {
	s := openSpools(t, t.TempDir())
	gone := errors.New("the client has gone")
	for what, source := range map[string]io.Reader{
		"broken": io.MultiReader(bytes.NewReader(bytesOf(1, pieceSize+1)), iotest.ErrReader(gone)),
		"short":  bytes.NewReader(bytesOf(1, pieceSize+1)),
		"long":   bytes.NewReader(bytesOf(1, pieceSize+100)),
	} {
		spool, err := s.Spool(io.NopCloser(source), pieceSize+50)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all(spool); err == nil || spool.Failed() == nil || errors.Is(err, engine.ErrStorage) {
			t.Errorf("%s: %v, %v", what, err, spool.Failed())
		}
		if _, _, err := spool.Keep(); err == nil {
			t.Errorf("%s: it is kept", what)
		}
		if err := spool.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := files(t, s.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A body that was kept under a key that is gone is refused whole, and stays: with its key it is there again.
func TestKeptBodiesNeedTheirKey(t *testing.T) {
	dir := t.TempDir()
	s := openSpools(t, dir)
	body := bytesOf(1, 3*pieceSize+1)
	spool, err := s.Spool(io.NopCloser(bytes.NewReader(body)), -1)
	if err != nil {
		t.Fatal(err)
	}
	name, size, err := spool.Keep()
	if err != nil {
		t.Fatal(err)
	}
	spool.Close()
	key, away := filepath.Join(dir, vaultFile), filepath.Join(t.TempDir(), vaultFile)
	if err := os.Rename(key, away); err != nil {
		t.Fatal(err)
	}
	got, err := all(openSpools(t, dir).Open(name, size))
	if !errors.Is(err, engine.ErrRefused) || len(got) > 0 || !strings.Contains(err.Error(), "put the file back") {
		t.Errorf("under another key it is read as %d bytes, %v", len(got), err)
	}
	if err := os.Rename(away, key); err != nil {
		t.Fatal(err)
	}
	if got, err := all(openSpools(t, dir).Open(name, size)); err != nil || !bytes.Equal(got, body) {
		t.Errorf("with its key it is read as %d bytes, %v", len(got), err)
	}
}
