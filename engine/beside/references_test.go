package beside

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func create(body string) *engine.Operation {
	return &engine.Operation{ID: "o", Type: engine.TypeCreate, Method: "POST", Body: []byte(body), Line: "b", Origin: "b", Number: 1}
}

func TestWhereabouts(t *testing.T) {
	v := newVillage()
	v.put(networkKind, "n", "c B")
	v.put(boxKind, "x", "a c")
	bound := map[engine.ServiceName][]engine.SiteID{"lab": {"c", "b"}}
	for _, c := range []struct {
		name   string
		kind   *engine.Kind
		within string
		o      *engine.Operation
		bound  map[engine.ServiceName][]engine.SiteID
		want   string
	}{
		{"replicated, and not", serverKind, "", create(`{"networks":[{"id":"n"},{"id":"m"}],"image":"i","disk":"d"}`), nil,
			"[{{lab network n} [b c] true} {{lab network m} [a] false} {{lab image i} [a] false}]"},
		{"where the scope binds its service", serverKind, "", create(`{"image":"i"}`), bound, "[{{lab image i} [b c] false}]"},
		{"a patch", serverKind, "", &engine.Operation{Type: engine.TypePatch, Body: []byte(`[{"op":"add","path":"/image","value":"i"}]`)}, nil, "[{{lab image i} [a] false}]"},
		{"in a container, by its local name", toolKind, "a-x", create(`{"id":"t","beside":"u"}`), nil,
			"[{{lab box x} [a c] true} {{lab tool x/u} [a] false}]"},
		{"in a container that is not shared", toolKind, "y", create(`{"id":"t"}`), nil, "[]"},
		{"a delete", toolKind, "x", &engine.Operation{Type: engine.TypeDelete}, nil, "[]"},
	} {
		if got := fmt.Sprint(v.whereabouts(t.Context(), c.kind, c.within, c.o, c.bound)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestAnOperationAwaitsWhatItRefersTo: what is to be here and is not yet, and nothing else.
func TestAnOperationAwaitsWhatItRefersTo(t *testing.T) {
	told := func(replicated bool, sites ...engine.SiteID) []engine.Whereabouts {
		return []engine.Whereabouts{{Target: to(networkKind, "n", "").Target, Sites: sites, Replicated: replicated}}
	}
	const unknown = "waits for network n, which is to be at A and has not been heard of there yet"
	const bare = "waits for network n, which has no object at A yet"
	for _, c := range []struct {
		name string
		told []engine.Whereabouts
		put  func(*shelves) *engine.ResourceRow
		want string
	}{
		{"nobody knows", nil, nil, ""},
		{"it is to come", told(true, "a", "b"), nil, unknown},
		{"it is elsewhere", told(true, "b", "c"), nil, ""},
		{"it is each site's own", told(false, "a", "b"), nil, ""},
		{"it is here", told(true, "a"), func(s *shelves) *engine.ResourceRow { return s.put(networkKind, "n", "a b") }, ""},
		{"it is to be made", nil, func(s *shelves) *engine.ResourceRow { return s.put(networkKind, "n", "A b") }, bare},
		{"it is shared from elsewhere", nil, func(s *shelves) *engine.ResourceRow { return s.put(networkKind, "n", "b c") }, ""},
		{"it leaves this site", nil, func(s *shelves) *engine.ResourceRow {
			r := s.put(networkKind, "n", "A b")
			r.Sites["a"] = engine.ReplicaStatus{State: engine.StateLeaving}
			return r
		}, ""},
		{"it was deleted", told(true, "a"), func(s *shelves) *engine.ResourceRow {
			r := s.put(networkKind, "n", "A b")
			r.State = engine.StateDeleted
			return r
		}, ""},
		{"it was deleted here", told(true, "a"), func(s *shelves) *engine.ResourceRow {
			r := s.put(networkKind, "n", "A b")
			r.Sites["a"] = engine.ReplicaStatus{State: engine.StateConverged, Applied: 2}
			return r
		}, ""},
		{"it waits for this one", nil, func(s *shelves) *engine.ResourceRow {
			return s.put(networkKind, "n", "A b", to(serverKind, "s", engine.RelationRequirement))
		}, ""},
	} {
		v := newVillage()
		if c.put != nil {
			c.put(v.shelves)
		}
		o := create(`{"networks":[{"id":"n"}],"disk":"n"}`)
		o.Whereabouts = c.told
		if got := v.awaits(t.Context(), serverKind, "s", o); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnOperationAwaitsItsContainer(t *testing.T) {
	v := newVillage()
	v.put(boxKind, "x", "A b")
	o := create(`{"id":"t"}`)
	if got := v.awaits(t.Context(), toolKind, "x/t", o); got != "waits for box x, which has no object at A yet" {
		t.Errorf("it waits so: %q", got)
	}
	v.put(boxKind, "x", "a b")
	if got := v.awaits(t.Context(), toolKind, "x/t", o); got != "" {
		t.Errorf("it waits so: %q", got)
	}
	v.put(boxKind, "x", "A b")
	if got := v.awaits(t.Context(), toolKind, "x/t", &engine.Operation{Type: engine.TypeDelete}); got != "" {
		t.Errorf("a delete waits so: %q", got)
	}
	v.fails = engine.ErrStorage
	if got := v.awaits(t.Context(), toolKind, "x/t", o); got != "waits for box x, which cannot be looked up: storage" {
		t.Errorf("it waits so: %q", got)
	}
}

// TestADeletionSeesWhatItTakesAlong: what lies in a container here, and the deleter has never had, is named. What it has had, what is to end
// anyway and what lives on elsewhere is not.
func TestADeletionSeesWhatItTakesAlong(t *testing.T) {
	v := newVillage()
	v.put(boxKind, "x", "a b")
	v.put(toolKind, "x/seen", "a b")
	v.put(toolKind, "x/not-here", "A B")
	v.put(toolKind, "x/lives-elsewhere", "a B c")
	v.put(toolKind, "x/ended", "a B").State = engine.StateDeleted
	v.put(toolKind, "xx/beside", "a B")
	o := &engine.Operation{ID: "ends", Type: engine.TypeDelete, Method: "DELETE", Origin: "b"}
	if why := v.awaits(t.Context(), boxKind, "x", o); why != "" {
		t.Errorf("it waits: %s", why)
	}
	for _, name := range []engine.ResourceID{"1", "2", "3", "4"} {
		v.put(toolKind, "x/"+name, "a B")
	}
	why := v.awaits(t.Context(), boxKind, "x", o)
	if want := "it would take along tool x/1, tool x/2, tool x/3 and 1 more, which B had not seen when it deleted box x"; !strings.HasPrefix(why, want) {
		t.Errorf("it says %q, want %q", why, want)
	}
}
