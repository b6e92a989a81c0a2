package engine

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// MaxDocument is the most bytes of a body that is looked into, and held in memory for that: to compute what it sets and to
// translate the identifiers in it. A representation or a patch of more is refused; other bodies are opaque.
const MaxDocument = 1 << 20

// ErrIncomplete: a body ended before it was whole, or whoever sent it has gone.
var ErrIncomplete = errors.New("incomplete body")

// stream is a body that can be read once.
type stream struct {
	r    io.Reader
	size int64
}

// Stream returns a body that comes from r, size bytes or -1 when that is not known.
func Stream(r io.Reader, size int64) Body { return &stream{r, size} }

func (s *stream) Size() int64                  { return s.size }
func (s *stream) Open() (io.ReadCloser, error) { return io.NopCloser(s.r), nil }

// blobBody is a blob of this site as the body of a request.
type blobBody struct {
	blobs Blobs
	ref   BlobRef
}

func (b *blobBody) Size() int64                  { return b.ref.Size }
func (b *blobBody) Open() (io.ReadCloser, error) { return b.blobs.Open(b.ref, 0) }

// large is the large body of a request at this site while the request runs. It comes in once: into a blob, when it is to run
// here, or through a spool, when other sites get it. Copies of a request share it.
type large struct {
	Body  // what can be read of it now
	blob  *BlobRef
	taken func() // lets go of the blob
	spool Spool
}

// largeOf returns the large body of a request that Submit has taken up; nil without one.
func (r *Request) largeOf() *large {
	l, _ := r.Large.(*large)
	return l
}

// blob returns what has been made of a large body at this site; nil for nothing.
func (r *Request) blob() *BlobRef {
	if l := r.largeOf(); l != nil {
		return l.blob
	}
	return nil
}

// end lets go of a body once its request has ended: when the intent of it is on disk, or never will be.
func (l *large) end() {
	if l.spool != nil {
		_ = l.spool.Close() // it was kept before, or is not needed
	}
	if l.taken != nil {
		l.taken()
	}
}

// takeLarge makes the large body of a request that is to run here a blob of this site.
func (s *Site) takeLarge(ctx context.Context, r Request) error {
	l := r.largeOf()
	if l == nil || l.blob != nil {
		return nil
	}
	in, err := l.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	ref, taken, err := s.takeBody(ctx, in)
	if err != nil {
		return err
	}
	l.blob, l.taken, l.Body = &ref, taken, &blobBody{s.cfg.Blobs, ref}
	return nil
}

// spool makes the large body of a request, if it has one, readable more than once, encrypted while it lies here.
func (s *Site) spool(r Request) (Spool, error) {
	l := r.largeOf()
	if l == nil || l.spool != nil {
		return l.spooled(), nil
	}
	in, err := l.Open()
	if err != nil {
		return nil, err
	}
	spool, err := s.cfg.Spools.Spool(in, l.Size())
	if err != nil {
		return nil, err
	}
	l.spool, l.Body = spool, spool
	return spool, nil
}

func (l *large) spooled() Spool {
	if l == nil {
		return nil
	}
	return l.spool
}

// takeBody makes what r yields a blob of this site. Done is to be called when the intent of its request is on disk, or never
// will be.
func (s *Site) takeBody(ctx context.Context, r io.Reader) (ref BlobRef, done func(), err error) {
	ref, release, err := s.cfg.Blobs.Take(ctx, r)
	if err != nil {
		return ref, nil, bodyError(err)
	}
	done = func() {
		release()
		s.dropBlob(context.WithoutCancel(ctx), ref.Hash)
	}
	if err := ref.Validate(); err != nil {
		done()
		return ref, nil, fmt.Errorf("take in a body: %w: %w", ErrTooLarge, err)
	}
	return ref, done, nil
}

// bodyError tells a body that did not come whole from a disk without room for it.
func bodyError(err error) error {
	if errors.Is(err, ErrStorage) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, err)
}

// embody makes the body of an operation a blob, unless it is small or one already.
func (s *Site) embody(ctx context.Context, o *Operation) (done func(), err error) {
	if len(o.Body) <= MaxInlineBody {
		return func() {}, nil
	}
	ref, done, err := s.takeBody(ctx, bytes.NewReader(o.Body))
	if err == nil {
		o.Body, o.Blob = nil, &ref
	}
	return done, err
}

// document returns the body of an operation, if it is one that is looked into.
func (s *Site) document(o *Operation) ([]byte, error) {
	if o.Blob == nil {
		return o.Body, nil
	}
	switch o.Type {
	case TypeReplace, TypeMerge, TypePatch:
		if o.Blob.Size > MaxDocument {
			return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: fmt.Sprintf(
				"a representation or a patch has at most %d bytes; nothing has happened", MaxDocument)}
		}
	case TypeCreate:
		if o.Blob.Size > MaxDocument {
			return nil, nil
		}
	default:
		return nil, nil
	}
	in, err := s.cfg.Blobs.Open(*o.Blob, 0)
	if err != nil {
		return nil, fmt.Errorf("read the body of operation %s: %w", o.ID, err)
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, MaxDocument))
}

// hashOf tells bodies of requests apart.
func hashOf(ref BlobRef) (sum [32]byte) {
	_, _ = hex.Decode(sum[:], []byte(ref.Hash)) // this site has made it
	return sum
}

// dropBlobOf removes the body of an operation, unless something here needs it.
func (s *Site) dropBlobOf(ctx context.Context, o *Operation) {
	if o.Blob != nil {
		s.dropBlob(context.WithoutCancel(ctx), o.Blob.Hash)
	}
}

// dropBlob removes a blob that nothing here needs any more.
func (s *Site) dropBlob(ctx context.Context, h BlobHash) {
	err := s.cfg.Blobs.Drop(h, func() (bool, error) { return s.cfg.Store.NeedsBlob(ctx, h) })
	if err != nil { // it goes with the next start
		s.cfg.Log.Error("drop a body that nothing needs", "blob", string(h), "err", err)
	}
}
