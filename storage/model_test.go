package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// model is what the store must show, kept in maps. It holds documents and changes, resources, operations, and the
// queues as a list of lines.
type model struct {
	documents  map[engine.DocumentID]engine.DocumentRow
	changes    map[engine.DocumentID][]engine.ChangeRow
	resources  map[engine.DocumentID]engine.ResourceRow
	operations map[engine.OperationID]engine.OperationRow
	intents    map[engine.OperationID]engine.Intent
	outbox     map[engine.OperationID]engine.Kept
	events     []engine.Event
	order      map[string]int // of resources and operations, by when they were stored first
}

func (m *model) stored(id string) {
	if _, ok := m.order[id]; !ok {
		m.order[id] = len(m.order)
	}
}

func (m *model) commit(b *engine.Batch) {
	for _, r := range b.Documents {
		m.documents[r.ID] = r
	}
	for _, r := range b.Changes {
		if !slices.ContainsFunc(m.changes[r.Document], func(c engine.ChangeRow) bool { return c.Hash == r.Hash }) {
			m.changes[r.Document] = append(m.changes[r.Document], r)
		}
	}
	for _, r := range b.Resources {
		m.resources[r.Document] = r
		m.stored(string(r.Document))
	}
	for _, r := range b.Operations {
		m.operations[r.ID] = r
		m.stored(string(r.ID))
	}
	for _, r := range b.Intents {
		m.intents[r.Operation] = r
	}
	for _, id := range b.Settled {
		delete(m.intents, id)
	}
	for _, r := range b.Outbox {
		m.outbox[r.Operation] = r
	}
	for _, id := range b.Delivered {
		delete(m.outbox, id)
	}
	for _, e := range b.Events {
		e.Seq = uint64(len(m.events) + 1)
		m.events = append(m.events, e)
	}
}

var sites = []engine.SiteID{"paris", "nantes", "lyon"}

// drawBatch makes a batch over few identifiers, so that batches meet.
func drawBatch(t *rapid.T) *engine.Batch {
	var b engine.Batch
	at := func() time.Time { return time.Unix(1_790_000_000, rapid.Int64Range(0, 3).Draw(t, "at")).UTC() }
	doc := func() engine.DocumentID { return engine.DocumentID(rapid.StringMatching(`d[1-4]`).Draw(t, "document")) }
	op := func() engine.OperationID {
		return engine.OperationID(rapid.StringMatching(`o[1-6]`).Draw(t, "operation"))
	}
	state := rapid.SampledFrom([]engine.State{engine.StateConverged, engine.StateConverging, engine.StateDeleted})
	at3 := func(f func(engine.SiteID)) {
		for _, s := range sites {
			if rapid.Bool().Draw(t, "site") {
				f(s)
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "rows") {
		r := engine.ResourceRow{Document: doc(), ID: engine.ResourceID(rapid.StringMatching(`r[1-2]`).Draw(t, "id")), Service: "images",
			Kind: "image", Local: engine.LocalID(rapid.StringMatching(`(l[1-2])?`).Draw(t, "local")), State: state.Draw(t, "state"),
			CreatedAt: at(), UpdatedAt: at(), Pending: rapid.Bool().Draw(t, "pending")}
		for range rapid.IntRange(0, 2).Draw(t, "relations") {
			to := engine.Target{Service: "networks", Kind: "network", ID: engine.ResourceID(rapid.StringMatching(`n[1-2]`).Draw(t, "target"))}
			r.Relations = append(r.Relations, engine.Relation{Target: to, At: "/network", Type: rapid.SampledFrom(engine.RelationTypes).Draw(t, "relation")})
		}
		d := engine.DocumentRow{ID: r.Document, About: []byte("about " + r.Document), Mesh: r.Document == "d4"}
		d.Heads[0] = rapid.Byte().Draw(t, "heads")
		at3(func(s engine.SiteID) {
			if r.Sites == nil {
				r.Sites = map[engine.SiteID]engine.ReplicaStatus{}
			}
			r.Sites[s] = engine.ReplicaStatus{Local: r.Local, State: r.State, Applied: rapid.IntRange(0, 2).Draw(t, "applied")}
			switch part := rapid.IntRange(0, 3).Draw(t, "part"); {
			case part == 0:
				d.Leaving = append(d.Leaving, s)
			case part == 1 && !d.Mesh:
				d.Former = map[engine.SiteID][32]byte{s: {rapid.Byte().Draw(t, "shown")}}
			default:
				d.Sites = append(d.Sites, s)
			}
		})
		b.Resources, b.Documents = append(b.Resources, r), append(b.Documents, d)
	}
	for range rapid.IntRange(0, 3).Draw(t, "operations") {
		o := engine.OperationRow{ID: op(), Document: doc(), Resource: engine.ResourceID(rapid.StringMatching(`r[1-2]`).Draw(t, "resource")),
			Type: engine.TypeMerge, Method: "PATCH", IssuedAt: at(), State: engine.StatePending, Body: []byte("body")}
		if rapid.Bool().Draw(t, "change") {
			o.Change, o.Parents = json.RawMessage(`{"set":{}}`), []engine.OperationID{op()}
		}
		at3(func(s engine.SiteID) {
			if o.Sites == nil {
				o.Sites = map[engine.SiteID]engine.OperationStatus{}
			}
			o.Sites[s] = engine.OperationStatus{State: rapid.SampledFrom([]engine.State{engine.StatePending, engine.StateApplied}).Draw(t, "at site")}
		})
		b.Operations = append(b.Operations, o)
		switch rapid.IntRange(0, 4).Draw(t, "queue") {
		case 0:
			b.Intents = append(b.Intents, engine.Intent{Operation: o.ID, Document: o.Document, Data: []byte("i"), OpenedAt: at()})
		case 1:
			b.Settled = append(b.Settled, o.ID)
		case 2:
			b.Outbox = append(b.Outbox, engine.Kept{Operation: o.ID, Data: []byte("k"), KeptAt: at()})
		case 3:
			b.Delivered = append(b.Delivered, o.ID)
		}
		b.Events = append(b.Events, engine.Event{Type: "operation.accepted", Subject: string(o.ID), Time: at(), Data: json.RawMessage(`1`)})
	}
	return &b
}

// drawChanges adds the next changes of some actors, and some that are stored already.
func (m *model) drawChanges(t *rapid.T, b *engine.Batch) {
	count := map[string]uint64{}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		doc := engine.DocumentID(rapid.StringMatching(`d[1-4]`).Draw(t, "document"))
		actor := rapid.StringMatching(`[ab]`).Draw(t, "actor")
		last := uint64(0)
		for _, c := range m.changes[doc] {
			if c.Actor == actor {
				last = max(last, c.Seq)
			}
		}
		seq := last + 1 + count[string(doc)+actor]
		if last > 0 && rapid.Bool().Draw(t, "again") {
			seq = last
		} else {
			count[string(doc)+actor]++
		}
		r := engine.ChangeRow{Document: doc, Actor: actor, Seq: seq}
		r.Author, r.Signature, r.Bytes = "paris", []byte("signature"), fmt.Appendf(nil, "%s %s %d", doc, actor, seq)
		copy(r.Hash[:], r.Bytes)
		b.Changes = append(b.Changes, r)
	}
}

func TestStoreIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "storage")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		m := &model{map[engine.DocumentID]engine.DocumentRow{}, map[engine.DocumentID][]engine.ChangeRow{}, map[engine.DocumentID]engine.ResourceRow{},
			map[engine.OperationID]engine.OperationRow{}, map[engine.OperationID]engine.Intent{}, map[engine.OperationID]engine.Kept{}, nil, map[string]int{}}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			if rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open(dir, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			b := drawBatch(t)
			m.drawChanges(t, b)
			if err := s.Commit(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			m.commit(b)
		}
		m.compare(t, s)
	})
}

