package backup

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/storage"
)

// FuzzRestore puts back what may be no backup. Whatever it is, nothing lies outside the folder that it is for, and what is refused leaves nothing there.
func FuzzRestore(f *testing.F) {
	dir := f.TempDir()
	s, err := storage.Open(dir, storage.Options{})
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	if _, err := source(dir).Write(f.Context(), &whole, f.TempDir()); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"../out", "/out", "files/../../out", "files/x", manifestName, "bodies/..", "skerry.db/x"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 2, Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
			f.Fatal(err)
		}
		_, _ = w.Write([]byte("{}"))
		f.Add(b.Bytes())
	}
	f.Add(whole.Bytes()[:4096]) // a whole one is too long for what fuzzing does with it
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		to := Target{Dir: filepath.Join(parent, "data")}
		_, err := to.Restore(bytes.NewReader(b))
		for _, folder := range []string{parent, to.Dir} {
			entries, readErr := os.ReadDir(folder)
			if readErr != nil {
				t.Fatal(readErr)
			}
			for _, e := range entries {
				if folder == parent && e.Name() != "data" || folder == to.Dir && err != nil && e.Name() != storage.Layout.Lock {
					t.Fatalf("%s is left in %s (%v)", e.Name(), folder, err)
				}
			}
		}
	})
}
