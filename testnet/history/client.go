package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
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
	kept      bool   // where it was asked, it has been put down to be done
	detail    string // for people
	refused   bool   // it is certain that nothing has happened
	undone    bool   // the machine that it has changed alone was set back
	open      *site  // it was open in what this one was set back to, without its application
	forgotten bool   // its site was set back before it was asked again, and knew its key no more
	proc      *world.Process
	answered  bool     // its client has an answer
	first     *request // what it asks for again, under the same key; nil: nothing
	again     bool     // it was asked for again
	certain   bool     // when it was, it was certain that nothing had happened
}

// over reports whether its client waits no more: there is an answer, or the agent has died.
func (q *request) over() bool { return q.answered || q.proc != nil && q.proc.Dead() }

// acknowledged reports whether the client was told that it is done, or will be.
func (q *request) acknowledged() bool { return q.status >= 200 && q.status < 300 }

// mark is the field that this request alone sets.
func (q *request) mark() string { return fmt.Sprint("u", q.n) }

func (q *request) String() string {
	return fmt.Sprintf("u%d %s %s at %s: %d %s %s", q.n, q.kind, q.resource.tag, q.at.Name, q.status, q.operation, strings.TrimSpace(q.detail))
}

// ask sends a request of a client to some site.
func (w *play) ask() {
	if w.chance(12) && w.askAgain() {
		return
	}
	if w.knobs.contains && w.chance(3) {
		w.askInside()
		return
	}
	res := w.resources[w.rng.IntN(len(w.resources))]
	at := res.placement[w.rng.IntN(len(res.placement))]
	if w.chance(5) {
		at = w.anySite()
	}
	if at.Proc == nil {
		return
	}
	kind := w.anyWish(res)
	if kind == "" {
		return
	}
	q := &request{n: len(w.requests), at: at, resource: res, kind: kind}
	if !w.prepare(q, at.Proc) {
		return
	}
	w.requests, w.did = append(w.requests, q), true
	w.send(q)
}

// askAgain has a client who got no certain answer ask for the same under the same key.
func (w *play) askAgain() bool {
	var may []*request
	for _, q := range w.requests {
		if q.sent.Key != "" && !q.again && q.over() && (q.status == 0 || q.status >= 500) && q.at.Proc != nil && !w.madeOtherwise(q) {
			may = append(may, q)
		}
	}
	if len(may) == 0 {
		return false
	}
	first := may[w.rng.IntN(len(may))]
	first.again, first.certain, first.refused = true, first.refused, false
	again := &request{n: first.n, at: first.at, resource: first.resource, kind: first.kind, sent: first.sent, large: first.large, first: first, forgotten: first.at.restored}
	first.resource.revived = first.resource.revived || again.forgotten && again.kind == "create" && !again.resource.kind.Natural()
	w.requests, w.did = append(w.requests, again), true
	w.send(again)
	return true
}

// madeOtherwise reports whether what a request was refused to create has been asked for once more since: two objects of assigned
// identifiers would be two resources.
func (w *play) madeOtherwise(q *request) bool {
	return q.kind == "create" && q.refused && slices.ContainsFunc(w.requests, func(o *request) bool {
		return o != q && o.resource == q.resource && o.kind == "create" && !o.refused
	})
}

// anyWish draws what a client wants of a resource; empty: nothing.
func (w *play) anyWish(res *resource) string {
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
	if w.knobs.actions && world.Declares(res.kind, "incr") {
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
func (w *play) learn(res *resource) {
	for _, q := range w.requests {
		if q.resource != res || q.kind != "create" || q.operation == "" {
			continue
		}
		if row, err := q.at.Disk.Recalled(q.operation); err == nil && row.Resource != "" && row.State == engine.StateApplied {
			res.id = string(row.Resource)
		}
	}
}

// prepare makes the request. It reports whether there is one to make.
func (w *play) prepare(q *request, p *world.Process) bool {
	res, k := q.resource, q.resource.kind
	e := engine.Request{Kind: k, Path: k.Item, Target: res.id, Header: map[string]string{"Content-Type": "application/json"}}
	own := res.id
	if res.within != nil {
		e.Within, own = res.within.id, res.tag
	}
	row, err := p.Site.Lookup(w.Ctx, k, res.id)
	known := err == nil
	if q.kind == "create" || !known || w.chance(2) {
		for _, s := range res.placement {
			e.Placement = append(e.Placement, s.ID)
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
	counts := w.shares(res) && len(k.Divide) > 0 && (q.kind == "create" || q.n%3 == 0)
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
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypeMerge, http.MethodPatch, world.MergePatch
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
		if w.shares(res) { // of what is divided it shows a share
			delete(shown, "count")
		}
		maps.Copy(shown, body)
		body = shown
		if body["id"] = e.Target; res.within != nil {
			body["id"] = own
		}
	case "patch":
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypePatch, http.MethodPatch, world.JSONPatch
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
func (w *play) anyValue(q *request) any {
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
func (w *play) read(s *site, k *engine.Kind, row engine.ResourceRow) map[string]any {
	o := s.App.Object(k.Name, row.Local)
	if o == nil || s.App.Mood.Down {
		return nil
	}
	var c map[string]any
	if err := json.Unmarshal(encode(o.Fields), &c); err != nil {
		panic(err) // it was just encoded
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

// send hands a request to its site. The answer comes when the site has one.
func (w *play) send(q *request) {
	p := q.at.Proc
	q.proc = p
	if res := q.resource; q.at.restored && q.sent.Target != "" && q.sent.Target != res.id { // what it calls so it may take for nobody's, and adopt
		row, err := p.Site.Lookup(w.Ctx, res.kind, q.sent.Target)
		res.revived = res.revived || err != nil || string(row.ID) != res.id
	}
	w.log.Info("request", "request", q.mark(), "site", q.at.Site, "resource", q.resource.tag, "kind", q.kind, "target", q.sent.Target,
		"body", string(q.sent.Body), "key", q.sent.Key, "scoped", len(q.sent.Placement) > 0, "at", w.Now.Format(time.StampMicro))
	r := q.sent
	if q.large != nil {
		r.Large = world.Body(q.large)
	}
	w.Do(p, func() {
		a, err := p.Front.Submit(w.Ctx, r)
		if !p.Dead() {
			q.answered = true
			w.hears(q, a, err)
		}
	})
}

// hears takes in what a client was told.
func (w *play) hears(q *request, a engine.Answer, err error) {
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
		q.status, q.operation, q.detail = refusal.Status, refusal.Operation, refusal.Error()
		q.refused = refusal.Operation == ""
	case err != nil:
		q.detail = err.Error()
		w.expect(q.at, q.proc, err, "submit")
	default:
		q.status, q.operation, q.detail = a.Status, a.Operation, string(a.Body)
		q.kept = a.Status == http.StatusAccepted && (a.Site == "" || a.Site == q.at.ID) // another site's application may take its time
		q.refused = a.Status >= 300 && a.Status != http.StatusGatewayTimeout
		if q.kind == "create" && q.acknowledged() && a.Resource != "" {
			q.resource.id = string(a.Resource)
		}
	}
	w.log.Info("answer", "request", q.String())
	if first := q.first; first != nil && q.refused && first.certain {
		first.refused = true
	}
	if first := q.first; first != nil && q.operation != "" {
		if first.operation == "" {
			first.operation = q.operation
		} else if first.operation != q.operation && !q.forgotten {
			w.Problem("one key made operations %s and %s", first.operation, q.operation)
		}
	}
}
