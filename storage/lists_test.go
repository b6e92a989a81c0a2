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

// plan tells how SQLite would answer a query.
func plan(t *testing.T, s *Store, q string, args []any) string {
	t.Helper()
	rows, err := s.reads.db.Query(`EXPLAIN QUERY PLAN `+q, args...)
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

// TestPagesComeFromAnIndex asks SQLite how it would answer every combination of filters: by reading an index in the order of
// the list, which stops at the end of the page. What it sorts or reads whole is small: what one identifier names.
func TestPagesComeFromAnIndex(t *testing.T) {
	s := open(t, t.TempDir())
	check := func(filter any, q string, args []any, index string, maySort bool) {
		t.Helper()
		p := plan(t, s, q, args)
		steps := strings.Split(p, "; ")
		if !strings.Contains(steps[0], index) {
			t.Errorf("%+v does not begin with %s: %s", filter, index, p)
		}
		for _, step := range steps {
			// There are as many kinds as the catalog has.
			scan := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, " INDEX ") && step != "SCAN CONSTANT ROW" && step != "SCAN kinds"
			if scan || strings.Contains(step, "TEMP B-TREE") && !maySort {
				t.Errorf("%+v: %s", filter, p)
			}
		}
	}
	cursors := []string{"", encodeCursor(resourceCursor, position{at: 1, n: 1})}
	resources := func(f engine.ResourceFilter, index string, maySort bool) {
		t.Helper()
		for _, f.Site = range []engine.SiteID{"", "paris"} {
			for _, f.Service = range []engine.ServiceName{"", "images"} {
				for _, f.Kind = range []engine.KindName{"", "image"} {
					for _, f.Cursor = range cursors {
						q, args, err := resourceQuery(f)
						if err != nil {
							t.Fatal(err)
						}
						check(f, q, args, index, maySort)
					}
				}
			}
		}
	}
	to := engine.Target{Service: "networks", Kind: "network", ID: "n"}
	for _, state := range []engine.State{"", engine.StateConverged, engine.StateConflict, engine.StateDeleted} {
		list, byID := "resources_list", "resources_id"
		switch state {
		case engine.StateConflict:
			list = "resources_open"
		case engine.StateDeleted:
			byID = "resources_past"
		}
		resources(engine.ResourceFilter{State: state}, list, false)
		resources(engine.ResourceFilter{State: state, ID: "r"}, byID, true)
		cursors[1] = encodeCursor(oldestCursor, position{at: 1, n: 1})
		resources(engine.ResourceFilter{State: state, Order: engine.OrderOldest}, list, false)
		cursors[1] = encodeCursor(resourceCursor, position{at: 1, n: 1})
		resources(engine.ResourceFilter{State: state, Related: true}, "resources_related", false)
		resources(engine.ResourceFilter{State: state, RefersTo: to}, "SEARCH t USING PRIMARY KEY", false)
		resources(engine.ResourceFilter{State: state, RefersTo: to, Relying: true}, "SEARCH t USING PRIMARY KEY", false)
	}
	operations := func(f engine.OperationFilter, index string, maySort bool) {
		t.Helper()
		for _, f.Site = range []engine.SiteID{"", "paris"} {
			for _, f.Cursor = range []string{"", encodeCursor(operationOrder(f).cursor, position{at: 1, n: 1})} {
				q, args, err := operationQuery(f)
				if err != nil {
					t.Fatal(err)
				}
				check(f, q, args, index, maySort)
			}
		}
	}
	for _, state := range []engine.State{"", engine.StateApplied, engine.StatePending} {
		list := "operations_list"
		if state == engine.StatePending {
			list = "operations_open"
		}
		operations(engine.OperationFilter{State: state}, list, false)
		operations(engine.OperationFilter{State: state, Oldest: true}, list, false)
		operations(engine.OperationFilter{State: state, From: time.Unix(1, 0), Before: time.Unix(2, 0)}, list, false)
		operations(engine.OperationFilter{State: state, Words: []engine.SearchWord{{Text: "x", Sites: []engine.SiteID{"paris"}}}}, list, false)
		operations(engine.OperationFilter{State: state, Document: document("d")}, "operations_subject", false)
		operations(engine.OperationFilter{State: state, Document: document("d"), Resource: "r"}, "operations_subject", false)
		operations(engine.OperationFilter{State: state, Resource: "r"}, "operations_subject", true)
	}
	for name, q := range map[string]string{"by local": resourceByLocal, "by id": resourceByID, "names": names, "record": readRecord,
		"changes": readAll, "line": readLine, "line ends": lineEnds, "digests": digestsWith, "pending": pending} {
		args := make([]any, strings.Count(q, "?"))
		if strings.Contains(q, "?1") {
			args = []any{"1", "2", "3"}
		}
		p := plan(t, s, q, args)
		for _, step := range strings.Split(p, "; ") {
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "subquery") && !strings.Contains(step, "CONSTANT") && !strings.Contains(step, "resources_open") {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
}

// TestCommonUpdatesLeaveIndexesAlone asks SQLite which trees each statement of a write opens: what changes with every status
// is in no index.
func TestCommonUpdatesLeaveIndexesAlone(t *testing.T) {
	s := open(t, t.TempDir())
	trees := func(q statement) (n int) {
		t.Helper()
		rows, err := s.queue.writer.conn.Query(`EXPLAIN `+statementText[q], valuesOf(strings.Count(statementText[q], "?")))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		row := valuesOf(8)
		for rows.Next(row) == nil {
			if row[1] == "OpenWrite" {
				n++
			}
		}
		return n
	}
	for name, tt := range map[string]struct {
		q    statement
		want int
	}{
		"what is known of a resource": {changeResource, 1},
		"its state":                   {changeResource + 1<<standing, 2},
		"an operation's states":       {moveOperation, 4},
	} {
		if got := trees(tt.q); got != tt.want {
			t.Errorf("%s: %d trees are written, want %d", name, got, tt.want)
		}
	}
}

func TestPagesNeitherRepeatNorSkip(t *testing.T) {
	s := open(t, t.TempDir())
	var b engine.Batch
	for n := range 25 {
		one := sample(n)
		at := time.Unix(1_790_000_000+int64(n/10), 0) // many at the same instant
		one.Records[0].Row.CreatedAt, one.Operations[0].IssuedAt = at, at
		b.Records = append(b.Records, one.Records...)
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
		added := sample(100 + page).Records[0]
		added.Row.CreatedAt = time.Unix(1_800_000_000, 0)
		gone := engine.Record{Row: rows[0]}
		gone.Row.State = engine.StateDeleted
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{added, gone}})
		if f.Cursor = next; next == "" {
			break
		}
	}
	var want []engine.DocumentID
	for n := 24; n >= 0; n-- {
		want = append(want, document(fmt.Sprint(n)))
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
		Records: []engine.Record{{Row: engine.ResourceRow{Document: document("d1"), ID: "r1", Service: "images", Kind: "image", Label: "Debian",
			Local: "local-7", State: engine.StateConverged, CreatedAt: at, UpdatedAt: at}}},
		Operations: []engine.OperationRow{
			{ID: "o1", Document: document("d1"), Resource: "r1", Service: "images", Kind: "image", Type: engine.TypeMerge, Method: "PATCH",
				Path: "/images/{id}/file", Origin: "12Paris", User: "Ada", IssuedAt: at, State: engine.StateRejected,
				Sites: map[engine.SiteID]engine.OperationStatus{"12Nantes": {State: engine.StateRejected, Error: `no "space" < 5 % left`}}},
			{ID: "o2", Resource: "r2", Service: "servers", Kind: "server", Type: engine.TypeCreate, Method: "POST", Path: "/servers",
				Scope: "{servers: paris}", Origin: "12Nantes", IssuedAt: at.Add(time.Second), State: engine.StatePending},
		},
	})
	for words, want := range map[string]string{
		"debian": "o1", "local-7": "o1", "patch /images/r1/file": "o1", "images.image": "o1", "ADA": "o1", "create": "o2", "{servers:": "o2",
		`"space"`: "o1", "<": "o1", "left 5": "o1", "debian create": "", "rejected": "", "nantes": "o2 o1", "paris": "o2 o1",
		"paris debian": "o1", "%": "o1",
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

func TestOperationsAreFoundByWhenTheyWereIssued(t *testing.T) {
	s := open(t, t.TempDir())
	at := time.Unix(1_790_000_000, 0)
	b := &engine.Batch{}
	for i := range 5 {
		b.Operations = append(b.Operations, engine.OperationRow{ID: engine.OperationID(rune('a' + i)), Type: engine.TypeMerge, Origin: "p", IssuedAt: at.Add(time.Duration(i) * time.Second), State: engine.StateApplied})
	}
	mustCommit(t, s, b)
	for want, f := range map[string]engine.OperationFilter{"dcb": {From: at.Add(time.Second), Before: at.Add(4 * time.Second)}, "ed": {From: at.Add(3 * time.Second)}, "a": {Before: at.Add(time.Second)}, "b": {Begins: "b"}, "": {Begins: "B"}} {
		f.Limit = 2
		got := ""
		for {
			rows, next, err := s.Operations(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				got += string(r.ID)
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
		if got != want {
			t.Errorf("from %s before %s: %q, want %q", f.From, f.Before, got, want)
		}
	}
}

func TestBadCursorsAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	of := encodeCursor(operationCursor, position{at: 1, n: 1})
	for _, c := range []string{"x", "!!!", "cg", of, encodeCursor(resourceCursor, position{at: 1, n: 1})[1:], encodeCursor(resourceCursor, position{at: 1, n: 1}) + "\n"} {
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
	row := func(doc string, service, kind, id, local string, state engine.State, sites ...engine.SiteID) engine.Record {
		at = at.Add(time.Second)
		r := engine.ResourceRow{Document: document(doc), Service: engine.ServiceName(service), Kind: engine.KindName(kind), Reason: doc,
			ID: engine.ResourceID(id), Local: engine.LocalID(local), Label: "The " + string(kind), State: state, CreatedAt: at,
			Sites: map[engine.SiteID]engine.ReplicaStatus{}}
		for _, s := range sites {
			r.Sites[s] = engine.ReplicaStatus{Local: engine.LocalID(string(s) + "-" + id)}
		}
		return engine.Record{Row: r}
	}
	hollow := row("d5", "images", "image", "unseen", "unseen", engine.StateConverging, "paris")
	hollow.Hollow = true
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{
		row("d1", "images", "image", "debian", "7", engine.StateDeleted, "paris", "nantes"),
		row("d2", "images", "image", "debian", "7", engine.StateConverged, "paris", "nantes"), // the next incarnation
		row("d3", "servers", "server", "web", "7", engine.StateConflict, "nantes"),
		row("d4", "servers", "disk", "Big_100%", "", engine.StateConverged, "lyon", "paris"),
		hollow,
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
		{"no such kind", engine.ResourceFilter{Service: "servers", Kind: "image"}, ""},
		{"site", engine.ResourceFilter{Site: "nantes"}, "d3 d2"},
		{"site and state", engine.ResourceFilter{Site: "paris", State: engine.StateConverged}, "d4 d2"},
		{"site and deleted", engine.ResourceFilter{Site: "paris", State: engine.StateDeleted}, "d1"},
		{"deleted", engine.ResourceFilter{State: engine.StateDeleted}, "d1"},
		{"left", engine.ResourceFilter{State: engine.StateLeft}, ""},
		{"state", engine.ResourceFilter{State: engine.StateConflict}, "d3"},
		{"what only something hollow is", engine.ResourceFilter{State: engine.StateConverging}, ""},
		{"state and service", engine.ResourceFilter{State: engine.StateConverged, Service: "images"}, "d2"},
		{"unknown", engine.ResourceFilter{State: engine.StateUnknown, Silent: []engine.SiteID{"rennes", "lyon"}}, "d4"},
		{"unknown, of all that are silent", engine.ResourceFilter{State: engine.StateUnknown, Silent: []engine.SiteID{"nantes", "lyon"}}, "d4 d2"},
		{"unknown where none is silent", engine.ResourceFilter{State: engine.StateUnknown}, ""},
		{"what is converged for sure", engine.ResourceFilter{State: engine.StateConverged, Silent: []engine.SiteID{"lyon"}}, "d2"},
		{"another state where one is silent", engine.ResourceFilter{State: engine.StateConflict, Silent: []engine.SiteID{"nantes"}}, "d3"},
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
			got = append(got, r.Reason)
		}
		if strings.Join(got, " ") != tt.want || next != "" || err != nil {
			t.Errorf("%s: %v, next %q, %v, want %s", tt.name, got, next, err, tt.want)
		}
	}
	want := map[engine.State]int{engine.StateConverged: 2, engine.StateConflict: 1, engine.StateDeleted: 1}
	if got, err := s.CountResources(t.Context()); !maps.Equal(got, want) || err != nil {
		t.Errorf("counts: %v, %v, want %v", got, err, want)
	}
	for n, at := range [][]engine.SiteID{{}, {"rennes", "lyon"}, {"paris"}} {
		if got, err := s.CountConverged(t.Context(), at); got != n || err != nil {
			t.Errorf("%d resources are converged at one of %v, %v, want %d", got, at, err, n)
		}
	}
	if r, err := s.ResourceByID(t.Context(), "images", "image", "debian"); r.Reason != "d2" || err != nil {
		t.Errorf("ResourceByID: %v, %v, want the newest incarnation d2", r.Reason, err)
	}
	if r, err := s.ResourceByLocal(t.Context(), "servers", "server", "7"); r.Reason != "d3" || err != nil {
		t.Errorf("ResourceByLocal: %v, %v, want d3", r.Reason, err)
	}
	_, err1 := s.ResourceByLocal(t.Context(), "servers", "disk", "")
	_, err2 := s.ResourceByID(t.Context(), "images", "image", "unseen")
	_, err3 := s.ResourceByLocal(t.Context(), "images", "image", "unseen")
	_, err4 := s.ResourceByDocument(t.Context(), document("d5"))
	_, err5 := s.ResourceByID(t.Context(), "none", "image", "debian")
	kinds := map[engine.ServiceName]engine.KindName{"servers": "server", "images": "image", "none": "image"}
	ids := []engine.LocalID{"7", "unseen", "debian", "", "9", "web", "é\n\"", "d1"}
	for service, kind := range kinds {
		known, err := s.KnownLocally(t.Context(), service, kind, ids)
		for _, id := range ids {
			_, alone := s.ResourceByLocal(t.Context(), service, kind, id)
			if known[id] != (alone == nil) || err != nil {
				t.Errorf("%s %q: known among many %v, %v; alone %v", kind, id, known[id], err, alone)
			}
		}
	}
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("look-up %d: %v, want ErrNotFound", i+1, err)
		}
	}
}

