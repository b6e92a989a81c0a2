package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Some applications take what belongs to a resource beside its representation once, and refuse it when it is sent again after a crash. The
// catalog says where it is read, so that they can be asked what they have.

// contentOf returns the part of the content that an operation puts in its place, nil when it is none.
func (k *Kind) contentOf(o *Operation) *Content {
	i := slices.IndexFunc(k.Content, func(c Content) bool { return c.Method == o.Method && c.Write == o.Path })
	if i < 0 || o.Type != TypeAbsolute {
		return nil
	}
	return &k.Content[i]
}

// written tells what came of content that the application has refused: it has these very bytes, it has others or none
// (verdictRefused), it cannot tell now (verdictLater), or never (verdictUnknown). The caller holds the turn.
func (s *Site) written(ctx context.Context, k *Kind, o *Operation, local LocalID) verdict {
	part := k.contentOf(o)
	if part == nil || local == "" {
		return verdictUnknown
	}
	want := refOf(o.Body)
	if o.Blob != nil {
		want = *o.Blob
	}
	return s.holds(ctx, k, part, local, want)
}

// holds tells whether the application has these bytes as a part of the content of an object, as written does.
func (s *Site) holds(ctx context.Context, k *Kind, part *Content, local LocalID, want BlobRef) verdict {
	if busy, err := s.busy(ctx, k, part, local); busy || err != nil {
		return verdictLater
	}
	reply, err := s.cfg.App.Do(ctx, Call{Kind: k, Method: http.MethodGet, Path: part.Read, Local: local,
		Header: map[string]string{"Accept": "*/*"}, Stream: true})
	switch {
	case err != nil:
		return verdictLater
	case reply.none():
		return verdictRefused
	case reply.Status != http.StatusOK:
		return verdictLater
	}
	has, err := reply.hash()
	switch {
	case err != nil:
		return verdictLater
	case has == want:
		return verdictDone
	}
	return verdictRefused
}

// busy reports whether the application shows that a part of the content is being put in its place.
func (s *Site) busy(ctx context.Context, k *Kind, part *Content, local LocalID) (bool, error) {
	if len(part.Busy) == 0 {
		return false, nil
	}
	shown, err := s.read(ctx, k, local)
	if err != nil || shown.Status != http.StatusOK {
		return false, err
	}
	tree, err := parseJSON(shown.Body)
	if err != nil { // nothing tells
		return false, nil
	}
	value, ok := valueAt(tree, part.BusyAt)
	return ok && slices.ContainsFunc(part.Busy, func(v json.RawMessage) bool { return bytes.Equal(v, compact(value)) }), nil
}

// none reports whether an application has answered that there is no content.
func (r Reply) none() bool {
	return r.Status == http.StatusNoContent || isGone(r, nil)
}

// hash reads the body of an answer to its end.
func (r Reply) hash() (BlobRef, error) {
	if r.Content == nil {
		return refOf(r.Body), nil
	}
	defer r.Content.Close()
	h := NewBlobHasher()
	if _, err := io.Copy(h, r.Content); err != nil {
		return BlobRef{}, fmt.Errorf("read content: %w", err)
	}
	ref, _ := h.Sum()
	return ref, nil
}

func refOf(b []byte) BlobRef {
	h := NewBlobHasher()
	_, _ = h.Write(b) // never fails
	ref, _ := h.Sum()
	return ref
}
