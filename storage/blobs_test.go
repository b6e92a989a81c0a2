package storage

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/skerry/skerry/engine"
)

// bytesOf returns size random bytes, the same for the same seed.
func bytesOf(seed byte, size int) []byte {
	b := make([]byte, size)
	random := rand.NewChaCha8([32]byte{seed})
	_, _ = random.Read(b) // it never fails
	return b
}

func openBlobs(t *testing.T, dir string) *Blobs {
	t.Helper()
	v, err := openVault(dir, "", true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenBlobs(dir, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustTake(t *testing.T, b *Blobs, body []byte) (engine.BlobRef, func()) {
	t.Helper()
	ref, release, err := b.Take(t.Context(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return ref, release
}

func readBlob(b *Blobs, ref engine.BlobRef, first int64) ([]byte, error) {
	r, err := b.Open(ref, first)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// files lists what is in the directory of blobs.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func not() (bool, error) { return false, nil }

func TestBlobsComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	b := openBlobs(t, dir)
	for _, size := range []int{1, engine.ChunkSize - 1, engine.ChunkSize, engine.ChunkSize + 1, 3*engine.ChunkSize + 7} {
		body := bytesOf(1, size)
		ref, release := mustTake(t, b, body)
		release()
		for first := range ref.Chunks() {
			got, err := readBlob(openBlobs(t, dir), ref, first)
			if err != nil || !bytes.Equal(got, body[first*engine.ChunkSize:]) {
				t.Errorf("%d bytes from chunk %d: %d bytes, %v", size, first, len(got), err)
			}
		}
		if d, err := b.Digests(ref); err != nil || !d.Are(ref) {
			t.Errorf("digests of %d bytes: %v", size, err)
		}
	}
}

func TestBlobsThatSomebodyNeedsStay(t *testing.T) {
	dir := t.TempDir()
	b := openBlobs(t, dir)
	body := bytesOf(1, 2*engine.ChunkSize)
	ref, release := mustTake(t, b, body)
	again, releaseAgain := mustTake(t, b, body)
	if again != ref || len(files(t, b.dir)) != 2 {
		t.Fatalf("the same body is %v and %v, in %v", ref, again, files(t, b.dir))
	}
	drop := func(needed func() (bool, error)) {
		t.Helper()
		if err := b.Drop(ref.Hash, needed); err != nil {
			t.Fatal(err)
		}
	}
	release()
	release() // twice is once
	drop(not)
	if !b.Has(ref) {
		t.Fatal("it is dropped while somebody holds it")
	}
	releaseAgain()
	drop(func() (bool, error) { return true, nil })
	if !b.Has(ref) {
		t.Fatal("it is dropped though it is needed")
	}
	r, err := b.Open(ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	drop(not)
	if b.Has(ref) || len(files(t, b.dir)) != 0 {
		t.Errorf("it stays: %v", files(t, b.dir))
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
		t.Errorf("who was reading it gets %d bytes, %v", len(got), err)
	}
	if _, err := b.Open(ref, 0); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("Open of what was dropped: %v", err)
	}
}

// Bodies that do not come whole, and what a crash has left, take no room.
func TestNothingIsLeftOfWhatIsNotWhole(t *testing.T) {
	dir := t.TempDir()
	b := openBlobs(t, dir)
	body := bytesOf(1, 2*engine.ChunkSize)
	for _, end := range []error{errors.New("the client has gone"), io.ErrUnexpectedEOF} {
		_, _, err := b.Take(t.Context(), io.MultiReader(bytes.NewReader(body[:engine.ChunkSize+1]), iotest.ErrReader(end)))
		if !errors.Is(err, end) || errors.Is(err, engine.ErrStorage) {
			t.Errorf("a body that ends with %v: %v", end, err)
		}
	}
	if left := files(t, b.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	kept, _ := mustTake(t, b, body)
	other, _ := mustTake(t, b, body[1:])
	in, err := b.Begin(engine.Digests(bytesOf(2, 64)).Of(engine.ChunkSize + 1))
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	for _, name := range []string{"new-1", string(kept.Hash) + ".digests.new"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b = openBlobs(t, dir)
	if err := b.Sweep(map[engine.BlobHash]bool{kept.Hash: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, b.dir), []string{string(kept.Hash), string(kept.Hash) + digestsSuffix}; !slices.Equal(got, want) {
		t.Errorf("%v is left, want %v", got, want)
	}
	if !b.Has(kept) || b.Has(other) {
		t.Error("the wrong one is left")
	}
}

// A blob that the disk has damaged is not given out, and fetched again.
func TestDamagedBlobsAreNotGivenOut(t *testing.T) {
	b := openBlobs(t, t.TempDir())
	body := bytesOf(1, 3*engine.ChunkSize)
	ref, release := mustTake(t, b, body)
	release()
	f, err := os.OpenFile(b.path(ref.Hash, ""), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	damaged := make([]byte, 1)
	if _, err := f.ReadAt(damaged, sealedChunk+100); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{damaged[0] ^ 1}, sealedChunk+100); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got, err := readBlob(b, ref, 0)
	if !errors.Is(err, engine.ErrStorage) || !bytes.Equal(got, body[:engine.ChunkSize]) {
		t.Errorf("%d bytes are given out, %v", len(got), err)
	}
	if b.Has(ref) {
		t.Error("it still counts as here")
	}
	in, err := b.Begin(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if in.Digests() == nil {
		t.Error("its digests are fetched again")
	}
}

// chunkOf returns chunk i of a body.
func chunkOf(body []byte, i int64) []byte {
	return body[i*engine.ChunkSize : min((i+1)*engine.ChunkSize, int64(len(body)))]
}

// What has been fetched stays, over restarts, and nothing of it is taken on trust.
func TestFetchingGoesOnWhereItWasLeft(t *testing.T) {
	dir := t.TempDir()
	body := bytesOf(1, 4*engine.ChunkSize+9)
	h := engine.NewBlobHasher()
	_, _ = h.Write(body)
	ref, digests := h.Sum()
	begin := func() engine.Incoming {
		t.Helper()
		in, err := openBlobs(t, dir).Begin(ref)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	in := begin()
	if err := in.Add(chunkOf(body, 0)); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a chunk before the digests: %v", err)
	}
	if err := in.SetDigests(digests[32:]); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("other digests: %v", err)
	}
	if err := in.SetDigests(digests); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if err := in.Add(chunkOf(body, i+1)); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("another chunk: %v", err)
		}
		if err := in.Add(chunkOf(body, i)); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()

	in = begin()
	if in.Next() != 3 || in.Digests() == nil {
		t.Errorf("it goes on at chunk %d", in.Next())
	}
	in.Close()
	// After a power cut anything may be at its end.
	part := openBlobs(t, dir).path(ref.Hash, partSuffix)
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(3*engine.ChunkSize-1), f.Truncate(5*engine.ChunkSize), f.Close()); err != nil {
		t.Fatal(err)
	}
	in = begin()
	if in.Next() != 2 {
		t.Errorf("with a damaged end it goes on at chunk %d", in.Next())
	}
	for i := in.Next(); i < ref.Chunks(); i++ {
		if err := in.Add(chunkOf(body, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Done(); err != nil {
		t.Fatal(err)
	}
	b := openBlobs(t, dir)
	if got, err := readBlob(b, ref, 0); err != nil || !bytes.Equal(got, body) {
		t.Errorf("fetched: %d bytes, %v", len(got), err)
	}
	if got := files(t, b.dir); len(got) != 2 {
		t.Errorf("beside it are %v", got)
	}
}

// A client may send what another site sends at the same time.
func TestABlobComesFromTwoSidesAtOnce(t *testing.T) {
	b := openBlobs(t, t.TempDir())
	for seed := range byte(20) {
		body := bytesOf(seed, engine.ChunkSize)
		h := engine.NewBlobHasher()
		h.Write(body)
		ref, digests := h.Sum()
		in, err := b.Begin(ref)
		if err != nil {
			t.Fatal(err)
		}
		fetched := make(chan error)
		go func() { fetched <- errors.Join(in.SetDigests(digests), in.Add(body), in.Done()) }()
		_, release, err := b.Take(t.Context(), bytes.NewReader(body))
		if err = errors.Join(err, <-fetched); err != nil {
			t.Fatal(err)
		}
		if got, err := readBlob(b, ref, 0); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes of %d come back: %v", len(got), len(body), err)
		}
		release()
	}
}
