package history

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
)

// newKinds draws the kinds of an application: who chooses the identifiers, what the service honours.
func newKinds(r *rand.Rand) []*engine.Kind {
	var kinds []*engine.Kind
	for i := range 1 + r.IntN(3) {
		plural := []string{"notes", "images", "tasks"}[i]
		k := &engine.Kind{Service: "model", Name: engine.KindName(strings.TrimSuffix(plural, "s")), Collection: "/" + plural,
			Item: "/" + plural + "/{id}", HonoursKey: r.IntN(3) == 0, MergePatch: r.IntN(2) == 0}
		switch r.IntN(4) {
		case 0:
			k.ID = engine.IDRule{From: engine.IDFromPath, At: "/id"}
		case 1:
			k.ID = engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true}
		default:
			k.ID = engine.IDRule{From: engine.IDFromBody, At: "/id"}
		}
		if !k.Natural() && !k.HonoursKey && r.IntN(2) == 0 {
			k.Marker = "/mark"
		}
		if r.IntN(2) == 0 {
			k.Keys = []engine.Key{{At: "/disks", Member: "name"}}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// rule gives kinds rules of their own: what actions do, and what becomes of concurrent operations.
func rule(kinds []*engine.Kind, r *rand.Rand) {
	for _, k := range kinds {
		if r.IntN(2) == 0 {
			k.Operations = []engine.NamedOperation{
				{Name: "start", Method: http.MethodPost, Path: k.Item + "/start", Sets: map[engine.Pointer]json.RawMessage{"/power": json.RawMessage(`"on"`)}},
				{Name: "stop", Method: http.MethodPost, Path: k.Item + "/stop", Sets: map[engine.Pointer]json.RawMessage{"/power": json.RawMessage(`"off"`)}},
				{Name: "incr", Method: http.MethodPost, Path: k.Item + "/incr", Counter: "/count"},
			}
		}
		pairs := [][2]string{{"start", "stop"}, {"stop", "start"}, {"merge", "merge"}, {"replace", "merge"}, {"incr", "start"}}
		for range r.IntN(3) {
			p := pairs[r.IntN(len(pairs))]
			k.Resolutions = append(k.Resolutions, engine.Resolution{Before: p[0], After: p[1], Take: engine.TakeOne})
		}
		// What undeclared actions have run on is not made anew when a change reverses its delete: a person has to see to that.
		k.UpdateWins, k.ReplaceWhole = r.IntN(4) == 0 && len(k.Operations) > 0, r.IntN(4) == 0
	}
}
