package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
)

// application is one site's instance of an application that keeps JSON objects and opaque bytes below them. It assigns
// identifiers unless clients choose them.
type application struct {
	site    string
	glue    *glue.Client // presents what it answers, as it would an application over HTTP
	trace   *trace
	next    int
	objects map[string]map[string]any
	files   map[string]string // by path
	acts    map[string][]string
	answers map[string]engine.Reply // by Idempotency-Key, for kinds that honour it
	faults  []string
	down    bool
	blind   bool // it answers reads with 503
	habits  habits
	now     func() time.Time
}

func newApplication(site string, t *trace, now func() time.Time) *application {
	return &application{site: site, trace: t, now: now, habits: habits{made: map[string]time.Time{}, going: map[string]time.Time{}}, objects: map[string]map[string]any{}, files: map[string]string{},
		acts: map[string][]string{}, answers: map[string]engine.Reply{}}
}

var errNoAnswer = errors.New("the connection broke before the answer")

// Do implements engine.Application.
func (a *application) Do(ctx context.Context, c engine.Call) (engine.Reply, error) {
	var err error
	header := http.Header{}
	for name, value := range c.Header {
		header.Set(name, value)
	}
	container, _ := c.Kind.Split(string(c.Local))
	if c.Query, c.Body, err = a.glue.Localize(ctx, c.Kind, container, header, c.Query, c.Body); err != nil {
		return engine.Reply{}, err
	}
	path, _ := engine.FillPath(c.Path, string(c.Local), func(part string) string { return part })
	asked := strings.TrimSpace(fmt.Sprintf("app %s %s %s", c.Method, path, c.Body))
	if a.down {
		a.trace.add(a.site, asked+" → cannot be reached")
		return engine.Reply{}, engine.ErrUnreachable
	}
	if c.Method == http.MethodGet && a.blind {
		a.trace.add(a.site, asked+" → 503")
		return engine.Reply{Status: http.StatusServiceUnavailable, Header: http.Header{}}, nil
	}
	if status := a.habitual(c, path); status != 0 {
		a.trace.add(a.site, fmt.Sprintf("%s → %d", asked, status))
		return engine.Reply{Status: status, Header: http.Header{}, Closed: status == http.StatusForbidden && a.habits.closed != ""}, nil
	}
	if c.Method == http.MethodGet {
		r := a.serve(c)
		a.trace.add(a.site, fmt.Sprintf("%s → %d %s", asked, r.Status, r.Body))
		return r, nil
	}
	denied := len(a.faults) > 0 && a.faults[0] == "401" // whoever looks at credentials does so before a key counts
	if r, ok := a.answers[c.Key]; ok && c.Key != "" && c.Kind.HonoursKey && !denied {
		a.trace.add(a.site, fmt.Sprintf("%s → %d, as before for this Idempotency-Key", asked, r.Status))
		return r, nil
	}
	fault := ""
	if len(a.faults) > 0 {
		fault, a.faults = a.faults[0], a.faults[1:]
	}
	if status, err := strconv.Atoi(fault); err == nil {
		a.trace.add(a.site, fmt.Sprintf("%s → %d, and has not done it", asked, status))
		return engine.Reply{Status: status, Header: http.Header{}}, nil
	}
	if fault == "lost" {
		a.trace.add(a.site, asked+" → no answer, and it has not done it")
		return engine.Reply{}, errNoAnswer
	}
	r := a.serve(c)
	a.answers[c.Key] = r
	if fault == "unanswered" {
		a.trace.add(a.site, asked+" → no answer, and it has done it")
		return engine.Reply{}, errNoAnswer
	}
	made := ""
	if r.Local != "" {
		made = " " + string(r.Local)
	}
	a.trace.add(a.site, fmt.Sprintf("%s → %d%s", asked, r.Status, made))
	return r, nil
}

func (a *application) serve(c engine.Call) engine.Reply {
	r := a.do(c)
	r.Within, _ = c.Kind.Split(string(c.Local))
	r.Header = http.Header{"Content-Type": {"application/json"}}
	return r
}

