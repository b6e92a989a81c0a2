package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestPagesComeFromAnIndex asks SQLite how it would answer every combination of filters: never by sorting or by reading a
// whole table, so that a page costs the same however many rows there are.
func TestPagesComeFromAnIndex(t *testing.T) {
	s := open(t, t.TempDir())
	plan := func(q string, args []any) string {
		rows, err := s.reads.Query(`EXPLAIN QUERY PLAN `+q, args...)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		defer rows.Close()
		var all []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			all = append(all, detail)
		}
		return strings.Join(all, "; ")
	}
	check := func(filter any, q string, args []any, mayScan bool) {
		t.Helper()
		p := plan(q, args)
		for _, step := range strings.Split(p, "; ") {
			// A scan of an index that has the list's order stops at the end of the page.
			scan := strings.HasPrefix(step, "SCAN") && !(mayScan && strings.Contains(step, " INDEX "))
			if scan || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%+v: %s", filter, p)
			}
		}
	}
	cursors := []string{"", encodeCursor(resourceCursor, position{1, 1})}
	for _, site := range []engine.SiteID{"", "paris"} {
		for _, state := range []engine.State{"", engine.StateConverged, engine.StateConflict, engine.StateDeleted} {
			for _, service := range []engine.ServiceName{"", "images"} {
				for _, kind := range []engine.KindName{"", "image"} {
					for _, cursor := range cursors {
						f := engine.ResourceFilter{Site: site, State: state, Service: service, Kind: kind, Cursor: cursor}
						q, args, err := resourceQuery(f)
						if err != nil {
							t.Fatal(err)
						}
						none := site == "" && service == "" && cursor == "" && (state == "" || state == engine.StateConverged)
						check(f, q, args, none)
					}
				}
			}
		}
	}
	to := engine.Target{Service: "networks", Kind: "network", ID: "n"}
	for _, f := range []engine.ResourceFilter{{RefersTo: to}, {RefersTo: to, Relying: true, Site: "paris"}, {RefersTo: to, Kind: "server"},
		{RefersTo: to, State: engine.StateConflict}, {Related: true}, {Related: true, Site: "paris"}, {Related: true, State: engine.StateConflict}} {
		for _, cursor := range cursors {
			f.Cursor = cursor
			q, args, err := resourceQuery(f)
			if err != nil {
				t.Fatal(err)
			}
			check(f, q, args, f.Related)
		}
	}
	cursors[1] = encodeCursor(operationCursor, position{1, 1})
	for _, site := range []engine.SiteID{"", "paris"} {
		for _, state := range []engine.State{"", engine.StatePending} {
			for _, document := range []engine.DocumentID{"", "d"} {
				for _, resource := range []engine.ResourceID{"", "r"} {
					for _, cursor := range cursors {
						f := engine.OperationFilter{Site: site, State: state, Document: document, Resource: resource, Cursor: cursor}
						q, args, err := operationQuery(f)
						if err != nil {
							t.Fatal(err)
						}
						check(f, q, args, site == "" && state == "" && document == "" && resource == "" && cursor == "")
					}
				}
			}
		}
	}
	oldest, args, err := operationQuery(engine.OperationFilter{State: engine.StatePending, Oldest: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	check("oldest", oldest, args, false)
	byName, args, err := resourceQuery(engine.ResourceFilter{ID: "r", Service: "images", Kind: "image"})
	if p := plan(byName, args); err != nil || !strings.Contains(p, "resources_id (id=? AND service=? AND kind=? AND rank>?)") {
		t.Errorf("by name: %s, %v", p, err)
	}
	for name, q := range map[string]string{"by local": resourceByLocal, "by id": resourceByID} {
		check(name, q, []any{"i", "s", "k"}, false)
	}
	check("pending", `SELECT document FROM resources WHERE pending = 1 ORDER BY created_at, document`, nil, true)
	if p := plan(summaries, []any{"s", "a", "b", "a", "b"}); strings.Contains(p, "SCAN") {
		t.Errorf("summaries: %s", p)
	}
}

func TestPagesNeitherRepeatNorSkip(t *testing.T) {
	s := open(t, t.TempDir())
	var b engine.Batch
	for n := range 25 {
		one := sample(n)
		at := time.Unix(1_790_000_000+int64(n/10), 0) // many at the same instant
		one.Resources[0].CreatedAt, one.Operations[0].IssuedAt = at, at
		b.Resources = append(b.Resources, one.Resources...)
		b.Operations = append(b.Operations, one.Operations...)
	}
	mustCommit(t, s, &b)
	var seen []engine.DocumentID
	f := engine.ResourceFilter{Limit: 7}
	for page := 0; ; page++ {
		rows, next, err := s.Resources(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			seen = append(seen, r.Document)
		}
		// A new one, and one that leaves the list, between two pages.
		added := sample(100 + page).Resources[0]
		added.CreatedAt = time.Unix(1_800_000_000, 0)
		gone := rows[0]
		gone.State = engine.StateDeleted
		mustCommit(t, s, &engine.Batch{Resources: []engine.ResourceRow{added, gone}})
		if f.Cursor = next; next == "" {
			break
		}
	}
	var want []engine.DocumentID
	for n := 24; n >= 0; n-- {
		want = append(want, sample(n).Documents[0].ID)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("pages showed %d resources, want 25 from the newest to the oldest:\n%v", len(seen), seen)
	}
	var operations []engine.OperationID
	for of := (engine.OperationFilter{Site: "nantes", State: engine.StatePending, Limit: 10}); ; {
		rows, next, err := s.Operations(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			operations = append(operations, r.ID)
		}
		if of.Cursor = next; next == "" {
			break
		}
	}
	if len(operations) != 25 || !slices.IsSortedFunc(operations, func(a, b engine.OperationID) int { return strings.Compare(string(b), string(a)) }) {
		t.Errorf("pages showed %d operations, want 25, newest first", len(operations))
	}
	oldest, _, err := s.Operations(t.Context(), engine.OperationFilter{Site: "nantes", State: engine.StatePending, Oldest: true, Limit: 1})
	if err != nil || len(oldest) != 1 || oldest[0].ID != operations[24] {
		t.Errorf("the oldest is %v, %v", oldest, err)
	}
}

// TestOperationsAreFoundByWords looks for what people see of them, in any case.
func TestOperationsAreFoundByWords(t *testing.T) {
	s := open(t, t.TempDir())
	at := time.Unix(1_790_000_000, 0)
	mustCommit(t, s, &engine.Batch{
		Resources: []engine.ResourceRow{{Document: "d1", ID: "r1", Service: "images", Kind: "image", Label: "Debian", Local: "local-7", State: engine.StateConverged, CreatedAt: at, UpdatedAt: at}},
		Operations: []engine.OperationRow{
			{ID: "o1", Document: "d1", Resource: "r1", Service: "images", Kind: "image", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}/file", Origin: "12Paris", User: "Ada", IssuedAt: at,
				State: engine.StateRejected, Sites: map[engine.SiteID]engine.OperationStatus{"12Nantes": {State: engine.StateRejected, Error: `no "space" < 5 % left`}}},
			{ID: "o2", Resource: "r2", Service: "servers", Kind: "server", Type: engine.TypeCreate, Method: "POST", Path: "/servers", Scope: "{servers: paris}", Origin: "12Nantes", IssuedAt: at.Add(time.Second), State: engine.StatePending},
		},
	})
	for words, want := range map[string]string{
		"debian": "o1", "local-7": "o1", "patch /images/r1/file": "o1", "images.image": "o1", "ADA": "o1", "create": "o2", "{servers:": "o2", `"space"`: "o1", "<": "o1",
		"left 5": "o1", "debian create": "", "rejected": "", "nantes": "o2 o1", "paris": "o2 o1", "paris debian": "o1", "%": "o1",
	} {
		f := engine.OperationFilter{}
		for _, w := range strings.Fields(words) {
			word := engine.SearchWord{Text: w}
			switch w {
			case "nantes", "paris": // as the caller knows by their names
				word.Sites = []engine.SiteID{engine.SiteID("12" + strings.ToUpper(w[:1]) + w[1:])}
			}
			f.Words = append(f.Words, word)
		}
		rows, _, err := s.Operations(t.Context(), f)
		var got []string
		for _, r := range rows {
			got = append(got, string(r.ID))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q finds %v, %v; want %q", words, got, err, want)
		}
	}
}

func TestBadCursorsAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	of := encodeCursor(operationCursor, position{1, 1})
	for _, c := range []string{"x", "!!!", "cg", of, encodeCursor(resourceCursor, position{1, 1})[1:], encodeCursor(resourceCursor, position{1, 1}) + "\n"} {
		if _, _, err := s.Resources(t.Context(), engine.ResourceFilter{Cursor: c}); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("resources after %q: %v, want ErrRefused", c, err)
		}
	}
	if _, _, err := s.Operations(t.Context(), engine.OperationFilter{Cursor: "x"}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("operations: %v, want ErrRefused", err)
	}
}

func TestResourceFilters(t *testing.T) {
	s := open(t, t.TempDir())
	at := time.Unix(1_790_000_000, 0)
	row := func(doc string, service, kind, id, local string, state engine.State, sites ...engine.SiteID) engine.ResourceRow {
		at = at.Add(time.Second)
		r := engine.ResourceRow{Document: engine.DocumentID(doc), Service: engine.ServiceName(service), Kind: engine.KindName(kind),
			ID: engine.ResourceID(id), Local: engine.LocalID(local), Label: "The " + string(kind), State: state, CreatedAt: at, Sites: map[engine.SiteID]engine.ReplicaStatus{}}
		for _, s := range sites {
			r.Sites[s] = engine.ReplicaStatus{Local: engine.LocalID(string(s) + "-" + id)}
		}
		return r
	}
	mustCommit(t, s, &engine.Batch{Resources: []engine.ResourceRow{
		row("d1", "images", "image", "debian", "7", engine.StateDeleted, "paris", "nantes"),
		row("d2", "images", "image", "debian", "7", engine.StateConverged, "paris", "nantes"), // the next incarnation
		row("d3", "servers", "server", "web", "7", engine.StateConflict, "nantes"),
		row("d4", "servers", "disk", "Big_100%", "", engine.StateConverged, "lyon", "paris"),
	}})
	for _, tt := range []struct {
		name string
		f    engine.ResourceFilter
		want string
	}{
		{"all that live", engine.ResourceFilter{}, "d4 d3 d2"},
		{"service", engine.ResourceFilter{Service: "servers"}, "d4 d3"},
		{"kind", engine.ResourceFilter{Kind: "image"}, "d2"},
		{"service and kind", engine.ResourceFilter{Service: "servers", Kind: "disk"}, "d4"},
		{"site", engine.ResourceFilter{Site: "nantes"}, "d3 d2"},
		{"site and state", engine.ResourceFilter{Site: "paris", State: engine.StateConverged}, "d4 d2"},
		{"site and deleted", engine.ResourceFilter{Site: "paris", State: engine.StateDeleted}, "d1"},
		{"deleted", engine.ResourceFilter{State: engine.StateDeleted}, "d1"},
		{"state", engine.ResourceFilter{State: engine.StateConflict}, "d3"},
		{"state and service", engine.ResourceFilter{State: engine.StateConverged, Service: "images"}, "d2"},
		{"id", engine.ResourceFilter{ID: "debian"}, "d2"},
		{"id, site and deleted", engine.ResourceFilter{ID: "debian", Site: "paris", State: engine.StateDeleted}, "d1"},
		{"id and another site", engine.ResourceFilter{ID: "debian", Site: "lyon"}, ""},
		{"part of an id, any case", engine.ResourceFilter{Query: "DEB"}, "d2"},
		{"part of another site's local id", engine.ResourceFilter{Query: "lyon-b"}, "d4"},
		{"part of a label", engine.ResourceFilter{Query: "the s"}, "d3"},
		{"no wildcards", engine.ResourceFilter{Query: "g_1"}, "d4"},
		{"no wildcards", engine.ResourceFilter{Query: "%"}, "d4"},
	} {
		rows, next, err := s.Resources(t.Context(), tt.f)
		var got []string
		for _, r := range rows {
			got = append(got, string(r.Document))
		}
		if strings.Join(got, " ") != tt.want || next != "" || err != nil {
			t.Errorf("%s: %v, next %q, %v, want %s", tt.name, got, next, err, tt.want)
		}
	}
	want := map[engine.State]int{engine.StateConverged: 2, engine.StateConflict: 1, engine.StateDeleted: 1}
	if got, err := s.CountResources(t.Context()); !maps.Equal(got, want) || err != nil {
		t.Errorf("counts: %v, %v, want %v", got, err, want)
	}
	if r, err := s.ResourceByID(t.Context(), "images", "image", "debian"); r.Document != "d2" || err != nil {
		t.Errorf("ResourceByID: %v, %v, want the newest incarnation d2", r.Document, err)
	}
	if r, err := s.ResourceByLocal(t.Context(), "servers", "server", "7"); r.Document != "d3" || err != nil {
		t.Errorf("ResourceByLocal: %v, %v, want d3", r.Document, err)
	}
	if r, err := s.ResourceByLocal(t.Context(), "servers", "disk", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("ResourceByLocal of no identifier: %v, %v, want ErrNotFound", r.Document, err)
	}
}

