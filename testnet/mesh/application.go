package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/memory"
)

// Fault is what an application does with the next request that changes something.
type Fault int

const (
	// Refuses answers 503 and does nothing.
	Refuses Fault = iota + 1
	// Fails does nothing and gives no answer.
	Fails
	// DoesAndFails does what was asked and gives no answer.
	DoesAndFails
	// Denies answers 401, Rejects 422; neither does anything.
	Denies
	Rejects
	// Busy answers 429, to be asked again after a second, and does nothing.
	Busy
	// Clashes answers 409 and does nothing.
	Clashes
	// Away cannot be reached.
	Away
)

// Application is one site's instance of an application that keeps JSON objects. It assigns the identifiers. It is
// safe for concurrent use.
type Application struct {
	prefix string
	ids    engine.Identifiers

	mu       sync.Mutex
	next     int
	objects  map[string]map[string]any
	files    map[string]string // by identifier
	actions  map[string]int    // by Idempotency-Key, or by path where it is ignored
	created  []any             // what the creates said in "made"
	answers  map[string]engine.Reply
	faults   []Fault
	always   Fault                  // what every request meets, reads too, once the ordered faults are over; 0: nothing
	requests map[string]int         // what was done, by method
	refused  map[string]int         // objects that may not be changed, and the status that is answered
	tried    int                    // requests that could have met a fault
	showed   []http.Header          // the credentials of each of those; nil: the agent's own
	held     *hold                  // nil: requests are answered at once
	habit    func(o map[string]any) // what the application makes of an object that it is given; nil: nothing
	blind    bool                   // reads are answered with 503
}

// hold keeps requests that change something waiting.
type hold struct {
	service engine.ServiceName // empty: of any
	arrived chan struct{}      // gets one for each that waits
	release chan struct{}      // closed when they may go on
}

// Hold keeps requests that change something waiting until release is called. Arrived gets one for each that waits.
func (a *Application) Hold() (arrived <-chan struct{}, release func()) { return a.HoldService("") }

// HoldService is Hold for one service.
func (a *Application) HoldService(name engine.ServiceName) (arrived <-chan struct{}, release func()) {
	h := &hold{service: name, arrived: make(chan struct{}, 64), release: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = h
	return h.arrived, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held = nil
		close(h.release)
	}
}

func (a *Application) wait(service engine.ServiceName) {
	a.mu.Lock()
	h := a.held
	a.mu.Unlock()
	if h != nil && (h.service == "" || h.service == service) {
		h.arrived <- struct{}{}
		<-h.release
	}
}

func newApplication(prefix string) *Application {
	return &Application{prefix: prefix, objects: map[string]map[string]any{}, files: map[string]string{}, actions: map[string]int{}, refused: map[string]int{},
		answers: map[string]engine.Reply{}, requests: map[string]int{}}
}

// Inject makes the next requests that change something meet faults, in this order.
func (a *Application) Inject(f ...Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, f...)
}

// Always makes every request meet a fault from now on, reads too; 0 ends that.
func (a *Application) Always(f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always = f
}

// left returns how many faults are still to come.
func (a *Application) left() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.faults)
}

// credentials returns what the requests that could have met a fault went out with.
func (a *Application) credentials() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.showed)
}

// Count returns how many requests of a method the application has done.
func (a *Application) Count(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[method]
}

// Refuse has the application answer a status to requests that change one object; 0 ends that.
func (a *Application) Refuse(id string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[id] = status
}

// Tried returns how many requests have reached the application that it could have failed.
func (a *Application) Tried() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tried
}

// Objects returns what the application holds, without the identifiers it gave.
func (a *Application) Objects() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for _, o := range a.objects {
		list = append(list, string(encode(without(o, "id"))))
	}
	return list
}

