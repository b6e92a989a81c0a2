package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
)

// make creates an object and reads it. ok is false where there is none, or none that can be read.
func (r *run) make(ctx context.Context, k *engine.Kind, name string) (o *object, shown engine.Reply, ok bool) {
	within := ""
	if k.Within != "" {
		container := r.Catalog.Kind(k.Service, k.Within)
		in := r.first[nameOf(container)]
		if in == nil {
			r.note(k, "", "it was not tried: there is no %s for it to lie in", k.Within)
			return nil, shown, false
		}
		within = container.AsContainer(string(in.id))
	}
	o = &object{kind: k, sent: r.body(k, name)}
	method, path, chosen := http.MethodPost, k.Collection, ""
	switch {
	case k.ID.From == engine.IDFromPath:
		method, path, chosen = http.MethodPut, k.Item, name
	case k.ID.Settable:
		chosen = uuid.Must(uuid.NewV7()).String()
		o.sent = set(o.sent, k.ID.At, chosen)
	}
	target := engine.LocalID(chosen)
	if k.Within != "" {
		target = engine.LocalID(engine.Inside(within, chosen))
	}
	header := map[string]string{}
	if k.HonoursKey {
		header["Idempotency-Key"] = uuid.NewString()
	}
	reply, err := r.call(ctx, k, method, path, target, o.sent, header)
	if err != nil {
		r.note(k, "", "%s %s has no answer: %v", method, path, err)
		return nil, shown, false
	}
	if !fine(reply.Status) {
		r.refused(k, method, path, reply)
		return nil, shown, false
	}
	if o.id = reply.Local; k.ID.From == engine.IDFromPath {
		o.id = target
	}
	if !r.identified(o, target, reply, chosen) {
		return nil, shown, false
	}
	r.made = append(r.made, o)
	if k.HonoursKey && method == http.MethodPost && r.first[nameOf(k)] == nil {
		r.repeat(ctx, o, path, target, header)
	}
	shown, ok = r.read(ctx, o)
	return o, shown, ok
}

// refused says what a person does about a create that the application does not take.
func (r *run) refused(k *engine.Kind, method, path string, reply engine.Reply) {
	switch reply.Status {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusNotFound:
		r.untrue(k, "", "%s %s creates nothing: %s", method, path, excerpt(reply))
	default:
		r.note(k, "", "it was not tried, for %s %s was refused; give a body that it takes with --body %s=FILE: %s", method, path, nameOf(k), excerpt(reply))
	}
}

// identified compares where an identifier was found with what the catalog says of it.
func (r *run) identified(o *object, target engine.LocalID, reply engine.Reply, chosen string) bool {
	k := o.kind
	document, _ := tree.ParseJSON(reply.Body) // what is no JSON shows nothing
	at, shown := tree.IDAt(document, k.ID.At)
	switch {
	case k.ID.From == engine.IDFromPath:
		return true
	case o.id == "":
		others := identifiers(document)
		if len(others) == 1 {
			id, _ := tree.IDAt(document, others[0])
			o.id = engine.LocalID(id)
			if container, _ := k.Split(string(target)); k.Within != "" {
				o.id = engine.LocalID(engine.Inside(container, id))
			}
			o.kind = identifiedAt(k, others[0])
			r.untrue(k, fmt.Sprintf("id: {from: body, at: %s}", others[0]), "the answer to a create shows no identifier at %s; it has one at %s", k.ID.At, others[0])
			return true
		}
		r.untrue(k, "", "the answer to a create shows no identifier at %s, and there is no Location: %s", k.ID.At, excerpt(reply))
		r.report.Left = append(r.report.Left, nameOf(k)+" without a known identifier: "+string(o.sent))
		return false
	case !shown && k.ID.At != "" && len(reply.Body) > 0:
		_, own := k.Split(string(o.id))
		place := find(document, own, "")
		if place == "" {
			r.note(k, "", "the answer to a create shows no identifier at %s; Location tells it", k.ID.At)
			return true
		}
		o.kind = identifiedAt(k, place)
		r.untrue(k, fmt.Sprintf("id: {from: body, at: %s}", place), "the identifier is not at %s but at %s", k.ID.At, place)
	case chosen != "" && at != chosen:
		r.untrue(k, fmt.Sprintf("id: {from: body, at: %s}", k.ID.At), "the application takes no identifier of ours: it was given %s and assigned %s", chosen, at)
	}
	return true
}

