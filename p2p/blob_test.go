package p2p

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/skerry/skerry/engine"
)

// fakeIncoming keeps a blob in memory.
type fakeIncoming struct {
	ref     engine.BlobRef
	digests engine.Digests
	body    []byte
	added   int
	add     func() error // unless nil, asked first by Add
}

func (f *fakeIncoming) Digests() engine.Digests { return f.digests }
func (f *fakeIncoming) Next() int64             { return int64(len(f.body)) / engine.ChunkSize }
func (f *fakeIncoming) Done() error             { return nil }
func (f *fakeIncoming) Close() error            { return nil }

func (f *fakeIncoming) SetDigests(d engine.Digests) error {
	if !d.Are(f.ref) {
		return engine.ErrRefused
	}
	f.digests = d
	return nil
}

func (f *fakeIncoming) Add(chunk []byte) error {
	if f.add != nil {
		if err := f.add(); err != nil {
			return err
		}
	}
	if !f.digests.Fits(f.Next(), chunk) {
		return engine.ErrRefused
	}
	f.body = append(f.body, chunk...)
	f.added++
	return nil
}

// testBlob makes a blob of a few chunks and returns its bytes.
func testBlob(size int) (body []byte, ref engine.BlobRef, digests engine.Digests) {
	body = make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // it never fails
	h := engine.NewBlobHasher()
	_, _ = h.Write(body)
	ref, digests = h.Sum()
	return body, ref, digests
}

// gives has a site give the blob; what it says of the chunks from first on is up to from.
func (f *fakeExchange) gives(d engine.Digests, from func(first int64) io.Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.digests, f.blob = d, from
}

