package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// letter is one under way, encoded.
type letter struct {
	from, to *Site
	body     []byte
}

// wire is a process's way to the others.
type wire struct{ p *Process }

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// latency draws how long something takes.
func (w *World) latency() time.Duration { return time.Duration(w.Rng.Int64N(int64(w.Latency))) }

// Send implements engine.Network.
func (x wire) Send(to []engine.SiteID, l *engine.Letter) {
	from, w := x.p.site, x.p.site.w
	x.p.effect(l, func() {
		body := engine.Encode(l)
		for _, id := range to {
			other := w.SiteOf(id)
			if other != nil && other != from && w.Passes(from, other) && !w.Chance(w.Loss) {
				w.wire = append(w.wire, letter{from, other, body})
			}
		}
	})
}

// Status implements engine.Network.
func (x wire) Status() map[engine.SiteID]engine.SiteStatus {
	from, w := x.p.site, x.p.site.w
	status := make(map[engine.SiteID]engine.SiteStatus, len(w.Sites))
	for _, s := range w.Sites {
		if s != from {
			status[s.ID] = engine.SiteStatus{Reachable: w.Reaches(from, s), RTT: w.rtt(from, s)}
		}
	}
	return status
}

func (w *World) rtt(a, b *Site) time.Duration {
	if w.RTT != nil {
		return w.RTT(a, b)
	}
	return time.Duration(1+(a.N+b.N)%3) * time.Millisecond
}

// Fetch implements engine.Network.
func (x wire) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) (err error) {
	w, here, there := x.p.site.w, x.p.site, x.p.site.w.SiteOf(from)
	if w.silence() {
		return errLost
	}
	if !x.p.effect(nil, func() {
		switch {
		case !w.Reaches(here, there):
			err = fmt.Errorf("dial %s: %w", there.Name, engine.ErrUnreachable)
		case w.Chance(w.Loss):
			err = errLost
		default:
			err = fetch(ctx, there.Proc, here.ID, document, ref, coming{into, here, there})
		}
	}) {
		return errDead
	}
	return err
}

