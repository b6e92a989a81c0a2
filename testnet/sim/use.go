package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/lab"
)

// prepare makes what the others are made from, and names a zone.
func (r *run) prepare(ctx context.Context) error {
	p := r.sites[0].now.Load()
	if err := p.Mesh.SetZone(ctx, "west", []engine.SiteID{r.sites[0].id, r.sites[1].id}); err != nil {
		return err
	}
	a := r.sites[0].lab.call(ctx, lab.Images, http.MethodPost, "/images", []byte(`{"name":"`+r.plan.Things[0].Tag+`"}`), "Scope", r.plan.Things[0].scope())
	if a.status != http.StatusCreated {
		return fmt.Errorf("the first image is answered with %d %s (%w)", a.status, a.body, a.err)
	}
	r.ids[0] = engine.ResourceID(a.text("id"))
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		ready := 0
		for _, s := range r.sites {
			if len(s.lab.list(lab.Images, "/images")) == 1 && len(s.now.Load().Mesh.Zones()) == 1 {
				ready++
			}
		}
		switch {
		case ready == len(r.sites):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d of %d sites have the first image", ready, len(r.sites))
		}
	}
}

// path is where clients find a thing: its collection without an identifier. It is empty while nobody knows what it lies in.
func (r *run) path(i int, id engine.ResourceID) string {
	t, in := r.plan.Things[i], ""
	if t.Kind == "port" {
		network := r.ids[t.In]
		if network == "" {
			return ""
		}
		in = "/networks/" + string(network)
	} else if t.Kind == "use" {
		in = "/keys/" + r.plan.Things[t.In].Tag
	}
	in += "/" + string(t.Kind) + "s"
	if id != "" {
		in += "/" + string(id)
	}
	return in
}

// doThing sends the request of a step about a thing.
func (r *run) doThing(ctx context.Context, step Step) {
	s, t := r.sites[step.Site], r.plan.Things[step.Resource]
	if step.Kind == StepNonsense {
		t = Thing{Kind: "image", Location: step.Field}
	}
	r.mu.Lock()
	id := r.ids[step.Resource]
	if t.Kind == "key" {
		id = engine.ResourceID(t.Tag)
	}
	q := &request{n: len(r.requests), step: step, began: time.Since(r.begin), site: s.name}
	method, path, body, skip := r.compose(q, t, id)
	if skip || path == "" {
		r.mu.Unlock()
		return
	}
	r.requests = append(r.requests, q)
	r.mu.Unlock()
	header := []string{"Traceparent", fmt.Sprintf("00-%032x-%016x-01", uint64(q.n)+1, 1)}
	if q.scope != "" {
		header = append(header, "Scope", q.scope)
	}
	a := s.lab.call(ctx, t.service(), method, path, body, header...)
	r.mu.Lock()
	defer r.mu.Unlock()
	q.ended, q.status, q.operation = time.Since(r.begin), a.status, engine.OperationID(a.header.Get("Skerry-Operation"))
	q.detail = method + " " + path + " " + q.scope
	if a.err != nil {
		q.detail += ": " + a.err.Error()
	} else if len(a.body) < 1000 {
		q.detail += ": " + strings.TrimSpace(string(a.body))
	}
	q.refused = a.err != nil && strings.Contains(a.err.Error(), "refused") || a.status >= 400 && a.status < 500 && a.status != http.StatusRequestTimeout ||
		a.status == http.StatusServiceUnavailable && a.text("type") != "" && q.operation == ""
	if step.Kind == StepCreate && q.acknowledged() && t.Kind != "key" {
		if id := a.text("id"); id != "" {
			r.ids[step.Resource] = engine.ResourceID(id)
		} else if id := a.header.Get("Skerry-Resource"); id != "" {
			r.ids[step.Resource] = engine.ResourceID(id)
		}
	}
	r.judge(q, t, a)
}

