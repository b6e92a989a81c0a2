package world

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

const (
	// JSONPatch and MergePatch are the media types of patches that the application takes.
	JSONPatch  = "application/json-patch+json"
	MergePatch = "application/merge-patch+json"
)

// Application is one site's instance: it keeps JSON objects with files beside them, and outlives the agent. What its kinds say of
// identifiers, keys, markers and actions is how it behaves.
type Application struct {
	// Mood says how it does not behave.
	Mood Mood
	// Strict, unless nil, says with which status a body is refused at this site; 0: it is not.
	Strict func(c engine.Call) int
	// Watch, unless nil, is called with every request before it is served.
	Watch func(c engine.Call)
	// Effects are what requests have done, by Idempotency-Key.
	Effects map[string]*Effect

	prefix  string
	next    int
	objects map[engine.KindName]map[string]*Object
	within  map[engine.KindName]engine.KindName // in what the objects of a kind lie
}

// Object is one that the application keeps.
type Object struct {
	Fields map[string]any
	// Files are those beside it by the path under the item: their bytes, or of large ones the names of their blobs.
	Files   map[string]string
	large   map[string][]byte // all of those that are large, likewise
	version int
	// leaves is how many more looks show it since it was deleted; 0: it was not.
	leaves int
}

// Effect is what the requests of one key have done.
type Effect struct {
	Times int
	Kind  engine.KindName
	Local string
	Reply engine.Reply
	// Runs are the objects that they have made, or run on.
	Runs []string
}

// Mood says how often an application does not behave, in per mille of the requests that change something.
type Mood struct {
	Down bool // it gets nothing
	// It refuses with 503, says that it is busy (429), does nothing and gives no answer, does it and gives none, does nothing and
	// answers 500, does it and answers 502, or does not let the agent in (401).
	Refuses, Busy, Fails, DoesSilent, Breaks, DoesBreak, Denies int
	// No is how often it refuses for good, with status What.
	No, What int
	// Hides is how often it does not show what is there: 500.
	Hides int
	// Lingers is how often it takes its time over a deletion that it has accepted (202): the object is gone after a few more looks at it.
	Lingers int
}

// NewApplication returns an empty one, which begins the identifiers that it assigns with prefix.
func NewApplication(prefix string) *Application {
	return &Application{prefix: prefix, objects: map[engine.KindName]map[string]*Object{}, Effects: map[string]*Effect{},
		within: map[engine.KindName]engine.KindName{}}
}

// Clone returns the application as it is now, in a good mood.
func (a *Application) Clone() *Application {
	c := NewApplication(a.prefix)
	c.next, c.Strict, c.Watch, c.within = a.next, a.Strict, a.Watch, maps.Clone(a.within)
	for kind, objects := range a.objects {
		c.objects[kind] = map[string]*Object{}
		for id, o := range objects {
			var fields map[string]any
			if err := json.Unmarshal(encode(o.Fields), &fields); err != nil {
				panic(err) // it was just encoded
			}
			c.objects[kind][id] = &Object{fields, maps.Clone(o.Files), maps.Clone(o.large), o.version, o.leaves}
		}
	}
	for key, e := range a.Effects {
		copied := *e
		copied.Runs = slices.Clone(e.Runs)
		c.Effects[key] = &copied
	}
	return c
}

// Objects returns what there is of a kind, by identifier.
func (a *Application) Objects(kind engine.KindName) map[string]*Object { return a.objects[kind] }

// Object returns an object, nil where there is none.
func (a *Application) Object(kind engine.KindName, id engine.LocalID) *Object {
	return a.objects[kind][string(id)]
}

var errNoAnswer = errors.New("the connection broke before the answer")

