package storage

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestACreateTakesEightStatements: what one site writes for a replicated create in its three commits, of which each may be
// shared by many.
func TestACreateTakesEightStatements(t *testing.T) {
	s := open(t, t.TempDir())
	warm := createOf(0)
	for _, b := range []*engine.Batch{&warm.heard, &warm.applied, &warm.converged} {
		mustCommit(t, s, b)
	}
	const ends = 2 // of a transaction
	for _, size := range []int{1, 16} {
		before, commits := s.queue.writer.ran, 0
		parts := [3][]*engine.Batch{}
		for n := range size {
			c := createOf(1000*size + n)
			parts[0], parts[1], parts[2] = append(parts[0], &c.heard), append(parts[1], &c.applied), append(parts[2], &c.converged)
		}
		for _, p := range parts {
			mustCommit(t, s, join(p))
			commits++
		}
		ran := s.queue.writer.ran - before - ends*commits
		if want := 6*size + 2; ran != want { // the runs of events are shared
			t.Errorf("%d creates take %d statements, want %d", size, ran, want)
		}
	}
	if n := ask(t, s, `SELECT count(*) FROM resources WHERE local <> ''`); n != int64(0) {
		t.Errorf("%v of them are in the index by local identifier, though each has the same one everywhere", n)
	}
}

// TestNilBlobsStay: what is not given is left as it is, over a restart too; empty bytes are something.
func TestNilBlobsStay(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := sample(1).Records[0]
	r.Checkpoint, r.Epoch = []byte("checkpoint"), 2
	r.Apart = map[engine.SiteID]engine.Fingerprint{"lyon": {9, 8, 7, 6}}
	r.Blobs = []engine.BlobHash{"b1", "b2"}
	r.Peers = []engine.SiteID{"paris", "nantes", "lyon"}
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{r}})
	check := func(when string, want engine.Record) {
		t.Helper()
		got, err := s.Record(t.Context(), r.Row.Document)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", when, got, err, want)
		}
	}
	slices.Sort(r.Peers)
	check("at first", r)
	next := engine.Record{Row: r.Row, Epoch: 3}
	next.Row.State, next.Row.Reason, next.Row.Local, next.Hollow = engine.StateConflict, "why", "", true
	want := next
	want.About, want.Mine, want.Statuses, want.Checkpoint = r.About, r.Mine, r.Statuses, r.Checkpoint
	for range 2 {
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{next}})
		check("nothing given", want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir) // the second time the row was not written lately
	}
	next.About, next.Mine, next.Statuses, next.Checkpoint = []byte("other"), []byte{}, []byte("new"), []byte{}
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{next}})
	check("all given", next)
}

// TestEveryColumnIsWrittenAlone changes one thing of a row at a time, of one that was written lately and of one that was not.
func TestEveryColumnIsWrittenAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := sample(1).Records[0]
	put := func() {
		t.Helper()
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{r}})
		got, err := s.Record(t.Context(), r.Row.Document)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("\n got %+v, %v\nwant %+v", got, err, r)
		}
	}
	put()
	for _, change := range []func(){
		func() { r.Row.ID = "another" },
		func() { r.Row.Local = "another" }, // the same
		func() { r.Row.ID = "third" },
		func() { r.Row.Local = "" },
		func() { r.Row.Service = "other" },
		func() { r.Row.Kind = "other" },
		func() { r.Row.Collaboration = engine.Cross },
		func() { r.Row.Label = "label" },
		func() { r.Row.State = engine.StateDeleted },
		func() { r.Row.State = engine.StateLeft },
		func() { r.Row.State = engine.StateConverged },
		func() { r.Row.Reason = "reason" },
		func() { r.Row.CreatedAt = r.Row.CreatedAt.Add(time.Hour) },
		func() { r.Row.UpdatedAt = r.Row.UpdatedAt.Add(time.Hour) },
		func() { r.Row.Pending = !r.Row.Pending },
		func() {
			r.Row.Sites = map[engine.SiteID]engine.ReplicaStatus{"lyon": {State: "of a newer release", Reason: "r"}}
		},
		func() { r.Row.Sites = nil },
		func() {
			r.Row.Relations = []engine.Relation{{Target: engine.Target{Service: "s", Kind: "k", ID: "i"}, At: "/a", Type: engine.RelationReliance, Found: []engine.SiteID{"lyon"}}}
		},
		func() { r.Row.CreatedAt = r.Row.CreatedAt.Add(time.Hour) },
		func() { r.Row.Relations = nil },
		func() { r.Epoch = 7 },
		func() { r.Digest = engine.Fingerprint{1 << 63, 2, 3, 4} },
		func() { r.Peers = []engine.SiteID{"lyon"} },
		func() { r.Peers = nil },
		func() { r.Apart = map[engine.SiteID]engine.Fingerprint{"a": {1}, "b": {2}} },
		func() { r.Hollow = true },
		func() { r.Blobs = []engine.BlobHash{"b"} },
		func() { r.About = []byte("other") },
		func() { r.Mine = []byte("other") },
		func() { r.Statuses = []byte("other") },
		func() { r.Checkpoint = []byte("other") },
	} {
		change()
		put()
	}
	s.queue.writer.forget()
	r.Row.State, r.Hollow = engine.StateConflict, false
	put()
	if rows, _, err := s.Resources(t.Context(), engine.ResourceFilter{State: engine.StateConflict}); err != nil || len(rows) != 1 {
		t.Errorf("it is listed as %v, %v", rows, err)
	}
}

