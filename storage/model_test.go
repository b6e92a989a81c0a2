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

// model is what the store must show, kept in maps.
type model struct {
	records    map[engine.DocumentID]engine.Record
	changes    map[engine.DocumentID][]engine.StoredChange
	operations map[engine.OperationID]engine.OperationRow
	errands    map[engine.OperationID]engine.Errand
	outbox     map[engine.OperationID]engine.Kept
	conflicts  map[engine.ConflictID]engine.Conflict
	mesh       map[string]engine.SignedRecord
	numbers    map[string]uint64 // of mesh
	events     []engine.Event
	order      map[string]int // of all with a row of their own, by when they were stored first
	next       int
}

func newModel() *model {
	return &model{map[engine.DocumentID]engine.Record{}, map[engine.DocumentID][]engine.StoredChange{}, map[engine.OperationID]engine.OperationRow{},
		map[engine.OperationID]engine.Errand{}, map[engine.OperationID]engine.Kept{}, map[engine.ConflictID]engine.Conflict{},
		map[string]engine.SignedRecord{}, map[string]uint64{}, nil, map[string]int{}, 0}
}

func (m *model) stored(id string) {
	if _, ok := m.order[id]; !ok {
		m.next++
		m.order[id] = m.next
	}
}

func (m *model) commit(b *engine.Batch) {
	for _, e := range b.Dropped {
		m.changes[e.Document] = slices.DeleteFunc(m.changes[e.Document], func(c engine.StoredChange) bool { return c.Epoch == e.Epoch })
	}
	for _, r := range b.Records {
		before := m.records[r.Row.Document]
		for _, blob := range []struct{ now, was *[]byte }{{&r.About, &before.About}, {&r.Mine, &before.Mine},
			{&r.Statuses, &before.Statuses}, {&r.Checkpoint, &before.Checkpoint}} {
			if *blob.now == nil {
				*blob.now = *blob.was
			}
		}
		m.records[r.Row.Document] = r
		m.stored(string(r.Row.Document))
	}
	for _, c := range b.Changes {
		m.stored(string(c.Document))
		stored := engine.StoredChange{SignedChange: c.SignedChange, Epoch: c.Epoch, Number: c.Number}
		same := func(o engine.StoredChange) bool {
			return o.Epoch == c.Epoch && o.Line == c.Line && o.Number == c.Number
		}
		if !slices.ContainsFunc(m.changes[c.Document], same) {
			m.changes[c.Document] = append(m.changes[c.Document], stored)
		}
	}
	for _, r := range b.Operations {
		if had := m.operations[r.ID].Document; had == "" || had == r.Document {
			m.operations[r.ID] = r
		}
		m.stored(string(r.ID))
	}
	for _, r := range b.Errands {
		m.errands[r.Operation] = r
	}
	for _, id := range b.Ended {
		delete(m.errands, id)
	}
	for _, r := range b.Outbox {
		m.outbox[r.Operation] = r
	}
	for _, id := range b.Delivered {
		delete(m.outbox, id)
	}
	for _, c := range b.Conflicts {
		m.conflicts[c.ID] = c
		m.stored(string(c.ID))
	}
	for _, id := range b.Resolved {
		delete(m.conflicts, id)
		delete(m.order, string(id))
	}
	for _, e := range b.Events {
		e.Seq = uint64(len(m.events) + 1)
		m.events = append(m.events, e)
	}
	for _, r := range b.Mesh {
		var record engine.MeshRecord
		if err := engine.Decode(r.Record, &record); err != nil {
			panic(err)
		}
		key := fmt.Sprint(r.Author, " ", record.Key.Kind, " ", record.Key.About)
		if record.Number >= m.numbers[key] {
			m.mesh[key], m.numbers[key] = r, record.Number
		}
	}
	for _, r := range b.MeshDropped {
		var record engine.MeshRecord
		if err := engine.Decode(r.Record, &record); err != nil {
			panic(err)
		}
		key := fmt.Sprint(r.Author, " ", record.Key.Kind, " ", record.Key.About)
		if record.Number >= m.numbers[key] {
			delete(m.mesh, key)
			delete(m.numbers, key)
		}
	}
}