func without(o map[string]any, name string) map[string]any {
	c := make(map[string]any, len(o))
	for k, v := range o {
		if k != name {
			c[k] = v
		}
	}
	return c
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

var errNoAnswer = errors.New("the connection broke before the answer")

// Put makes an object behind the agent's back, or removes it when it is nil.
func (a *Application) Put(id string, o map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o == nil {
		delete(a.objects, id)
		return
	}
	o["id"] = id
	a.objects[id] = o
}

// Change changes an object behind the agent's back.
func (a *Application) Change(id, name string, value any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[id][name] = value
}

// Habit has the application make something of its own of every object that it is given.
func (a *Application) Habit(f func(o map[string]any)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.habit = f
}

// Blind has the application answer reads with 503, or ends that.
func (a *Application) Blind(blind bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blind = blind
}

// Do implements engine.Application.
func (a *Application) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	c, err := memory.Whole(c)
	if err != nil {
		return engine.Reply{}, err
	}
	if strings.Contains(c.Path, "{id}") && c.Local == "" {
		return engine.Reply{}, fmt.Errorf("%w: no path can carry the identifier %q", engine.ErrUnreachable, c.Local) // as glue does
	}
	if c.Method != http.MethodGet {
		a.wait(c.Kind.Service)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Method == http.MethodGet && a.blind {
		return engine.Reply{Status: http.StatusServiceUnavailable}, nil
	}
	if c.Method == http.MethodGet && a.always == 0 {
		a.requests[c.Method]++
		return a.do(c), nil
	}
	if r, ok := a.answers[c.Key]; ok && c.Key != "" && c.Kind.HonoursKey {
		return r, nil
	}
	fault := a.always
	a.tried++
	a.showed = append(a.showed, c.Credentials)
	if len(a.faults) > 0 {
		fault, a.faults = a.faults[0], a.faults[1:]
	}
	switch fault {
	case 0:
		if status := a.refused[string(c.Local)]; status != 0 && c.Method != http.MethodGet {
			return engine.Reply{Status: status}, nil
		}
	case Refuses:
		return engine.Reply{Status: http.StatusServiceUnavailable}, nil
	case Fails:
		return engine.Reply{}, errNoAnswer
	case Away:
		return engine.Reply{}, fmt.Errorf("connect: %w", engine.ErrUnreachable)
	case Denies:
		return engine.Reply{Status: http.StatusUnauthorized}, nil
	case Busy:
		return engine.Reply{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}, nil
	case Clashes:
		return engine.Reply{Status: http.StatusConflict, Body: []byte("in use")}, nil
	case Rejects:
		return engine.Reply{Status: http.StatusUnprocessableEntity}, nil
	}
	r := a.do(c)
	if a.habit != nil {
		for _, o := range a.objects {
			a.habit(o)
		}
	}
	a.requests[c.Method]++
	a.answers[c.Key] = r
	if fault == DoesAndFails {
		return engine.Reply{}, errNoAnswer
	}
	return r, nil
}

func (a *Application) do(c engine.Call) engine.Reply {
	if c.Path == c.Kind.Item+"/file" {
		return a.file(c)
	}
	var body map[string]any
	if len(c.Body) > 0 {
		if err := json.Unmarshal(c.Body, &body); err != nil {
			return engine.Reply{Status: http.StatusBadRequest, Body: []byte(err.Error())}
		}
	}
	if c.Method == http.MethodPost && c.Path == c.Kind.Collection {
		a.next++
		id := fmt.Sprintf("%s%d", a.prefix, a.next)
		if own, ok := body["id"].(string); ok && c.Kind.ID.Settable {
			id = own
		}
		if a.objects[id] != nil {
			return engine.Reply{Status: http.StatusConflict}
		}
		body["id"] = id
		a.objects[id] = body
		a.created = append(a.created, body["made"])
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: engine.LocalID(id)}
	}
	id := string(c.Local)
	o, ok := a.objects[id]
	if !ok && c.Method == http.MethodPut && c.Kind.ID.From == engine.IDFromPath && id != "" {
		body["id"] = id
		a.objects[id] = body
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: c.Local}
	}
	if !ok {
		return engine.Reply{Status: http.StatusNotFound}
	}
	switch c.Method {
	case http.MethodPut:
		body["id"] = id
		a.objects[id] = body
	case http.MethodPatch:
		for k, v := range body {
			if o[k] = v; v == nil {
				delete(o, k)
			}
		}
	case http.MethodPost:
		a.actions[strings.TrimPrefix(c.Path, c.Kind.Item)+" "+c.Key]++
	case http.MethodDelete:
		delete(a.objects, id)
		return engine.Reply{Status: http.StatusNoContent}
	}
	return engine.Reply{Status: http.StatusOK, Body: encode(a.objects[id])}
}

// file reads or writes the file of an object.
func (a *Application) file(c engine.Call) engine.Reply {
	id := string(c.Local)
	file, ok := a.files[id]
	switch {
	case a.objects[id] == nil || c.Method == http.MethodGet && !ok:
		return engine.Reply{Status: http.StatusNotFound}
	case c.Method == http.MethodGet:
		return engine.Reply{Status: http.StatusOK, Body: []byte(file)}
	}
	a.files[id] = string(c.Body)
	return engine.Reply{Status: http.StatusNoContent}
}

// File returns the file of the only object, with its identifier; empty when there is not one object.
func (a *Application) File() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.objects {
		if len(a.objects) == 1 {
			return a.files[id]
		}
	}
	return ""
}

// Find implements engine.Application.
func (a *Application) Find(_ context.Context, k *engine.Kind, request string) ([]engine.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.blind || a.always != 0 {
		return nil, errNoAnswer
	}
	var found []engine.Reply
	for id, o := range a.objects {
		if text, _ := o[strings.TrimPrefix(string(k.Marker), "/")].(string); engine.HasMarker(text, request) {
			found = append(found, engine.Reply{Status: http.StatusOK, Body: encode(o), Local: engine.LocalID(id)})
		}
	}
	return found, nil
}

// Present implements engine.Application.
func (a *Application) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	var o map[string]any
	if len(r.Body) == 0 || json.Unmarshal(r.Body, &o) != nil {
		return r, nil
	}
	name := strings.TrimPrefix(string(k.Marker), "/")
	if text, ok := o[name].(string); ok && k.Marker != "" {
		o[name] = engine.TrimMarker(text)
		r.Body = encode(o)
	}
	if id, ok := o["id"].(string); ok {
		if meta, ok := a.ids.Meta(ctx, k.Service, k.Name, engine.LocalID(id)); ok {
			o["id"] = string(meta)
			r.Body = encode(o)
		}
	}
	return r, nil
}