// fetch brings a blob from one site to another without a wire between them.
func fetch(ctx context.Context, from *Process, to engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	digests, content, err := from.Site.Blob(ctx, to, document, ref, into.Next())
	if err != nil {
		return err
	}
	defer content.Close()
	if into.Digests() == nil {
		if err := into.SetDigests(digests); err != nil {
			return err
		}
	}
	chunk := make([]byte, ref.ChunkLen(0))
	for i := into.Next(); i < ref.Chunks(); i++ {
		part := chunk[:ref.ChunkLen(i)]
		if _, err := io.ReadFull(content, part); err != nil {
			return err
		}
		if err := into.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// coming is a blob that comes to a site which looks at each chunk.
type coming struct {
	engine.Incoming
	to, from *Site
}

// Add implements engine.Incoming.
func (c coming) Add(chunk []byte) error {
	if c.to.Fetched != nil {
		if err := c.to.Fetched(c.from, chunk); err != nil {
			return err
		}
	}
	return c.Incoming.Add(chunk)
}

// silence waits where no site answers, and reports whether it did.
func (w *World) silence() (waited bool) {
	if waited = w.Silent; waited {
		w.wait(func() bool { return !w.Silent })
	}
	return waited
}

var errLost = errors.New("the stream broke before the answer")

// Forward implements engine.Forwarder. The other site works on the request by itself: whoever waits for its answer may not get it.
func (x wire) Forward(_ context.Context, to engine.SiteID, r engine.Request) (a engine.Answer, err error) {
	w, from, other := x.p.site.w, x.p.site, x.p.site.w.SiteOf(to)
	if w.silence() {
		return a, errLost
	}
	p := other.Proc
	var answered, lost bool
	if !x.p.effect(nil, func() {
		switch {
		case !w.Reaches(from, other):
			err = fmt.Errorf("dial %s: %w", other.Name, engine.ErrUnreachable)
			return
		case w.Chance(w.Loss): // it never arrives
			err = errLost
			return
		}
		w.Log.Info("forward", "from", from, "to", other, "operation", string(r.Operation))
		r.Key = "" // it counts where the client asked
		r.Via = append(slices.Clone(r.Via), from.ID)
		lost = w.Chance(w.Loss)
		w.spawn(p, func() {
			a, err = p.Front.Submit(w.Ctx, r)
			answered = !p.dead
		})
	}) {
		return a, errDead
	}
	if err != nil {
		return a, err
	}
	w.wait(func() bool { return answered || p.dead || !w.Reaches(from, other) })
	if x.p.fated(&r, true); x.p.dead {
		return engine.Answer{}, errDead
	}
	defer func() {
		w.Log.Info("forwarded", "from", from, "to", other, "operation", string(r.Operation), "status", a.Status, "err", err)
	}()
	var refusal *engine.Refusal
	switch {
	case !answered || lost:
		return engine.Answer{}, errLost
	case errors.As(err, &refusal): // over the wire it is an answer
		return engine.Answer{Status: refusal.Status, Operation: refusal.Operation, Site: to,
			Header: http.Header{"Content-Type": {"application/problem+json"}},
			Body:   encode(map[string]any{"type": "/problems/" + refusal.Type, "detail": refusal.Detail})}, nil
	case err != nil:
		return engine.Answer{Status: http.StatusInternalServerError, Site: to}, nil
	}
	return a, nil
}

// Passes reports whether a letter gets from one site to another.
func (w *World) Passes(from, to *Site) bool { return !w.cut[from.N][to.N] }

// Reaches reports whether two sites hear each other, and the other's agent runs.
func (w *World) Reaches(from, to *Site) bool {
	return to != nil && to.Proc != nil && w.Passes(from, to) && w.Passes(to, from)
}

// Link cuts or heals one way of a link; both ends notice.
func (w *World) Link(from, to *Site, cut bool) {
	if from == to || w.cut[from.N][to.N] == cut {
		return
	}
	before := w.Passes(from, to) && w.Passes(to, from)
	w.cut[from.N][to.N] = cut
	w.Log.Info("link", "from", from, "to", to, "cut", cut)
	if now := w.Passes(from, to) && w.Passes(to, from); now != before && from.Proc != nil && to.Proc != nil {
		from.Proc.SiteChanged(w.Ctx, to.ID, now)
		if to.Proc != nil {
			to.Proc.SiteChanged(w.Ctx, from.ID, now)
		}
	}
}

// Heal heals all links.
func (w *World) Heal() {
	for _, a := range w.Sites {
		for _, b := range w.Sites {
			w.Link(a, b, false)
		}
	}
}

// reachChanged tells that a site has come or gone.
func (w *World) reachChanged(s *Site) {
	for _, other := range w.Sites {
		if other == s || other.Proc == nil || !w.Passes(s, other) || !w.Passes(other, s) || w.cut == nil {
			continue
		}
		other.Proc.SiteChanged(w.Ctx, s.ID, s.Proc != nil)
		if s.Proc != nil && other.Proc != nil {
			s.Proc.SiteChanged(w.Ctx, other.ID, true)
		}
	}
}

// Letters is how many letters are under way.
func (w *World) Letters() int { return len(w.wire) }

// Deliver lets one of the letters under way arrive; again: it stays under way, and so arrives twice.
func (w *World) Deliver(i int, again bool) {
	l := w.wire[i]
	if !again {
		w.wire = slices.Delete(w.wire, i, i+1)
	}
	p := l.to.Proc
	if p == nil || !w.Passes(l.from, l.to) {
		return
	}
	received := &engine.Letter{}
	if err := engine.Decode(l.body, received); err != nil {
		w.Problem("%s has sent what nobody can read: %v", l.from, err)
		return
	}
	w.Log.Info("letter", "from", l.from, "to", l.to, "parcels", len(received.Parcels), "batches", len(received.Batches), "records", len(received.Records))
	w.Do(p, func() { p.receive(l.from, received) })
}

// DeliverFirst lets the first of the letters under way arrive that a site has sent to another, and reports whether there was one.
func (w *World) DeliverFirst(which func(from, to *Site) bool) bool {
	i := slices.IndexFunc(w.wire, func(l letter) bool { return which(l.from, l.to) })
	if i < 0 {
		return false
	}
	w.Deliver(i, false)
	return true
}

// DeliverAll lets all letters arrive, those too that are sent because of that.
func (w *World) DeliverAll() {
	for range endless {
		if len(w.wire) == 0 {
			return
		}
		w.Deliver(0, false)
		for _, s := range w.Sites {
			s.WorkOff()
		}
	}
	w.Problem("letters are sent for ever")
}

// receive takes a letter in, and reports whether all of it was.
func (p *Process) receive(from *Site, l *engine.Letter) (whole bool) {
	s := p.site
	err := p.Site.Receive(s.w.Ctx, from.ID, l)
	switch {
	case err == nil:
		return true
	case errors.Is(err, engine.ErrMissing), errors.Is(err, engine.ErrUnknown), errors.Is(err, engine.ErrStorage), p.dead, s.Full:
	case !p.Mesh.IsMember(from.ID): // it has not heard yet
	default:
		s.w.Problem("%s: receive from %s: %v", s.Name, from.Name, err)
	}
	return false
}
