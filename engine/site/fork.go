package site

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// forked keeps what proves forks that are news, and tells of them: other sites, people, and whoever reads the log.
func forked(w *wakeUp, r *resident, list []hear.Forked) {
	for _, f := range list {
		first := &engine.SignedChange{}
		if f.First != nil {
			first = &f.First.SignedChange
		} else if first = changeOf(w, r.id, f.Line, f.Epoch, f.Number); first == nil {
			w.s.note(r.id, "a site has signed two changes under one number, and the first one cannot be read", fmt.Errorf("change %d of %s", f.Number, f.Line))
			w.drop(r) // it is loaded anew, and a comparison brings the other one again
			return
		}
		proven := engine.ProvenFork{Fork: f.Fork, Document: r.id, Proof: [2]engine.SignedChange{*first, f.Second.SignedChange}, Instead: f.Instead}
		if from, all := r.All(f.Line.Site()); all {
			proven.All = &from
		}
		w.batch.Forks = append(w.batch.Forks, proven)
		w.mail.pass(r, &hear.Said{Epoch: f.Epoch, Changes: []*engine.Change{
			{SignedChange: *first, Epoch: f.Epoch}, {SignedChange: f.Second.SignedChange, Epoch: f.Epoch}}})
		if f.Instead == "" {
			w.then(func() { w.s.prints.forked(f.Line.Site()) })
		}
		gone := void(w, r)
		w.s.cfg.Log.Error("a site has signed two different changes under one number: from there on what it has written in this line counts at no site",
			"peer", string(f.Line.Site()), "site", string(w.s.cfg.Members.Name(f.Line.Site())), "resource", string(r.About.Key), "line", string(f.Line), "change", f.Number)
		w.event("resource.forked", string(r.About.Key), map[string]any{"resource": r.About.Key, "service": r.About.Service, "kind": r.About.Kind,
			"site": w.s.cfg.Members.Name(f.Line.Site()), "line": f.Line, "change": f.Number, "operations": gone})
	}
}

// changeOf returns a change that is here, or comes with this wake-up; nil: it cannot be read.
func changeOf(w *wakeUp, id engine.DocumentID, l engine.Line, epoch, number uint64) *engine.SignedChange {
	signWritten(w)
	for _, c := range w.batch.Changes {
		if c.Document == id && c.Line == l && c.Epoch == epoch && c.Number == number {
			return &c.SignedChange
		}
	}
	stored, _, err := w.s.cfg.Store.Changes(context.WithoutCancel(w.ctx), id, map[uint64]map[engine.Line]uint64{epoch: {l: number - 1}}, 0)
	if err != nil {
		return nil
	}
	for _, c := range stored {
		if c.Line == l && c.Epoch == epoch && c.Number == number {
			return &c.SignedChange
		}
	}
	return nil
}

// void writes of the operations that do not count any more that they do not, and returns them.
func void(w *wakeUp, r *resident) []engine.OperationID {
	ids := []engine.OperationID{}
	for _, o := range view.Void(r.Replica.View) {
		w.batch.Operations = append(w.batch.Operations, report.VoidRow(r.Replica.View, o))
		delete(r.Touched, o.ID)
		ids = append(ids, o.ID)
	}
	return ids
}

// recast has a replica consist of all that is stored of it and counts: a line is forked, or a site that was set back has issued something which
// has not seen what a checkpoint stands for that was made here.
func recast(w *wakeUp, id engine.DocumentID) {
	s := w.s
	r, err := s.reach(w.ctx, id, nil)
	if err != nil || r.Busy() || w.work[r] != nil { // the next step asks again
		return
	}
	all, err := s.load(w.ctx, id)
	if err != nil {
		s.note(id, "read all operations of a resource", err)
		return
	}
	void(w, r)
	r.Recast(all.View)
	if r.Ends(r.Line) { // somebody else has this site's key
		s.writes.begin(s.cfg, "")
		r.Line = s.writes.line
	}
	k := w.of(r)
	k.changed = true
	w.stepOf(r, replica.Wake{})
}