func TestSummariesFollowThePlacement(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.MeshDocument(t.Context()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("mesh document: %v, want ErrNotFound", err)
	}
	heads := [32]byte{7}
	mustCommit(t, s, &engine.Batch{Documents: []engine.DocumentRow{
		{ID: "aa", Sites: []engine.SiteID{"paris", "nantes"}, Heads: heads},
		{ID: "bb", Sites: []engine.SiteID{"paris"}},
		{ID: "cc", Mesh: true, Sites: []engine.SiteID{"paris"}},
		{ID: "dd", Sites: []engine.SiteID{"nantes"}},
	}})
	check := func(with engine.SiteID, from, to engine.DocumentID, want string) {
		t.Helper()
		all, err := s.Summaries(t.Context(), with, from, to)
		var got []string
		for _, x := range all {
			got = append(got, string(x.Document))
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("with %s from %q to %q: %v, %v, want %s", with, from, to, got, err, want)
		}
		if len(all) > 0 && all[0].Document == "aa" && all[0].Heads != heads {
			t.Errorf("heads of aa: %x", all[0].Heads)
		}
	}
	check("paris", "", "", "aa bb cc")
	check("nantes", "", "", "aa cc dd")
	check("lyon", "", "", "cc")
	check("paris", "aa", "cc", "aa bb")
	check("paris", "ab", "", "bb cc")
	if d, err := s.MeshDocument(t.Context()); d.ID != "cc" || !d.Mesh || err != nil {
		t.Errorf("mesh document: %v, %v, want cc", d, err)
	}
	// nantes leaves aa, paris joins dd.
	mustCommit(t, s, &engine.Batch{Documents: []engine.DocumentRow{
		{ID: "aa", Sites: []engine.SiteID{"paris"}, Heads: heads}, {ID: "dd", Sites: []engine.SiteID{"paris", "nantes"}}}})
	check("nantes", "", "", "cc dd")
	check("paris", "", "", "aa bb cc dd")
	// nantes was removed from aa: while it leaves it is shown what all are shown, and then always the same.
	left := [32]byte{9}
	mustCommit(t, s, &engine.Batch{Documents: []engine.DocumentRow{
		{ID: "aa", Sites: []engine.SiteID{"paris"}, Leaving: []engine.SiteID{"nantes"}, Heads: heads}}})
	check("nantes", "", "", "aa cc dd")
	for range 2 {
		mustCommit(t, s, &engine.Batch{Documents: []engine.DocumentRow{
			{ID: "aa", Sites: []engine.SiteID{"paris"}, Former: map[engine.SiteID][32]byte{"nantes": left}, Heads: heads}}})
		check("paris", "", "", "aa bb cc dd")
		if all, err := s.Summaries(t.Context(), "nantes", "", ""); err != nil || len(all) != 3 || all[0] != (engine.Summary{Document: "aa", Heads: left}) {
			t.Errorf("a former site is shown %v, %v", all, err)
		}
	}
}

