package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// request is one of a client, with what its answer told.
type request struct {
	n         int
	at        *site
	resource  *resource
	kind      string // what the client wants
	sent      engine.Request
	large     []byte // its body, if that is too large to travel inside an operation
	operation engine.OperationID
	status    int    // 0: no answer
	detail    string // for people
	refused   bool   // it is certain that nothing has happened
	undone    bool   // the machine that it has changed alone was set back
	redone    bool   // the machine was set back to before it was answered, and does it again
	forgotten bool   // its site was set back before it was asked again, and knew its key no more
}

// acknowledged reports whether the client was told that it is done, or will be.
func (q *request) acknowledged() bool { return q.status >= 200 && q.status < 300 }

// body is what it sends.
func (q *request) body() []byte {
	if q.large != nil {
		return q.large
	}
	return q.sent.Body
}

// mark is the field that this request alone sets.
func (q *request) mark() string { return fmt.Sprint("u", q.n) }

func (q *request) String() string {
	return fmt.Sprintf("u%d %s %s at %s: %d %s %s", q.n, q.kind, q.resource.tag, q.at.name, q.status, q.operation, strings.TrimSpace(q.detail))
}

// tagOf tells which resource a request is for.
func (w *world) tagOf(r engine.Request) string {
	for _, thing := range w.things {
		if r.Target != "" && len(r.Placement) == 1 && r.Placement[0] == thing.placement[0].id && r.Target == engine.Inside(thing.within.id, thing.name()) {
			return thing.tag
		}
	}
	for _, res := range w.resources {
		if r.Target != "" && r.Target == res.id {
			return res.tag
		}
	}
	var body struct{ Tag string }
	_ = json.Unmarshal(r.Body, &body)
	return body.Tag
}

// ask sends a request of a client to some site.
func (w *world) ask() {
	if w.knobs.contains && w.chance(3) {
		w.askInside()
		return
	}
	res := w.resources[w.rng.IntN(len(w.resources))]
	at := res.placement[w.rng.IntN(len(res.placement))]
	if w.chance(5) {
		at = w.anySite()
	}
	p := at.now
	if p == nil || p.busy[res.name()] || p.stepping() {
		return
	}
	kind := w.anyWish(res)
	if kind == "" {
		return
	}
	q := &request{n: len(w.requests), at: at, resource: res, kind: kind}
	if !w.prepare(q, p) {
		return
	}
	w.requests = append(w.requests, q)
	w.did = true
	disk := at.disk
	w.send(q, p)
	if q.sent.Key != "" && (q.status == 0 || q.status >= 500) && w.chance(2) && at.now != nil && !at.now.busy[res.name()] && !at.now.stepping() {
		again, refused := *q, q.refused
		again.operation, again.status, again.detail, again.refused, again.forgotten = "", 0, "", false, at.disk != disk
		q.refused = false // others who want the same meanwhile see that somebody asks for it
		w.send(&again, at.now)
		if again.operation != "" && q.operation != "" && again.operation != q.operation {
			w.problem("one key made operations %s and %s", q.operation, again.operation)
		}
		if again.operation == "" {
			again.operation = q.operation
		}
		again.refused = again.refused && refused
		*q = again
	}
}

// stepping reports whether a job is under way, which may be for any resource.
func (p *process) stepping() bool { return p.deep > 0 && len(p.busy) == 0 }

// anyWish draws what a client wants of a resource; empty: nothing.
func (w *world) anyWish(res *resource) string {
	if in := res.within; in != nil {
		if in.id == "" {
			return ""
		}
		res.id = engine.Inside(in.id, res.tag)
	}
	made := false
	for _, q := range w.requests {
		made = made || q.resource == res && q.kind == "create" && !q.refused
	}
	if !made || res.id == "" {
		if made { // who created it does not know yet what it is called
			w.learn(res)
			return ""
		}
		return "create"
	}
	wishes := []string{"merge", "merge", "merge"}
	if res.kind.Name == crate { // what changes it otherwise is tried with other kinds
		return w.wishOfContainer(res, wishes)
	}
	if res.whole {
		wishes = append(wishes, "replace", "replace")
	}
	if w.knobs.patches {
		wishes = append(wishes, "patch", "patch")
	}
	if w.knobs.actions {
		wishes = append(wishes, "start", "start")
	}
	if w.knobs.actions && declares(res.kind, "incr") {
		wishes = append(wishes, "stop", "stop", "incr", "incr")
	}
	if w.knobs.files {
		wishes = append(wishes, "file", "file")
	}
	if w.knobs.deletes && w.chance(3) {
		wishes = append(wishes, "delete")
	}
	if res.kind.Natural() && w.chance(3) {
		wishes = append(wishes, "create")
	}
	return wishes[w.rng.IntN(len(wishes))]
}

// learn looks up, as a client does who was answered 202, what came of the request that creates a resource.
func (w *world) learn(res *resource) {
	for _, q := range w.requests {
		if q.resource != res || q.kind != "create" || q.operation == "" {
			continue
		}
		if row, err := q.at.disk.Recalled().Operation(w.ctx, q.operation); err == nil && row.Resource != "" && row.State == engine.StateApplied {
			res.id = string(row.Resource)
		}
	}
}

