package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Mood says how often an application does not behave, each a share of the requests that change something.
type Mood struct {
	Down       bool    // it gets nothing
	Refuses    float64 // answers 503 and does nothing
	Fails      float64 // does nothing and gives no answer
	DoesSilent float64 // does what was asked and gives no answer
	Hangs      float64 // does what was asked and answers after the agent has given up
}

// application is one site's instance: it keeps JSON objects, and outlives the agent. It is safe for concurrent use.
type application struct {
	prefix string
	slow   time.Duration // the longest that a request, or an answer, is under way

	mu      sync.Mutex
	random  *rand.Rand
	mood    Mood
	next    int
	objects map[engine.KindName]map[string]map[string]any
	effects map[string]*effect // by Idempotency-Key
}

// effect is what the requests of one key have done.
type effect struct {
	times int
	kind  engine.KindName
	local string
	reply engine.Reply
}

func newApplication(prefix string, random *rand.Rand) *application {
	slow := []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 500 * time.Millisecond}[random.IntN(3)]
	return &application{prefix: prefix, slow: slow, random: random, objects: map[engine.KindName]map[string]map[string]any{}, effects: map[string]*effect{}}
}

func (a *application) setMood(m Mood) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mood = m
}

// effectOf returns what the requests of an operation have done at a site: the last of them where it was done to an object that was made
// anew, or done again.
func (a *application) effectOf(o engine.OperationID, site engine.SiteName) (found effect) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := string(o) + "." + string(site)
	last := ""
	for k, e := range a.effects {
		of := k == key || strings.HasPrefix(k, key+".") && e.times > 0
		if of && (len(k) > len(last) || len(k) == len(last) && k > last) {
			last, found = k, *e
		}
	}
	return found
}

// object is a copy of what the application shows, without the identifier.
type object struct {
	kind   engine.KindName
	local  string
	fields map[string]any
}

// all returns the objects whose tag is not empty, by tag.
func (a *application) all() map[string][]object {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := map[string][]object{}
	for kind, objects := range a.objects {
		for local, o := range objects {
			fields := alike(o)
			tag := fmt.Sprint(o["tag"])
			list[tag] = append(list[tag], object{kind, local, fields})
		}
	}
	return list
}

// remove deletes an object behind the agent's back, as a person would who settles an uncertain create.
func (a *application) remove(kind engine.KindName, local string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects[kind], local)
}

var errNoAnswer = errors.New("the connection broke before the answer")

// pause is how long a request or an answer is under way.
func (a *application) pause() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Duration(a.random.Int64N(int64(a.slow)))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do answers one request.
func (a *application) do(ctx context.Context, c engine.Call) (engine.Reply, error) {
	if err := wait(ctx, a.pause()); err != nil {
		return engine.Reply{}, err
	}
	reply, late, err := a.take(c)
	if err != nil {
		return engine.Reply{}, err
	}
	if err := wait(ctx, late+a.pause()); err != nil {
		return engine.Reply{}, err
	}
	return reply, nil
}