var sites = []engine.SiteID{"paris", "nantes", "lyon"}

// few are the identifiers that batches are drawn over, so that they meet. A document's resource is always the same.
var few = map[engine.DocumentID]engine.ResourceID{document("d1"): "r1", document("d2"): "r1", document("d3"): "r2", document("d4"): "r2"}

func drawTime(t *rapid.T) time.Time {
	return time.Unix(1_790_000_000, rapid.Int64Range(0, 3).Draw(t, "at")).UTC()
}

func drawDocument(t *rapid.T) engine.DocumentID {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(few))).Draw(t, "document")
}

// drawSites calls f for some sites.
func drawSites(t *rapid.T, f func(engine.SiteID)) {
	for _, s := range sites {
		if rapid.Bool().Draw(t, "site") {
			f(s)
		}
	}
}

func drawBlob(t *rapid.T, name string) []byte {
	if rapid.Bool().Draw(t, name+" given") {
		return nil
	}
	return rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, name)
}

func drawRecord(t *rapid.T) engine.Record {
	state := rapid.SampledFrom([]engine.State{engine.StateConverged, engine.StateConverging, engine.StateDeleted, engine.StateLeft, engine.StateConflict})
	row := engine.ResourceRow{Document: drawDocument(t), Service: "images", Kind: "image", Collaboration: engine.Replication,
		Local: engine.LocalID(rapid.StringMatching(`(l1|r[12])?`).Draw(t, "local")), State: state.Draw(t, "state"),
		Label: rapid.SampledFrom([]string{"", "Debian"}).Draw(t, "label"), CreatedAt: drawTime(t), UpdatedAt: drawTime(t), Pending: rapid.Bool().Draw(t, "pending")}
	row.ID = few[row.Document]
	for range rapid.IntRange(0, 2).Draw(t, "relations") {
		to := engine.Target{Service: "networks", Kind: "network", ID: engine.ResourceID(rapid.StringMatching(`n[12]`).Draw(t, "target"))}
		row.Relations = append(row.Relations, engine.Relation{Target: to, At: "/network", Type: rapid.SampledFrom([]engine.RelationType{engine.RelationRequirement, engine.RelationReliance, engine.RelationComposition}).Draw(t, "relation")})
	}
	r := engine.Record{About: drawBlob(t, "about"), Mine: drawBlob(t, "mine"), Statuses: drawBlob(t, "statuses"), Checkpoint: drawBlob(t, "checkpoint"),
		Epoch: rapid.Uint64Range(0, 2).Draw(t, "epoch"), Digest: engine.Fingerprint{rapid.Uint64().Draw(t, "digest")}, Hollow: rapid.IntRange(0, 3).Draw(t, "hollow") == 0}
	drawSites(t, func(s engine.SiteID) {
		if row.Sites == nil {
			row.Sites = map[engine.SiteID]engine.ReplicaStatus{}
		}
		row.Sites[s] = engine.ReplicaStatus{Local: row.Local, State: row.State, Applied: rapid.IntRange(0, 2).Draw(t, "applied")}
		r.Peers = append(r.Peers, s)
	})
	slices.Sort(r.Peers)
	r.Row = row
	return r
}

