package issue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/view"
)

var boxes = &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", MergePatch: true, ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}

func setting(p engine.Pointer, v string) *engine.Edit {
	return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{p: json.RawMessage(v)}}
}

// boxOf is the view that paris has of a box of its own and of nantes, which it has made.
func boxOf() *view.View {
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue", Placement: []engine.SiteID{"nantes", "paris"}}
	v := view.New("paris", "doc", about, nil, boxes, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
	v.Epochs = view.Epochs{view.NewEpoch(3, engine.Tip{})}
	v.AddOperation(&engine.Operation{ID: "made", Type: engine.TypeCreate, Line: "paris", Origin: "paris", Number: 1, Time: 1000, Edit: setting("/a", "1")})
	v.Me.Settled, v.Mine.Local = engine.Vector{"paris": 1}, "blue"
	return v
}

// TestStamp: an operation comes after all that it has seen, whatever the clock says, and after nothing that is not settled here.
func TestStamp(t *testing.T) {
	v := boxOf()
	v.AddOperation(&engine.Operation{ID: "theirs", Type: engine.TypeMerge, Line: "nantes", Origin: "nantes", Number: 1, Time: 5000, Seen: engine.Vector{"paris": 1}, Edit: setting("/a", "2")})
	v.Now = 10
	for _, settled := range []bool{false, true} {
		wantTime, wantSeen := int64(1001), engine.Vector{}
		if settled {
			v.Me.Settled["nantes"] = 1
			wantTime, wantSeen = 5001, engine.Vector{"nantes": 1}
		}
		o := &engine.Operation{ID: "next", Type: engine.TypeMerge}
		Stamp(v, o)
		if o.Origin != "paris" || o.Number != 2 || o.Epoch != 3 || o.Time != wantTime || !o.Seen.Contains(wantSeen) || len(o.Seen) != len(wantSeen) {
			t.Errorf("theirs is settled: %t; it is number %d of %s at %d and has seen %v", settled, o.Number, o.Origin, o.Time, o.Seen)
		}
	}
}

// TestEdit: what nobody can look into is opaque, and what is to be read first is asked for.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		t    engine.Type
		body string
		want string
	}{
		{engine.TypeMerge, `{"a":2}`, "merge [/a]"},
		{engine.TypeReplace, "no JSON", "absolute []"},
		{engine.TypeMerge, "no JSON", "action []"},
		{engine.TypeReplace, `{"a":1}`, "replace []"},
	} {
		o := &engine.Operation{Type: c.t, Body: []byte(c.body)}
		before := boxOf().History.Fold(merge.Any)
		if err := Edit(boxes, o, before, func() ([]byte, error) { return nil, ErrUnread }); err != nil {
			t.Errorf("%s of %s: %v", c.t, c.body, err)
			continue
		}
		var paths []engine.Pointer
		if o.Edit != nil {
			for p := range o.Edit.Set {
				paths = append(paths, p)
			}
		}
		if got := fmt.Sprint(o.Type, " ", paths); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.t, c.body, got, c.want)
		}
	}
	patch := &engine.Operation{Type: engine.TypePatch, Body: []byte(`[{"op":"replace","path":"/b","value":1}]`)}
	k := *boxes
	k.JSONPatch = "application/json-patch+json"
	if err := Edit(&k, patch, merge.Fold{}, func() ([]byte, error) { return nil, ErrUnread }); !errors.Is(err, ErrUnread) {
		t.Errorf("a patch of what has not been read: %v", err)
	}
	if err := Edit(&k, patch, merge.Fold{}, func() ([]byte, error) { return nil, engine.ErrUnreachable }); err != nil || patch.Type != engine.TypeAction {
		t.Errorf("a patch of what cannot be read: %s, %v", patch.Type, err)
	}
}

// TestChange: a request to place amounts to what is different, and one that would leave no site or begin without what an action did is
// refused.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		name string
		q    engine.PlaceRequest
		want string
	}{
		{"one more", engine.PlaceRequest{Add: []engine.SiteID{"paris", "lille", "lille"}}, "add [lille] remove []"},
		{"just these", engine.PlaceRequest{Sites: []engine.SiteID{"paris", "lille"}}, "add [lille] remove [nantes]"},
		{"as it is", engine.PlaceRequest{Sites: []engine.SiteID{"nantes", "paris"}}, "nothing"},
		{"none", engine.PlaceRequest{Remove: []engine.SiteID{"nantes", "paris"}}, "placement"},
		{"both at once", engine.PlaceRequest{Add: []engine.SiteID{"nantes"}, Remove: []engine.SiteID{"nantes"}}, "placement"},
	} {
		if got := changed(boxOf(), c.q); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	v := boxOf()
	v.AddOperation(&engine.Operation{ID: "acts", Type: engine.TypeAction, Line: "paris", Origin: "paris", Number: 2, Time: 2000, Path: "/boxes/{id}/open"})
	more := engine.PlaceRequest{Add: []engine.SiteID{"lille"}}
	if got := changed(v, more); got != engine.ForceActions {
		t.Errorf("an added site begins without what an action did: %s", got)
	}
	if more.Forced = true; changed(v, more) != "add [lille] remove []" {
		t.Error("it is refused though somebody has accepted it")
	}
	if v.Mine.Local = ""; changed(v, more) != "no-replica" {
		t.Error("a site is added where there is nothing to begin with")
	}
}

func changed(v *view.View, q engine.PlaceRequest) string {
	c, err := Change(v, q)
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Type
	case err != nil:
		return err.Error()
	case c == nil:
		return "nothing"
	}
	return fmt.Sprint("add ", slices.Clone(c.Add), " remove ", slices.Clone(c.Remove))
}