func same(t *rapid.T, what string, got, want any, err error) {
	t.Helper()
	// Empty and nil lists say the same.
	if reflect.ValueOf(got).Len() == 0 && reflect.ValueOf(want).Len() == 0 && err == nil {
		return
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
	}
}

func (m *model) compare(t *rapid.T, s *Store) {
	ctx := context.Background()
	for id, want := range m.documents {
		got, err := s.Document(ctx, id)
		if len(want.Sites) == 0 {
			want.Sites, got.Sites = nil, nil
		}
		if len(want.Leaving) == 0 {
			want.Leaving, got.Leaving = nil, nil
		}
		same(t, "document", []engine.DocumentRow{got}, []engine.DocumentRow{want}, err)
		changes, _, err := s.Changes(ctx, id, nil, 0)
		same(t, "changes of "+string(id), changes, m.changes[id], err)
		v := engine.Version{}
		for _, c := range m.changes[id] {
			v[c.Actor] = max(v[c.Actor], c.Seq)
		}
		version, err := s.Version(ctx, id)
		same(t, "version of "+string(id), version, v, err)
	}
	for _, site := range sites {
		var want []engine.Summary
		for _, id := range slices.Sorted(maps.Keys(m.documents)) {
			d := m.documents[id]
			heads, former := d.Former[site]
			if !former {
				heads = d.Heads
			}
			if d.Mesh || former || slices.Contains(d.Sites, site) || slices.Contains(d.Leaving, site) {
				want = append(want, engine.Summary{Document: id, Heads: heads})
			}
		}
		got, err := s.Summaries(ctx, site, "", "")
		same(t, "summaries", got, want, err)
	}
	rows := slices.SortedFunc(maps.Values(m.resources), func(a, b engine.ResourceRow) int {
		return -cmpBy(a.CreatedAt, b.CreatedAt, m.order[string(a.Document)], m.order[string(b.Document)])
	})
	for _, f := range []engine.ResourceFilter{{}, {Site: "paris"}, {State: engine.StateConverged}, {State: engine.StateDeleted}, {ID: "r1"},
		{Site: "lyon", State: engine.StateConverging}, {Query: "L1"}, {Service: "images", Kind: "image"}, {Service: "none"}, {Related: true}, {Related: true, State: engine.StateDeleted},
		{RefersTo: engine.Target{Service: "networks", Kind: "network", ID: "n1"}},
		{RefersTo: engine.Target{Service: "networks", Kind: "network", ID: "n2"}, Relying: true, Site: "paris"}} {
		var want []engine.ResourceRow
		for _, r := range rows {
			_, at := r.Sites[f.Site]
			refers := slices.ContainsFunc(r.Relations, func(to engine.Relation) bool {
				return to.Target == f.RefersTo && (!f.Relying || to.Type == engine.RelationReliance)
			})
			if f.RefersTo.ID != "" && !refers || f.Related && len(r.Relations) == 0 {
				continue
			}
			text := string(r.ID) + "\n" + string(r.Local)
			if (f.Site == "" || at) && (f.State == r.State || f.State == "" && r.State != engine.StateDeleted) &&
				(f.ID == "" || f.ID == r.ID) && strings.Contains(text, strings.ToLower(f.Query)) && (f.Service == "" || f.Service == r.Service) {
				want = append(want, r)
			}
		}
		var all []engine.ResourceRow
		f.Limit = 2
		for {
			got, next, err := s.Resources(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range got {
				if len(r.Sites) == 0 {
					r.Sites = nil
				}
				all = append(all, r)
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
		same(t, fmt.Sprintf("resources %+v", f), all, want, nil)
	}
	for _, id := range []engine.ResourceID{"r1", "r2"} {
		got, err := s.ResourceByID(ctx, "images", "image", id)
		var want engine.DocumentID
		rank, at := 4, time.Time{}
		for _, r := range rows { // the newest first
			now := 3
			switch {
			case r.ID != id:
				continue
			case !r.State.Past() && r.Local != "":
				now = 1
			case !r.State.Past():
				now = 2
			}
			made := r.CreatedAt.Truncate(time.Microsecond)
			earlier := cmp.Or(made.Compare(at), m.order[string(want)]-m.order[string(r.Document)]) < 0
			if now == 3 {
				earlier = cmp.Or(at.Compare(made), m.order[string(want)]-m.order[string(r.Document)]) < 0
			}
			if now < rank || now == rank && earlier {
				want, rank, at = r.Document, now, made
			}
		}
		if want == "" && !errors.Is(err, engine.ErrNotFound) || want != "" && (err != nil || got.Document != want) {
			t.Fatalf("resource %s: %v, %v, want %s", id, got, err, want)
		}
	}
	operations := slices.SortedFunc(maps.Values(m.operations), func(a, b engine.OperationRow) int {
		return -cmpBy(a.IssuedAt, b.IssuedAt, m.order[string(a.ID)], m.order[string(b.ID)])
	})
	for _, f := range []engine.OperationFilter{{}, {Site: "paris"}, {Site: "nantes", State: engine.StateApplied}, {Document: "d1"}, {Resource: "r2", Site: "lyon"},
		{Document: "d2", Resource: "r1", State: engine.StatePending}, {State: engine.StateApplied}} {
		var want []engine.OperationRow
		for _, r := range operations {
			status, at := r.Sites[f.Site]
			state := r.State
			if f.Site != "" {
				state = status.State
			}
			if (f.Site == "" || at) && (f.State == "" || f.State == state) && (f.Document == "" || f.Document == r.Document) &&
				(f.Resource == "" || f.Resource == r.Resource) {
				want = append(want, r)
			}
		}
		got, _, err := s.Operations(ctx, f)
		for i := range got {
			if len(got[i].Sites) == 0 {
				got[i].Sites = nil
			}
			if len(got[i].Parents) == 0 {
				got[i].Parents = nil
			}
		}
		same(t, fmt.Sprintf("operations %+v", f), got, want, err)
	}
	intents, err := s.Intents(ctx)
	same(t, "intents", intents, slices.SortedFunc(maps.Values(m.intents), func(a, b engine.Intent) int {
		return cmpBy(a.OpenedAt, b.OpenedAt, string(a.Operation), string(b.Operation))
	}), err)
	outbox, err := s.Outbox(ctx)
	same(t, "outbox", outbox, slices.SortedFunc(maps.Values(m.outbox), func(a, b engine.Kept) int {
		return cmpBy(a.KeptAt, b.KeptAt, string(a.Operation), string(b.Operation))
	}), err)
	for _, want := range outbox {
		got, err := s.Kept(ctx, want.Operation)
		same(t, "kept request", []engine.Kept{got}, []engine.Kept{want}, err)
	}
	if _, err := s.Kept(ctx, "none"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("a request that is not kept: %v", err)
	}
	events, err := s.Events(ctx, 0, 1000)
	same(t, "events", events, m.events, err)
	var pending []engine.DocumentID
	slices.SortFunc(rows, func(a, b engine.ResourceRow) int {
		return cmpBy(a.CreatedAt, b.CreatedAt, a.Document, b.Document)
	})
	for _, r := range rows {
		if r.Pending {
			pending = append(pending, r.Document)
		}
	}
	got, err := s.Pending(ctx)
	same(t, "pending", got, pending, err)
}

func cmpBy[T cmp.Ordered](at, bt time.Time, a, b T) int {
	if c := at.Compare(bt); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}