// TestABriefRecordIsWhatIsMineAlone: the rest stays as it is, whatever the record says.
func TestABriefRecordIsWhatIsMineAlone(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	mustCommit(t, s, b)
	id := b.Records[0].Row.Document
	want, err := s.Record(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the writer remembers the row, and does not
		brief := want
		brief.Brief, brief.Mine, brief.Row.Reason, brief.Epoch = true, append(want.Mine, '+'), "another", want.Epoch+1
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{brief}})
		want.Mine = brief.Mine
		if got, err := s.Record(t.Context(), id); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("stored is %+v, %v, not %+v", got, err, want)
		}
		s.queue.writer.forget()
	}
	stranger := engine.Record{Brief: true, Row: engine.ResourceRow{Document: sample(2).Records[0].Row.Document}}
	if err := s.Commit(t.Context(), &engine.Batch{Records: []engine.Record{stranger}}); err == nil {
		t.Error("one of what is not there was stored")
	}
}

// TestWhatRefersToADocumentMayComeFirst: nothing shows a document of which only changes and operations are here.
func TestWhatRefersToADocumentMayComeFirst(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	doc := b.Changes[0].Document
	mustCommit(t, s, &engine.Batch{Changes: b.Changes, Operations: b.Operations})
	if _, err := s.Record(t.Context(), doc); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("its record: %v", err)
	}
	if o, err := s.Operation(t.Context(), b.Operations[0].ID); err != nil || o.Document != doc {
		t.Errorf("its operation: %+v, %v", o, err)
	}
	if all, err := s.Pending(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("pending: %v, %v", all, err)
	}
	if n, err := s.CountResources(t.Context()); err != nil || len(n) != 0 {
		t.Errorf("counted: %v, %v", n, err)
	}
	mustCommit(t, s, &engine.Batch{Records: b.Records})
	if ok, err := has(s, 1); !ok || err != nil {
		t.Errorf("with its record: %v, %v", ok, err)
	}
}

func TestDocumentsHaveIdentifiers(t *testing.T) {
	s := open(t, t.TempDir())
	for _, id := range []engine.DocumentID{"", "d1", document("x")[1:], "ZZ" + document("x")[2:]} {
		if err := s.Commit(t.Context(), &engine.Batch{Records: []engine.Record{{Row: engine.ResourceRow{Document: id}}}}); err == nil || errors.Is(err, engine.ErrStorage) {
			t.Errorf("%q: %v, want an error that is not ErrStorage", id, err)
		}
		if _, err := s.Record(t.Context(), id); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("record of %q: %v", id, err)
		}
		if _, err := s.ResourceByDocument(t.Context(), id); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("resource of %q: %v", id, err)
		}
		if all, more, err := s.Changes(t.Context(), id, nil, 0); err != nil || more || len(all) > 0 {
			t.Errorf("changes of %q: %v, %v", id, all, err)
		}
	}
}

