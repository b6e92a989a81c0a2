package conform

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// operation is something that a client does to an object.
type operation struct {
	Name string
	// makes: it makes an object of a name. ends: it deletes the object, and may make it again.
	makes, ends bool
	// field is what it changes, empty for what is not known: an action, opaque bytes.
	field engine.Pointer
	// again is a second one of its sort: it is tried beside others alone. idle: it does nothing.
	again, idle bool
	// do does it at a site. made is an object that is another one than before, nil for none.
	do func(ctx context.Context, r *run, s *site, o *object) (a answer, made *object, err error)
	// shown says whether a representation shows that it was done; nil: nobody can tell.
	shown func(before, after *representation) bool
}

// nothing is what one client does while the other does something.
var nothing = operation{Name: "nothing", idle: true, do: func(context.Context, *run, *site, *object) (answer, *object, error) {
	return answer{status: http.StatusOK}, nil, nil
}}

// pair is two operations that two clients do at both sides of a cut, and what came of it.
type pair struct {
	kind    *engine.Kind
	ops     [2]operation
	report  *KindReport
	objects []*object
	answers [2]answer
	refused string // why it came to nothing
	// before is what was shown before the cut, between what each site shows after its own operation, while the other's is not known there.
	before  *representation
	between [2]*representation
}

// worth says whether two operations are tried together. What makes an object meets only its like, and of two sorts of one thing one is enough.
func worth(x, y operation) bool {
	return x.makes == y.makes && !(x.again && y.again) && !(x.idle && y.idle) || x.makes && y.idle
}

// offered finds out on an object what an application takes of all that could be tried, and reports what it does not.
func (r *run) offered(ctx context.Context, k *engine.Kind, report *KindReport) (all []operation, err error) {
	for _, op := range r.thinkable(k) {
		o, why, err := r.make(ctx, k, r.sites[0], r.name())
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, fmt.Errorf("an object is refused that was taken before: %s", why)
		}
		if k.Settles != nil && len(k.Settles.In) > 0 { // until then the application takes nothing
			if err := r.settled(ctx); err != nil {
				return nil, err
			}
		}
		if err := within(ctx, min(r.Patience, showing), "what was made is shown", func() error { // some show it later than they answer
			now, err := r.sites[0].shows(ctx, r, o)
			if err == nil && now == nil {
				err = errors.New("it is not there")
			}
			return err
		}); err != nil {
			return nil, err
		}
		why, err = r.taken(ctx, op, o)
		if err != nil {
			return nil, err
		}
		r.probes = append(r.probes, o)
		if why != "" {
			report.NotTaken = append(report.NotTaken, Refused{op.Name, why})
			continue
		}
		all = append(all, op)
		report.Operations = append(report.Operations, op.Name)
	}
	return all, nil
}

// showing is how long an application has to show what it has accepted, as it is found out whether it takes a request.
const showing = 10 * time.Second

// taken says why an operation cannot be tried, nothing where it can.
func (r *run) taken(ctx context.Context, op operation, o *object) (why string, err error) {
	if op.makes {
		return "", nil
	}
	s := r.sites[0]
	before, err := s.shows(ctx, r, o)
	if err != nil {
		return "", err
	}
	a, _, err := op.do(ctx, r, s, o)
	switch {
	case err != nil:
		return err.Error(), nil
	case !a.fine():
		return a.excerpt(), nil
	case op.shown == nil:
		return "", nil
	}
	var after *representation
	if within(ctx, min(r.Patience, showing), "it is shown", func() error {
		if after, err = s.shows(ctx, r, o); err != nil {
			return err
		}
		if !op.shown(before, after) {
			return fmt.Errorf("%s is as before", op.field)
		}
		return nil
	}) != nil {
		return "it is answered with " + fmt.Sprint(a.status) + ", and the object shows nothing of it", nil
	}
	return "", nil
}

