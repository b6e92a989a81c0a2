package storage

import (
	"bytes"
	"context"
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
	b.Documents[0].Checkpoint = content
	b.Changes[0].Bytes = content
	b.Operations[0].Body, b.Operations[0].Change = content, json.RawMessage(content)
	b.Answers = []engine.KeyedAnswer{{Key: [32]byte{1}, Answer: content, At: time.Now()}}
	b.Conflicts = []engine.Conflict{{ID: "c1", Document: b.Documents[0].ID, Kind: "field", Since: time.Unix(1, 0), Reason: secret}}
	b.Events = []engine.Event{{Type: "operation.applied", Subject: "x", Time: time.Unix(1, 0), Data: content}}
	return b
}

// shows fails the test unless the store gives back what confidential has put in.
func shows(t *testing.T, s *Store) {
	t.Helper()
	want, ctx := confidential(), t.Context()
	content := want.Changes[0].Bytes
	document, err := s.Document(ctx, want.Documents[0].ID)
	changes, _, err2 := s.Changes(ctx, want.Documents[0].ID, nil, 0)
	operation, err3 := s.Operation(ctx, want.Operations[0].ID)
	answer, err4 := s.Answer(ctx, [32]byte{1})
	conflict, err5 := s.Conflict(ctx, "c1")
	events, err6 := s.Events(ctx, 0, 10)
	snapshot, err7 := s.Snapshot(ctx, want.Documents[0].ID)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(document.Checkpoint, content) || !bytes.Equal(changes[0].Bytes, content) || !bytes.Equal(operation.Body, content) ||
		!bytes.Equal(operation.Change, content) || !bytes.Equal(answer.Answer, content) || conflict.Reason != secret ||
		len(events) != 1 || !bytes.Equal(events[0].Data, content) || string(snapshot) != secret {
		t.Errorf("the store gives back %q, %q, %q, %q, %q, %+v, %+v and %q", document.Checkpoint, changes[0].Bytes, operation.Body, operation.Change,
			answer.Answer, conflict, events, snapshot)
	}
}

// TestContentIsFoundNowhere: what the application's requests and answers hold is in no file, while the store is open and afterwards.
func TestContentIsFoundNowhere(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	b := confidential()
	mustCommit(t, s, b)
	if err := s.SaveSnapshot(t.Context(), b.Documents[0].ID, []byte(secret)); err != nil {
		t.Fatal(err)
	}
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
	s = open(t, dir)
	shows(t, s)
}

