package mesh

import (
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// pen is what a hostile member writes with in a document: everything that it signs follows its line as it should.
type pen struct {
	t     *testing.T
	who   *Site
	about engine.About
	raw   []byte
	id    engine.DocumentID
	epoch uint64
	line  engine.Line
	tip   engine.Tip
	other engine.Line // of the site that has the document
}

// newPen returns that of one site, for a document that another one has.
func newPen(t *testing.T, who, has *Site, id engine.DocumentID) *pen {
	t.Helper()
	p := &pen{t: t, who: who, id: id, line: engine.LineOf(who.ID, "pen")}
	err := has.Proc.Site.Look(t.Context(), id, func(r *replica.Replica) {
		p.about, p.raw, p.epoch, p.tip, p.other = r.About, r.Raw, r.Current().Number, r.Current().Tip(p.line), r.Line
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// writes signs values as one change, and returns the letter that brings it.
func (p *pen) writes(in engine.MapName, values ...any) *engine.Letter {
	p.t.Helper()
	var entries []engine.Entry
	for _, v := range values {
		entries = append(entries, engine.Entry{Map: in, Value: engine.Encode(v)})
	}
	c, err := p.who.Documents().Write(p.about, p.id, p.epoch, p.line, p.tip, entries)
	if err != nil {
		p.t.Fatal(err)
	}
	p.who.Documents().SignChanges([]*engine.Change{c})
	p.tip = c.Tip()
	return &engine.Letter{Parcels: []engine.Parcel{{About: p.raw, Epoch: p.epoch, Changes: []engine.SignedChange{c.SignedChange}}}}
}
