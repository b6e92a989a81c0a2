package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// HeaderSettled tells, beside content, what was settled where it was read: a Progress as JSON.
const HeaderSettled = "Skerry-Settled"

// Progress is what a site had settled of a resource, as its replica entry tells it in an epoch.
type Progress struct {
	Epoch   uint64          `json:"epoch,omitempty"`
	Settled map[Line]uint64 `json:"settled"`
}

// settled reports whether an operation was settled.
func (p Progress) settled(o *Operation) bool {
	r := Replica{Settled: p.Settled, epoch: p.Epoch}
	return r.settled(o)
}

// copyContent brings what belongs to a resource beside its representation to a site that was added: it is read at the
// nearest site that has it and written here. It reports whether to try again later. Writes are absolute, so that all of it
// may be done once more after a crash. The caller holds the turn.
func (s *Site) copyContent(ctx context.Context, r *resource) (again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	kind, key, local := v.kind, v.about.Key, v.local()
	joined := v.history.Get(v.replica(s.cfg.Self).Joined)
	holders := v.holders()
	unlock()
	if joined == nil {
		return false, fmt.Errorf("copy the content of %s: %w: what has added this site", key, ErrNotFound)
	}
	status := s.network.Status()
	last := errors.New("no site that has it can be reached")
	for _, from := range s.nearest(holders) {
		if !status[from].Reachable {
			continue
		}
		var settled Progress
		settled, err = s.copyFrom(ctx, r, kind, key, local, from)
		if err == nil {
			var whole bool
			if whole, err = s.contentCopied(ctx, r, joined, settled); whole || err != nil {
				return false, err
			}
			err = errors.New("it has not applied yet what this site is to begin with")
		}
		var refusal *Refusal
		if errors.As(err, &refusal) { // here, or for good
			return false, s.fail(ctx, r, joined, Outcome{State: StateRejected, Status: refusal.Status, Error: refusal.Detail, Blocks: true})
		}
		last = fmt.Errorf("from %s: %w", s.name(from), err)
	}
	return true, s.note(ctx, r, joined, Reply{}, fmt.Errorf("copy the content: %w", last))
}

// holders lists the other sites that have the object with all that belongs to it.
func (v *view) holders() []SiteID {
	var ids []SiteID
	for _, id := range v.correspondents() {
		if r := v.replica(id); id != v.self && r.Local != "" && !r.Bare {
			ids = append(ids, id)
		}
	}
	return ids
}

// copyFrom copies all parts of the content from one site and returns what was settled there before the first of them was
// read. A *Refusal says that it cannot be done, whatever is tried.
func (s *Site) copyFrom(ctx context.Context, r *resource, k *Kind, key ResourceID, local LocalID, from SiteID) (settled Progress, err error) {
	for i := range k.Content {
		there, err := s.copyPart(ctx, r, k, key, local, from, &k.Content[i])
		if err != nil {
			return settled, err
		}
		if i == 0 {
			settled = there
		}
	}
	return settled, nil
}

// copyPart copies one part of the content.
func (s *Site) copyPart(ctx context.Context, r *resource, k *Kind, key ResourceID, local LocalID, from SiteID, part *Content) (there Progress, err error) {
	a, there, err := s.askContent(ctx, k, key, from, part)
	if err != nil || a.none() { // it has none
		return there, err
	}
	defer a.Content.Close()
	header := map[string]string{}
	for _, name := range travelling {
		if value := a.Header.Get(name); value != "" {
			header[name] = value
		}
	}
	content := &bounded{Reader: a.Content, left: s.cfg.MaxBlob}
	reply, err := s.cfg.App.Do(ctx, Call{Kind: k, Method: part.Method, Path: part.Write, Local: local, Header: header, Content: content, Length: a.Length})
	if content.left < 0 {
		return there, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: fmt.Sprintf(
			"%s is over %d bytes, the most that this site takes (limits.body); copy it by hand, then drop this operation", part.Read, s.cfg.MaxBlob)}
	}
	if content.broken != nil {
		return there, fmt.Errorf("read %s: %w", part.Read, content.broken)
	}
	s.heard(ctx, k.Service, r.id, reply, err, true)
	became := judge(TypeAbsolute, reply, err)
	if became == verdictConflict || became == verdictRefused { // an earlier copy may have come to its end
		a.Content.Close() // the other site lets nobody else in before
		again, before, err := s.askContent(ctx, k, key, from, part)
		if err != nil || again.none() {
			return before, err
		}
		want, err := again.hash()
		if err != nil {
			return before, err
		}
		switch s.holds(ctx, k, part, local, want) {
		case verdictDone:
			return before, nil
		case verdictLater:
			return before, fmt.Errorf("write %s: %s", part.Write, tell(reply, nil))
		}
	}
	switch became {
	case verdictDone:
		return there, nil
	case verdictRefused:
		return there, &Refusal{Status: reply.Status, Type: "upstream", Detail: "the application refuses the content: " + tell(reply, nil)}
	}
	return there, fmt.Errorf("write %s: %s", part.Write, tell(reply, err))
}

