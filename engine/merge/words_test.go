package merge

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/skerry/skerry/engine"
)

// The words of the core, for tests to be read.
type (
	Operation   = engine.Operation
	OperationID = engine.OperationID
	SiteID      = engine.SiteID
	Line        = engine.Line
	Pointer     = engine.Pointer
	Edit        = engine.Edit
	Kind        = engine.Kind
	Vector      = engine.Vector
)

var lab = &Kind{Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}

func one(before, after string) engine.Resolution {
	return engine.Resolution{Before: before, After: after, Take: engine.TakeOne}
}

// kinds are kinds that differ in their rules from lab, by name.
func kinds() map[string]*Kind {
	with := func(change func(*Kind)) *Kind {
		k := *lab
		k.Operations = []engine.NamedOperation{{Name: "incr", Method: "POST", Path: "/images/{id}/incr", Counter: "/count"}}
		change(&k)
		return &k
	}
	kinds := map[string]*Kind{
		"default":     with(func(*Kind) {}),
		"update wins": with(func(k *Kind) { k.UpdateWins = true }),
		"whole":       with(func(k *Kind) { k.ReplaceWhole = true }),
		"all one": with(func(k *Kind) {
			for _, a := range []string{"create", "replace", "merge", "absolute", "action"} {
				for _, b := range []string{"create", "replace", "merge", "absolute", "action"} {
					k.Resolutions = append(k.Resolutions, one(a, b))
				}
			}
			k.UpdateWins = true
		}),
		"last writer": with(func(k *Kind) {
			for _, u := range []string{"replace", "merge", "action", "absolute"} {
				k.Resolutions = append(k.Resolutions, one("delete", u), one(u, "delete"))
			}
		}),
		"one merge": with(func(k *Kind) { k.Resolutions = []engine.Resolution{one("merge", "merge")} }),
	}
	for name, k := range maps.Clone(kinds) {
		keyed := *k
		keyed.Keys = []engine.Key{{At: "/a", Member: "name"}, {At: "/a/*/d", Member: "name"}}
		kinds[name+", keyed"] = &keyed
	}
	return kinds
}

var about = engine.About{Collaboration: engine.Replication, Placement: []SiteID{"a", "b", "c"}}

func historyOf(k *Kind, ops ...*Operation) *History {
	h := New(k, about, "a")
	for _, o := range ops {
		h.Add(o)
	}
	return h
}

func set(p Pointer, v string) *Edit {
	return &Edit{Set: map[Pointer]json.RawMessage{p: json.RawMessage(v)}}
}

// op is an operation whose origin and number its identifier tells: "a-2" is the second of a.
func op(id string, t engine.Type, at int64, seen Vector, e *Edit) *Operation {
	o := &Operation{ID: OperationID(id), Type: t, Time: at, Seen: seen, Edit: e, Path: "/images/{id}"}
	var origin string
	if _, err := fmt.Sscanf(id, "%1s-%d", &origin, &o.Number); err != nil {
		panic(err)
	}
	o.Line, o.Origin = Line(origin), SiteID(origin)
	return o
}

func none(*Operation) bool { return false }

func ids(ops []*Operation) (list []OperationID) {
	for _, o := range ops {
		list = append(list, o.ID)
	}
	return list
}
