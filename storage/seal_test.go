package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// secret is what is looked for.
const secret = "hunter2-correct-horse-battery-staple"

// inClear lists the files below a folder that have the secret: as it is, in base64 at any alignment, or in hexadecimal digits.
func inClear(t *testing.T, dir string) (files []string) {
	t.Helper()
	forms := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret)))}
	for skip := range 3 {
		whole := (len(secret) - skip) / 3 * 3
		forms = append(forms, []byte(base64.StdEncoding.EncodeToString([]byte(secret[skip:skip+whole]))))
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, form := range forms {
			if bytes.Contains(b, form) {
				files = append(files, e.Name())
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// confidential is a batch that has the secret wherever content can be.
func confidential() *engine.Batch {
	b := sample(1)
	content := []byte(`{"password":"` + secret + `","data":"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `"}`)
	b.Records[0].Mine, b.Records[0].Statuses, b.Records[0].Checkpoint = content, content, content
	b.Changes[0].Bytes = content
	b.Operations[0].Body, b.Operations[0].Change = content, json.RawMessage(content)
	b.Errands[0].Data = content
	b.Outbox = []engine.Kept{{Operation: "kept", Data: content, KeptAt: time.Unix(1, 0)}}
	b.Answers = []engine.KeyedAnswer{{Key: [32]byte{1}, Answer: content, At: time.Now()}}
	b.Conflicts = []engine.Conflict{{ID: "c1", Document: b.Changes[0].Document, Kind: engine.ConflictDrift, Since: time.Unix(1, 0), Reason: secret}}
	b.Events = []engine.Event{{Type: "operation.applied", Subject: "x", Time: time.Unix(1, 0), Data: content}}
	return b
}

// shows fails the test unless the store gives back what confidential has put in.
func shows(t *testing.T, s *Store) {
	t.Helper()
	want, ctx := confidential(), t.Context()
	content := want.Changes[0].Bytes
	record, err := s.Record(ctx, want.Changes[0].Document)
	changes, _, err2 := s.Changes(ctx, want.Changes[0].Document, nil, 0)
	operation, err3 := s.Operation(ctx, want.Operations[0].ID)
	answer, err4 := s.Answer(ctx, [32]byte{1})
	conflict, err5 := s.Conflict(ctx, "c1")
	events, err6 := s.Events(ctx, 0, 10)
	errands, err7 := s.Errands(ctx)
	kept, err8 := s.Kept(ctx, "kept")
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"mine": record.Mine, "statuses": record.Statuses, "checkpoint": record.Checkpoint, "change": changes[0].Bytes,
		"body": operation.Body, "what an operation sets": operation.Change, "answer": answer.Answer, "event": events[0].Data,
		"errand": errands[0].Data, "kept request": kept.Data} {
		if !bytes.Equal(got, content) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if conflict.Reason != secret {
		t.Errorf("the conflict is %+v", conflict)
	}
}

// TestContentIsFoundNowhere: what the application's requests and answers hold is in no file, while the store is open and
// afterwards.
func TestContentIsFoundNowhere(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustCommit(t, s, confidential())
	blobs, err := OpenBlobs(dir, s.Vault())
	if err != nil {
		t.Fatal(err)
	}
	ref, release, err := blobs.Take(t.Context(), strings.NewReader(strings.Repeat(secret, 2*engine.ChunkSize/len(secret))))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got, err := readBlob(blobs, ref, 1); err != nil || !bytes.Contains(got, []byte(secret)) {
		t.Errorf("%d bytes of the blob, %v", len(got), err)
	}
	shows(t, s)
	if files := inClear(t, dir); files != nil {
		t.Errorf("while the store is open it lies in %v", files)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files := inClear(t, dir); files != nil {
		t.Errorf("afterwards it lies in %v", files)
	}
	shows(t, open(t, dir))
}

// TestTheKey: it may lie elsewhere; without it, and with another, a store says what is wrong and changes nothing.
func TestTheKey(t *testing.T) {
	dir, usb := t.TempDir(), t.TempDir()
	elsewhere := Options{Key: filepath.Join(usb, "paris.key")}
	s, err := Open(dir, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, confidential())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(elsewhere.Key); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v, %v", fi, err)
	}
	refused := func(o Options, want string) {
		t.Helper()
		s, err := Open(dir, o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	refused(Options{}, "say in the configuration where it is")
	if _, err := os.Stat(filepath.Join(dir, vaultFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
	if _, err := openVault(usb, "", true); err != nil { // another
		t.Fatal(err)
	}
	refused(Options{Key: filepath.Join(usb, vaultFile)}, "encrypted under another key")
	if s, err = Open(dir, elsewhere); err != nil {
		t.Fatal(err)
	}
	shows(t, s)
	s.Close()

	// One that was beside the data, and is wanted elsewhere now.
	dir = t.TempDir()
	open(t, dir).Close()
	nantes := Options{Key: filepath.Join(usb, "nantes.key")}
	refused(nantes, "move it there")
	if err := os.Rename(filepath.Join(dir, vaultFile), nantes.Key); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, nantes); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestValuesKeepTheirPlaces: one that was put in another's place is not taken for it. To callers that is a fault of the disk.
func TestValuesKeepTheirPlaces(t *testing.T) {
	s := open(t, t.TempDir())
	b, other := confidential(), sample(2)
	other.Events = nil
	mustCommit(t, s, b)
	mustCommit(t, s, other)
	spoil := func(q string) {
		t.Helper()
		if _, err := s.queue.writer.conn.Exec(q, nil); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, engine.ErrStorage) || errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v, want ErrStorage", what, err)
		}
	}
	spoil(`UPDATE operations SET body = (SELECT body FROM operations WHERE id = '` + string(b.Operations[0].ID) + `')`)
	_, err := s.Operation(t.Context(), other.Operations[0].ID)
	refused("the body of another", err)
	if _, err := s.Operation(t.Context(), b.Operations[0].ID); err != nil {
		t.Errorf("its own: %v", err)
	}
	spoil(`UPDATE operations SET change = body`)
	_, err = s.Operation(t.Context(), b.Operations[0].ID)
	refused("the body in another column", err)
	spoil(`UPDATE resources SET statuses = mine`)
	_, err = s.Record(t.Context(), b.Changes[0].Document)
	refused("what is mine in another column", err)
	spoil(`UPDATE changes SET epoch = 1`)
	_, _, err = s.Changes(t.Context(), b.Changes[0].Document, nil, 0)
	refused("a change of another epoch", err)
	s.queue.writer.events.newest.list = nil // those are not read from the disk
	spoil(`UPDATE events SET last = last + 1`)
	_, err = s.Events(t.Context(), 0, 10)
	refused("events of another number", err)
	spoil(`UPDATE errands SET data = (SELECT data FROM outbox)`)
	_, err = s.Errands(t.Context())
	refused("a kept request as an errand", err)
	spoil(`UPDATE conflicts SET id = 'c2'`)
	_, err = s.Conflict(t.Context(), "c2")
	refused("another conflict", err)
}
