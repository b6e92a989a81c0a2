package history

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
	"github.com/skerry/skerry/testnet/memory"
)

// application is one site's instance: it keeps JSON objects with files beside them, and outlives the agent.
type application struct {
	prefix  string
	next    int
	objects map[engine.KindName]map[string]*object
	effects map[string]*effect // by Idempotency-Key
	mood    mood
}

// object is one that the application keeps.
type object struct {
	fields  map[string]any
	files   map[string]string // by the path under the item
	large   map[string][]byte // of those that are large all of it, likewise
	version int
}

// effect is what the requests of one key have done.
type effect struct {
	times int
	// untold is how many of these a site did before it was set back, and nobody knows of.
	untold int
	kind   engine.KindName
	local  string
	reply  engine.Reply
	runs   []string // the objects that they have made, or run on
}

// once reports whether an operation has run, and not twice as far as its site could know, on the object or on one that was made anew, at most
// so often.
func (e *effect) once(anew int) bool {
	return e != nil && (e.times > e.untold && e.times <= e.untold+1+anew || e.untold > 0 && e.times == e.untold)
}

// twice reports whether an operation has run once more since its site was set back and nobody knew that it had.
func (e *effect) twice() bool { return e != nil && e.untold > 0 && e.times > e.untold }

// mood says how often an application does not behave, in per mille of the requests that change something.
type mood struct {
	down                                                            bool // it gets nothing
	refuses, busy, fails, doesSilent, breaks, doesBreak, denies, no int
	what                                                            int // the status of its no
}

// effect is what an operation has done at a site, the last time where it was sent to objects that were made anew; nil for nothing.
func (a *application) effect(id engine.OperationID, at engine.SiteName) *effect {
	const most = 100 // an object is made anew less often
	key := string(id) + "." + string(at)
	for n := most; n > 0; n-- {
		if e := a.effects[fmt.Sprint(key, ".", n)]; e != nil {
			return e
		}
	}
	if e := a.effects[key]; e != nil && e.times > 0 {
		return e
	}
	for _, again := range slices.Sorted(maps.Keys(a.effects)) { // a person has had it sent again, or it has put bytes over others
		if e := a.effects[again]; strings.HasPrefix(again, key+".") && (strings.Contains(again, ".again") || strings.Contains(again, ".over")) && e.times > 0 {
			return e
		}
	}
	return a.effects[key]
}

func newApplication(prefix string) *application {
	return &application{prefix: prefix, objects: map[engine.KindName]map[string]*object{}, effects: map[string]*effect{}}
}

var errNoAnswer = errors.New("the connection broke before the answer")

// serve answers a request as the mood is. Luck is a number below 1000.
func (a *application) serve(c engine.Call, luck int) (engine.Reply, error) {
	if a.mood.down {
		return engine.Reply{}, fmt.Errorf("connect: %w", engine.ErrUnreachable)
	}
	if c.Method == http.MethodGet {
		return a.do(c), nil
	}
	e := a.effects[c.Key]
	if e == nil {
		e = &effect{kind: c.Kind.Name}
		if c.Key != "" {
			a.effects[c.Key] = e
		}
	}
	m := a.mood
	if c.Kind.HonoursKey && e.times > 0 {
		if luck < m.denies { // whoever looks at credentials does so before that
			return engine.Reply{Status: http.StatusUnauthorized}, nil
		}
		return e.reply, nil
	}
	no := m.no
	if e.times > 0 { // it does not refuse for good what it has done
		no = 0
	}
	for _, bad := range []struct {
		share int
		reply engine.Reply
		err   error
	}{
		{m.refuses, engine.Reply{Status: http.StatusServiceUnavailable}, nil},
		{m.busy, engine.Reply{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}}, nil},
		{m.fails, engine.Reply{}, errNoAnswer},
		{m.breaks, engine.Reply{Status: http.StatusInternalServerError}, nil},
		{m.denies, engine.Reply{Status: http.StatusUnauthorized}, nil},
		{no, engine.Reply{Status: m.what, Body: []byte("no")}, nil},
	} {
		if luck -= bad.share; luck < 0 {
			return bad.reply, bad.err
		}
	}
	r := a.do(c)
	if r.Status < 300 {
		e.times++
		e.reply, e.local = r, cmp.Or(string(r.Local), e.local) // a PUT that is sent again finds what it has made
		e.runs = append(slices.Clip(e.runs), cmp.Or(e.local, string(c.Local)))
	}
	if luck -= m.doesSilent; luck < 0 {
		return engine.Reply{}, errNoAnswer
	}
	if luck -= m.doesBreak; luck < 0 {
		return engine.Reply{Status: http.StatusBadGateway}, nil
	}
	return r, nil
}