// askContent asks another site for a part of the content, which the caller closes, and for what was settled there before it was read.
// There may be none; then there is nothing to close.
func (s *Site) askContent(ctx context.Context, k *Kind, key ResourceID, from SiteID, part *Content) (r Reply, there Progress, err error) {
	a, err := s.forwarder.Forward(ctx, from, Request{
		Kind: k, Type: TypeContent, Method: http.MethodGet, Path: part.Read, Target: string(key), Placement: []SiteID{from},
	})
	if err != nil {
		return r, there, err
	}
	r = Reply{Status: a.Status, Header: a.Header, Body: a.Body, Content: a.Content, Length: a.Length}
	if r.Content == nil {
		r.Content, r.Length = io.NopCloser(bytes.NewReader(a.Body)), int64(len(a.Body))
	}
	switch {
	case hear(a, nil) != heardAnswer:
		err = fmt.Errorf("read %s: %s", part.Read, tell(Reply{Status: a.Status, Body: a.Body}, nil))
	case !r.none() && a.Status/100 != 2:
		err = fmt.Errorf("read %s: status %d", part.Read, a.Status)
	default:
		if err = json.Unmarshal([]byte(a.Header.Get(HeaderSettled)), &there); err != nil {
			err = fmt.Errorf("read %s: %s: %w", part.Read, HeaderSettled, err)
		}
	}
	if err != nil || r.none() {
		r.Content.Close()
	}
	return r, there, err
}

// bounded fails once more than left bytes have come, and tells how its reader has.
type bounded struct {
	io.Reader
	left   int64
	broken error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		b.broken = err
	}
	return n, err
}

// contentCopied records that the content is here, and what of other sites' actions has come with it. It is not whole when the
// site that it is from lacked something that this site's replica begins with.
func (s *Site) contentCopied(ctx context.Context, r *resource, joined *Operation, settled Progress) (whole bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	replica := v.withSettled(v.local(), s.cfg.Now(), joined)
	entries := s.appliedAfterAll(v, []*Operation{joined}, Reply{})
	living, large := v.history.Living(anyOperation), map[string]*Operation{} // the last large bytes of each path that have come
	for _, o := range living {
		if o.Blob != nil && v.kind.contentOf(o) != nil && settled.settled(o) {
			large[o.Path] = o
		}
	}
	for _, o := range living {
		there := settled.settled(o)
		switch l := large[o.Path]; {
		case o.Type == TypeAbsolute && l != nil && Compare(o, l) <= 0:
			if there && !v.settled(s.cfg.Self, o) { // nobody may have its body any more, and what was before is not put over it
				entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied, Carried: true}))
			}
		case o.Type != TypeAction || o.Change != nil:
		case v.settled(s.cfg.Self, o) && !there:
			return false, nil
		case there && !v.settled(s.cfg.Self, o):
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied, Carried: true}))
		}
	}
	entries = append(entries, v.replicaAs(replica))
	return true, s.write(ctx, r, entries, &Batch{})
}

// content answers another site that was added: what this site's application holds of a resource beside its representation,
// read while nothing else runs here, so that it is certain what has gone into it.
func (s *Site) content(ctx context.Context, r Request) (a Answer, err error) {
	row, err := s.Lookup(ctx, r.Kind, r.Target)
	if err != nil || row.Local == "" || len(r.Via) == 0 {
		return Answer{}, notHere(s.name(s.cfg.Self), r)
	}
	part := slices.IndexFunc(r.Kind.Content, func(c Content) bool { return c.Read == r.Path })
	if part < 0 {
		return Answer{}, &Refusal{Status: http.StatusBadRequest, Type: "catalog-mismatch", Detail: fmt.Sprintf(
			"the catalog of %s says of no content at %s", s.name(s.cfg.Self), r.Path)}
	}
	res := s.registry.acquire(row.Document)
	if err := res.take(ctx); err != nil {
		s.registry.release(res)
		return Answer{}, err
	}
	passed := func() {
		res.pass()
		s.registry.release(res)
	}
	defer func() {
		if a.Content == nil {
			passed()
		}
	}()
	unlock := res.lock()
	defer unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		return Answer{}, err
	}
	replica, asks := v.replica(s.cfg.Self), v.part(r.Via[len(r.Via)-1])
	unlock()
	if asks != partMember && asks != partLeaving || replica.Local == "" || replica.Bare {
		return Answer{}, notHere(s.name(s.cfg.Self), r)
	}
	if busy, err := s.busy(ctx, r.Kind, &r.Kind.Content[part], replica.Local); busy || err != nil {
		return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "upstream", Err: err,
			Detail: fmt.Sprintf("the content of %s %s is being written at %s", r.Kind.Name, r.Target, s.name(s.cfg.Self))}
	}
	reply, err := s.cfg.App.Do(ctx, Call{Kind: r.Kind, Method: http.MethodGet, Path: r.Path, Local: replica.Local,
		Header: map[string]string{"Accept": "*/*"}, Stream: true})
	if err != nil {
		return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
			Detail: fmt.Sprintf("the application's service %s at %s gave no answer", r.Kind.Service, s.name(s.cfg.Self))}
	}
	if reply.Header == nil {
		reply.Header = http.Header{}
	}
	reply.Header.Set(HeaderSettled, string(compactStruct(Progress{replica.epoch, replica.Settled})))
	a = Answer{Status: reply.Status, Header: reply.Header, Body: reply.Body, Length: reply.Length, Site: s.cfg.Self}
	if reply.Content != nil {
		a.Content = &untilRead{reply.Content, passed}
	}
	return a, nil
}

// untilRead is content during whose reading nothing else runs at its resource.
type untilRead struct {
	io.ReadCloser
	passed func()
}

func (c *untilRead) Close() error {
	err := c.ReadCloser.Close()
	if c.passed != nil {
		c.passed()
		c.passed = nil
	}
	return err
}

func notHere(site SiteName, r Request) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Type: "not-replicated",
		Detail: fmt.Sprintf("%s has no part in %s %q; nothing has happened here", site, r.Kind.Name, r.Target)}
}