// prepare makes the request. It reports whether there is one to make.
func (w *world) prepare(q *request, p *process) bool {
	res, k := q.resource, q.resource.kind
	e := engine.Request{Kind: k, Path: k.Item, Target: res.id, Header: map[string]string{"Content-Type": "application/json"}}
	own := res.id
	if res.within != nil {
		e.Within, own = res.within.id, res.tag
	}
	row, err := p.Lookup(w.ctx, k, res.id)
	known := err == nil
	if q.kind == "create" || !known || w.chance(2) {
		for _, s := range res.placement {
			e.Placement = append(e.Placement, s.id)
		}
		e.Parts = res.parts()
	}
	if known && row.Local != "" && string(row.Local) != res.id && res.within == nil && w.chance(4) {
		e.Target = string(row.Local) // this site's own identifier
	}
	field := string(rune('a' + w.rng.IntN(w.knobs.fields)))
	body := map[string]any{q.mark(): q.n, field: w.anyValue(q)}
	shown := w.read(q.at, k, row)
	if keyed(k) && w.chance(2) {
		body["disks"] = w.anyDisks(q, shown["disks"])
	}
	counts := res.cross && len(k.Divide) > 0 && (q.kind == "create" || q.n%3 == 0)
	if counts {
		body["count"] = q.n*7%23 - 3
	}
	switch q.kind {
	case "create":
		e.Type, e.Method, e.Path, e.Target, body["tag"] = engine.TypeCreate, http.MethodPost, k.Collection, "", res.tag
		if k.ID.From == engine.IDFromPath {
			e.Type, e.Method, e.Path, e.Target = engine.TypeReplace, http.MethodPut, k.Item, res.id
		} else if k.Natural() {
			body["id"] = own
		}
	case "merge":
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypeMerge, http.MethodPatch, mergePatch
		if w.chance(6) {
			body[field] = nil
		}
	case "replace":
		if shown == nil {
			return false
		}
		e.Type, e.Method = engine.TypeReplace, http.MethodPut
		if res.whole && w.chance(3) {
			shown = map[string]any{"tag": res.tag}
		}
		if res.cross { // of what is divided it shows a share
			delete(shown, "count")
		}
		maps.Copy(shown, body)
		body = shown
		if body["id"] = e.Target; res.within != nil {
			body["id"] = own
		}
	case "patch":
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypePatch, http.MethodPatch, jsonPatch
		steps := []any{map[string]any{"op": "add", "path": "/" + q.mark(), "value": q.n}}
		switch w.rng.IntN(3) {
		case 0:
			steps = append(steps, map[string]any{"op": "add", "path": "/" + field, "value": w.anyValue(q)})
		case 2:
			if keyed(k) {
				steps = append(steps, map[string]any{"op": "add", "path": "/disks/0", "value": w.anyDisk(q)})
			}
		case 1:
			steps = append(steps, map[string]any{"op": "copy", "from": "/" + q.mark(), "path": "/" + field})
		}
		if counts {
			steps = append(steps, map[string]any{"op": "add", "path": "/count", "value": body["count"]})
		}
		e.Body, body = encode(steps), nil
	case "start", "stop":
		e.Type, e.Method, e.Path, body = engine.TypeAction, http.MethodPost, k.Item+"/"+q.kind, nil
	case "incr":
		e.Type, e.Method, e.Path, body = engine.TypeAction, http.MethodPost, k.Item+"/incr", map[string]any{"by": q.n + 1}
	case "file":
		e.Type, e.Method, e.Path, body = engine.TypeAbsolute, http.MethodPut, k.Item+"/file", nil
		e.Body, e.Header["Content-Type"] = []byte(q.mark()), "application/octet-stream"
		if w.knobs.large && q.n%2 == 0 {
			e.Body, q.large = nil, bytes.Repeat([]byte(q.mark()+" "), engine.MaxInlineBody/2)
		}
	case "delete":
		e.Type, e.Method, body = engine.TypeDelete, http.MethodDelete, nil
	}
	if body != nil {
		e.Body = encode(body)
	}
	if w.chance(3) {
		e.Key, e.Caller = q.mark(), "client"
	}
	q.sent = e
	return known || len(e.Placement) > 0 // without a scope, what is not replicated is the application's alone
}

// anyValue draws a value for a field that others set too.
func (w *world) anyValue(q *request) any {
	switch w.rng.IntN(6) {
	case 0:
		return map[string]any{string(rune('x' + w.rng.IntN(3))): q.n}
	case 1:
		return []any{q.n, "e"}
	case 2:
		return "same"
	}
	return q.n
}

// read returns what a client sees of a resource at a site, nil when it is not there.
func (w *world) read(s *site, k *engine.Kind, row engine.ResourceRow) map[string]any {
	o := s.app.objects[k.Name][string(row.Local)]
	if o == nil || s.app.mood.down {
		return nil
	}
	var c map[string]any
	if err := json.Unmarshal(encode(o.fields), &c); err != nil {
		panic(err) // it was just encoded
	}
	return c
}

func (w *world) send(q *request, p *process) {
	w.tells("request", "request", q.mark(), "site", p.site, "resource", q.resource.tag, "kind", q.kind, "target", q.sent.Target,
		"body", string(q.sent.Body), "key", q.sent.Key, "scoped", len(q.sent.Placement) > 0, "at", w.now.Format(time.StampMicro))
	r := q.sent
	if q.large != nil {
		r.Large = engine.Stream(bytes.NewReader(q.large), int64(len(q.large)))
	}
	a, told, err := p.submit(q.resource.tag, r)
	var refusal *engine.Refusal
	switch {
	case !told:
		q.detail = "no answer"
	case errors.As(err, &refusal):
		q.status, q.operation, q.detail = refusal.Status, refusal.Operation, refusal.Error()
		q.refused = refusal.Operation == ""
	case err != nil:
		q.detail = err.Error()
		p.site.expect(err, "submit")
	default:
		q.status, q.operation, q.detail = a.Status, a.Operation, string(a.Body)
		q.refused = a.Status >= 300 && a.Status != http.StatusGatewayTimeout
		if q.kind == "create" && q.acknowledged() && a.Resource != "" {
			q.resource.id = string(a.Resource)
		}
	}
	w.tells("answer", "request", q)
}