// drawOperation makes one of a document that has a record, or of none.
func drawOperation(t *rapid.T, id engine.OperationID, recorded func(engine.DocumentID) bool) engine.OperationRow {
	o := engine.OperationRow{ID: id, Type: engine.TypeMerge, Service: "images", Kind: "image", Method: "PATCH", Origin: rapid.SampledFrom(sites).Draw(t, "origin"),
		IssuedAt: drawTime(t), Resource: "r1", Body: drawBlob(t, "body"),
		State: rapid.SampledFrom([]engine.State{engine.StatePending, engine.StateApplied, engine.StateRejected, engine.StateHeld}).Draw(t, "state")}
	if doc := drawDocument(t); recorded(doc) {
		o.Document, o.Resource = doc, few[doc]
	}
	if rapid.Bool().Draw(t, "change") {
		o.Change, o.Parents = json.RawMessage(`{"set":{}}`), []engine.OperationID{"o1", "o2"}
	}
	drawSites(t, func(s engine.SiteID) {
		if o.Sites == nil {
			o.Sites = map[engine.SiteID]engine.OperationStatus{}
		}
		o.Sites[s] = engine.OperationStatus{State: rapid.SampledFrom([]engine.State{engine.StatePending, engine.StateApplied, engine.StateSuperseded, engine.StateHeld}).Draw(t, "at site"),
			Error: rapid.SampledFrom([]string{"", "No space"}).Draw(t, "error")}
	})
	return o
}

// drawBatch makes a batch over few identifiers.
func (m *model) drawBatch(t *rapid.T) *engine.Batch {
	var b engine.Batch
	for range rapid.IntRange(0, 3).Draw(t, "records") {
		b.Records = append(b.Records, drawRecord(t))
	}
	recorded := func(id engine.DocumentID) bool {
		_, before := m.records[id]
		return before || slices.ContainsFunc(b.Records, func(r engine.Record) bool { return r.Row.Document == id })
	}
	for range rapid.IntRange(0, 3).Draw(t, "operations") {
		o := drawOperation(t, engine.OperationID(rapid.StringMatching(`o[1-6]`).Draw(t, "operation")), recorded)
		b.Operations = append(b.Operations, o)
		switch rapid.IntRange(0, 4).Draw(t, "queue") {
		case 0:
			b.Errands = append(b.Errands, engine.Errand{Operation: o.ID, Data: []byte("e"), At: drawTime(t)})
		case 1:
			b.Ended = append(b.Ended, o.ID)
		case 2:
			b.Outbox = append(b.Outbox, engine.Kept{Operation: o.ID, Data: []byte("k"), KeptAt: drawTime(t)})
		case 3:
			b.Delivered = append(b.Delivered, o.ID)
		}
		b.Events = append(b.Events, engine.Event{Type: "operation.accepted", Subject: string(o.ID), Time: drawTime(t), Data: json.RawMessage(`1`)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "conflicts") {
		id := engine.ConflictID(rapid.StringMatching(`c[1-3]`).Draw(t, "conflict"))
		if rapid.Bool().Draw(t, "resolved") {
			b.Resolved = append(b.Resolved, id)
			continue
		}
		b.Conflicts = append(b.Conflicts, engine.Conflict{ID: id, Kind: engine.ConflictDrift, Document: drawDocument(t), KindName: "image", Site: rapid.SampledFrom(sites).Draw(t, "where"), Since: drawTime(t)})
	}
	if rapid.IntRange(0, 2).Draw(t, "mesh") == 0 {
		record := engine.MeshRecord{Key: engine.RecordKey{Kind: engine.RecordZone, About: rapid.StringMatching(`z[12]`).Draw(t, "zone")},
			Number: rapid.Uint64Range(1, 3).Draw(t, "number"), Body: []byte{rapid.Byte().Draw(t, "record")}}
		list := &b.Mesh
		if rapid.IntRange(0, 2).Draw(t, "dropped") == 0 {
			list = &b.MeshDropped
		}
		*list = append(*list, engine.SignedRecord{Author: rapid.SampledFrom(sites).Draw(t, "author"), Record: engine.Encode(record), Signature: []byte("s")})
	}
	m.drawChanges(t, &b)
	return &b
}

// drawChanges adds the next changes of some authors, and some that are stored already, and drops epochs.
func (m *model) drawChanges(t *rapid.T, b *engine.Batch) {
	if rapid.IntRange(0, 5).Draw(t, "drop") == 0 {
		b.Dropped = append(b.Dropped, engine.EpochOf{Document: drawDocument(t), Epoch: rapid.Uint64Range(0, 1).Draw(t, "dropped epoch")})
	}
	count := map[string]uint64{}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		doc, epoch := drawDocument(t), rapid.Uint64Range(0, 1).Draw(t, "epoch")
		line := engine.LineOf(rapid.SampledFrom(sites).Draw(t, "author"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "run"))
		last := uint64(0)
		for _, c := range m.changes[doc] {
			if c.Line == line && c.Epoch == epoch {
				last = max(last, c.Number)
			}
		}
		of := fmt.Sprint(doc, epoch, line)
		number := last + 1 + count[of]
		if last > 0 && rapid.Bool().Draw(t, "again") {
			number = last
		} else {
			count[of]++
		}
		b.Changes = append(b.Changes, change(doc, epoch, line, number))
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
		m := newModel()
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			switch rapid.IntRange(0, 8).Draw(t, "between") {
			case 0:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open(dir, Options{}); err != nil {
					t.Fatal(err)
				}
			case 1: // one that fails as a whole, at its end
				bad := m.drawBatch(t)
				bad.Mesh = append(bad.Mesh, engine.SignedRecord{Record: []byte("no record")})
				if err := s.Commit(context.Background(), bad); err == nil {
					t.Fatal("a bad batch was taken")
				}
			}
			b := m.drawBatch(t)
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
	if err == nil && reflect.ValueOf(got).Len() == 0 && reflect.ValueOf(want).Len() == 0 {
		return
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
	}
}

func (m *model) compare(t *rapid.T, s *Store) {
	ctx := context.Background()
	for id := range few {
		got, err := s.Record(ctx, id)
		if want, ok := m.records[id]; ok {
			same(t, "record", []engine.Record{got}, []engine.Record{want}, err)
		} else if !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("a record that is not there: %+v, %v", got, err)
		}
		changes, _, err := s.Changes(ctx, id, nil, 0)
		byLine := func(a, b engine.StoredChange) int {
			return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Number, b.Number))
		}
		if !slices.IsSortedFunc(changes, func(a, b engine.StoredChange) int {
			if a.Epoch != b.Epoch || a.Line != b.Line {
				return cmp.Compare(a.Epoch, b.Epoch)
			}
			return cmp.Compare(a.Number, b.Number)
		}) {
			t.Fatalf("changes are not in order: %+v", changes)
		}
		want := slices.Clone(m.changes[id])
		slices.SortFunc(want, byLine)
		slices.SortFunc(changes, byLine)
		same(t, "changes", changes, want, err)
	}
	m.compareResources(t, s)
	m.compareOperations(t, s)
	m.compareQueues(t, s)
}

