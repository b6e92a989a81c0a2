package view

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	boxes = &engine.Kind{Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}, Sensitive: []engine.Pointer{"/secret"}}
	first = engine.Tip{Hash: sha256.Sum256([]byte("first"))}
)

const document = engine.DocumentID("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

// of is the view that a site has of a box at nantes and paris, of which nothing is known yet.
func of(self engine.SiteID) *View {
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue", Placement: []engine.SiteID{"nantes", "paris"}}
	v := New(engine.Line(self), document, about, nil, boxes, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
	v.Epochs = []*Epoch{NewEpoch(0, first)}
	return v
}

// line makes the changes of one author, each of some entries.
type line struct {
	author engine.SiteID
	tip    engine.Tip
	issued uint64
}

func lineOf(author engine.SiteID) *line { return &line{author: author, tip: first} }

func (l *line) write(entries ...engine.Entry) *engine.Change {
	c := &engine.Change{SignedChange: engine.SignedChange{Line: engine.Line(l.author)}, Document: document, Number: l.tip.Number + 1, Previous: l.tip.Hash,
		Begins: l.tip.Last + 1, Entries: entries}
	c.Hash = sha256.Sum256(fmt.Append(nil, l.author, c.Number, entries))
	l.tip = c.Tip()
	return c
}

// op is the next operation of the author, at a second, which has seen some of others.
func (l *line) op(t engine.Type, second int, seen engine.Vector, e *engine.Edit, place *engine.PlacementChange) *engine.Change {
	l.issued++
	return l.write(engine.Entry{Map: engine.MapOperations, Value: engine.Encode(&engine.Operation{
		ID: engine.OperationID(fmt.Sprintf("%s-%d", l.author, l.issued)), Type: t, Path: "/boxes/{id}", Edit: e, Place: place,
		Number: l.issued, Time: start.Add(time.Duration(second) * time.Second).UnixMicro(), Seen: seen})})
}

func set(p engine.Pointer, v string) *engine.Edit {
	return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{p: json.RawMessage(v)}}
}

// text is a list as a test names it.
func text(ids []engine.OperationID) string { return fmt.Sprint(ids) }

func admits(*engine.Operation) bool { return true }

// take has a view take changes in, all of which are to be taken.
func (v *View) take(t *testing.T, changes ...*engine.Change) {
	t.Helper()
	for _, c := range changes {
		if got := v.TakeChange(c, admits, func(err error) { t.Error(err) }); got != Taken {
			t.Fatalf("change %d of %s: %d", c.Number, c.Line, got)
		}
	}
}

// status has a view take in what another site says of itself.
func (v *View) status(t *testing.T, by engine.SiteID, st engine.Status) (news bool) {
	t.Helper()
	st.Document = document
	news, err := v.TakeStatus(&st, engine.SignedStatus{Site: by, Status: engine.Encode(&st), Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	return news
}