// Serve answers a request as the mood is. Luck is a number below 1000.
func (a *Application) Serve(c engine.Call, luck int) (engine.Reply, error) {
	m := a.Mood
	if m.Down {
		return engine.Reply{}, fmt.Errorf("connect: %w", engine.ErrUnreachable)
	}
	if c.Method == http.MethodGet {
		if luck < m.Hides {
			return engine.Reply{Status: http.StatusInternalServerError}, nil
		}
		return a.do(c), nil
	}
	e := a.Effects[c.Key]
	if e == nil {
		e = &Effect{Kind: c.Kind.Name}
		if c.Key != "" {
			a.Effects[c.Key] = e
		}
	}
	if c.Kind.HonoursKey && e.Times > 0 {
		if luck < m.Denies { // whoever looks at credentials does so before that
			return engine.Reply{Status: http.StatusUnauthorized}, nil
		}
		return e.Reply, nil
	}
	if a.Strict != nil {
		if status := a.Strict(c); status != 0 {
			return engine.Reply{Status: status, Body: []byte("not here")}, nil
		}
	}
	no := m.No
	if e.Times > 0 { // it does not refuse for good what it has done
		no = 0
	}
	for _, bad := range []struct {
		share int
		reply engine.Reply
		err   error
	}{
		{m.Refuses, engine.Reply{Status: http.StatusServiceUnavailable}, nil},
		{m.Busy, engine.Reply{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}}, nil},
		{m.Fails, engine.Reply{}, errNoAnswer},
		{m.Breaks, engine.Reply{Status: http.StatusInternalServerError}, nil},
		{m.Denies, engine.Reply{Status: http.StatusUnauthorized}, nil},
		{no, engine.Reply{Status: m.What, Body: []byte("no")}, nil},
	} {
		if luck -= bad.share; luck < 0 {
			return bad.reply, bad.err
		}
	}
	r := engine.Reply{Status: http.StatusAccepted}
	if o := a.Object(c.Kind.Name, c.Local); c.Method == http.MethodDelete && o != nil && luck < m.Lingers {
		o.leaves = 1 + luck%4
	} else {
		r = a.do(c)
	}
	if r.Status < 300 {
		e.Times++
		e.Reply, e.Local = r, cmp.Or(string(r.Local), e.Local) // a PUT that is sent again finds what it has made
		e.Runs = append(slices.Clip(e.Runs), cmp.Or(e.Local, string(c.Local)))
	}
	if luck -= m.DoesSilent; luck < 0 {
		return engine.Reply{}, errNoAnswer
	}
	if luck -= m.DoesBreak; luck < 0 {
		return engine.Reply{Status: http.StatusBadGateway}, nil
	}
	return r, nil
}

// Lose deletes an object behind the agent's back, with what lies in it, and forgets what has run on it.
func (a *Application) Lose(kind engine.KindName, id string) {
	delete(a.objects[kind], id)
	a.empty(kind, id)
	for _, e := range a.Effects {
		if n := len(e.Runs); e.Kind == kind {
			e.Runs = slices.DeleteFunc(slices.Clone(e.Runs), func(at string) bool { return at == id })
			e.Times -= n - len(e.Runs)
		}
	}
}

// find lists the objects of a kind that were made with the marker of a request.
func (a *Application) find(k *engine.Kind, request string) (found []engine.Reply) {
	for _, id := range slices.Sorted(maps.Keys(a.objects[k.Name])) {
		o := a.objects[k.Name][id]
		if mark, _ := o.Fields["mark"].(string); tree.HasMarker(mark, request) {
			found = append(found, engine.Reply{Status: http.StatusOK, Body: encode(o.Fields), Local: engine.LocalID(id)})
		}
	}
	return found
}

func trimMarker(mark string) string { return tree.TrimMarker(mark) }

// Unmarked returns a copy of fields without the agent's marker. An empty text in its place is as good as none.
func Unmarked(fields map[string]any) map[string]any {
	fields = maps.Clone(fields)
	if mark, ok := fields["mark"].(string); ok {
		if fields["mark"] = trimMarker(mark); fields["mark"] == "" {
			delete(fields, "mark")
		}
	}
	return fields
}