// lose deletes an object, and what has run on it.
func (a *application) lose(kind engine.KindName, id string) {
	delete(a.objects[kind], id)
	for _, e := range a.effects {
		if n := len(e.runs); e.kind == kind {
			e.runs = slices.DeleteFunc(slices.Clone(e.runs), func(at string) bool { return at == id })
			n -= len(e.runs)
			e.times, e.untold = e.times-n, max(0, e.untold-n)
		}
	}
}

// ends leaves what has run on an object that is deleted to have run, whatever has its identifier later.
func (a *application) ends(kind engine.KindName, id string) {
	for _, e := range a.effects {
		if e.kind == kind {
			e.runs = slices.DeleteFunc(slices.Clone(e.runs), func(at string) bool { return at == id })
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

// do does what a request asks.
func (a *application) do(c engine.Call) engine.Reply {
	objects := a.objects[c.Kind.Name]
	if objects == nil {
		objects = map[string]*object{}
		a.objects[c.Kind.Name] = objects
	}
	id := string(c.Local)
	o := objects[id]
	container, own := c.Kind.Split(id)
	if c.Kind.Within != "" && a.objects[c.Kind.Within][container] == nil {
		return engine.Reply{Status: http.StatusNotFound}
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
		objects[id] = &object{fields: body}
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: engine.LocalID(id), Within: container}
	case c.Method == http.MethodGet && c.Path == c.Kind.Collection:
		return engine.Reply{Status: http.StatusOK, Body: a.list(c.Kind.Name, container), Within: container}
	case o == nil && c.Method == http.MethodPut && c.Kind.ID.From == engine.IDFromPath && rest == "":
		o = &object{}
		if json.Unmarshal(c.Body, &o.fields) != nil || o.fields == nil {
			return engine.Reply{Status: http.StatusBadRequest}
		}
		o.fields["id"] = own
		objects[id] = o
		return engine.Reply{Status: http.StatusCreated, Body: encode(o.fields), Local: c.Local, Within: container}
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
		a.ends(c.Kind.Name, id)
		delete(objects, id)
		a.empty(c.Kind.Name, id)
		return engine.Reply{Status: http.StatusNoContent}
	case c.Method == http.MethodGet:
	case !o.change(c, rest):
		return engine.Reply{Status: http.StatusBadRequest}
	default:
		o.version++
	}
	o.fields["id"] = own
	r := engine.Reply{Status: http.StatusOK, Body: encode(o.fields), Within: container}
	if len(c.Kind.Name)%2 == 0 { // some services know preconditions, others do not
		r.Header = http.Header{"Etag": {strconv.Quote(strconv.Itoa(o.version))}}
	}
	return r
}

// change does what a request under an item asks, and reports whether it made sense.
func (o *object) change(c engine.Call, rest string) bool {
	if rest != "" && c.Method == http.MethodPut {
		if o.files == nil {
			o.files, o.large = map[string]string{}, map[string][]byte{}
		}
		if o.files[rest] = content(c.Body); len(c.Body) > engine.MaxInlineBody {
			o.large[rest] = c.Body
		} else {
			delete(o.large, rest)
		}
		return true
	}
	if rest != "" {
		return o.act(c, strings.TrimPrefix(rest, "/"))
	}
	if c.Method == http.MethodPatch && c.Header["Content-Type"] == jsonPatch {
		patch, err := jsonpatch.DecodePatch(c.Body)
		if err != nil {
			return false
		}
		after, err := patch.Apply(encode(o.fields))
		if err != nil {
			return false
		}
		var fields map[string]any
		if json.Unmarshal(after, &fields) != nil || fields == nil {
			return false
		}
		o.fields = fields
		return true
	}
	var body map[string]any
	if json.Unmarshal(c.Body, &body) != nil || body == nil {
		return false
	}
	if c.Method == http.MethodPut {
		o.fields = body
	} else {
		o.fields = merge(o.fields, body).(map[string]any)
	}
	return true
}

// read answers with a file.
func (o *object) read(path string) engine.Reply {
	file, is := o.files[path]
	switch {
	case !is:
		return engine.Reply{Status: http.StatusNoContent}
	case o.large[path] != nil:
		return engine.Reply{Status: http.StatusOK, Body: o.large[path]}
	}
	return engine.Reply{Status: http.StatusOK, Body: []byte(file)}
}

// content is what is kept of a file: all of it, or of a large one what it would be as a blob.
func content(body []byte) string {
	if len(body) <= engine.MaxInlineBody {
		return string(body)
	}
	return string(memory.RefOf(body).Hash)
}

// act does what an action does, as the catalog says; one that it does not name has no visible effect and is counted by its
// key.
func (o *object) act(c engine.Call, action string) bool {
	switch {
	case !declares(c.Kind, action):
	case action == "start":
		o.fields["power"] = "on"
	case action == "stop":
		o.fields["power"] = "off"
	case action == "incr":
		var body struct{ By float64 }
		if json.Unmarshal(c.Body, &body) != nil {
			return false
		}
		count, _ := o.fields["count"].(float64)
		o.fields["count"] = count + body.By
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