// thinkable are the operations that could be tried on objects of a kind.
func (r *run) thinkable(k *engine.Kind) (all []operation) {
	body := r.body(k, "name")
	all = append(all, operation{Name: "create", makes: true, do: createAgain})
	if body.isJSON() {
		all = append(all, changes(k, body)...)
		for _, q := range body.Requests {
			all = append(all, requested(q))
		}
	} else {
		all = append(all, operation{Name: "PUT", do: func(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
			given := r.Bodies[nameOf(k)]
			text := strings.NewReplacer("{name}", o.name, "{value}", "of-"+s.name).Replace(string(given.Text))
			a, err := s.through(ctx, r, request{kind: k, method: http.MethodPut, path: k.Item, id: o.id, body: []byte(text), header: map[string]string{"Content-Type": given.Media}})
			return a, nil, err
		}})
	}
	for _, n := range k.Operations {
		all = append(all, named(k, n))
	}
	for _, c := range k.Content {
		all = append(all, operation{Name: c.Method + " " + strings.TrimPrefix(c.Write, k.Item), do: func(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
			a, err := s.through(ctx, r, request{kind: k, method: c.Method, path: c.Write, id: o.id, body: []byte("bytes of " + s.name), header: map[string]string{"Content-Type": "application/octet-stream"}})
			return a, nil, err
		}})
	}
	all = append(all, operation{Name: "DELETE", ends: true, do: deleteIt})
	if k.Natural() {
		all = append(all, operation{Name: "DELETE, create", ends: true, again: true, do: remake})
	}
	return all
}

// createAgain makes an object whose name the other site gives as well.
func createAgain(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
	body := r.body(o.kind, o.name)
	if body.isJSON() {
		if _, other := fields(o.kind, body); other != "" {
			body.Text = set(body.Text, other, another(valueAt(body.Text, other), s))
		}
		if o.kind.ID.Settable && o.kind.ID.At != o.kind.Label { // where the name is the identifier both give that
			_, like := o.kind.Split(r.first[nameOf(o.kind)].id)
			body.Text = set(body.Text, o.kind.ID.At, chosen(like, o.name))
		}
	}
	return r.create(ctx, o.kind, s, o.name, body)
}

// chosen is an identifier that a client chooses for a name, made like one that the application has assigned: a letter where that has one, a digit where
// that has one.
func chosen(like, name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(slices.Collect(func(yield func(byte) bool) {
		for i := range len(like) {
			c, n := like[i], sum[i%len(sum)]
			switch {
			case c >= '0' && c <= '9':
				c = '0' + n%10
			case c >= 'a' && c <= 'z':
				c = 'a' + n%6 // as in hexadecimal numbers
			}
			if !yield(c) {
				return
			}
		}
	}))
}

func deleteIt(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
	q := request{kind: o.kind, method: http.MethodDelete, path: o.kind.Item, id: o.id, header: map[string]string{"Skerry-Force": "relied-on"}}
	a, err := s.through(ctx, r, q)
	if err == nil && a.status == http.StatusPreconditionRequired {
		a, err = s.matched(ctx, r, q)
	}
	return a, nil, err
}

// matched sends a request that the application takes only with the tag of what it shows.
func (s *site) matched(ctx context.Context, r *run, q request) (answer, error) {
	now, err := s.through(ctx, r, request{kind: q.kind, method: http.MethodGet, path: q.kind.Item, id: q.id})
	if err != nil {
		return now, err
	}
	q.header["If-Match"] = now.header.Get("ETag")
	return s.through(ctx, r, q)
}

// remake deletes an object and makes one of its name.
func remake(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
	a, _, err := deleteIt(ctx, r, s, o)
	if err != nil || !a.fine() {
		return a, nil, err
	}
	body := o.sent
	if body.isJSON() {
		if _, other := fields(o.kind, body); other != "" {
			body.Text = set(body.Text, other, another(valueAt(body.Text, other), s))
		}
		if _, own := o.kind.Split(o.id); o.kind.ID.Settable {
			body.Text = set(body.Text, o.kind.ID.At, own)
		}
	}
	return r.createAgain(ctx, o.kind, s, o.name, body)
}

// createAgain creates what was just deleted. An agent that has waited ten seconds for the application answers 409 "deleting", whatever form
// the application's own errors have; whoever asks is to ask again in a moment, as docs/problems.md tells.
func (r *run) createAgain(ctx context.Context, k *engine.Kind, s *site, name string, body Body) (a answer, made *object, err error) {
	late := within(ctx, r.Patience, "what was deleted is gone", func() error {
		a, made, err = r.create(ctx, k, s, name, body)
		if err == nil && a.status == http.StatusConflict && bytes.Contains(a.body, []byte(`deleting`)) {
			return errors.New(a.excerpt())
		}
		return nil
	})
	return a, made, cmp.Or(err, late)
}