// older makes a database of the version that encrypted nothing, with what confidential has and rows of n more samples, and what was deleted.
func older(t *testing.T, dir string, n int) {
	t.Helper()
	s := open(t, dir)
	b := confidential()
	for i := range n {
		more := sample(i + 2)
		b.Documents, b.Changes, b.Resources = append(b.Documents, more.Documents...), append(b.Changes, more.Changes...), append(b.Resources, more.Resources...)
		b.Operations, b.Intents = append(b.Operations, more.Operations...), append(b.Intents, more.Intents...)
	}
	mustCommit(t, s, b)
	if err := s.SaveSnapshot(t.Context(), b.Documents[0].ID, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, c := range sealed { // back, with the store's own key
		rows, err := s.conn.QueryContext(ctx, `SELECT `+c.column+`, `+strings.Join(c.row, `, `)+` FROM `+c.table+` WHERE `+c.column+` IS NOT NULL`)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rows.Close() }) // before the store is closed, which waits for it
		type value struct {
			sealed, plain []byte
		}
		var all []value
		for rows.Next() {
			var v value
			row := make([]string, len(c.row))
			to := []any{&v.sealed}
			for i := range row {
				to = append(to, &row[i])
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			v.plain = bytes.Clone(v.sealed)
			if err := s.vault.open(&v.plain, c.table+"."+c.column, row...); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		rows.Close()
		for _, v := range all {
			if _, err := s.conn.ExecContext(ctx, `UPDATE `+c.table+` SET `+c.column+` = ? WHERE `+c.column+` = ?`, v.plain, v.sealed); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, q := range []string{`INSERT INTO snapshots VALUES ('gone', CAST('` + secret + `' AS BLOB))`, `DELETE FROM snapshots WHERE document = 'gone'`,
		`DROP TABLE vault`, `PRAGMA user_version = 1`} {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAnOlderDatabaseIsEncrypted: all of it, when it is opened first, what was deleted from it too.
func TestAnOlderDatabaseIsEncrypted(t *testing.T) {
	dir := t.TempDir()
	older(t, dir, 600) // more than a page
	if files := inClear(t, dir); files == nil {
		t.Fatal("the older database hides it")
	}
	s := open(t, dir)
	shows(t, s)
	if files := inClear(t, dir); files != nil {
		t.Errorf("it lies in %v", files)
	}
	for i := range 600 {
		if yes, err := has(s, i+2); !yes || err != nil {
			t.Fatalf("sample %d: %v, %v", i+2, yes, err)
		}
	}
}

// TestEncryptionIsGoneOnWith: an agent that was killed between encrypting and clearing away clears away at its next start.
func TestEncryptionIsGoneOnWith(t *testing.T) {
	dir := t.TempDir()
	older(t, dir, 0)
	s := open(t, dir)
	for _, q := range []string{`UPDATE vault SET clean = 0`, `CREATE TABLE old (x)`, `INSERT INTO old VALUES ('` + secret + `')`, `DROP TABLE old`} {
		if _, err := s.conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files := inClear(t, dir); files == nil {
		t.Fatal("nothing is to be cleared away")
	}
	open(t, dir)
	if files := inClear(t, dir); files != nil {
		t.Errorf("it lies in %v", files)
	}
}

// TestTheKey: it may lie elsewhere; without it, and with another, a store says what is wrong and changes nothing.
func TestTheKey(t *testing.T) {
	dir, usb := t.TempDir(), t.TempDir()
	elsewhere := Options{Key: filepath.Join(usb, "paris.key")}
	s, err := Open(dir, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	b := confidential()
	mustCommit(t, s, b)
	if err := errors.Join(s.SaveSnapshot(t.Context(), b.Documents[0].ID, []byte(secret)), s.Close()); err != nil {
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
	refused(elsewhereIn(usb), "move it there")
	if err := os.Rename(filepath.Join(dir, vaultFile), elsewhereIn(usb).Key); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, elsewhereIn(usb)); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func elsewhereIn(dir string) Options { return Options{Key: filepath.Join(dir, "nantes.key")} }

// TestValuesKeepTheirPlaces: one that was put in another's place is not taken for it.
func TestValuesKeepTheirPlaces(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	b := confidential()
	mustCommit(t, s, b)
	var raw []byte
	if err := s.reads.QueryRow(`SELECT body FROM operations`).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	other := sample(2)
	mustCommit(t, s, other)
	for _, q := range []string{`UPDATE operations SET change = ?1`, `UPDATE changes SET bytes = ?1`, `UPDATE operations SET change = NULL, body = ?1 WHERE id = '` + string(other.Operations[0].ID) + `'`} {
		if _, err := s.conn.ExecContext(t.Context(), q, raw); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := s.Operation(t.Context(), other.Operations[0].ID); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("the body of another is taken for its own: %+v, %v", o, err)
	}
	if o, err := s.Operation(t.Context(), b.Operations[0].ID); !errors.Is(err, engine.ErrStorage) || errors.Is(err, engine.ErrRefused) {
		t.Errorf("%+v, %v", o, err)
	}
	if c, _, err := s.Changes(t.Context(), b.Documents[0].ID, nil, 0); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAnOlderBlobIsRead: one that is in clear is given out until it is dropped, and one that was being fetched is fetched anew.
func TestAnOlderBlobIsRead(t *testing.T) {
	dir := t.TempDir()
	b := openBlobs(t, dir)
	body := bytesOf(1, 2*engine.ChunkSize+7)
	ref, release := mustTake(t, b, body)
	defer release()
	if err := os.WriteFile(b.path(ref.Hash, ""), body, 0o600); err != nil {
		t.Fatal(err)
	}
	for first := range ref.Chunks() {
		if got, err := readBlob(b, ref, first); err != nil || !bytes.Equal(got, body[first*engine.ChunkSize:]) {
			t.Errorf("from chunk %d: %d bytes, %v", first, len(got), err)
		}
	}
	if err := os.Rename(b.path(ref.Hash, ""), b.path(ref.Hash, partSuffix)); err != nil {
		t.Fatal(err)
	}
	in, err := b.Begin(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if in.Next() != 0 || in.Digests() == nil {
		t.Errorf("it goes on at chunk %d", in.Next())
	}
}