func TestBlobsTravelToThePlacementAlone(t *testing.T) {
	s := newTestMesh(t, 3, testConfig{})
	body, ref, digests := testBlob(3*engine.ChunkSize + 100)
	id := s[0].exchange.create("d", ids(s[:2]))
	in := &fakeIncoming{ref: ref}
	if err := s[1].net.Fetch(t.Context(), s[0].id, id, ref, in); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a blob that is not there: %v", err)
	}
	s[0].exchange.gives(digests, func(first int64) io.Reader { return bytes.NewReader(body[first*engine.ChunkSize:]) })
	if err := s[2].net.Fetch(t.Context(), s[0].id, id, ref, &fakeIncoming{ref: ref}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a site that has no part in the document: %v", err)
	}
	_, stranger := testKey(t)
	if err := s[1].net.Fetch(t.Context(), stranger, id, ref, in); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("from a stranger: %v", err)
	}
	if err := s[1].net.Fetch(t.Context(), s[0].id, id, ref, in); err != nil || !bytes.Equal(in.body, body) {
		t.Fatalf("%d bytes came, %v", len(in.body), err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A fetch that was cut, on either side, goes on with the chunk where it was cut.
func TestACutBlobIsFetchedOn(t *testing.T) {
	s := newTestMesh(t, 2, testConfig{})
	body, ref, digests := testBlob(6 * engine.ChunkSize)
	id := s[0].exchange.create("d", ids(s))
	in := &fakeIncoming{ref: ref}
	cut := errors.New("the connection is cut")
	var asked []int64
	taken := make(chan struct{}) // closed when two chunks have come: a cut takes along what is under way
	in.add = func() error {
		if in.added == 1 {
			close(taken)
		}
		return nil
	}
	s[0].exchange.gives(digests, func(first int64) io.Reader {
		if asked = append(asked, first); len(asked) == 1 {
			return io.MultiReader(bytes.NewReader(body[:2*engine.ChunkSize+7]), readerFunc(func([]byte) (int, error) {
				<-taken
				return 0, cut
			}))
		}
		return bytes.NewReader(body[first*engine.ChunkSize:])
	})
	if err := s[1].net.Fetch(t.Context(), s[0].id, id, ref, in); err == nil || errors.Is(err, engine.ErrRefused) {
		t.Errorf("cut at the sender: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in.add = func() error {
		if in.added == 4 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	if err := s[1].net.Fetch(ctx, s[0].id, id, ref, in); err == nil {
		t.Error("it was fetched after its end")
	}
	in.add = nil
	if err := s[1].net.Fetch(t.Context(), s[0].id, id, ref, in); err != nil || !bytes.Equal(in.body, body) {
		t.Errorf("%d bytes came, %v", len(in.body), err)
	}
	if len(asked) != 3 || asked[0] != 0 || asked[1] != 2 || asked[2] != 4 || in.added != 6 {
		t.Errorf("it was asked from chunks %v on, and %d chunks were taken in", asked, in.added)
	}
}

// What is not the blob is not taken in, and is held against who gave it.
func TestAHostileSiteGivesSomethingElse(t *testing.T) {
	s := newTestMesh(t, 2, testConfig{})
	body, ref, digests := testBlob(2*engine.ChunkSize + 1)
	id := s[0].exchange.create("d", ids(s))
	wrong := bytes.Clone(body)
	wrong[engine.ChunkSize+3] ^= 1
	_, _, others := testBlob(2*engine.ChunkSize + 2)
	for what, give := range map[string]struct {
		digests engine.Digests
		body    []byte
		good    int // chunks
	}{
		"another chunk":      {digests, wrong, 1},
		"other digests":      {others, body, 0},
		"no digests":         {nil, body, 0},
		"a part of a digest": {digests[:33], body, 0},
	} {
		s[0].exchange.gives(give.digests, func(int64) io.Reader { return bytes.NewReader(give.body) })
		in := &fakeIncoming{ref: ref}
		before := s[1].net.Counters().Refused
		if err := s[1].net.Fetch(t.Context(), s[0].id, id, ref, in); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
		if in.added != give.good || s[1].net.Counters().Refused != before+1 {
			t.Errorf("%s: %d chunks were taken in, %d refusals", what, in.added, s[1].net.Counters().Refused-before)
		}
	}
}

func TestWrongBlobRequests(t *testing.T) {
	_, ref, _ := testBlob(2 * engine.ChunkSize)
	id := testDocumentID([]byte("d"))
	if err := (blobRequest{Document: id, Blob: ref, First: 1}).check(); err != nil {
		t.Error(err)
	}
	for _, r := range []blobRequest{
		{}, {Document: "x", Blob: ref}, {Document: id, Blob: ref, First: 2}, {Document: id, Blob: ref, First: -1},
		{Document: id, Blob: engine.BlobRef{Hash: ref.Hash, Size: 1 << 62}}, {Document: id, Blob: engine.BlobRef{Size: ref.Size}},
	} {
		if err := r.check(); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// FuzzBlob feeds both sides of the protocol with anything: nothing but the blob itself is ever taken in, and a request that
// is taken names a chunk that there is.
func FuzzBlob(f *testing.F) {
	body, ref, digests := testBlob(2*engine.ChunkSize + 1)
	answer, err := encodeFrame(blobAnswer{Found: true, Digests: digests}, maxFrame)
	if err != nil {
		f.Fatal(err)
	}
	request, err := encodeFrame(blobRequest{Document: testDocumentID([]byte("d")), Blob: ref, First: 1}, maxBlobRequest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(answer, body[:engine.ChunkSize]...))
	f.Add(answer)
	f.Add(request)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &fakeIncoming{ref: ref}
		err := takeBlob(newFrameReader(bytes.NewReader(b)), ref, in)
		if !bytes.HasPrefix(body, in.body) || err == nil && !bytes.Equal(body, in.body) {
			t.Errorf("%d bytes were taken in that are not the blob's: %v", len(in.body), err)
		}
		var r blobRequest
		if newFrameReader(bytes.NewReader(b)).read(&r, maxBlobRequest) == nil && r.check() == nil && r.Blob.ChunkLen(r.First) <= 0 {
			t.Errorf("%+v was taken", r)
		}
	})
}
