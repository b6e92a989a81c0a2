package front

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/skerry/skerry/engine"
)

// large is the large body of a request at this site while the request runs. It comes in once: into a blob, when it is to run here,
// or through a spool, when other sites get it. Copies of a request share it.
type large struct {
	engine.Body // what can be read of it now
	blob        *engine.BlobRef
	release     func() // lets go of the blob
	spool       engine.Spool
}

// blobBody is a blob of this site as the body of a request.
type blobBody struct {
	blobs engine.Blobs
	ref   engine.BlobRef
}

func (b *blobBody) Size() int64                  { return b.ref.Size }
func (b *blobBody) Open() (io.ReadCloser, error) { return b.blobs.Open(b.ref, 0) }

// largeOf returns the large body of a request that Submit has taken up; nil without one.
func largeOf(r engine.Request) *large {
	l, _ := r.Large.(*large)
	return l
}

// blobOf returns what has been made of a large body at this site; nil for nothing.
func blobOf(r engine.Request) *engine.BlobRef {
	if l := largeOf(r); l != nil {
		return l.blob
	}
	return nil
}

// end lets go of a body once its request has ended: when what needs it is on disk, or nothing ever will.
func (l *large) end() {
	if l.spool != nil {
		_ = l.spool.Close() // it was kept before, or is not needed
	}
	if l.release != nil {
		l.release()
	}
}

// takeLarge makes the large body of a request that is to run here a blob of this site.
func (a *around) takeLarge(ctx context.Context, r engine.Request) error {
	l := largeOf(r)
	if l == nil || l.blob != nil {
		return nil
	}
	in, err := l.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	ref, release, err := a.takeBody(ctx, in)
	if err != nil {
		return err
	}
	l.blob, l.release, l.Body = &ref, release, &blobBody{a.Blobs, ref}
	return nil
}

// Spool makes a body readable more than once, encrypted while it lies here.
func (l *large) Spool(in engine.Spools) (engine.Spool, error) {
	if l.spool != nil {
		return l.spool, nil
	}
	r, err := l.Open()
	if err != nil {
		return nil, err
	}
	spool, err := in.Spool(r, l.Size())
	if err != nil {
		return nil, err
	}
	l.spool, l.Body = spool, spool
	return spool, nil
}

// takeBody makes what r yields a blob of this site. Release is to be called when what needs it is on disk, or nothing ever will.
func (a *around) takeBody(ctx context.Context, r io.Reader) (ref engine.BlobRef, release func(), err error) {
	ref, letGo, err := a.Blobs.Take(ctx, r)
	if err != nil {
		return ref, nil, engine.Incomplete(err)
	}
	release = func() {
		letGo()
		a.dropBlob(context.WithoutCancel(ctx), ref.Hash)
	}
	if err := ref.Validate(); err != nil {
		release()
		return ref, nil, fmt.Errorf("take in a body: %w: %w", engine.ErrTooLarge, err)
	}
	return ref, release, nil
}

// embody makes the body of a request that is to run here one that an operation can carry: a blob where it is large. Body is what is
// to be looked into, where that may be.
func (a *around) embody(ctx context.Context, r engine.Request) (body []byte, blob *engine.BlobRef, release func(), err error) {
	if err := a.takeLarge(ctx, r); err != nil {
		return nil, nil, nil, err
	}
	release = func() {}
	if blob = blobOf(r); blob != nil {
		body, err = a.looked(r.Type, *blob)
		return body, blob, release, err
	}
	body = a.inMeta(ctx, r)
	if len(body) <= engine.MaxInlineBody {
		return body, nil, release, nil
	}
	ref, release, err := a.takeBody(ctx, bytes.NewReader(body))
	return body, &ref, release, err
}

// looked returns the bytes of a blob that is looked into, nil for any other.
func (a *around) looked(t engine.Type, ref engine.BlobRef) ([]byte, error) {
	switch t {
	case engine.TypeReplace, engine.TypeMerge, engine.TypePatch:
		if ref.Size > engine.MaxLooked {
			return nil, &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: fmt.Sprintf(
				"a representation or a patch has at most %d bytes; nothing has happened", engine.MaxLooked)}
		}
	case engine.TypeCreate:
		if ref.Size > engine.MaxLooked {
			return nil, nil
		}
	default:
		return nil, nil
	}
	in, err := a.Blobs.Open(ref, 0)
	if err != nil {
		return nil, fmt.Errorf("read a body: %w", err)
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, engine.MaxLooked))
}
