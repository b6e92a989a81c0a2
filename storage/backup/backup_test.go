package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
)

// directory is a data directory with an open store, as an agent has it.
type directory struct {
	dir   string
	store *storage.Store
	blobs *storage.Blobs
}

func open(t *testing.T, dir, key string) *directory {
	t.Helper()
	s, err := storage.Open(dir, storage.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b, err := storage.OpenBlobs(dir, s.Vault())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "identity.key"), []byte("the site's own key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &directory{dir, s, b}
}

// put makes something durable, which events tells of.
func (d *directory) put(t testing.TB, text string) {
	t.Helper()
	err := d.store.Commit(context.Background(), &engine.Batch{Events: []engine.Event{{Type: "site.up", Subject: text, Time: time.Now(), Data: []byte("{}")}}})
	if err != nil {
		t.Fatal(err)
	}
}

func (d *directory) events(t *testing.T) (told []string) {
	t.Helper()
	events, err := d.store.Events(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		told = append(told, e.Subject)
	}
	return told
}

func (d *directory) blob(t *testing.T, text string) engine.BlobRef {
	t.Helper()
	ref, release, err := d.blobs.Take(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	release()
	return ref
}

func (d *directory) read(t *testing.T, ref engine.BlobRef) string {
	t.Helper()
	r, err := d.blobs.Open(ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func source(dir string) Source {
	return Source{Dir: dir, About: About{Site: "paris", By: "v1"}, Now: time.Now}
}

func written(t *testing.T, s Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Write(t.Context(), &b, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestABackupIsOfOneMoment writes all the while: what was durable when the snapshot was taken is in it, and what came later is not, with
// bodies that were dropped meanwhile.
func TestABackupIsOfOneMoment(t *testing.T) {
	d := open(t, t.TempDir(), "")
	for range 200 {
		d.put(t, "before")
	}
	kept, gone := d.blob(t, "a body"), d.blob(t, "a body that is dropped meanwhile")
	var late engine.BlobRef
	s := source(d.dir)
	s.snapped = func() {
		for range 500 {
			d.put(t, "after")
		}
		if err := d.blobs.Drop(gone.Hash, func() (bool, error) { return false, nil }); err != nil {
			t.Error(err)
		}
		late = d.blob(t, "one that came with the snapshot")
	}
	b := written(t, s)
	for range 10 {
		d.put(t, "later")
	}
	if bytes.Contains(b, []byte("the site's own key")) {
		t.Error("the site's key is in the backup in clear")
	}
	to := Target{Dir: filepath.Join(t.TempDir(), "data"), Site: "paris"}
	about, err := to.Restore(bytes.NewReader(b))
	if err != nil || about.Site != "paris" || !about.Key || about.At.IsZero() {
		t.Fatal(about, err)
	}
	key, err := os.ReadFile(filepath.Join(to.Dir, "identity.key"))
	if err != nil || string(key) != "the site's own key" {
		t.Errorf("the site's key is %q, %v", key, err)
	}
	r := open(t, to.Dir, "")
	if told := r.events(t); len(told) != 200 || slices.Contains(told, "after") {
		t.Errorf("%d events are back, the last %q; want 200 from before", len(told), told[len(told)-1])
	}
	for ref, want := range map[engine.BlobRef]string{kept: "a body", gone: "a body that is dropped meanwhile", late: "one that came with the snapshot"} {
		if got := r.read(t, ref); got != want {
			t.Errorf("a body is %q, want %q", got, want)
		}
	}
	r.put(t, "it goes on")
}

func TestTheKeyMayLieElsewhere(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "key")
	d := open(t, t.TempDir(), elsewhere)
	d.put(t, "x")
	s := source(d.dir)
	s.Key = elsewhere
	b := written(t, s)
	key, err := os.ReadFile(elsewhere)
	if err != nil || bytes.Contains(b, key) {
		t.Fatal("the key is in the backup", err)
	}
	to := Target{Dir: filepath.Join(t.TempDir(), "data"), Key: filepath.Join(t.TempDir(), "key"), Site: "paris"}
	if _, err := to.Restore(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), "put it at") {
		t.Fatalf("without the key: %v", err)
	}
	to.Key = elsewhere
	if about, err := to.Restore(bytes.NewReader(b)); err != nil || about.Key {
		t.Fatal(about, err)
	}
	if told := open(t, to.Dir, elsewhere).events(t); len(told) != 1 {
		t.Error(told)
	}
	// Left out of a directory that has it, it is put there first.
	in := open(t, t.TempDir(), "")
	s = source(in.dir)
	s.Alone = true
	b = written(t, s)
	to = Target{Dir: t.TempDir(), Site: "paris"}
	if key, err = os.ReadFile(filepath.Join(in.dir, "vault.key")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to.Dir, "vault.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Restore(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNoWholeBackupLeavesNothingBehind cuts a backup off everywhere and changes it everywhere: none of that is put back.
func TestWhatIsNoWholeBackupLeavesNothingBehind(t *testing.T) {
	d := open(t, t.TempDir(), "")
	d.put(t, "x")
	d.blob(t, "body")
	b := written(t, source(d.dir))
	try := func(what string, b []byte, site string) {
		t.Helper()
		to := Target{Dir: filepath.Join(t.TempDir(), "data"), Site: site}
		if _, err := to.Restore(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: it was put back", what)
		}
		if _, err := to.Check(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: it is said to be whole", what)
		}
		entries, err := os.ReadDir(to.Dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
			t.Errorf("%s: it leaves %v, %v", what, entries, err)
		}
	}
	for n := 0; n < len(b)-1024; n += len(b)/16 + 7 { // two empty blocks end it
		try("cut off", b[:n], "paris")
		changed := slices.Clone(b)
		changed[n] ^= 1
		if bytes.IndexByte([]byte("\x00"), b[n]) < 0 { // what fills the blocks counts for nothing
			try("changed", changed, "paris")
		}
	}
	try("of another site", b, "nantes")
	if _, err := (Target{Dir: t.TempDir(), Site: "paris"}).Check(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
}

func TestABackupIsPutBackIntoAnEmptyDirectoryOnly(t *testing.T) {
	d := open(t, t.TempDir(), "")
	d.put(t, "x")
	b := written(t, source(d.dir))
	if _, err := (Target{Dir: d.dir, Site: "paris"}).Restore(bytes.NewReader(b)); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("where an agent works: %v", err)
	}
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := (Target{Dir: d.dir, Site: "paris"}).Restore(bytes.NewReader(b)); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("where data are: %v", err)
	}
	// One that was broken off by a crash is no data directory for an agent, and is begun anew.
	to := Target{Dir: t.TempDir(), Site: "paris"}
	if err := to.begin(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to.Dir, "skerry.db"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(to.Dir, storage.Options{}); !errors.Is(err, storage.ErrUnfinished) {
		t.Errorf("an agent takes it: %v", err)
	}
	if _, err := to.Restore(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if told := open(t, to.Dir, "").events(t); len(told) != 1 {
		t.Error(told)
	}
	// An agent that is down, whatever way it ended.
	if n := len(written(t, source(d.dir))); n < len(b)/2 {
		t.Errorf("a backup of one that is down has %d bytes", n)
	}
}
