package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

func TestPreviewConflict(t *testing.T) {
	at := func(site engine.SiteID, id engine.OperationID) engine.Conflict {
		return engine.Conflict{ID: "c", Site: site, Document: "doc", Resource: "doc", Service: "store", KindName: "box", Operation: id}
	}
	shown := `{"name":"doc","color":"red","secret":"x","extra":{"a":1}}`
	for name, test := range map[string]struct {
		conflict engine.Conflict
		shows    string // empty: there is no such object
		err      error
		want     string
	}{
		"an operation":       {at("paris", "nantes-2"), shown, nil, `/color:  "red" "theirs"; /secret:  "(hidden)" "(hidden)"; /size:   "mine"; `},
		"its own effect":     {at("paris", "paris-2"), shown, nil, `/size: "theirs"  "mine"; `},
		"a create":           {at("paris", "nantes-1"), shown, nil, `/color:  "red" "theirs"; /secret:  "(hidden)" "(hidden)"; /size:   "mine"; `},
		"no operation":       {at("paris", "unknown"), shown, nil, `/color: "theirs" "red" "theirs"; /secret: "(hidden)" "(hidden)" "(hidden)"; /size: "mine"  "mine"; `},
		"nothing differs":    {at("paris", "paris-2"), `{"size":"mine"}`, nil, ``},
		"at another site":    {at("nantes", "nantes-2"), shown, nil, "settle: there is nothing to compare"},
		"no object":          {at("paris", "nantes-2"), "", nil, "upstream: what the application of the site paris shows of box doc could not be read"},
		"no answer":          {at("paris", "nantes-2"), shown, errors.New("broken"), "upstream: what the application of the site paris shows of box doc could not be read"},
		"no JSON":            {at("paris", "nantes-2"), "hello", nil, "settle: the application shows no JSON that could be compared"},
		"of a lost document": {engine.Conflict{ID: "c", Site: "paris", Document: "x", Service: "store", KindName: "box"}, shown, nil, "preview conflict c: document x: not found"},
		"of an unknown kind": {engine.Conflict{ID: "c", Site: "paris", Document: "doc", Service: "store", KindName: "x"}, shown, nil, "settle: there is nothing to compare"},
		"of no document":     {engine.Conflict{ID: "c", Site: "paris", Service: "store", KindName: "box"}, shown, nil, "settle: there is nothing to compare"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			contest(b)
			b.store.conflicts["c"] = test.conflict
			if b.app.err = test.err; test.shows != "" {
				b.app.objects["doc"] = test.shows
			}
			list, err := b.PreviewConflict(t.Context(), "c", "")
			got := ""
			for _, f := range list {
				got += fmt.Sprintf("%s: %s %s %s; ", f.Path, f.Base, f.Here, f.Wanted)
			}
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if _, err := newBench(t).PreviewConflict(t.Context(), "c", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a conflict that is no more: %v", err)
	}
}

func TestPreviewConflictOfNoReplica(t *testing.T) {
	b := newBench(t)
	b.add("rack", racks, nil, op("nantes", 1, engine.TypeCreate, set("/color", `"red"`)))
	b.add("box", boxes, nil, op("nantes", 1, engine.TypeCreate, set("/color", `"red"`)))
	b.app.objects["box"], b.app.objects["r7"] = `{"color":"blue"}`, `{"color":"green"}`
	for _, test := range []struct {
		kind  engine.KindName
		local engine.LocalID
		want  string
	}{
		{"box", "", `"blue"`},
		{"rack", "r7", `"green"`},
		{"rack", "", "settle: the site has no replica, and its application assigns the identifiers of its racks: say which object to look at"},
	} {
		b.store.conflicts["c"] = engine.Conflict{ID: "c", Site: "paris", Document: engine.DocumentID(test.kind), Resource: engine.ResourceID(test.kind),
			Service: "store", KindName: test.kind, Operation: "nantes-1", Actions: []engine.Action{engine.ActionAdopt}}
		if got := hereOf(t, b, test.local); got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.kind, test.local, got, test.want)
		}
	}
}