// named is an operation that the catalog names.
func named(k *engine.Kind, n engine.NamedOperation) operation {
	return operation{Name: n.Name, do: func(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
		body, header := r.Bodies[nameOf(k)+"/"+n.Name], map[string]string{}
		if len(body.Text) > 0 {
			header["Content-Type"] = body.media()
		}
		a, err := s.through(ctx, r, request{kind: k, method: n.Method, path: n.Path, id: o.id, body: body.Text, header: header})
		return a, nil, err
	}}
}

// requested is a request of its own that the application has.
func requested(of Request) operation {
	return operation{Name: of.Name, field: of.Field,
		shown: func(before, after *representation) bool {
			return before != nil && after != nil && (of.Field == "" || after.text(of.Field) != before.text(of.Field))
		},
		do: func(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
			text := strings.NewReplacer("{name}", o.name, "{value}", "of-"+s.name).Replace(of.Text)
			a, err := s.through(ctx, r, request{kind: o.kind, method: of.Method, path: o.kind.Item, below: of.Below, id: o.id, body: []byte(text), header: map[string]string{"Content-Type": of.Media}})
			return a, nil, err
		}}
}

// fields are two fields of a body that can be changed: that with the object's name where there is one, and another.
func fields(k *engine.Kind, body Body) (one, other engine.Pointer) {
	if len(body.Fields) > 0 {
		return body.Fields[0], append(slices.Clone(body.Fields), "")[1]
	}
	var free []engine.Pointer
	document, err := tree.ParseJSON(body.Text)
	if err != nil {
		return "", ""
	}
	leaves(document, "", func(p engine.Pointer, v any) {
		_, list := v.([]any)
		_, truth := v.(bool)
		if list || truth || v == nil || !settable(k, p) {
			return
		}
		free = append(free, p)
	})
	slices.SortStableFunc(free, func(p, q engine.Pointer) int {
		return cmp.Compare(map[bool]int{true: 0, false: 1}[p == k.Label], map[bool]int{true: 0, false: 1}[q == k.Label])
	})
	free = append(free, "", "")
	return free[0], free[1]
}

// lists are the fields of a body that have arrays and are tried: one.
func lists(k *engine.Kind, body Body) []engine.Pointer {
	document, err := tree.ParseJSON(body.Text)
	if err != nil || len(body.Fields)+len(body.Lists) > 0 {
		return body.Lists
	}
	at := engine.Pointer("")
	leaves(document, "", func(p engine.Pointer, v any) {
		if elements, ok := v.([]any); ok && len(elements) > 1 && at == "" && settable(k, p) {
			at = p
		}
	})
	if at == "" {
		return nil
	}
	return []engine.Pointer{at}
}

// settable says that a client may give a field any value.
func settable(k *engine.Kind, p engine.Pointer) bool {
	return !k.Ignored(p) && !k.Hides(p) && p != k.Marker && p != k.Unique &&
		!slices.ContainsFunc(k.Refs, func(ref engine.Ref) bool { return ref.At.Covers(p) || p.Covers(ref.At) }) &&
		!slices.ContainsFunc(k.Links, func(l engine.Link) bool { return l.At.Covers(p) })
}

// leaves visits all that is no object of a tree. An array is one.
func leaves(v any, at engine.Pointer, visit func(engine.Pointer, any)) {
	m, ok := v.(map[string]any)
	if !ok {
		visit(at, v)
		return
	}
	for _, name := range sortedNames(m) {
		leaves(m[name], at.Append(name), visit)
	}
}

// another is what a site's client sets in the place of a value.
func another(v any, s *site) any {
	nth := map[string]int{First: 1, Second: 2}[s.name]
	if n, ok := v.(json.Number); ok {
		if whole, err := n.Int64(); err == nil {
			return json.Number(fmt.Sprint(whole + int64(nth)))
		}
		return v
	}
	return fmt.Sprint(v) + "-" + s.name
}

// edit is what a client makes of the value at a field.
type edit struct {
	name string
	at   engine.Pointer
	to   func(v any, s *site) any
}

// changes are the ways to change the fields of a body.
func changes(k *engine.Kind, body Body) (all []operation) {
	one, other := fields(k, body)
	for _, form := range []string{http.MethodPut, http.MethodPatch, "JSON Patch"} {
		if form == http.MethodPatch && k.MergeMethod != "" { // its patches are PUTs
			continue
		}
		if one != "" {
			all = append(all, change(k, form, edit{"", one, another}, false))
		}
		if other != "" && (form != "JSON Patch" || k.JSONPatch != "") {
			all = append(all, change(k, form, edit{"", other, another}, true))
		}
	}
	for _, array := range lists(k, body) {
		all = append(all, changesOf(k, array)...)
	}
	return all
}