// rows are the resources that are listed, the newest first.
func (m *model) rows() (rows []engine.ResourceRow) {
	for _, r := range m.records {
		if !r.Hollow {
			rows = append(rows, r.Row)
		}
	}
	slices.SortFunc(rows, func(a, b engine.ResourceRow) int {
		return -cmpBy(a.CreatedAt, b.CreatedAt, m.order[string(a.Document)], m.order[string(b.Document)])
	})
	return rows
}

// compareTallies counts one by one.
func (m *model) compareTallies(t *rapid.T, s *Store, rows []engine.ResourceRow, text string) {
	want := map[string]int{}
	for _, r := range rows {
		if strings.Contains(strings.ToLower(string(r.ID)+"\n"+string(r.Local)+"\n"+r.Label), strings.ToLower(text)) {
			want[fmt.Sprint(r.State, r.Service, r.Kind, slices.Sorted(maps.Keys(r.Sites)))]++
		}
	}
	list, err := s.TallyResources(context.Background(), text)
	got := map[string]int{}
	for _, l := range list {
		got[fmt.Sprint(l.State, l.Service, l.Kind, l.Sites)] += l.Number
	}
	same(t, "tallies of what has "+text, got, want, err)
}

// compareOrders reads the list in each order, a row at a time.
func (m *model) compareOrders(t *rapid.T, s *Store, rows []engine.ResourceRow) {
	name := func(r engine.ResourceRow) string { return strings.ToLower(cmp.Or(r.Label, string(r.ID))) }
	for order, less := range map[engine.ResourceOrder]func(a, b engine.ResourceRow) int{
		engine.OrderOldest:  func(a, b engine.ResourceRow) int { return a.CreatedAt.Compare(b.CreatedAt) },
		engine.OrderName:    func(a, b engine.ResourceRow) int { return cmp.Compare(name(a), name(b)) },
		engine.OrderChanged: func(a, b engine.ResourceRow) int { return b.UpdatedAt.Compare(a.UpdatedAt) },
	} {
		want := slices.DeleteFunc(slices.Clone(rows), func(r engine.ResourceRow) bool { return r.State.Past() })
		slices.SortFunc(want, func(a, b engine.ResourceRow) int {
			n := cmp.Compare(m.order[string(a.Document)], m.order[string(b.Document)])
			if order == engine.OrderChanged {
				n = -n
			}
			return cmp.Or(less(a, b), n)
		})
		var documents, listed []engine.DocumentID
		for _, r := range want {
			documents = append(documents, r.Document)
		}
		for f := (engine.ResourceFilter{Order: order, Limit: 2}); ; {
			page, next, err := s.Resources(context.Background(), f)
			if err != nil {
				t.Fatalf("list by %s: %v", order, err)
			}
			for _, r := range page {
				listed = append(listed, r.Document)
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
		same(t, "by "+string(order), listed, documents, nil)
	}
}

func (m *model) compareResources(t *rapid.T, s *Store) {
	ctx := context.Background()
	rows := m.rows()
	counts := map[engine.State]int{}
	for _, r := range rows {
		counts[r.State]++
	}
	got, err := s.CountResources(ctx)
	same(t, "counts", got, counts, err)
	for _, text := range []string{"", "L1"} {
		m.compareTallies(t, s, rows, text)
	}
	m.compareOrders(t, s, rows)
	network := func(id engine.ResourceID) engine.Target {
		return engine.Target{Service: "networks", Kind: "network", ID: id}
	}
	for _, f := range []engine.ResourceFilter{{}, {Site: "paris"}, {State: engine.StateConverged}, {State: engine.StateDeleted}, {State: engine.StateConflict},
		{ID: "r1"}, {ID: "r2", State: engine.StateDeleted}, {ID: "r2", State: engine.StateConflict}, {Site: "lyon", State: engine.StateConverging}, {Query: "L1"},
		{Query: "bian"}, {Service: "images", Kind: "image"}, {Service: "none"}, {Related: true}, {Related: true, State: engine.StateDeleted},
		{RefersTo: network("n1")}, {RefersTo: network("n2"), Relying: true, Site: "paris"}} {
		var want []engine.ResourceRow
		for _, r := range rows {
			_, at := r.Sites[f.Site]
			refers := slices.ContainsFunc(r.Relations, func(to engine.Relation) bool {
				return to.Target == f.RefersTo && (!f.Relying || to.Type == engine.RelationReliance)
			})
			if f.RefersTo.ID != "" && !refers || f.Related && len(r.Relations) == 0 {
				continue
			}
			text := strings.ToLower(string(r.ID) + "\n" + string(r.Local) + "\n" + r.Label)
			if (f.Site == "" || at) && (f.State == r.State || f.State == "" && !r.State.Past()) && (f.ID == "" || f.ID == r.ID) &&
				strings.Contains(text, strings.ToLower(f.Query)) && (f.Service == "" || f.Service == r.Service) {
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
			all = append(all, got...)
			if f.Cursor = next; next == "" {
				break
			}
		}
		same(t, fmt.Sprintf("resources %+v", f), all, want, nil)
	}
	for _, id := range []string{"r1", "r2", "l1"} {
		m.lookUp(t, "by identifier "+id, func(r engine.ResourceRow) bool { return string(r.ID) == id }, func() (engine.ResourceRow, error) {
			return s.ResourceByID(ctx, "images", "image", engine.ResourceID(id))
		})
		m.lookUp(t, "by local identifier "+id, func(r engine.ResourceRow) bool { return string(r.Local) == id }, func() (engine.ResourceRow, error) {
			return s.ResourceByLocal(ctx, "images", "image", engine.LocalID(id))
		})
	}
	var pending []engine.DocumentID
	for _, r := range slices.SortedFunc(maps.Values(m.records), func(a, b engine.Record) int {
		return cmpBy(a.Row.CreatedAt, b.Row.CreatedAt, m.order[string(a.Row.Document)], m.order[string(b.Row.Document)])
	}) {
		if r.Row.Pending {
			pending = append(pending, r.Row.Document)
		}
	}
	slices.Sort(pending)
	ids, err := s.Pending(ctx)
	slices.Sort(ids)
	same(t, "pending", ids, pending, err)
}

// lookUp finds the one that counts of those that are meant: the living one with an object here, else the earliest living one,
// else the newest that is past. Of several alike any may be it.
func (m *model) lookUp(t *rapid.T, what string, meant func(engine.ResourceRow) bool, look func() (engine.ResourceRow, error)) {
	rank := func(r engine.ResourceRow) (int, int64) {
		switch {
		case !r.State.Past() && r.Local != "":
			return 1, r.CreatedAt.UnixNano()
		case !r.State.Past():
			return 2, r.CreatedAt.UnixNano()
		}
		return 3, -r.CreatedAt.UnixNano()
	}
	order := func(a, b engine.ResourceRow) int {
		ar, at := rank(a)
		br, bt := rank(b)
		return cmp.Or(cmp.Compare(ar, br), cmp.Compare(at, bt))
	}
	rows := slices.DeleteFunc(m.rows(), func(r engine.ResourceRow) bool { return !meant(r) })
	got, err := look()
	if len(rows) == 0 {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("%s: %+v, %v, want none", what, got, err)
		}
		return
	}
	if best := slices.MinFunc(rows, order); err != nil || order(got, best) != 0 || !meant(got) {
		t.Fatalf("%s: %+v, %v, want %+v", what, got, err, best)
	}
	same(t, what, []engine.ResourceRow{got}, []engine.ResourceRow{m.records[got.Document].Row}, nil)
}

func (m *model) compareOperations(t *rapid.T, s *Store) {
	ctx := context.Background()
	operations := slices.SortedFunc(maps.Values(m.operations), func(a, b engine.OperationRow) int {
		return -cmpBy(a.IssuedAt, b.IssuedAt, m.order[string(a.ID)], m.order[string(b.ID)])
	})
	counts := map[engine.State]int{}
	for _, r := range operations {
		counts[r.State]++
	}
	counted, err := s.CountOperations(ctx)
	same(t, "counts of operations", counted, counts, err)
	held := map[[2]engine.SiteID]int{}
	for _, r := range operations {
		for site, at := range r.Sites {
			if r.State == engine.StateHeld && at.State == engine.StateHeld {
				held[[2]engine.SiteID{site, r.Origin}]++
			}
		}
	}
	countedHeld, err := s.CountHeld(ctx)
	same(t, "held operations", countedHeld, held, err)
	for _, f := range []engine.OperationFilter{{}, {Site: "paris"}, {Site: "nantes", State: engine.StateApplied}, {Site: "lyon", State: engine.StateSuperseded},
		{Document: document("d1")}, {Resource: "r2", Site: "lyon"}, {Resource: "r1"}, {Document: document("d2"), Resource: "r1", State: engine.StatePending},
		{State: engine.StateApplied}, {State: engine.StateRejected}, {State: engine.StatePending, Oldest: true}, {Words: []engine.SearchWord{{Text: "no SPACE"}}},
		{Words: []engine.SearchWord{{Text: "no such", Sites: []engine.SiteID{"lyon"}}}}} {
		var want []engine.OperationRow
		tally := map[engine.State]int{}
		for _, r := range operations {
			status, at := r.Sites[f.Site]
			state := r.State
			if f.Site != "" {
				state = status.State
			}
			found := len(f.Words) == 0
			for _, w := range f.Words {
				for site, at := range r.Sites {
					found = found || strings.Contains(strings.ToLower(at.Error), strings.ToLower(w.Text)) || slices.Contains(w.Sites, site)
				}
				found = found || slices.Contains(w.Sites, r.Origin)
			}
			if found && (f.Site == "" || at) && (f.Document == "" || f.Document == r.Document) && (f.Resource == "" || f.Resource == r.Resource) {
				tally[state]++
				if f.State == "" || f.State == state {
					want = append(want, r)
				}
			}
		}
		tallied, err := s.TallyOperations(ctx, f)
		same(t, fmt.Sprintf("tally of operations that %+v leaves", f), tallied, tally, err)
		if f.Oldest {
			slices.Reverse(want)
		}
		got, _, err := s.Operations(ctx, f)
		same(t, fmt.Sprintf("operations %+v", f), got, want, err)
	}
}

func (m *model) compareQueues(t *rapid.T, s *Store) {
	ctx := context.Background()
	errands, err := s.Errands(ctx)
	same(t, "errands", errands, slices.SortedFunc(maps.Values(m.errands), func(a, b engine.Errand) int {
		return cmpBy(a.At, b.At, string(a.Operation), string(b.Operation))
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
	conflicts, _, err := s.Conflicts(ctx, engine.ConflictFilter{})
	same(t, "conflicts", conflicts, slices.SortedFunc(maps.Values(m.conflicts), func(a, b engine.Conflict) int {
		return -cmpBy(a.Since, b.Since, m.order[string(a.ID)], m.order[string(b.ID)])
	}), err)
	causes := map[engine.Cause][]engine.Conflict{}
	for _, c := range conflicts {
		cause := c.Cause()
		if r, ok := m.records[c.Document]; ok {
			cause.Kind = r.Row.Kind
		}
		causes[cause] = append(causes[cause], c)
	}
	counted, err := s.CountConflicts(ctx)
	for cause, tally := range counted { // of several of one time each is the newest
		list := causes[cause]
		if i := slices.IndexFunc(list, func(c engine.Conflict) bool { return c.ID == tally.Newest }); len(list) != tally.Number || i < 0 || !list[i].Since.Equal(list[0].Since) {
			t.Fatalf("of %+v: %+v, of %+v", cause, tally, list)
		}
	}
	if err != nil || len(counted) != len(causes) {
		t.Fatalf("causes %+v, %v, want those of %+v", counted, err, causes)
	}
	events, err := s.Events(ctx, 0, 1000)
	same(t, "events", events, m.events, err)
	after := rapid.IntRange(0, len(m.events)).Draw(t, "after")
	events, err = s.Events(ctx, uint64(after), 3)
	same(t, "some events", events, m.events[after:min(after+3, len(m.events))], err)
	mesh, err := s.Mesh(ctx)
	var want []engine.SignedRecord
	for _, key := range slices.Sorted(maps.Keys(m.mesh)) {
		want = append(want, m.mesh[key])
	}
	same(t, "records of the mesh", mesh, want, err)
}

func cmpBy[T cmp.Ordered](at, bt time.Time, a, b T) int {
	return cmp.Or(at.Compare(bt), cmp.Compare(a, b))
}