// TestNames: they are in no list but their own, and found by what they name, each document of them.
func TestNames(t *testing.T) {
	s := open(t, t.TempDir())
	name := func(doc string, state engine.State, collaboration engine.Collaboration) engine.Record {
		return engine.Record{Hollow: true, Row: engine.ResourceRow{Document: document(doc), Service: "servers", Kind: "server", ID: "web",
			Collaboration: collaboration, State: state, CreatedAt: time.Unix(1, 0)}}
	}
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{name("n1", "", engine.ExactlyOne), name("n2", engine.StateLeft, engine.ExactlyOne),
		name("r", engine.StateConverging, engine.Replication)}})
	got, err := s.Names(t.Context(), "servers", "server", "web")
	want := []engine.DocumentID{document("n1"), document("n2")}
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("names: %v, %v, want %v", got, err, want)
	}
	if got, err := s.Names(t.Context(), "servers", "server", "other"); err != nil || len(got) != 0 {
		t.Errorf("of another name: %v, %v", got, err)
	}
	held := name("n3", engine.StateConflict, engine.ExactlyOne)
	held.Row.ID, held.Row.Sites = "door", map[engine.SiteID]engine.ReplicaStatus{"nantes": {State: engine.StateConflict}}
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{held}})
	for _, c := range []struct {
		f    engine.ResourceFilter
		want string
	}{
		{engine.ResourceFilter{}, ""},
		{engine.ResourceFilter{Names: true}, "door web"},
		{engine.ResourceFilter{Names: true, Order: engine.OrderName}, "door web"},
		{engine.ResourceFilter{Names: true, Order: engine.OrderOldest}, "web door"},
		{engine.ResourceFilter{Names: true, State: engine.StateConflict}, "door"},
		{engine.ResourceFilter{Names: true, State: engine.StateLeft}, "web"},
		{engine.ResourceFilter{Names: true, Site: "nantes"}, "door"},
		{engine.ResourceFilter{Names: true, Query: "OO"}, "door"},
		{engine.ResourceFilter{Names: true, ID: "web"}, "web"},
		{engine.ResourceFilter{Names: true, Service: "servers", Kind: "other"}, ""},
	} {
		rows, _, err := s.Resources(t.Context(), c.f)
		var list []string
		for _, r := range rows {
			list = append(list, string(r.ID))
		}
		if got := strings.Join(list, " "); got != c.want || err != nil {
			t.Errorf("%+v lists %q, want %q: %v", c.f, got, c.want, err)
		}
	}
}

func TestNeededBlobs(t *testing.T) {
	s := open(t, t.TempDir())
	hash := func(c byte) engine.BlobHash {
		return engine.BlobHash(slices.Repeat([]byte{c}, 64))
	}
	b := sample(1)
	b.Records[0].Blobs = []engine.BlobHash{hash('1'), hash('2')}
	b.Operations[0].Blob, b.Operations[0].NeedsBlob, b.Operations[0].Body = &engine.BlobRef{Hash: hash('3'), Size: 1 << 20}, true, nil
	b.Errands[0].Blob = hash('4')
	blob, origin := b.Operations[0].Blob, b.Operations[0].Origin
	mustCommit(t, s, b)
	check := func(want ...engine.BlobHash) {
		t.Helper()
		list, err := s.NeededBlobs(t.Context())
		var got []engine.BlobHash
		for _, b := range list {
			got = append(got, b.Hash)
			if o := b.Origin != ""; o != (b.Hash == hash('3')) || o && b != (engine.NeededBlob{BlobRef: *blob, Origin: origin}) {
				t.Errorf("of a blob it says %+v", b)
			}
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("needed are %v, %v, want %v", got, err, want)
		}
		for c := range byte(6) {
			if yes, err := s.NeedsBlob(t.Context(), hash('0'+c)); err != nil || yes != slices.Contains(want, hash('0'+c)) {
				t.Errorf("%c is needed: %v, %v", '0'+c, yes, err)
			}
		}
		if yes, err := s.NeedsBlob(t.Context(), ""); yes || err != nil {
			t.Errorf("no blob is needed: %v, %v", yes, err)
		}
	}
	check(hash('1'), hash('2'), hash('3'), hash('4'))
	b.Records[0].Blobs, b.Operations[0].NeedsBlob, b.Errands = b.Records[0].Blobs[1:], false, nil
	b.Changes, b.Ended = nil, []engine.OperationID{b.Operations[0].ID}
	mustCommit(t, s, b)
	check(hash('2'))
	if o, err := s.Operation(t.Context(), b.Operations[0].ID); err != nil || o.Blob == nil || *o.Blob != *b.Operations[0].Blob || o.NeedsBlob {
		t.Errorf("the operation is %+v, %v", o, err)
	}
}

// TestReferencesAreListedByCreation: by that of who refers, also where it is known better later.
func TestReferencesAreListedByCreation(t *testing.T) {
	s := open(t, t.TempDir())
	to := engine.Target{Service: "networks", Kind: "network", ID: "lan"}
	put := func(doc string, at int64) {
		t.Helper()
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{{Row: engine.ResourceRow{Document: document(doc), ID: engine.ResourceID(doc), Service: "servers",
			Kind: "server", CreatedAt: time.Unix(at, 0), State: engine.StateConverged, Relations: []engine.Relation{{Target: to, Type: engine.RelationReliance}}}}}})
	}
	put("a", 1)
	put("b", 2)
	put("a", 3)
	var got []engine.ResourceID
	for f := (engine.ResourceFilter{RefersTo: to, Limit: 1}); ; {
		rows, next, err := s.Resources(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(got, []engine.ResourceID{"a", "b"}) {
		t.Errorf("listed are %v", got)
	}
}