// identifiedAt is a kind with its identifier where it truly is, so that what follows is not said of it again and again.
func identifiedAt(k *engine.Kind, place engine.Pointer) *engine.Kind {
	mended := *k
	mended.ID.At = place
	return &mended
}

// repeat sends a create again under its key.
func (r *run) repeat(ctx context.Context, o *object, path string, target engine.LocalID, header map[string]string) {
	reply, err := r.call(ctx, o.kind, http.MethodPost, path, target, o.sent, header)
	if err != nil || reply.Local == o.id {
		return
	}
	if fine(reply.Status) && reply.Local != "" {
		r.made = append(r.made, &object{kind: o.kind, id: reply.Local})
		r.untrue(o.kind, "idempotency_key: ignored", "a create that was repeated under its Idempotency-Key made another object")
		return
	}
	r.untrue(o.kind, "idempotency_key: ignored", "a create that was repeated under its Idempotency-Key was not answered as before: %s", excerpt(reply))
}

// read reads an object, once the application shows it.
func (r *run) read(ctx context.Context, o *object) (shown engine.Reply, ok bool) {
	reply, asked, err := r.eventually(ctx, func() (engine.Reply, error) {
		return r.call(ctx, o.kind, http.MethodGet, o.kind.Item, o.id, nil, nil)
	}, func(reply engine.Reply) bool { return reply.Status == http.StatusOK })
	switch {
	case err != nil:
		r.note(o.kind, "", "GET %s has no answer: %v", o.kind.Item, err)
		return reply, false
	case reply.Status != http.StatusOK:
		r.untrue(o.kind, "", "GET %s does not show what was made: %s", o.kind.Item, excerpt(reply))
		return reply, false
	case asked > 1:
		r.note(o.kind, "", "it took a moment until GET %s showed what was made", o.kind.Item)
	}
	document, err := tree.ParseJSON(reply.Body)
	if err != nil {
		r.untrue(o.kind, "", "GET %s shows no JSON: %v", o.kind.Item, err)
		return reply, false
	}
	_, own := o.kind.Split(string(o.id))
	if shown, ok := tree.IDAt(document, o.kind.ID.At); o.kind.ID.At != "" && (!ok || shown != own) && r.first[nameOf(o.kind)] == nil {
		r.untrue(o.kind, "", "GET %s shows another identifier at %s: %q, where it was read as %q", o.kind.Item, o.kind.ID.At, shown, own)
	}
	return reply, true
}

// list looks for an object in the list of its kind.
func (r *run) list(ctx context.Context, o *object) {
	container, own := o.kind.Split(string(o.id))
	items, err := r.Client.Listed(ctx, o.kind, container, "", r.Credentials)
	switch {
	case errors.Is(err, glue.ErrNoList):
		r.untrue(o.kind, "list: {items: /…}", "GET %s has no list where the catalog says: %v", o.kind.Collection, err)
	case err != nil:
		r.untrue(o.kind, "", "GET %s is no list: %v", o.kind.Collection, err)
	case o.kind.ID.At != "" && !slices.ContainsFunc(items, func(i glue.Item) bool { return i.ID == own }):
		r.untrue(o.kind, "", "the list at %s has %d items, and not what was made", o.kind.Collection, len(items))
	}
}

