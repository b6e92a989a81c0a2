package names

import (
	"context"
	"errors"
	"testing"

	"github.com/skerry/skerry/engine"
)

var (
	box   = &engine.Kind{Service: "s", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}
	note  = &engine.Kind{Service: "s", Name: "note", Within: "box", Collection: "/boxes/{box}/notes", Item: "/boxes/{box}/notes/{id}", ID: engine.IDRule{From: engine.IDFromPath}}
	image = &engine.Kind{Service: "s", Name: "image", Collection: "/images", Item: "/images/{id}", ID: engine.IDRule{At: "/id"}}
)

// index is a Store that is a list of rows; broken, unless nil, is what every question is answered with.
type index struct {
	rows   []engine.ResourceRow
	broken error
}

func (x *index) find(is func(*engine.ResourceRow) bool) (engine.ResourceRow, error) {
	for i := range x.rows {
		if is(&x.rows[i]) {
			return x.rows[i], x.broken
		}
	}
	return engine.ResourceRow{}, errors.Join(engine.ErrNotFound, x.broken)
}

func (x *index) ResourceByID(_ context.Context, s engine.ServiceName, k engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	return x.find(func(r *engine.ResourceRow) bool { return r.Service == s && r.Kind == k && r.ID == id })
}

func (x *index) ResourceByLocal(_ context.Context, s engine.ServiceName, k engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	return x.find(func(r *engine.ResourceRow) bool { return r.Service == s && r.Kind == k && r.Local == id })
}

func (x *index) Resources(_ context.Context, f engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	r, err := x.find(func(r *engine.ResourceRow) bool { return r.Service == f.Service && r.Kind == f.Kind })
	if errors.Is(err, engine.ErrNotFound) {
		return nil, "", x.broken
	}
	return []engine.ResourceRow{r}, "", err
}

func row(k *engine.Kind, id engine.ResourceID, local engine.LocalID, state engine.State) engine.ResourceRow {
	return engine.ResourceRow{Service: k.Service, Kind: k.Name, ID: id, Local: local, State: state}
}

func namesOf(t *testing.T, rows ...engine.ResourceRow) *Names {
	t.Helper()
	n := New("me", &index{rows: rows})
	if news, err := n.Learn(t.Context(), []*engine.Kind{box, note, image}); err != nil || !news {
		t.Fatalf("kinds are news: %v, %v", news, err)
	}
	return n
}

func TestLookup(t *testing.T) {
	gone := row(image, "m-3", "l-3", engine.StateConverging)
	gone.Local, gone.Sites = "", map[engine.SiteID]engine.ReplicaStatus{"me": {Applied: 2}}
	n := namesOf(t, row(image, "m-1", "l-1", engine.StateConverged), row(image, "m-2", "l-2", engine.StateDeleted), gone)
	for _, c := range []struct {
		kind         *engine.Kind
		id           string
		found, known engine.ResourceID
	}{
		{image, "m-1", "m-1", "m-1"}, {image, "l-1", "m-1", "m-1"}, // by either identifier
		{image, "m-2", "", "m-2"}, {image, "l-2", "", "m-2"}, // it was deleted
		{image, "m-3", "", "m-3"}, // at this site
		{image, "other", "", ""}, {image, "", "", ""}, {box, "m-1", "", ""},
	} {
		found, err := n.Lookup(t.Context(), c.kind, c.id)
		if found.ID != c.found || (c.found == "") != errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s %q: found %q, %v, want %q", c.kind.Name, c.id, found.ID, err, c.found)
		}
		if known, err := n.Known(t.Context(), c.kind, c.id); known.ID != c.known || (c.known == "") != errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s %q: known is %q, %v, want %q", c.kind.Name, c.id, known.ID, err, c.known)
		}
	}
	if local, ok := n.Local(t.Context(), "s", "image", "m-1"); local != "l-1" || !ok {
		t.Errorf("m-1 is %q, %v here", local, ok)
	}
	if local, ok := n.Local(t.Context(), "s", "image", "m-3"); ok {
		t.Errorf("what is gone is %q here", local)
	}
	if meta, ok := n.Meta(t.Context(), "s", "image", "l-1"); meta != "m-1" || !ok {
		t.Errorf("l-1 is %q, %v everywhere", meta, ok)
	}
}

// What lies in a container is called by the container's name, here and everywhere.
func TestContainers(t *testing.T) {
	n := namesOf(t, row(box, "red", "a/b", engine.StateConverged), row(note, "red/x", "a%2Fb/x", engine.StateConverged),
		row(note, "red/y", "", engine.StateConverging))
	if got := n.Here(t.Context(), note, "red/x"); got != "a%2Fb/x" {
		t.Errorf("red/x is %q here", got)
	}
	if got := n.Everywhere(t.Context(), note, "a%2Fb/x"); got != "red/x" {
		t.Errorf("a%%2Fb/x is %q everywhere", got)
	}
	if got := n.Here(t.Context(), note, "blue/x"); got != "blue/x" {
		t.Errorf("what lies in a container that nobody shares is %q here", got)
	}
	if found, err := n.Lookup(t.Context(), note, "a%2Fb/x"); found.ID != "red/x" || err != nil {
		t.Errorf("found %q, %v", found.ID, err)
	}
	if found, err := n.Lookup(t.Context(), note, "a%2Fb/y"); found.ID != "red/y" || err != nil { // it is still to be made here
		t.Errorf("found %q, %v", found.ID, err)
	}
	if got := n.Addressed(t.Context(), note, "", "red"); got != "a%2Fb/" {
		t.Errorf("a request to make something in red is to %q", got)
	}
	if list := n.Contained(box); len(list) != 1 || list[0] != note {
		t.Errorf("%v lie in boxes", list)
	}
}