func TestChangesSinceAVersion(t *testing.T) {
	s := open(t, t.TempDir())
	row := func(actor string, seq uint64) engine.ChangeRow {
		r := engine.ChangeRow{Document: "d", Actor: actor, Seq: seq, Hash: [32]byte{actor[0], byte(seq)}}
		r.Bytes = make([]byte, 100)
		return r
	}
	// In the order of storing, which is not that of actor and number.
	mustCommit(t, s, &engine.Batch{Changes: []engine.ChangeRow{row("b", 1), row("a", 1)}})
	mustCommit(t, s, &engine.Batch{Changes: []engine.ChangeRow{row("b", 2), row("a", 2), row("c", 1)}})
	for _, tt := range []struct {
		have  engine.Version
		limit int
		want  string
	}{
		{nil, 0, "b1 a1 b2 a2 c1"},
		{engine.Version{"a": 2, "b": 1}, 0, "b2 c1"},
		{engine.Version{"a": 9, "b": 9, "c": 9, "z": 1}, 0, ""},
		{nil, 1, "b1 …"},
		{nil, 250, "b1 a1 b2 …"},
		{engine.Version{"a": 2, "b": 2}, 100, "c1"},
	} {
		rows, more, err := s.Changes(t.Context(), "d", tt.have, tt.limit)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s%d", r.Actor, r.Seq))
			if r.Hash != (row(r.Actor, r.Seq).Hash) {
				t.Errorf("hash of %s%d is %x", r.Actor, r.Seq, r.Hash)
			}
		}
		if more {
			got = append(got, "…")
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("since %v, %d bytes: %v, %v, want %s", tt.have, tt.limit, got, err, tt.want)
		}
	}
	if v, err := s.Version(t.Context(), "none"); v == nil || len(v) != 0 || err != nil {
		t.Errorf("version of no document: %v, %v", v, err)
	}
}

