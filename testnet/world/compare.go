package world

import (
	"errors"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Pull brings what one site lacks and another has, as package p2p finds that out, in letters of about limit bytes; 0: in one. Partly: only
// the first letter comes.
func (w *World) Pull(to, from *Site, limit int, partly bool) {
	if p, q := to.Proc, from.Proc; to != from && p != nil && q != nil && w.Reaches(to, from) {
		w.Do(p, func() { p.pull(q, limit, partly) })
	}
}

func (p *Process) pull(q *Process, limit int, partly bool) {
	w, to, from := p.site.w, p.site, q.site
	if !q.Mesh.IsMember(to.ID) || !p.Mesh.IsMember(from.ID) {
		return
	}
	whole := true
	if p.Site.MeshFingerprint() != q.Site.MeshFingerprint() {
		whole = p.receive(from, &engine.Letter{Records: q.Site.MeshRecords()})
	}
	ids, err := p.lacking(q)
	if err != nil {
		w.Problem("compare %s with %s: %v", to, from, err)
		return
	}
	if limit == 0 {
		limit = 1 << 20
	}
	var before []byte
	for len(ids) > 0 {
		have, err := p.Site.Have(w.Ctx, from.ID, ids)
		if err != nil {
			w.Problem("what %s has: %v", to, err)
			return
		}
		if q.dead || !w.Reaches(to, from) {
			return
		}
		l, covered, err := q.Site.Missing(w.Ctx, to.ID, have, limit)
		if err != nil {
			w.Problem("what %s lacks of %s: %v", to, from, err)
			return
		}
		more := false
		for i := range l.Parcels {
			more = more || l.Parcels[i].More
		}
		w.Log.Info("pull", "to", to, "from", from, "documents", len(ids), "covered", covered, "parcels", len(l.Parcels), "statuses", len(l.Statuses), "batches", len(l.Batches), "more", more)
		if len(l.Parcels)+len(l.Batches)+len(l.Statuses) > 0 {
			whole = p.receive(from, sent(l)) && whole
		}
		if covered == 0 && !more {
			w.Problem("%s gives %s nothing of %d documents", from, to, len(ids))
			return
		}
		if partly || covered == 0 && (!whole || slices.Equal(before, engine.Encode(have))) { // the next comparison goes on
			return
		}
		before, ids = engine.Encode(have), ids[covered:]
	}
	if whole && !p.dead && !q.dead {
		p.Compared(w.Ctx, from.ID, false)
		if p.Met[from.ID].IsZero() {
			p.Met[from.ID] = w.Now
		}
	}
}

// sent is a letter as it arrives.
func sent(l *engine.Letter) *engine.Letter {
	received := &engine.Letter{}
	if err := engine.Decode(engine.Encode(l), received); err != nil {
		panic(err) // it was just encoded
	}
	return received
}

// lacking lists the documents that another site has and this one has not, or differently.
func (p *Process) lacking(q *Process) ([]engine.DocumentID, error) {
	to, from, ctx := p.site.ID, q.site.ID, p.site.w.Ctx
	var ids []engine.DocumentID
	differ := []engine.Range{{}}
	for range engine.RangeDepth {
		var parts []engine.Range
		for _, r := range differ {
			all := r.Parts()
			mine, theirs := p.Site.Fingerprints(from, all), q.Site.Fingerprints(to, all)
			for i := range all {
				if mine[i] != theirs[i] {
					parts = append(parts, all[i])
				}
			}
		}
		differ = parts
	}
	for _, r := range differ {
		mine, err := p.Site.Digests(ctx, from, r)
		theirs, err2 := q.Site.Digests(ctx, to, r)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		here := map[engine.DocumentID]engine.Fingerprint{}
		for _, d := range mine {
			here[d.Document] = d.Digest
		}
		for _, d := range theirs {
			if here[d.Document] != d.Digest {
				ids = append(ids, d.Document)
			}
		}
	}
	return ids, nil
}

// Differ reports whether two sites that run hold something that they share differently, and which documents.
func (w *World) Differ(a, b *Site) []engine.DocumentID {
	there, err := a.Proc.lacking(b.Proc)
	here, err2 := b.Proc.lacking(a.Proc)
	if err := errors.Join(err, err2); err != nil {
		w.Problem("compare %s with %s: %v", a, b, err)
	}
	return append(there, here...)
}

// Reconcile has every site take what the others have.
func (w *World) Reconcile() {
	for _, a := range w.Sites {
		for _, b := range w.Sites {
			w.Pull(a, b, 0, false)
			a.WorkOff()
		}
	}
}