func (a *application) take(c engine.Call) (reply engine.Reply, late time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.mood
	if m.Down {
		return reply, 0, fmt.Errorf("connect: %w", engine.ErrUnreachable)
	}
	if c.Method == http.MethodGet {
		return a.serve(c), 0, nil
	}
	e := a.effects[c.Key]
	if e == nil {
		e = &effect{kind: c.Kind.Name}
		a.effects[c.Key] = e
	}
	if c.Kind.HonoursKey && c.Key != "" && e.times > 0 {
		return e.reply, 0, nil
	}
	luck := a.random.Float64()
	if luck -= m.Refuses; luck < 0 {
		return engine.Reply{Status: http.StatusServiceUnavailable}, 0, nil
	}
	if luck -= m.Fails; luck < 0 {
		return reply, 0, errNoAnswer
	}
	if reply = a.serve(c); reply.Status < 300 {
		e.times++
		e.reply, e.local = reply, string(reply.Local)
	}
	if luck -= m.DoesSilent; luck < 0 {
		return engine.Reply{}, 0, errNoAnswer
	}
	if luck -= m.Hangs; luck < 0 {
		late = time.Minute
	}
	return reply, late, nil
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

// act does what an action asks, as far as it shows.
func act(o map[string]any, name string, body map[string]any) {
	switch name {
	case "open":
		o["door"] = "open"
	case "shut":
		o["door"] = "shut"
	case "incr":
		by, _ := body["by"].(float64)
		count, _ := o["count"].(float64)
		o["count"] = count + by
	}
}

// find returns what the requests with a marker have made.
func (a *application) find(ctx context.Context, k *engine.Kind, request string) (found []engine.Reply, err error) {
	if err := wait(ctx, a.pause()); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mood.Down {
		return nil, fmt.Errorf("connect: %w", engine.ErrUnreachable)
	}
	for id, o := range a.objects[k.Name] {
		if mark, _ := o["mark"].(string); tree.HasMarker(mark, request) {
			found = append(found, engine.Reply{Status: http.StatusOK, Body: encode(o), Local: engine.LocalID(id)})
		}
	}
	return found, nil
}

// serve does what a request asks. The caller holds mu.
func (a *application) serve(c engine.Call) engine.Reply {
	var body map[string]any
	patch := c.Header["Content-Type"] == jsonPatch
	if len(c.Body) > 0 && !patch {
		if err := json.Unmarshal(c.Body, &body); err != nil || body == nil {
			return engine.Reply{Status: http.StatusBadRequest}
		}
	}
	objects := a.objects[c.Kind.Name]
	if objects == nil {
		objects = map[string]map[string]any{}
		a.objects[c.Kind.Name] = objects
	}
	id := string(c.Local)
	if c.Method == http.MethodPost && c.Path == c.Kind.Collection {
		if c.Kind.Natural() {
			id, _ = body["id"].(string)
		} else {
			a.next++
			id = fmt.Sprint(a.prefix, a.next)
		}
		if objects[id] != nil {
			return engine.Reply{Status: http.StatusConflict}
		}
		body["id"], objects[id] = id, body
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: engine.LocalID(id)}
	}
	o := objects[id]
	if o == nil && c.Method == http.MethodPut && c.Kind.ID.From == engine.IDFromPath {
		body["id"], objects[id] = id, body
		return engine.Reply{Status: http.StatusCreated, Body: encode(body), Local: engine.LocalID(id)}
	}
	if o == nil {
		return engine.Reply{Status: http.StatusNotFound}
	}
	if patch {
		if body = patched(o, c.Body); body == nil {
			return engine.Reply{Status: http.StatusUnprocessableEntity}
		}
		c.Method = http.MethodPut
	}
	switch c.Method {
	case http.MethodPost:
		act(o, strings.TrimPrefix(c.Path, c.Kind.Item+"/"), body)
	case http.MethodPut:
		body["id"], objects[id] = id, body
	case http.MethodPatch:
		for k, v := range body {
			if o[k] = v; v == nil {
				delete(o, k)
			}
		}
	case http.MethodDelete:
		delete(objects, id)
		return engine.Reply{Status: http.StatusNoContent}
	}
	return engine.Reply{Status: http.StatusOK, Body: encode(objects[id])}
}

// classifier is the catalog of the model's kinds.
type classifier struct{}

// Classify implements engine.Catalog.
func (classifier) Classify(service engine.ServiceName, method, path string, header map[string]string) (engine.KindName, engine.Type, bool) {
	return classify(service, method, path, header)
}

// whole returns a call whose body is in memory.
func whole(c engine.Call) (engine.Call, error) {
	if c.Content == nil {
		return c, nil
	}
	body, err := io.ReadAll(c.Content)
	if err != nil {
		return c, fmt.Errorf("read the body: %w", err)
	}
	c.Body, c.Content = body, nil
	return c, nil
}
