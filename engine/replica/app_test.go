package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// The kinds of the scripts' application, by name.
var kinds = map[string]*engine.Kind{
	// Clients name boxes. What a poke does nobody declares.
	"box": {Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", MergePatch: true,
		ID:         engine.IDRule{From: engine.IDFromPath, At: "/name"},
		Operations: []engine.NamedOperation{{Name: "incr", Method: "POST", Path: "/boxes/{id}/incr", Counter: "/count"}}},
	// The application names racks, and finds them again by a marker; it names bins, and finds none again.
	"rack": {Service: "store", Name: "rack", Collection: "/racks", Item: "/racks/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Marker: "/note"},
	"bin": {Service: "store", Name: "bin", Collection: "/bins", Item: "/bins/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}},
	// A job ends by itself, a pod may, once it has.
	"job": {Service: "store", Name: "job", Collection: "/jobs", Item: "/jobs/{id}", MergePatch: true, Ends: true,
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}},
	"pod": {Service: "store", Name: "pod", Collection: "/pods", Item: "/pods/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}, Ignore: []engine.Pointer{"/phase"},
		EndsIn: []engine.Settling{{At: "/phase", In: []json.RawMessage{json.RawMessage(`"done"`)}}}},
	// A file has bytes beside what it shows.
	"file": {Service: "store", Name: "file", Collection: "/files", Item: "/files/{id}", MergePatch: true,
		ID:      engine.IDRule{From: engine.IDFromPath, At: "/name"},
		Content: []engine.Content{{Read: "/files/{id}/bytes", Method: "PUT", Write: "/files/{id}/bytes"}}},
}

// app is one site's instance of an application: JSON objects by identifier, and bytes by path.
type app struct {
	site    *site
	objects map[engine.LocalID]map[string]any
	bytes   map[string]string
	pokes   map[engine.LocalID]int // how often each was poked, which it does not show
	made    int
	ran     map[string]int // how often each request ran that is not to run twice, by its key
	// faults are what becomes of the next requests that change something; always is what becomes of those after.
	faults []string
	always string
}

var errLost = errors.New("no answer came")

// do answers a call. Held: the answer waits for somebody to release it; it is nil where the request itself waits, too.
func (a *app) do(c *Call) (in *Answered, held bool) {
	in = &Answered{Token: c.Token}
	fault := ""
	if c.Kind == CallSend {
		if fault = a.always; len(a.faults) > 0 {
			fault, a.faults = a.faults[0], a.faults[1:]
		}
	}
	status, _ := strconv.Atoi(fault)
	switch {
	case fault == "unreachable" || a.always == "down":
		in.Err = engine.ErrUnreachable
	case fault == "missed":
		in.Err = errLost
	case fault == "held":
		return nil, true
	case status > 0:
		in.Reply = engine.Reply{Status: status, Body: []byte("so it was told")}
	default:
		a.done(c, in)
		if fault == "lost" {
			*in = Answered{Token: c.Token, Err: errLost}
		}
		held = fault == "answer-held"
	}
	return in, held
}

// done does what a call asks for.
func (a *app) done(c *Call, in *Answered) {
	switch c.Kind {
	case CallFind:
		for _, id := range slices.Sorted(maps.Keys(a.objects)) {
			if text, _ := a.objects[id][string(c.Call.Kind.Marker[1:])].(string); tree.HasMarker(text, c.Request) {
				in.List = append(in.List, engine.Reply{Status: 200, Body: tree.Compact(a.objects[id]), Local: id})
			}
		}
	case CallHolds:
		h := engine.NewBlobHasher()
		_, _ = h.Write([]byte(a.bytes[fill(c.Content.Read, c.Call.Local)])) // never fails
		ref, _ := h.Sum()
		in.Same = ref == c.Want
	case CallCopy:
		from := a.site.world.sites[c.From[0]]
		r := from.named(string(c.Key))
		for _, part := range c.Call.Kind.Content {
			a.bytes[fill(part.Write, c.Call.Local)] = from.app.bytes[fill(part.Read, r.Mine.Local)]
		}
		in.Settled = r.Me.Settled.Clone()
	default:
		in.Reply = a.serve(c.Call)
		in.Presented = a.site.present(c.Call.Kind, in.Reply)
	}
}

func fill(path string, id engine.LocalID) string { return strings.ReplaceAll(path, "{id}", string(id)) }

// serve answers a request.
func (a *app) serve(c engine.Call) engine.Reply {
	k := c.Kind
	body, _ := tree.ParseJSON(c.Body)
	members, _ := body.(map[string]any)
	object := a.objects[c.Local]
	answer := func(status int) engine.Reply {
		r := engine.Reply{Status: status, Header: http.Header{}}
		if o := a.objects[c.Local]; o != nil && status < 300 {
			r.Body = tree.Compact(o)
		}
		return r
	}
	switch {
	case c.Method == "POST" && c.Path == k.Collection:
		a.made++
		c.Local = engine.LocalID(fmt.Sprintf("%s-%s%d", a.site.id, k.Name, a.made))
		a.put(k, c.Local, members)
		r := answer(201)
		r.Local = c.Local
		return r
	case c.Method == "PUT" && c.Path == k.Item:
		a.put(k, c.Local, members)
		if object == nil {
			return answer(201)
		}
		return answer(200)
	case object == nil:
		return engine.Reply{Status: 404}
	case c.Method == "GET":
		return answer(200)
	case c.Method == "PATCH":
		for name, v := range members {
			if object[name] = v; v == nil {
				delete(object, name)
			}
		}
		return answer(200)
	case c.Method == "DELETE":
		a.remove(c.Local)
		return engine.Reply{Status: 204}
	case strings.HasSuffix(c.Path, "/incr"):
		a.ran[c.Key]++
		n, _ := object["count"].(json.Number)
		count, _ := strconv.Atoi(string(n))
		object["count"] = json.Number(strconv.Itoa(count + 1))
		return answer(200)
	case strings.HasSuffix(c.Path, "/poke"):
		a.ran[c.Key]++
		a.pokes[c.Local]++
		return engine.Reply{Status: 202}
	case strings.HasSuffix(c.Path, "/bytes"):
		a.bytes[fill(c.Path, c.Local)] = string(c.Body)
		return engine.Reply{Status: 204}
	}
	return engine.Reply{Status: 405}
}

// put makes an object what a representation says, in place of what there was.
func (a *app) put(k *engine.Kind, id engine.LocalID, members map[string]any) {
	o := maps.Clone(members)
	if o == nil {
		o = map[string]any{}
	}
	o[string(k.ID.At[1:])] = string(id)
	a.objects[id] = o
}

func (a *app) remove(id engine.LocalID) {
	delete(a.objects, id)
	delete(a.pokes, id)
}

// show tells what the application has of an object.
func (a *app) show(id engine.LocalID) string {
	o := a.objects[id]
	if o == nil {
		return "nothing"
	}
	text := string(tree.Compact(o))
	for _, path := range slices.Sorted(maps.Keys(a.bytes)) {
		if strings.HasPrefix(path, "/files/"+string(id)+"/") {
			text += fmt.Sprintf(" bytes %q", a.bytes[path])
		}
	}
	if n := a.pokes[id]; n > 0 {
		text += fmt.Sprintf(" poked %d", n)
	}
	return text
}