func (a *application) do(c engine.Call) engine.Reply {
	id := string(c.Local)
	below := strings.TrimPrefix(c.Path, c.Kind.Item)
	if !strings.HasPrefix(c.Path, c.Kind.Item) {
		below = ""
	}
	var body map[string]any
	if len(c.Body) > 0 && below == "" && !(c.Method == http.MethodPatch && c.Body[0] == '[') {
		if err := json.Unmarshal(c.Body, &body); err != nil {
			return engine.Reply{Status: http.StatusBadRequest, Body: []byte(err.Error())}
		}
	}
	container, own := c.Kind.Split(id)
	if container != "" && a.objects[container] == nil {
		return engine.Reply{Status: http.StatusNotFound}
	}
	if c.Path == c.Kind.Collection && c.Method == http.MethodGet {
		return engine.Reply{Status: http.StatusOK, Body: a.list(container)}
	}
	if c.Path == c.Kind.Collection {
		if chosen, ok := body["id"].(string); ok && own == "" && c.Kind.ID.Settable {
			own = chosen
		}
		if own == "" {
			a.next++
			own = fmt.Sprintf("%s-%d", a.site, a.next)
		}
		if id = own; container != "" {
			id = engine.Inside(container, own)
		}
		if a.objects[id] != nil {
			return engine.Reply{Status: http.StatusConflict}
		}
		return a.make(id, own, body)
	}
	o, ok := a.objects[id]
	if !ok && c.Method == http.MethodPut && below == "" && c.Kind.ID.From == engine.IDFromPath {
		return a.make(id, id, body)
	}
	if !ok {
		return engine.Reply{Status: http.StatusNotFound}
	}
	switch {
	case c.Method == http.MethodGet && below != "":
		return engine.Reply{Status: http.StatusOK, Body: []byte(a.files[id+below])}
	case c.Method == http.MethodPut && below != "":
		a.files[id+below] = string(c.Body)
		return engine.Reply{Status: http.StatusOK}
	case c.Method == http.MethodPost:
		a.act(id, strings.TrimPrefix(below, "/"), c.Body)
	case c.Method == http.MethodPut:
		return a.put(id, body, http.StatusOK)
	case c.Method == http.MethodPatch && body == nil:
		patch, err := jsonpatch.DecodePatch(c.Body)
		if err != nil {
			return engine.Reply{Status: http.StatusBadRequest, Body: []byte(err.Error())}
		}
		after, err := patch.Apply(encode(o))
		if err != nil {
			return engine.Reply{Status: http.StatusUnprocessableEntity, Body: []byte(err.Error())}
		}
		clear(o)
		if err := json.Unmarshal(after, &o); err != nil {
			return engine.Reply{Status: http.StatusUnprocessableEntity, Body: []byte(err.Error())}
		}
	case c.Method == http.MethodPatch:
		merge(o, body)
	case c.Method == http.MethodDelete:
		a.remove(id)
		return engine.Reply{Status: http.StatusNoContent}
	}
	return engine.Reply{Status: http.StatusOK, Body: encode(o)}
}

// remove deletes an object with all that lies in it.
func (a *application) remove(id string) {
	maps.DeleteFunc(a.objects, func(other string, _ map[string]any) bool { return other == id || strings.HasPrefix(other, id+"/") })
	maps.DeleteFunc(a.files, func(path, _ string) bool { return strings.HasPrefix(path, id+"/") })
	delete(a.acts, id)
}

// list returns what lies in a container.
func (a *application) list(container string) []byte {
	all := []any{}
	for _, id := range slices.Sorted(maps.Keys(a.objects)) {
		if in, _, ok := strings.Cut(id, "/"); ok && in == container {
			all = append(all, a.objects[id])
		}
	}
	return encode(all)
}

// make makes an object, and shows it in the answer unless the application only accepts what is to be made.
func (a *application) make(id, own string, body map[string]any) engine.Reply {
	if r := a.put(id, body, http.StatusCreated); !a.habits.accepts {
		return r
	}
	return engine.Reply{Status: http.StatusAccepted, Body: encode(map[string]any{"id": own}), Local: engine.LocalID(id)}
}

func (a *application) put(id string, body map[string]any, status int) engine.Reply {
	if body == nil {
		body = map[string]any{}
	}
	body["id"] = id[strings.LastIndexByte(id, '/')+1:]
	if a.objects[id] == nil {
		a.habits.made[id] = a.now()
	}
	a.objects[id] = body
	return engine.Reply{Status: status, Body: encode(body), Local: engine.LocalID(id)}
}

// act does what this application's actions do: start and stop switch, incr adds, everything else only happens.
func (a *application) act(id, name string, body []byte) {
	o := a.objects[id]
	switch name {
	case "start":
		o["power"] = "on"
	case "stop":
		o["power"] = "off"
	case "incr":
		by := struct{ By float64 }{1}
		_ = json.Unmarshal(body, &by) // without a body it adds one
		count, _ := o["count"].(float64)
		o["count"] = count + by.By
	}
	a.acts[id] = append(a.acts[id], name)
}

// merge is RFC 7396.
func merge(o, patch map[string]any) {
	for name, v := range patch {
		inner, isObject := v.(map[string]any)
		was, wasObject := o[name].(map[string]any)
		switch {
		case v == nil:
			delete(o, name)
		case isObject:
			if !wasObject {
				was = map[string]any{}
				o[name] = was
			}
			merge(was, inner)
		default:
			o[name] = v
		}
	}
}

// Find implements engine.Application.
func (a *application) Find(_ context.Context, k *engine.Kind, request string) ([]engine.Reply, error) {
	name := strings.TrimPrefix(string(k.Marker), "/")
	var found []engine.Reply
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(a.objects)) {
		if text, _ := a.objects[id][name].(string); tree.HasMarker(text, request) {
			found = append(found, engine.Reply{Status: http.StatusOK, Body: encode(a.objects[id]), Local: engine.LocalID(id)})
			ids = append(ids, id)
		}
	}
	a.trace.add(a.site, fmt.Sprintf("app GET %s, looks for the marker → %s", k.Collection, cmp.Or(strings.Join(ids, " "), "nothing")))
	return found, nil
}

// Present implements engine.Application.
func (a *application) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return a.glue.Present(ctx, k, r)
}

// Items implements engine.Application.
func (a *application) Items(k *engine.Kind, body []byte) ([][]byte, error) {
	return a.glue.Items(k, body)
}

// holds describes what the application has.
func (a *application) holds() []string {
	a.went()
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(a.objects)) {
		line := string(encode(a.objects[id]))
		for _, path := range slices.Sorted(maps.Keys(a.files)) {
			if strings.HasPrefix(path, id+"/") {
				line += fmt.Sprintf(", %s is %q", path, a.files[path])
			}
		}
		if acts := a.acts[id]; len(acts) > 0 {
			line += ", did " + strings.Join(acts, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}
