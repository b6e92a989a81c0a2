package failpoint

import (
	"context"
	"io"

	"github.com/skerry/skerry/engine"
)

// Blobs returns b with points around what it does with bodies.
func (h Hit) Blobs(b engine.Blobs) engine.Blobs { return blobs{b, h} }

type blobs struct {
	engine.Blobs
	hit Hit
}

func (b blobs) Take(ctx context.Context, r io.Reader) (ref engine.BlobRef, release func(), err error) {
	err = around(b.hit, TakeBlob, func() (err error) {
		ref, release, err = b.Blobs.Take(ctx, r)
		return err
	})
	return ref, release, err
}

func (b blobs) Begin(ref engine.BlobRef) (engine.Incoming, error) {
	in, err := b.Blobs.Begin(ref)
	if err != nil {
		return nil, err
	}
	return incoming{in, b.hit}, nil
}

func (b blobs) Drop(h engine.BlobHash, needed func() (bool, error)) error {
	return around(b.hit, DropBlob, func() error { return b.Blobs.Drop(h, needed) })
}

type incoming struct {
	engine.Incoming
	hit Hit
}

func (i incoming) SetDigests(d engine.Digests) error {
	return around(i.hit, SetDigests, func() error { return i.Incoming.SetDigests(d) })
}

func (i incoming) Add(chunk []byte) error {
	return around(i.hit, AddChunk, func() error { return i.Incoming.Add(chunk) })
}

func (i incoming) Done() error {
	return around(i.hit, CompleteBlob, i.Incoming.Done)
}

// Spools returns s with points around what it keeps.
func (h Hit) Spools(s engine.Spools) engine.Spools { return spools{s, h} }

type spools struct {
	engine.Spools
	hit Hit
}

func (s spools) Spool(r io.ReadCloser, size int64) (engine.Spool, error) {
	p, err := s.Spools.Spool(r, size)
	if err != nil {
		return nil, err
	}
	return spool{p, s.hit}, nil
}

func (s spools) Remove(name string) error {
	return around(s.hit, DropSpool, func() error { return s.Spools.Remove(name) })
}

type spool struct {
	engine.Spool
	hit Hit
}

func (s spool) Keep() (name string, size int64, err error) {
	err = around(s.hit, KeepSpool, func() (err error) {
		name, size, err = s.Spool.Keep()
		return err
	})
	return name, size, err
}
