package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/skerry/skerry/engine"
)

// Blobs is what a site has on disk of large bodies. It implements engine.Blobs and engine.Spools.
type Blobs struct {
	whole map[engine.BlobHash][]byte
	parts map[engine.BlobHash]*incoming
	held  map[engine.BlobHash]int
	kept  map[string][]byte
	names int
}

// NewBlobs returns an empty one.
func NewBlobs() *Blobs {
	return &Blobs{whole: map[engine.BlobHash][]byte{}, parts: map[engine.BlobHash]*incoming{}, held: map[engine.BlobHash]int{}, kept: map[string][]byte{}}
}

// Count returns how many blobs are here, whole or in part, and how many kept bodies.
func (b *Blobs) Count() (blobs, kept int) { return len(b.whole) + len(b.parts), len(b.kept) }

// Clone returns a copy: a backup.
func (b *Blobs) Clone() *Blobs {
	c := NewBlobs()
	c.whole, c.kept, c.names = maps.Clone(b.whole), maps.Clone(b.kept), b.names
	return c
}

// refOf names what would be the blob of a body.
func refOf(body []byte) engine.BlobRef {
	ref, _ := digestsOf(body)
	return ref
}

func digestsOf(body []byte) (engine.BlobRef, engine.Digests) {
	h := engine.NewBlobHasher()
	_, _ = h.Write(body) // it never fails
	return h.Sum()
}

// Take implements engine.Blobs.
func (b *Blobs) Take(_ context.Context, r io.Reader) (engine.BlobRef, func(), error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return engine.BlobRef{}, nil, err
	}
	ref, _ := digestsOf(body)
	b.whole[ref.Hash] = body
	b.held[ref.Hash]++
	return ref, func() { b.held[ref.Hash]-- }, nil
}

// Has implements engine.Blobs.
func (b *Blobs) Has(ref engine.BlobRef) bool { return b.whole[ref.Hash] != nil }

// Open implements engine.Blobs.
func (b *Blobs) Open(ref engine.BlobRef, first int64) (io.ReadCloser, error) {
	body := b.whole[ref.Hash]
	if body == nil {
		return nil, fmt.Errorf("open blob %s: %w", ref.Hash, engine.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(body[min(first*engine.ChunkSize, ref.Size):])), nil
}

// Digests implements engine.Blobs.
func (b *Blobs) Digests(ref engine.BlobRef) (engine.Digests, error) {
	body := b.whole[ref.Hash]
	if body == nil {
		return nil, engine.ErrNotFound
	}
	_, d := digestsOf(body)
	return d, nil
}

// Begin implements engine.Blobs.
func (b *Blobs) Begin(ref engine.BlobRef) (engine.Incoming, error) {
	if b.parts[ref.Hash] == nil {
		b.parts[ref.Hash] = &incoming{blobs: b, ref: ref}
	}
	return b.parts[ref.Hash], nil
}

// Drop implements engine.Blobs.
func (b *Blobs) Drop(h engine.BlobHash, needed func() (bool, error)) error {
	if b.held[h] > 0 {
		return nil
	}
	if yes, err := needed(); yes || err != nil {
		return err
	}
	delete(b.whole, h)
	delete(b.parts, h)
	return nil
}

// Sweep implements engine.Blobs.
func (b *Blobs) Sweep(needed map[engine.BlobHash]bool) error {
	clear(b.held)
	maps.DeleteFunc(b.whole, func(h engine.BlobHash, _ []byte) bool { return !needed[h] })
	maps.DeleteFunc(b.parts, func(h engine.BlobHash, _ *incoming) bool { return !needed[h] })
	return nil
}

// incoming implements engine.Incoming.
type incoming struct {
	blobs   *Blobs
	ref     engine.BlobRef
	digests engine.Digests
	body    []byte
}

func (i *incoming) Digests() engine.Digests { return i.digests }
func (i *incoming) Next() int64 {
	return (int64(len(i.body)) + engine.ChunkSize - 1) / engine.ChunkSize
}
func (i *incoming) Close() error { return nil }

func (i *incoming) SetDigests(d engine.Digests) error {
	if !d.Are(i.ref) {
		return engine.ErrRefused
	}
	i.digests = d
	return nil
}

func (i *incoming) Add(chunk []byte) error {
	if !i.digests.Fits(i.Next(), chunk) {
		return engine.ErrRefused
	}
	i.body = append(i.body, chunk...)
	return nil
}

func (i *incoming) Done() error {
	i.blobs.whole[i.ref.Hash] = i.body
	delete(i.blobs.parts, i.ref.Hash)
	return nil
}

// Spools is the side of Blobs that keeps bodies of requests, for one process. It implements engine.Spools.
type Spools struct {
	*Blobs
	p *Process
}

// Spool implements engine.Spools.
func (s Spools) Spool(r io.ReadCloser, size int64) (engine.Spool, error) {
	return &spool{spools: s, source: r, size: size}, nil
}

// Open implements engine.Spools.
func (s Spools) Open(name string, size int64) engine.Body {
	return &spool{spools: s, source: io.NopCloser(bytes.NewReader(nil)), size: size, body: s.kept[name]}
}

// Remove implements engine.Spools.
func (s Spools) Remove(name string) error {
	if s.p.dead { // what it had committed needs the file
		return errDead
	}
	delete(s.kept, name)
	return nil
}

// Sweep implements engine.Spools.
func (s Spools) Sweep(needed map[string]bool) error {
	maps.DeleteFunc(s.kept, func(name string, _ []byte) bool { return !needed[name] })
	return nil
}

// spool implements engine.Spool.
type spool struct {
	spools Spools
	source io.ReadCloser
	size   int64
	body   []byte
	failed error
}

func (s *spool) Size() int64   { return s.size }
func (s *spool) Failed() error { return s.failed }
func (s *spool) Close() error  { return s.source.Close() }

func (s *spool) pull() error {
	more, err := io.ReadAll(s.source)
	s.body = append(s.body, more...)
	s.failed = errors.Join(s.failed, err)
	return s.failed
}

func (s *spool) Open() (io.ReadCloser, error) {
	if err := s.pull(); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(s.body)), nil
}

func (s *spool) Keep() (string, int64, error) {
	if err := s.pull(); err != nil {
		return "", 0, err
	}
	s.spools.names++
	name := fmt.Sprint(s.spools.names)
	s.spools.kept[name] = s.body
	return name, int64(len(s.body)), nil
}

// Body is the body of a request that comes in once, as from a client.
func Body(b []byte) engine.Body { return body(b) }

type body []byte

// Open implements engine.Body.
func (b body) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }

// Size implements engine.Body.
func (b body) Size() int64 { return int64(len(b)) }