// changesOf are the ways to change an array: its elements, and their order.
func changesOf(k *engine.Kind, array engine.Pointer) (all []operation) {
	form := http.MethodPut
	switch {
	case slices.ContainsFunc(array.Tokens(), tree.IsWhole): // in an element of another array, of which a patch can say less
	case k.MergePatch:
		form, _ = tree.MergeForm(k)
	case k.JSONPatch != "":
		form = "JSON Patch"
	}
	for _, e := range []edit{
		{"one more", array, func(v any, s *site) any { return append(elements(v), more(k, array, elements(v), s)) }},
		{"one less", array, func(v any, s *site) any {
			l := elements(v)
			return slices.Delete(l, nthOf(s, len(l)), nthOf(s, len(l))+1)
		}},
		{"another order", array, func(v any, s *site) any {
			l := elements(v)
			if s.name == First {
				slices.Reverse(l)
				return l
			}
			return append(l[1:], l[0])
		}},
	} {
		all = append(all, change(k, form, e, false))
	}
	return all
}

// nthOf has the sites take away another element each, where there are two.
func nthOf(s *site, n int) int { return map[string]int{First: 0, Second: n - 1}[s.name] }

func elements(v any) []any {
	l, _ := v.([]any)
	return slices.Clone(l)
}

// more is an element like those that are there.
func more(k *engine.Kind, at engine.Pointer, l []any, s *site) any {
	if len(l) == 0 {
		return "of-" + s.name
	}
	m, ok := l[0].(map[string]any)
	if !ok {
		return another(l[0], s)
	}
	own := map[string]any{}
	for name, v := range m {
		own[name] = v
		if _, text := v.(string); text {
			own[name] = another(v, s)
		}
	}
	return own
}

// change is a request that makes a change in one of the forms.
func change(k *engine.Kind, form string, e edit, again bool) operation {
	name := strings.TrimSpace(form + " " + string(e.at))
	if e.name != "" {
		name = fmt.Sprintf("%s %s: %s", form, e.at, e.name)
	}
	return operation{Name: name, field: e.at, again: again,
		shown: func(before, after *representation) bool {
			return before != nil && after != nil && after.text(e.at) != before.text(e.at)
		},
		do: func(ctx context.Context, r *run, s *site, o *object) (answer, *object, error) {
			var q request
			var a answer
			for try := 0; try == 0 || form == http.MethodPut && a.status == http.StatusConflict && try < changedMeanwhile; try++ {
				now, err := s.through(ctx, r, request{kind: k, method: http.MethodGet, path: k.Item, id: o.id})
				if err != nil || !now.fine() {
					return now, nil, err
				}
				q = changed(k, form, e.at, e.to(valueAt(now.body, e.at), s), o, now)
				if a, err = s.through(ctx, r, q); err != nil {
					return a, nil, err
				}
			}
			var err error
			if form == http.MethodPut && k.MergeMethod == "" && a.status >= 400 && a.status < 500 { // what is only read is refused
				q.body = set(o.sent.Text, e.at, valueAt(q.body, e.at))
				a, err = s.through(ctx, r, q)
			}
			return a, nil, err
		}}
}

// changedMeanwhile is how often a client replaces what has changed since it was read, as controllers do that: it reads it again, as clients do.
const changedMeanwhile = 5

// changed is the request that sets a value in one of the forms, made from what is shown now.
func changed(k *engine.Kind, form string, at engine.Pointer, v any, o *object, now answer) request {
	q := request{kind: k, method: http.MethodPatch, path: k.Item, id: o.id, header: map[string]string{}}
	if tag := now.header.Get("ETag"); tag != "" {
		q.header["If-Match"] = tag
	}
	merges, media := tree.MergeForm(k)
	switch form {
	case merges:
		q.method = form
		q.header["Content-Type"], q.body = media, set([]byte("{}"), at, v)
		for _, p := range k.PatchHas {
			q.body = set(q.body, p, valueAt(now.body, p))
		}
	case http.MethodPut:
		q.method, q.header["Content-Type"], q.body = http.MethodPut, o.sent.media(), set(now.body, at, v)
	default:
		q.header["Content-Type"] = cmp.Or(k.JSONPatch, "application/json-patch+json")
		q.body = compact([]any{map[string]any{"op": "replace", "path": string(at), "value": v}})
	}
	return q
}
