package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/cmd/trial"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// object is one that both sites have, or are to have.
type object struct {
	kind *engine.Kind
	name string
	id   string // as all sites call it, that of its container before it
	sent Body
}

// within is the identifier of the container of objects of a kind, as paths take it; empty for none.
func (r *run) within(k *engine.Kind) (id string, ok bool) {
	if k.Within == "" {
		return "", true
	}
	container := r.Catalog.Kind(k.Service, k.Within)
	in := r.first[nameOf(container)]
	if in == nil {
		return "", false
	}
	return container.AsContainer(in.id), true
}

// body creates an object of this name.
func (r *run) body(k *engine.Kind, name string) Body {
	given, ok := r.Bodies[nameOf(k)]
	if ok && !given.isJSON() {
		given.Text = []byte(strings.NewReplacer("{name}", name, "{value}", "begun").Replace(string(given.Text)))
		return given
	}
	if bytes.Contains(given.Text, []byte("{name}")) {
		given.Text = bytes.ReplaceAll(given.Text, []byte("{name}"), []byte(name))
		return given
	}
	number := name[strings.LastIndexByte(name, '-')+1:]
	n, _ := strconv.Atoi(number)
	numbered := strings.NewReplacer("{number}", number, "{high}", strconv.Itoa(n/256), "{low}", strconv.Itoa(n%256)).Replace(string(given.Text))
	text := trial.Body(k, []byte(numbered), name, func(kind string) string {
		if to := r.first[kind]; to != nil {
			_, own := to.kind.Split(to.id)
			return own
		}
		return ""
	})
	given.Text = text
	return given
}

// create sends what creates an object at a site. Where clients choose identifiers the name is the identifier.
func (r *run) create(ctx context.Context, k *engine.Kind, s *site, name string, body Body) (answer, *object, error) {
	o := &object{kind: k, name: name, sent: body}
	within, _ := r.within(k)
	q := request{kind: k, method: http.MethodPost, path: k.Collection, id: engine.Inside(within, ""), body: body.Text,
		header: map[string]string{"Content-Type": body.media(), "Scope": r.scope()}}
	if k.ID.From == engine.IDFromPath {
		o.id = k.Inside(within, name)
		q.method, q.path, q.id = http.MethodPut, k.Item, o.id
	}
	a, err := s.through(ctx, r, q)
	if err != nil || !a.fine() {
		return a, nil, err
	}
	if id := a.header.Get("Skerry-Resource"); id != "" {
		o.id = id
	}
	if o.id == "" {
		return a, nil, fmt.Errorf("a create was answered %s without Skerry-Resource", a.excerpt())
	}
	return a, o, nil
}

// make creates an object at a site. Without one, why says what came of it.
func (r *run) make(ctx context.Context, k *engine.Kind, s *site, name string) (o *object, why string, err error) {
	if _, ok := r.within(k); !ok {
		return nil, "there is no " + string(k.Within) + " for it to lie in", nil
	}
	a, o, err := r.create(ctx, k, s, name, r.body(k, name))
	if err == nil && o == nil {
		why = "a create is refused: " + a.excerpt()
	}
	return o, why, err
}

func (b Body) media() string {
	if b.Media == "" {
		return "application/json"
	}
	return b.Media
}

// deleteAll deletes every object of this run through the first site, and waits until no application shows it.
func (r *run) deleteAll(ctx context.Context) {
	all := slices.Clone(r.probes)
	for _, p := range r.cases {
		all = append(all, p.objects...)
	}
	var first []*object
	for _, k := range trial.Order(r.Catalog, r.Kinds) {
		if o := r.first[nameOf(k)]; o != nil {
			first = append(first, o)
		}
	}
	all = slices.Concat(first, all)
	all = slices.DeleteFunc(all, func(o *object) bool { return r.nowhere(ctx, o) == nil })
	slices.Reverse(all) // what was made last goes first, so that containers are empty and nothing refers to what goes
	failed, going := map[*object]error{}, []*object{}
	for _, o := range all {
		if slices.Contains(first, o) { // others lie in it, or refer to it, and their deletion may take its time
			going = slices.DeleteFunc(going, func(o *object) bool {
				return r.until(ctx, "what was deleted is gone", func() error { return r.nowhere(ctx, o) }) == nil
			})
		}
		if failed[o] = r.delete(ctx, o); failed[o] == nil {
			going = append(going, o)
		}
	}
	for _, o := range all {
		err := failed[o]
		if err == nil {
			err = r.until(ctx, "what was deleted is gone", func() error { return r.nowhere(ctx, o) })
		}
		r.kinds[nameOf(o.kind)].Deleted.tell(o, err)
		for _, s := range r.sites {
			if err != nil { // nothing is to be left behind
				_, _ = s.direct(ctx, r, request{kind: o.kind, method: http.MethodDelete, path: o.kind.Item, id: s.local(o)})
			}
		}
	}
}

func (d *Deleted) tell(o *object, err error) {
	if d.Of++; err == nil {
		d.Gone++
	} else {
		d.Left = append(d.Left, fmt.Sprintf("%s: %v", o.id, err))
	}
}

// delete deletes an object through the first site.
func (r *run) delete(ctx context.Context, o *object) error {
	a, _, err := deleteIt(ctx, r, r.sites[0], o)
	if err == nil && !a.fine() && !a.gone() {
		err = fmt.Errorf("DELETE at %s is refused: %s", First, a.excerpt())
	}
	return err
}

// nowhere says where an object is still shown.
func (r *run) nowhere(ctx context.Context, o *object) error {
	for _, s := range r.sites {
		if there, err := s.shows(ctx, r, o); err != nil {
			return err
		} else if there != nil {
			return fmt.Errorf("%s still shows it", s.name)
		}
	}
	return nil
}

// valueAt is the value at a path of a JSON text.
func valueAt(body []byte, at engine.Pointer) any {
	document, err := tree.ParseJSON(body)
	if err != nil || at == "" {
		return nil
	}
	v, _ := tree.ValueAt(document, at)
	return v
}

// set is a body with a value at a path.
func set(body []byte, at engine.Pointer, v any) []byte {
	document, err := tree.ParseJSON(body)
	if err != nil {
		return body
	}
	return tree.Compact(tree.SetAt(document, at, v))
}

func compact(v any) json.RawMessage { return tree.Compact(v) }