func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.Snapshot(t.Context(), "d"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("none yet: %v, want ErrNotFound", err)
	}
	for _, want := range []string{"one", "", "three"} {
		if err := s.SaveSnapshot(t.Context(), "d", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Snapshot(t.Context(), "d"); string(got) != want || err != nil {
			t.Errorf("snapshot is %q, %v, want %q", got, err, want)
		}
	}
	s.Close()
	if got, err := open(t, dir).Snapshot(t.Context(), "d"); string(got) != "three" || err != nil {
		t.Errorf("after reopening: %q, %v", got, err)
	}
}

// TestADroppedDocumentLeavesNothing drops an epoch of a resource and keeps the checkpoint in the next one's row.
func TestADroppedDocumentLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	change := func(document engine.DocumentID) engine.ChangeRow {
		return engine.ChangeRow{SignedChange: engine.SignedChange{Author: "p", Signature: []byte{1}, Bytes: []byte{2}},
			Document: document, Hash: [32]byte{document[0]}, Actor: string(document), Seq: 1}
	}
	sites := []engine.SiteID{"p", "q"}
	mustCommit(t, s, &engine.Batch{
		Documents: []engine.DocumentRow{{ID: "old", About: []byte("o"), Sites: sites}, {ID: "new", About: []byte("n"), Sites: sites}},
		Changes:   []engine.ChangeRow{change("old"), change("new")},
	})
	if err := s.SaveSnapshot(t.Context(), "old", []byte("s")); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, &engine.Batch{
		Dropped: []engine.DocumentID{"old"},
		Documents: []engine.DocumentRow{{ID: "old", About: []byte("o"), Epoch: 1},
			{ID: "new", About: []byte("n"), Sites: sites, Checkpoint: []byte("c")}},
	})
	mustCommit(t, s, &engine.Batch{Documents: []engine.DocumentRow{{ID: "new", About: []byte("n"), Sites: sites, Heads: [32]byte{7}}}})
	list, err := s.Summaries(t.Context(), "q", "", "")
	if err != nil || len(list) != 1 || list[0].Document != "new" {
		t.Errorf("the sites are shown %v, %v", list, err)
	}
	if rows, _, err := s.Changes(t.Context(), "old", nil, 0); len(rows) > 0 || err != nil {
		t.Errorf("%d changes are left, %v", len(rows), err)
	}
	if v, err := s.Version(t.Context(), "old"); len(v) > 0 || err != nil {
		t.Errorf("version %v is left, %v", v, err)
	}
	if _, err := s.Snapshot(t.Context(), "old"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the snapshot is left: %v", err)
	}
	old, err := s.Document(t.Context(), "old")
	if err != nil || old.Epoch != 1 || len(old.Sites) > 0 {
		t.Errorf("the first document is registered as %+v, %v", old, err)
	}
	next, err := s.Document(t.Context(), "new")
	if err != nil || string(next.Checkpoint) != "c" || next.Heads[0] != 7 {
		t.Errorf("the next one is registered as %+v, %v", next, err)
	}
}