// compose says what is sent. The caller holds mu.
func (r *run) compose(q *request, t Thing, id engine.ResourceID) (method, path string, body []byte, skip bool) {
	step := q.step
	if step.Scoped || step.Kind == StepCreate || step.Kind == StepNonsense {
		q.scope = t.scope()
	}
	object := map[string]any{"description": q.field()}
	switch step.Kind {
	case StepNonsense:
		return http.MethodPost, "/images", []byte(`{"name":"nonsense"}`), false
	case StepList:
		method, path = http.MethodGet, r.path(step.Resource, "")
		if q.scope = ""; t.Kind == "use" {
			q.scope = t.scope()
		} else if t.Kind != "port" {
			q.scope = "{" + string(t.service()) + ": *}"
		}
		return method, path, nil, t.Kind == "key"
	case StepCreate:
		if t.Kind == "key" {
			return http.MethodPut, r.path(step.Resource, id), encode(map[string]any{"public": q.field()}), false
		}
		object["name"] = t.Tag
		switch t.Kind {
		case "port":
			object["name"], object["device"] = t.Name, t.Tag
		case "server":
			object["count"], object["image"] = q.n%7+1, r.ids[t.Image]
			skip = r.ids[t.Image] == ""
		}
		return http.MethodPost, r.path(step.Resource, ""), encode(object), skip || r.asked(step.Resource)
	}
	if t.Kind == "key" {
		object = map[string]any{"public": q.field()}
	}
	path = r.path(step.Resource, id)
	switch step.Kind {
	case StepPatch:
		if t.Kind == "server" && q.n%2 == 0 {
			object["count"] = q.n % 9
		}
		return http.MethodPatch, path, encode(object), id == ""
	case StepFile:
		return http.MethodPut, path + "/file", fileOf(q.n), id == ""
	case StepIncr:
		return http.MethodPost, path + "/incr", encode(map[string]any{"by": 1 + q.n%3}), id == ""
	case StepDelete:
		return http.MethodDelete, path, nil, id == ""
	}
	return http.MethodGet, path, nil, id == ""
}

// fileOf are bytes that request n alone sends: some fit into an operation, most do not.
func fileOf(n int) []byte {
	var b []byte
	for sum := sha256.Sum256([]byte(fmt.Sprint(n))); len(b) < 30_000+n%5*60_000; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	return b
}

// judge sees to it that an answer is one that a client may get at any time. The caller holds mu.
func (r *run) judge(q *request, t Thing, a answer) {
	bad := func(format string, args ...any) {
		r.problems = append(r.problems, fmt.Sprintf("u%d %s at %s: %s: ", q.n, q.detail, q.site, fmt.Sprintf(format, args...)))
	}
	switch {
	case a.status == http.StatusInternalServerError, a.status == http.StatusNotImplemented, a.status == http.StatusLoopDetected:
		bad("answered with %d", a.status)
	case q.step.Kind == StepNonsense && a.status != 0 && a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity:
		bad("nonsense is answered with %d", a.status)
	case q.step.Kind == StepRead && a.status == http.StatusOK && t.Kind != "key" && tagOf(t.Kind, a.text) != t.Tag:
		bad("it is not %s", t.Tag)
	case q.step.Kind == StepList && a.status == http.StatusOK:
		var items []map[string]any
		if err := json.Unmarshal(a.body, &items); err != nil {
			bad("%v", err)
		}
		seen := map[string]bool{}
		for _, o := range items {
			tag := tagOf(t.Kind, func(member string) string { return fmt.Sprint(o[member]) })
			if seen[tag] && !slices.ContainsFunc(r.plan.Things, func(t Thing) bool { return t.Tag == tag && t.Moves }) {
				bad("%s is listed twice", tag)
			}
			seen[tag] = true
		}
	}
}

// tagOf reads the tag of an object of a kind.
func tagOf(kind engine.KindName, member func(string) string) string {
	switch kind {
	case "key":
		return member("id")
	case "port":
		return member("device")
	}
	return member("name")
}