// TestOfSeveralIncarnationsOneCounts: also where thousands are past.
func TestOfSeveralIncarnationsOneCounts(t *testing.T) {
	s := open(t, t.TempDir())
	n := 0
	put := func(state engine.State, local engine.LocalID, at int64) engine.DocumentID {
		t.Helper()
		n++
		doc := document(fmt.Sprint("incarnation", n))
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{{Row: engine.ResourceRow{Document: doc, ID: "web", Service: "s", Kind: "k",
			Local: local, State: state, CreatedAt: time.Unix(at, 0)}}}})
		return doc
	}
	counts := func(byID, byLocal engine.DocumentID) {
		t.Helper()
		if r, err := s.ResourceByID(t.Context(), "s", "k", "web"); err != nil || r.Document != byID {
			t.Errorf("by identifier %s counts, %v; want %s", r.Document, err, byID)
		}
		if r, err := s.ResourceByLocal(t.Context(), "s", "k", "web"); err != nil || r.Document != byLocal {
			t.Errorf("by local identifier %s counts, %v; want %s", r.Document, err, byLocal)
		}
	}
	put(engine.StateDeleted, "web", 10)
	newest := put(engine.StateDeleted, "web", 30)
	put(engine.StateLeft, "web", 20)
	counts(newest, newest)
	left := put(engine.StateLeft, "web", 40)
	counts(left, left)
	late := put(engine.StateConverging, "", 60)
	counts(late, left)
	early := put(engine.StateConverging, "", 50)
	counts(early, left)
	here := put(engine.StateConverged, "web", 70)
	counts(here, here)
	before := put(engine.StateConverged, "web", 65)
	counts(before, before)
	other := put(engine.StateConverged, "other", 1)
	counts(other, before)
	if r, err := s.ResourceByLocal(t.Context(), "s", "k", "other"); err != nil || r.Document != other || r.Local != "other" {
		t.Errorf("another local identifier: %+v, %v", r, err)
	}
}