// ends leaves what has run on an object that is deleted to have run, whatever has its identifier later.
func (a *Application) ends(kind engine.KindName, id string) {
	for _, e := range a.Effects {
		if e.Kind == kind {
			e.Runs = slices.DeleteFunc(slices.Clone(e.Runs), func(at string) bool { return at == id })
		}
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

// remove deletes an object with what lies in it.
func (a *Application) remove(kind engine.KindName, id string) {
	a.ends(kind, id)
	delete(a.objects[kind], id)
	a.empty(kind, id)
}

// do does what a request asks.
func (a *Application) do(c engine.Call) engine.Reply {
	objects := a.objects[c.Kind.Name]
	if objects == nil {
		objects = map[string]*Object{}
		a.objects[c.Kind.Name], a.within[c.Kind.Name] = objects, c.Kind.Within
	}
	id := string(c.Local)
	o := objects[id]
	container, own := c.Kind.Split(id)
	if c.Kind.Within != "" && a.objects[c.Kind.Within][container] == nil {
		return engine.Reply{Status: http.StatusNotFound}
	}
	if o != nil && o.leaves > 0 && c.Method == http.MethodGet {
		if o.leaves--; o.leaves == 0 {
			a.remove(c.Kind.Name, id)
			o = nil
		}
	}
	rest := strings.TrimPrefix(c.Path, c.Kind.Item)
	switch {
	case c.Method == http.MethodPost && c.Path == c.Kind.Collection:
		var body map[string]any
		if json.Unmarshal(c.Body, &body) != nil || body == nil {
			return engine.Reply{Status: http.StatusBadRequest}
		}
		if id, _ = body["id"].(string); !c.Kind.Natural() {
			a.next++
			id = a.prefix + strconv.Itoa(a.next)
		}
		body["id"] = id
		if c.Kind.Within != "" {
			id = engine.Inside(container, id)
		}
		if objects[id] != nil {
			return engine.Reply{Status: http.StatusConflict}
		}
		objects[id] = &Object{Fields: body}
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: engine.LocalID(id), Within: container}
	case c.Method == http.MethodGet && c.Path == c.Kind.Collection:
		return engine.Reply{Status: http.StatusOK, Body: a.list(c.Kind.Name, container), Within: container}
	case o == nil && c.Method == http.MethodPut && c.Kind.ID.From == engine.IDFromPath && rest == "":
		o = &Object{}
		if json.Unmarshal(c.Body, &o.Fields) != nil || o.Fields == nil {
			return engine.Reply{Status: http.StatusBadRequest}
		}
		o.Fields["id"] = own
		objects[id] = o
		return engine.Reply{Status: http.StatusCreated, Body: encode(o.Fields), Local: c.Local, Within: container}
	case o == nil:
		return engine.Reply{Status: http.StatusNotFound}
	}
	if match := c.Header["If-Match"]; match != "" && match != strconv.Quote(strconv.Itoa(o.version)) {
		return engine.Reply{Status: http.StatusPreconditionFailed}
	}
	switch {
	case c.Method == http.MethodGet && rest != "":
		return o.read(rest)
	case c.Method == http.MethodDelete:
		a.remove(c.Kind.Name, id)
		return engine.Reply{Status: http.StatusNoContent}
	case c.Method == http.MethodGet:
	case !o.change(c, rest):
		return engine.Reply{Status: http.StatusBadRequest}
	default:
		o.version++
	}
	o.Fields["id"] = own
	r := engine.Reply{Status: http.StatusOK, Body: encode(o.Fields), Within: container}
	if len(c.Kind.Name)%2 == 0 { // some services know preconditions, others do not
		r.Header = http.Header{"Etag": {strconv.Quote(strconv.Itoa(o.version))}}
	}
	return r
}

// change does what a request under an item asks, and reports whether it made sense.
func (o *Object) change(c engine.Call, rest string) bool {
	if rest != "" && c.Method == http.MethodPut {
		if o.Files == nil {
			o.Files, o.large = map[string]string{}, map[string][]byte{}
		}
		if o.Files[rest] = Content(c.Body); len(c.Body) > engine.MaxInlineBody {
			o.large[rest] = c.Body
		} else {
			delete(o.large, rest)
		}
		return true
	}
	if rest != "" {
		return o.act(c, strings.TrimPrefix(rest, "/"))
	}
	if c.Method == http.MethodPatch && c.Header["Content-Type"] == JSONPatch {
		patch, err := jsonpatch.DecodePatch(c.Body)
		if err != nil {
			return false
		}
		after, err := patch.Apply(encode(o.Fields))
		if err != nil {
			return false
		}
		var fields map[string]any
		if json.Unmarshal(after, &fields) != nil || fields == nil {
			return false
		}
		o.Fields = fields
		return true
	}
	var body map[string]any
	if json.Unmarshal(c.Body, &body) != nil || body == nil {
		return false
	}
	if c.Method == http.MethodPut {
		o.Fields = body
	} else {
		o.Fields = merge(o.Fields, body).(map[string]any)
	}
	return true
}

// read answers with a file.
func (o *Object) read(path string) engine.Reply {
	file, is := o.Files[path]
	switch {
	case !is:
		return engine.Reply{Status: http.StatusNoContent}
	case o.large[path] != nil:
		return engine.Reply{Status: http.StatusOK, Body: o.large[path]}
	}
	return engine.Reply{Status: http.StatusOK, Body: []byte(file)}
}

// Content is what is kept of a file: all of it, or of a large one what it would be as a blob.
func Content(body []byte) string {
	if len(body) <= engine.MaxInlineBody {
		return string(body)
	}
	return string(refOf(body).Hash)
}

// act does what an action does, as the catalog says; one that it does not name has no visible effect and is counted by its
// key.
func (o *Object) act(c engine.Call, action string) bool {
	switch {
	case !Declares(c.Kind, action):
	case action == "start":
		o.Fields["power"] = "on"
	case action == "stop":
		o.Fields["power"] = "off"
	case action == "incr":
		var body struct{ By float64 }
		if json.Unmarshal(c.Body, &body) != nil {
			return false
		}
		count, _ := o.Fields["count"].(float64)
		o.Fields["count"] = count + body.By
	}
	return true
}

// merge applies a JSON merge patch (RFC 7396).
func merge(to, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := to.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = merge(t[k], v)
		}
	}
	return t
}

// Effect is what an operation has done at a site, the last time where it was sent to objects that were made anew; nil for nothing.
func (a *Application) Effect(id engine.OperationID, at engine.SiteName) *Effect {
	key := string(id) + "." + string(at)
	var found *Effect
	for _, k := range slices.SortedFunc(maps.Keys(a.Effects), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
		if e := a.Effects[k]; k == key || strings.HasPrefix(k, key+".") && e.Times > 0 {
			found = e
		}
	}
	return found
}