// hereOf is what this site's own object shows by the preview of conflict c, or why there is none.
func hereOf(t *testing.T, b *bench, local engine.LocalID) string {
	t.Helper()
	list, err := b.PreviewConflict(t.Context(), "c", local)
	switch {
	case err != nil:
		return err.Error()
	case len(list) == 1:
		return string(list[0].Here)
	}
	return ""
}

// TestPreviewConflictOfAnotherObject compares what somebody thinks of adopting, though the site has a replica; where nothing can be adopted, no
// object is read that the conflict is not about.
func TestPreviewConflictOfAnotherObject(t *testing.T) {
	b := newBench(t)
	b.add("rack", racks, engine.Vector{"nantes": 1}, op("nantes", 1, engine.TypeCreate, set("/color", `"red"`)))
	b.app.objects["rack"], b.app.objects["r7"] = `{"color":"blue"}`, `{"color":"green"}`
	c := engine.Conflict{ID: "c", Site: "paris", Document: "rack", Resource: "rack", Service: "store", KindName: "rack", Operation: "nantes-1"}
	for _, test := range []struct {
		actions []engine.Action
		local   engine.LocalID
		want    string
	}{
		{[]engine.Action{engine.ActionAdopt}, "r7", `"green"`},
		{[]engine.Action{engine.ActionAdopt}, "", `"blue"`},
		{[]engine.Action{engine.ActionKeep}, "rack", `"blue"`},
		{[]engine.Action{engine.ActionKeep}, "r7", "settle: no object can be adopted for it: there is nothing to compare rack r7 with"},
	} {
		c.Actions = test.actions
		b.store.conflicts["c"] = c
		if got := hereOf(t, b, test.local); got != test.want {
			t.Errorf("%v, %s: got %s, want %s", test.actions, test.local, got, test.want)
		}
	}
}

// TestSides: a conflict about an operation is between what its issuer saw and what all that is known amounts to.
func TestSides(t *testing.T) {
	v := view.New("paris", "doc", engine.About{Service: "store", Kind: "box", Key: "blue", Placement: []engine.SiteID{"nantes", "paris"}}, nil, boxes,
		func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
	for _, o := range []*engine.Operation{
		{ID: "paris-1", Type: engine.TypeCreate, Line: "paris", Origin: "paris", Number: 1, Time: 1, Edit: setting("/a", "1")},
		{ID: "paris-2", Type: engine.TypeMerge, Line: "paris", Origin: "paris", Number: 2, Time: 2, Edit: setting("/a", "2")},
		{ID: "nantes-1", Type: engine.TypeMerge, Line: "nantes", Origin: "nantes", Number: 1, Time: 3, Seen: engine.Vector{"paris": 1},
			Edit: &engine.Edit{Set: setting("/b", "3").Set, Unset: []engine.Pointer{"/a"}}},
	} {
		v.AddOperation(o)
	}
	for id, want := range map[engine.OperationID]string{
		"paris-1":  "map[] map[/b:3] [/b]",
		"paris-2":  "map[/a:1] map[/b:3] [/a]",
		"nantes-1": "map[/a:1] map[/b:3] [/a /b]",
		"unknown":  "map[/b:3] map[/b:3] [/b]",
	} {
		base, wanted, paths := sidesOf(v, id)
		for _, side := range []map[engine.Pointer]json.RawMessage{base, wanted} { // the object itself
			delete(side, "")
		}
		if len(paths) > 0 && paths[0] == "" {
			paths = paths[1:]
		}
		if got := fmt.Sprintf("%s %s %s", base, wanted, paths); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}

func setting(p engine.Pointer, v string) *engine.Edit {
	return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{p: json.RawMessage(v)}}
}
