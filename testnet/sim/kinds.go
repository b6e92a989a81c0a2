package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// The kinds of the application. The first four follow the rules that every kind has; they differ in who gives identifiers and
// in care for Idempotency-Key. The others have rules of their own.
var (
	image = newKind(engine.Kind{Name: "image", ID: assigned})
	task  = newKind(engine.Kind{Name: "task", ID: assigned, HonoursKey: true, MergePatch: true})
	note  = newKind(engine.Kind{Name: "note", ID: inPath, MergePatch: true})
	label = newKind(engine.Kind{Name: "label", ID: inBody})
	// gate has a counter, and two actions of which a concurrent later one counts alone.
	gate = newKind(engine.Kind{Name: "gate", ID: assigned, MergePatch: true, Operations: actions, Resolutions: []engine.Resolution{
		{Before: "open", After: "shut", Take: engine.TakeOne}, {Before: "shut", After: "open", Take: engine.TakeOne}}})
	// draft lives on when a change is concurrent with its delete.
	draft = newKind(engine.Kind{Name: "draft", ID: inBody, HonoursKey: true, Operations: actions, UpdateWins: true})
	// page is put as a whole.
	page = newKind(engine.Kind{Name: "page", ID: inPath, ReplaceWhole: true})
	// rack and shelf have an array whose elements have keys. A rack keeps the marker of the request that made it.
	rack  = newKind(engine.Kind{Name: "rack", ID: assigned, Marker: "/mark", Keys: byName, MergePatch: true})
	shelf = newKind(engine.Kind{Name: "shelf", ID: inPath, Keys: byName, JSONPatch: jsonPatch})

	kinds = []*engine.Kind{image, task, note, label, gate, draft, page, rack, shelf}
)

// Who gives the identifiers: the application, the client in the path of a PUT, the client in the body of a POST.
var (
	assigned = engine.IDRule{From: engine.IDFromBody, At: "/id"}
	inPath   = engine.IDRule{From: engine.IDFromPath, At: "/id"}
	inBody   = engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true}
)

// byName tells the disks of an array apart.
var byName = []engine.Key{{At: "/disks", Member: "name"}}

const jsonPatch = "application/json-patch+json"

// actions are those of which the catalog says what they do, with the ends of their paths.
var actions = []engine.NamedOperation{
	{Name: "open", Sets: map[engine.Pointer]json.RawMessage{"/door": json.RawMessage(`"open"`)}},
	{Name: "shut", Sets: map[engine.Pointer]json.RawMessage{"/door": json.RawMessage(`"shut"`)}},
	{Name: "incr", Counter: "/count"},
}

func newKind(k engine.Kind) *engine.Kind {
	k.Service = "model"
	k.Collection = "/" + string(k.Name) + "s"
	k.Item = k.Collection + "/{id}"
	k.Operations = slices.Clone(k.Operations)
	for i := range k.Operations {
		k.Operations[i].Method, k.Operations[i].Path = http.MethodPost, k.Item+"/"+k.Operations[i].Name
	}
	return &k
}

func kindOf(name engine.KindName) *engine.Kind {
	return kinds[slices.IndexFunc(kinds, func(k *engine.Kind) bool { return k.Name == name })]
}

// declares reports whether the catalog says what the actions of a kind do.
func declares(k *engine.Kind) bool { return len(k.Operations) > 0 }

// route tells what a request means: the catalog of this application.
func route(method, path, media string) (k *engine.Kind, pattern, target string, t engine.Type, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, kind := range kinds {
		if "/"+parts[0] == kind.Collection {
			k = kind
		}
	}
	if k == nil || len(parts) > 3 {
		return nil, "", "", "", false
	}
	if len(parts) == 1 {
		return k, k.Collection, "", engine.TypeCreate, method == http.MethodPost
	}
	pattern, target = k.Item, parts[1]
	switch {
	case len(parts) == 3 && method == http.MethodPost:
		return k, pattern + "/" + parts[2], target, engine.TypeAction, true
	case len(parts) == 2 && method == http.MethodPut:
		t = engine.TypeReplace
	case len(parts) == 2 && method == http.MethodPatch && media == jsonPatch:
		t = engine.TypePatch
	case len(parts) == 2 && method == http.MethodPatch:
		t = engine.TypeMerge
	case len(parts) == 2 && method == http.MethodDelete:
		t = engine.TypeDelete
	}
	return k, pattern, target, t, t != ""
}

func classify(_ engine.ServiceName, method, path string, header map[string]string) (engine.KindName, engine.Type, bool) {
	k, _, _, t, ok := route(method, path, header["Content-Type"])
	if !ok {
		return "", "", false
	}
	return k.Name, t, true
}
