package flight

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// TestFate: what tells what came of a request, and what does not.
func TestFate(t *testing.T) {
	k := &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	honours := *k
	honours.HonoursKey = true
	nothing := merge.New(k, engine.About{Service: "store", Kind: "box", Key: "blue"}, "paris").Nothing()
	one, action := engine.Reply{Status: 200, Local: "blue"}, &engine.Operation{Type: engine.TypeAction, Method: "POST", Path: "/boxes/{id}/open"}
	named := func(status int, body string) Finding {
		return ByName(k, []byte(`{"a":1}`), nothing, "blue", engine.Reply{Status: status, Body: []byte(body)}, nil)
	}
	resent := func(k *engine.Kind, person bool, status int) Finding {
		return Resent(k, action, person, engine.Reply{Status: status}, nil)
	}
	lost := errors.New("lost")
	merges := Flight{Operation: engine.Operation{Type: engine.TypeMerge, Method: "PATCH", Path: "/boxes/{id}", Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/a": []byte("1")}}}}
	told := merges
	told.Early = true
	refused := func(f Flight, status int, shows string) Finding {
		return f.ByRefusal(k, f.Operation.Edit, engine.Reply{Status: 409}, engine.Reply{Status: status}, []byte(shows), nil)
	}
	creates := Flight{Operation: engine.Operation{Type: engine.TypeCreate, Method: "POST"}, Early: true}
	assigned := *k
	assigned.ID.From = engine.IDFromBody
	made := creates.ByRefusal(&assigned, nil, engine.Reply{Status: 401}, engine.Reply{Status: 404}, nil, nil)
	for name, c := range map[string]struct {
		got  Finding
		want Fate
	}{
		"one object has the marker":                 {ByMarker([]engine.Reply{one}, nil, true), Happened},
		"two objects have it":                       {ByMarker([]engine.Reply{one, one}, nil, false), Untold},
		"none has it yet":                           {ByMarker(nil, nil, true), Later},
		"none has it":                               {ByMarker(nil, nil, false), Absent},
		"nobody can search":                         {ByMarker(nil, engine.ErrUntellable, false), Untold},
		"the search failed":                         {ByMarker(nil, lost, false), Later},
		"the name shows what was set":               {named(200, `{"name":"blue","a":1}`), Happened},
		"the name shows something else":             {named(200, `{"name":"blue","a":2}`), Untold},
		"there is nothing of the name":              {named(404, ""), Absent},
		"the application stumbles over the name":    {named(500, ""), Later},
		"sent again, it is done":                    {resent(k, false, 200), Happened},
		"sent again, it is refused":                 {resent(k, false, 409), Refused},
		"a person had it sent, and it is refused":   {resent(k, true, 409), Dismissed},
		"with its key, it is refused":               {resent(&honours, false, 409), Dismissed},
		"with its key, the caller is not let in":    {resent(&honours, true, 403), Refused},
		"a person had it sent, and nothing is told": {resent(k, true, 500), Untold},
		"sent again, nothing is told":               {resent(k, false, 500), Later},
		"refused again, and it shows what was set":  {refused(told, 200, `{"a":1}`), Happened},
		"refused again, and it shows another value": {refused(merges, 200, `{"a":2}`), Dismissed},
		"and its client has its answer":             {refused(told, 200, `{"a":2}`), Untold},
		"and nothing shows what a create has made":  {made, Untold},
		"refused again, and nothing has the name":   {refused(creates, 404, ""), Dismissed},
		"sent again, it is put off":                 {resent(k, true, http.StatusTooManyRequests), Unsent},
	} {
		if c.got.Fate != c.want || c.want == Untold && c.got.Why == "" {
			t.Errorf("%s: %+v, want %d", name, c.got, c.want)
		}
	}
}

// TestPremature: what an application may have refused because it shows later what it makes.
func TestPremature(t *testing.T) {
	for _, c := range []struct {
		of             engine.Type
		refused, shown int
		want           bool
	}{
		{engine.TypeCreate, 409, 404, true},
		{engine.TypeCreate, 409, 200, false},
		{engine.TypeCreate, 400, 404, false},
		{engine.TypeMerge, 404, 404, true},
		{engine.TypeAction, 404, 200, true},
		{engine.TypeMerge, 422, 404, false},
		{engine.TypeDelete, 404, 404, false},
	} {
		f := Flight{Operation: engine.Operation{Type: c.of}}
		if got := f.Premature(engine.Reply{Status: c.refused}, engine.Reply{Status: c.shown}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestSure: who may be answered before it is on disk what came of a request.
func TestSure(t *testing.T) {
	named := &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	assigned := &engine.Kind{Service: "store", Name: "note", Item: "/notes/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	honours := *assigned
	honours.HonoursKey = true
	declared := &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", HonoursKey: true,
		Operations: []engine.NamedOperation{{Name: "open", Method: "POST", Path: "/boxes/{id}/open", Sets: map[engine.Pointer]json.RawMessage{"/open": []byte("true")}}}}
	of := func(typ engine.Type, method, path string) Flight {
		return Flight{Operation: engine.Operation{Type: typ, Method: method, Path: path}, Creates: typ == engine.TypeCreate}
	}
	create, action, merge := of(engine.TypeCreate, "POST", "/notes"), of(engine.TypeAction, "POST", "/boxes/{id}/open"), of(engine.TypeMerge, "PATCH", "/boxes/{id}")
	for name, c := range map[string]struct{ got, want bool }{
		"a create under a name":               {create.Sure(named, false), true},
		"one with a marker":                   {create.Sure(assigned, true), true},
		"one whose key is honoured":           {create.Sure(&honours, false), true},
		"one that nothing finds again":        {create.Sure(assigned, false), false},
		"a change that may be sent again":     {merge.Sure(named, false), true},
		"an action":                           {action.Sure(named, false), false},
		"one whose effect the catalog says":   {action.Sure(declared, false), false},
		"one whose key is honoured otherwise": {action.Sure(&honours, false), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %t", name, c.got)
		}
	}
}
