package flight

import (
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
		"sent again, it is put off":                 {resent(k, true, http.StatusTooManyRequests), Unsent},
	} {
		if c.got.Fate != c.want || c.want == Untold && c.got.Why == "" {
			t.Errorf("%s: %+v, want %d", name, c.got, c.want)
		}
	}
}