// Nothing is looked for as long as nothing of a kind is shared, and nothing translated as long as all is called alike.
func TestKindsBecomeReplicated(t *testing.T) {
	n := namesOf(t)
	n.store.(*index).broken = errors.New("the disk is broken")
	if _, err := n.Known(t.Context(), image, "m-1"); !errors.Is(err, engine.ErrNotFound) || errors.Is(err, n.store.(*index).broken) {
		t.Errorf("what cannot be there was looked for: %v", err)
	}
	for _, step := range []struct {
		row                    engine.ResourceRow
		replicates, translated bool
	}{
		{row(box, "b", "b", engine.StateConverged), false, false},
		{row(image, "m-1", "m-1", engine.StateConverged), true, false},
		{row(image, "m-2", "l-2", engine.StateConverged), true, true},
		{row(image, "m-3", "m-3", engine.StateConverged), true, true},
	} {
		n.Index(&step.row)
		if r, tr := n.Replicates(image), n.Translated("s", "image"); r != step.replicates || tr != step.translated {
			t.Errorf("after %s: replicates %v, translated %v", step.row.ID, r, tr)
		}
	}
	if _, err := n.Known(t.Context(), image, "m-1"); !errors.Is(err, n.store.(*index).broken) {
		t.Errorf("a broken disk is told as %v", err)
	}
}

func TestLearnAfterARestart(t *testing.T) {
	n := namesOf(t, row(box, "b", "b", engine.StateConverged), row(image, "m", "l", engine.StateConverged))
	if !n.Replicates(box) || n.Translated("s", "box") || !n.Replicates(image) || !n.Translated("s", "image") || n.Replicates(note) {
		t.Error("what the index has is not known")
	}
	if news, err := n.Learn(t.Context(), []*engine.Kind{box}); news || err != nil || len(n.Kinds()) != 3 {
		t.Errorf("a kind is news twice: %v, %v, %d kinds", news, err, len(n.Kinds()))
	}
	if n.Kind("s", "box") != box || n.Kind("s", "other") != nil || n.Kind("other", "box") != nil {
		t.Error("kinds are not found by their names")
	}
}

// says is a Catalog that classifies every request alike.
type says struct {
	kind engine.KindName
	of   engine.Type
}

func (c says) Classify(engine.ServiceName, string, string, map[string]string) (engine.KindName, engine.Type, bool) {
	return c.kind, c.of, c.of != ""
}

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		what string
		o    engine.Operation
		is   engine.Type
		want bool
	}{
		{"a change", engine.Operation{Type: engine.TypeReplace, Path: "/boxes/{id}"}, engine.TypeReplace, true},
		{"one below the item", engine.Operation{Type: engine.TypeAction, Path: "/boxes/{id}/open"}, engine.TypeAction, true},
		{"one of another type", engine.Operation{Type: engine.TypeDelete, Path: "/boxes/{id}"}, engine.TypeReplace, false},
		{"a replace that makes it", engine.Operation{Type: engine.TypeCreate, Path: "/boxes/{id}"}, engine.TypeReplace, true},
		{"a create in the collection", engine.Operation{Type: engine.TypeCreate, Path: "/boxes"}, engine.TypeCreate, true},
		{"a change of the collection", engine.Operation{Type: engine.TypeReplace, Path: "/boxes"}, engine.TypeReplace, false},
		{"one of another item", engine.Operation{Type: engine.TypeReplace, Path: "/boxes/{id}/{id}"}, engine.TypeReplace, false},
		{"one of another kind", engine.Operation{Type: engine.TypeReplace, Path: "/boxes/{id}2"}, engine.TypeReplace, false},
		{"one that the catalog does not know", engine.Operation{Type: engine.TypeReplace, Path: "/boxes/{id}"}, "", false},
		{"a placement", engine.Operation{Type: engine.TypePlace}, "", true},
		{"a placement with a request", engine.Operation{Type: engine.TypePlace, Body: []byte("{}")}, "", false},
	} {
		if got := Admits(says{"box", c.is}, box, &c.o); got != c.want {
			t.Errorf("%s is admitted: %v", c.what, got)
		}
	}
	if Admits(says{"note", engine.TypeReplace}, box, &engine.Operation{Type: engine.TypeReplace, Path: "/boxes/{id}"}) {
		t.Error("an operation of another kind than its document's is admitted")
	}
}