// content writes and reads what lies beside the representation.
func (r *run) content(ctx context.Context, o *object) {
	const bytes = "skerry catalog try\n"
	for _, c := range o.kind.Content {
		reply, err := r.call(ctx, o.kind, c.Method, c.Write, o.id, []byte(bytes), map[string]string{"Content-Type": "application/octet-stream"})
		switch absent := slices.Contains([]int{http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusNotFound}, reply.Status); {
		case err == nil && fine(reply.Status):
		case err == nil && reply.Status < http.StatusInternalServerError && !absent:
			r.note(o.kind, "", "its content was not tried, for %s %s was refused; give a body that it takes with --body %s=FILE: %s", c.Method, c.Write, nameOf(o.kind), excerpt(reply))
			continue
		default:
			r.untrue(o.kind, "", "%s %s takes no bytes: %s %v", c.Method, c.Write, excerpt(reply), orNothing(err))
			continue
		}
		reply, _, err = r.eventually(ctx, func() (engine.Reply, error) {
			return r.call(ctx, o.kind, http.MethodGet, c.Read, o.id, nil, map[string]string{"Accept": "*/*"})
		}, func(reply engine.Reply) bool { return string(reply.Body) == bytes })
		if err != nil || string(reply.Body) != bytes {
			r.untrue(o.kind, "", "GET %s does not show the bytes that were put there: %s %v", c.Read, excerpt(reply), orNothing(err))
		}
	}
}

// delete deletes an object and waits until it is gone.
func (r *run) delete(ctx context.Context, o *object) {
	path, _ := engine.FillPath(o.kind.Item, string(o.id), func(s string) string { return s })
	reply, err := r.call(ctx, o.kind, http.MethodDelete, o.kind.Item, o.id, nil, nil)
	if err != nil || !fine(reply.Status) && !gone(reply) {
		r.untrue(o.kind, "", "DELETE %s is refused: %s %v", o.kind.Item, excerpt(reply), orNothing(err))
		r.report.Left = append(r.report.Left, string(o.kind.Service)+" "+path)
		return
	}
	reply, asked, err := r.eventually(ctx, func() (engine.Reply, error) {
		return r.call(ctx, o.kind, http.MethodGet, o.kind.Item, o.id, nil, nil)
	}, gone)
	switch {
	case err != nil || !gone(reply):
		r.untrue(o.kind, "", "what was deleted is still shown after %s: %s %v", r.Patience, excerpt(reply), orNothing(err))
		r.report.Left = append(r.report.Left, string(o.kind.Service)+" "+path)
	case asked > 1:
		r.note(o.kind, "", "a DELETE lingers: it was answered with %d, and the object was shown for a while longer", reply.Status)
	}
}

// orNothing is an error's text.
func orNothing(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// body is what creates an object of this name.
func (r *run) body(k *engine.Kind, name string) []byte {
	return Body(k, r.Bodies[nameOf(k)], name, func(kind string) string {
		to := r.first[kind]
		if to == nil {
			return ""
		}
		_, id := to.kind.Split(string(to.id))
		return id
	})
}

// Body is what creates an object of this name: what a person has given, with another name, or a name alone, and in either case what it has to
// refer to. Have is the identifier of an object of a kind, SERVICE/KIND, empty for none.
func Body(k *engine.Kind, given []byte, name string, have func(kind string) string) []byte {
	body := []byte("{}")
	if len(given) > 0 {
		body = glue.Envelop(k, given)
	}
	if given, own := valueAt(body, k.Label).(string); own || string(body) == "{}" {
		if u, err := url.Parse(given); err == nil && u.Host != "" { // of what is called by an address it stays one
			name = u.JoinPath(name).String()
		}
		body = set(body, k.Label, name)
	}
	for _, ref := range k.Refs {
		id := have(string(ref.Service) + "/" + string(ref.Kind))
		if id == "" || ref.Relation != engine.RelationRequirement || strings.Contains(string(ref.At), "*") || valueAt(body, ref.At) != nil {
			continue
		}
		body = set(body, ref.At, id)
	}
	return body
}

// set is a body with a text at a path.
func set(body []byte, at engine.Pointer, text string) []byte {
	document, err := tree.ParseJSON(body)
	if err != nil || at == "" {
		return body
	}
	b, err := json.Marshal(text)
	if err != nil {
		return body
	}
	return tree.Compact(tree.SetPath(document, at, b))
}

func valueAt(body []byte, at engine.Pointer) any {
	document, err := tree.ParseJSON(body)
	if err != nil || at == "" {
		return nil
	}
	v, _ := tree.ValueAt(document, at)
	return v
}
