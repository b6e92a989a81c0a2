package world

import (
	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
)

// Await lets others go on until something is ready. It is for an application that takes its time, and for whoever asks it.
func (w *World) Await(ready func() bool) { w.wait(ready) }

// Lose loses all letters that are under way.
func (w *World) Lose() { w.wire = nil }

// Join lets a site into the mesh whose disk knows of none.
func (w *World) Join(s *Site) error { return w.join(s) }

// Documents reads and writes documents as the site, with its key: what a hostile member does with it no honest agent would.
func (s *Site) Documents() *crdt.Documents { return s.documents }

// Receive hands a letter to the site's agent as another one's.
func (p *Process) Receive(from engine.SiteID, l *engine.Letter) (err error) {
	p.site.w.Do(p, func() { err = p.Site.Receive(p.site.w.Ctx, from, sent(l)) })
	p.site.WorkOff()
	return err
}

// Stored counts the bytes that a disk has of documents and the rows of its other lists.
func (d *Disk) Stored() map[string]int {
	n := map[string]int{"records": len(d.records), "operations": len(d.operations), "errands": len(d.errands), "outbox": len(d.outbox),
		"conflicts": len(d.conflicts), "mesh": len(d.mesh)}
	for _, r := range d.records {
		n["changes"] += len(r.changes)
		for _, c := range r.changes {
			n["bytes"] += len(c.Bytes) + len(c.Signature)
		}
		n["bytes"] += len(r.About) + len(r.Mine) + len(r.Statuses) + len(r.Checkpoint)
	}
	return n
}

// Twin makes another site of a copy of one's disk, with the same key and the same application: a cloned machine. Letters come to the
// first alone, since the two have one name on the network.
func (w *World) Twin(s *Site) *Site {
	t := *s
	t.N, t.Disk, t.Blobs, t.Proc = len(w.Sites), s.Disk.Clone(), s.Blobs.Clone(), nil
	w.Sites = append(w.Sites, &t)
	for n := range w.cut {
		w.cut[n] = append(w.cut[n], false)
	}
	w.cut = append(w.cut, make([]bool, len(w.Sites)))
	return &t
}
