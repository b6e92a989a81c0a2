package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/next/engine"
)

// TestBlobsOnAFullDisk fills a disk of 8 MiB: what finds no room leaves nothing, and bodies leave some room to the database.
func TestBlobsOnAFullDisk(t *testing.T) {
	dir := inTmpfs(t, "8m")
	if dir == "" {
		return
	}
	b, s := openBlobs(t, dir), openSpools(t, dir)
	body := bytesOf(1, 5*engine.ChunkSize)
	small, _ := mustTake(t, b, body[:engine.ChunkSize])
	full := func(when string, err error) {
		t.Helper()
		if !errors.Is(err, engine.ErrStorage) {
			t.Errorf("%s: %v, want ErrStorage", when, err)
		}
	}
	check := func(when string, left ...string) {
		t.Helper()
		if names := files(t, b.dir); len(names) != len(left)+2 || len(files(t, s.dir)) > 0 {
			t.Errorf("%s: left are %v and %v", when, names, files(t, s.dir))
		}
		// The database still can do what it has begun.
		if err := os.WriteFile(filepath.Join(dir, "database"), body[:400<<10], 0o600); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if err := os.Remove(filepath.Join(dir, "database")); err != nil {
			t.Fatal(err)
		}
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, body[:3*engine.ChunkSize], 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.Take(t.Context(), bytes.NewReader(body))
	full("taking in", err)
	check("taking in")

	spool, err := s.Spool(io.NopCloser(bytes.NewReader(body)), -1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = all(spool)
	full("spooling", err)
	full("spooling, asked", spool.Failed())
	if err := spool.Close(); err != nil {
		t.Fatal(err)
	}
	check("spooling")

	h := engine.NewBlobHasher()
	_, _ = h.Write(body)
	ref, digests := h.Sum()
	fetch := func() error {
		in, err := b.Begin(ref)
		if err != nil {
			return err
		}
		defer in.Close()
		if in.Digests() == nil {
			err = in.SetDigests(digests)
		}
		for err == nil && in.Next() < ref.Chunks() {
			err = in.Add(chunkOf(body, in.Next()))
		}
		if err != nil {
			return err
		}
		return in.Done()
	}
	full("fetching", fetch())
	check("fetching", "the part", "its digests")

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := fetch(); err != nil {
		t.Fatalf("fetching, with room again: %v", err)
	}
	if got, err := readBlob(b, ref, 0); err != nil || !bytes.Equal(got, body) {
		t.Errorf("with room again: %d bytes, %v", len(got), err)
	}
	if !b.Has(small) {
		t.Error("what was there is lost")
	}
}
