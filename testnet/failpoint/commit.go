package failpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/view"
)

// Store returns s with points around its commits, and around reading what another site lacks. Self is the site whose store it is.
func (h Hit) Store(s engine.Store, self engine.SiteID) engine.Store {
	return &store{Store: s, self: self, hit: h, known: map[string]bool{}}
}

type store struct {
	engine.Store
	self  engine.SiteID
	hit   Hit
	mu    sync.Mutex      // guards known
	known map[string]bool // what earlier batches have declared
}

func (s *store) Commit(ctx context.Context, b *engine.Batch) error {
	what := s.what(b)
	if tell := b.Told; tell != nil {
		b.Told = func() {
			_ = around(s.hit, Answer, func() error { tell(); return nil }) // the batch is on its way, whatever becomes of the answers
		}
	}
	return s.commit(ctx, b, what)
}

// commit commits b between the points of all that it is for.
func (s *store) commit(ctx context.Context, b *engine.Batch, things []string) error {
	if len(things) == 0 {
		return s.Store.Commit(ctx, b)
	}
	return around(s.hit, things[0], func() error { return s.commit(ctx, b, things[1:]) })
}

func (s *store) Changes(ctx context.Context, id engine.DocumentID, have map[uint64]map[engine.Line]uint64, limit int) (list []engine.StoredChange, more bool, err error) {
	if have == nil { // for this site itself
		return s.Store.Changes(ctx, id, have, limit)
	}
	err = around(s.hit, ListChanges, func() (err error) {
		list, more, err = s.Store.Changes(ctx, id, have, limit)
		return err
	})
	return list, more, err
}

// noStatuses is what is stored of a resource of which no other site has said anything.
var noStatuses = engine.Encode([]engine.SignedStatus{})

// what tells what a batch is for.
func (s *store) what(b *engine.Batch) (things []string) {
	is := func(thing string, so bool) {
		if so {
			things = append(things, thing)
		}
	}
	d := s.declared(b)
	is(CommitMesh, len(b.Mesh) > 0)
	is(CommitIntent, d.own)
	is(CommitSend, d.sent)
	is(CommitErrand, d.errand)
	is(CommitQuestion, d.asked)
	is(CommitEnded, len(b.Ended) > 0)
	is(CommitKeep, len(b.Outbox) > 0)
	is(CommitDelivered, len(b.Delivered) > 0)
	is(CommitDrop, len(b.Dropped) > 0)
	own := slices.ContainsFunc(b.Changes, func(c *engine.Change) bool { return c.Author() == s.self })
	merge := slices.ContainsFunc(b.Changes, func(c *engine.Change) bool { return c.Author() != s.self })
	is(CommitOwn, own)
	is(CommitMerge, merge)
	is(CommitStatuses, !merge && slices.ContainsFunc(b.Records, func(r engine.Record) bool { return len(r.Statuses) > len(noStatuses) }))
	is(CommitSettled, b.Settles && !own && len(b.Ended)+len(b.Delivered) == 0)
	is(CommitNote, len(things) == 0)
	return things
}

// declares says what a batch declares: a client's request to a resource, one that brings an operation here, one that belongs to no
// resource; and whether it is there to ask a person about one.
type declares struct{ own, sent, errand, asked bool }

func (s *store) declared(b *engine.Batch) (d declares) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := func(what ...any) bool {
		name := fmt.Sprintln(what...)
		before := s.known[name]
		s.known[name] = true
		return !before
	}
	for i := range b.Records {
		own, sent := underWay(b.Records[i].Mine)
		for _, f := range []*flight.Flight{own, sent} {
			if f == nil || !news(f.Operation.ID, f == own, f.Since, f.Attempt, f.Stage) {
				continue
			}
			d.own = d.own || f.Stage == flight.Declared && f == own
			d.sent = d.sent || f.Stage == flight.Declared && f == sent
			d.asked = d.asked || f.Stage == flight.Asked
		}
	}
	for _, e := range b.Errands {
		var kept struct {
			Stage flight.Stage `json:"stage"`
		}
		if err := json.Unmarshal(e.Data, &kept); err != nil {
			panic(fmt.Sprintf("read errand %s: %v", e.Operation, err)) // the engine has just written it
		}
		d.errand = d.errand || kept.Stage == flight.Declared
		d.asked = d.asked || kept.Stage == flight.Asked && news(e.Operation)
	}
	return d
}

// underWay returns what a stored replica has in flight: a client's request, and one that brings an operation here.
func underWay(mine []byte) (own, sent *flight.Flight) {
	if mine == nil {
		return nil, nil
	}
	var kept view.Kept
	var doing struct {
		Own  *flight.Flight `cbor:"1,keyasint,omitempty"`
		Sent *flight.Flight `cbor:"2,keyasint,omitempty"`
	}
	err := engine.Decode(mine, &kept)
	if err == nil && kept.Doing != nil {
		err = engine.Decode(kept.Doing, &doing)
	}
	if err != nil {
		panic(fmt.Sprintf("read what a replica keeps: %v", err)) // the engine has just written it
	}
	return doing.Own, doing.Sent
}
