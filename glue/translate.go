package glue

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// lookup finds what an identifier of a kind is to be replaced by. Raw is the JSON value that takes its place; false
// leaves the identifier as it is.
type lookup func(ctx context.Context, at owner, id string, number bool) (raw []byte, ok bool, err error)

// translation is one way between what clients see and what this site's application shows.
type translation struct {
	id lookup
	// link exchanges the address in a link; false leaves it as it is.
	link func(ctx context.Context, at spot, address string) (string, bool, error)
	// unmark takes markers off.
	unmark bool
}

type kindName struct {
	service engine.ServiceName
	name    engine.KindName
}

func nameOf(k *engine.Kind) kindName { return kindName{k.Service, k.Name} }

// owner is what an identifier belongs to: a kind and, for what lies inside a container, that container, as others and as this
// site call it.
type owner struct {
	kindName
	kind        *engine.Kind // nil: no container
	meta, local string
}

func (o owner) metaID(id string) engine.ResourceID {
	if o.meta == "" {
		return engine.ResourceID(id)
	}
	return engine.ResourceID(engine.Inside(o.meta, id))
}

func (o owner) localID(id string) engine.LocalID {
	if o.local == "" {
		return engine.LocalID(id)
	}
	return engine.LocalID(engine.Inside(o.local, id))
}

// own returns the part of an identifier that representations show.
func (o owner) own(id string) string {
	if o.kind == nil {
		return id
	}
	_, own := o.kind.Split(id)
	return own
}

// spot is the place in a representation of an identifier, of a link or of a marker.
type spot struct {
	tokens []string
	kind   owner              // of the identifier, or of the representation that has the link
	link   engine.ServiceName // whose resources a link is to; empty: it is none
	marker bool
}

// spots lists everything in representations of a kind that is not the same for clients and for the application: its own
// identifier and those of its references, links and the marker. Within is the container of what is represented, as clients or
// as this site call it; what is referred to lies in the same one, if in any.
func (c *Client) spots(ctx context.Context, k *engine.Kind, within string) []spot {
	meta, local := "", ""
	if k.Within != "" && within != "" {
		meta, local = c.container(ctx, k, within)
	}
	of := func(name kindName) owner {
		if other := c.known.Load().kinds[name]; other != nil && other.Within != "" && other.Within == k.Within {
			return owner{name, other, meta, local}
		}
		return owner{kindName: name}
	}
	var spots []spot
	if k.ID.At != "" {
		spots = append(spots, spot{tokens: k.ID.At.Tokens(), kind: of(nameOf(k))})
	}
	for _, r := range k.Refs {
		if r.At != "" {
			spots = append(spots, spot{tokens: r.At.Tokens(), kind: of(kindName{r.Service, r.Kind})})
		}
	}
	for _, l := range k.Links {
		spots = append(spots, spot{tokens: l.At.Tokens(), kind: of(nameOf(k)), link: l.Service})
	}
	if k.Marker != "" {
		spots = append(spots, spot{tokens: k.Marker.Tokens(), marker: true})
	}
	return spots
}

// container returns what others and what this site call a container of things of a kind.
func (c *Client) container(ctx context.Context, k *engine.Kind, within string) (meta, local string) {
	other := c.known.Load().kinds[kindName{k.Service, k.Within}]
	if other == nil {
		return within, within
	}
	id := other.FromContainer(within)
	if own, ok := c.ids.Local(ctx, k.Service, k.Within, engine.ResourceID(id)); ok {
		return within, other.AsContainer(string(own))
	}
	if all, ok := c.ids.Meta(ctx, k.Service, k.Within, engine.LocalID(id)); ok {
		return other.AsContainer(string(all)), within
	}
	return within, within
}

// Paths returns the path of a request with the identifiers of its containers as others and as this site's application call
// them; both are the path as it is where these do not differ.
func (c *Client) Paths(ctx context.Context, m Match, path string) (others, here string) {
	if m.Within == "" || !m.Canonical || !c.ids.Translated(m.Kind.Service, m.Kind.Within) {
		return path, path
	}
	meta, local := c.container(ctx, m.Kind, m.Within)
	_, own := m.Kind.Split(m.Target)
	with := func(container string) string {
		if p, ok := ExpandPath(m.Path, engine.Inside(container, own)); ok {
			return p
		}
		return path
	}
	return with(meta), with(local)
}

// Container returns the kind of what resources of a kind lie in, nil for none.
func (c *Client) Container(k *engine.Kind) *engine.Kind {
	return c.known.Load().kinds[kindName{k.Service, k.Within}]
}

// Items implements engine.Application: each item is as the application shows it.
func (c *Client) Items(k *engine.Kind, body []byte) ([][]byte, error) {
	items, err := c.splitItems(k, body)
	if err != nil {
		return nil, err
	}
	each := make([][]byte, len(items.Each))
	for i, item := range items.Each {
		each[i] = c.enveloped(k, item.Text)
	}
	return each, nil
}

// replace exchanges what the spots of a representation hold that begins at offset i of doc. A list of references is
// exchanged element by element.
func (t translation) replace(ctx context.Context, doc []byte, i int, spots []spot) ([]edit, error) {
	var edits []edit
	var failed error
	for _, s := range spots {
		one := func(v span) {
			if failed != nil {
				return
			}
			raw, ok, err := t.value(ctx, s, doc[v.start:v.end])
			if err != nil {
				failed = err
			} else if ok {
				edits = append(edits, edit{v, raw})
			}
		}
		values(doc, i, s.tokens, func(v span) {
			if doc[v.start] == '[' {
				elements(doc, v.start, one)
				return
			}
			one(v)
		})
	}
	return edits, failed
}

// value exchanges what one spot holds.
func (t translation) value(ctx context.Context, s spot, raw []byte) (text []byte, ok bool, err error) {
	switch {
	case s.marker && (!t.unmark || raw[0] != '"'), s.link != "" && raw[0] != '"':
		return nil, false, nil
	case s.marker:
		trimmed := tree.TrimMarker(unquote(raw))
		return quote(trimmed), len(trimmed) < len(unquote(raw)), nil
	case s.link != "":
		address, ok, err := t.link(ctx, s, unquote(raw))
		return quote(address), ok, err
	}
	id, number, ok := identifier(raw)
	if !ok {
		return nil, false, nil
	}
	return t.id(ctx, s.kind, id, number)
}

// body exchanges what differs in a JSON representation, or in a JSON Patch (RFC 6902) of one. Anything
// else is returned as it is.
func (t translation) body(ctx context.Context, spots []spot, media string, body []byte) ([]byte, error) {
	if len(body) == 0 || !json.Valid(body) {
		return body, nil
	}
	start := skipSpace(body, 0)
	if IsJSONPatch(media) {
		return t.patch(ctx, body, start, spots)
	}
	edits, err := t.replace(ctx, body, start, spots)
	return apply(body, edits), err
}

// patch exchanges what differs in the values of a JSON Patch: each value is a part of the representation,
// the one that the member "path" names.
func (t translation) patch(ctx context.Context, doc []byte, start int, spots []spot) ([]byte, error) {
	var edits []edit
	var failed error
	elements(doc, start, func(op span) {
		var path, value span
		members(doc, op.start, func(key string, v span) {
			switch key {
			case "path":
				path = v
			case "value":
				value = v
			}
		})
		if value.end == 0 || path.end == 0 || doc[path.start] != '"' {
			return
		}
		at := engine.Pointer(unquote(doc[path.start:path.end])).Tokens()
		var below []spot
		for _, s := range spots {
			if rest, ok := belowTokens(s.tokens, at); ok {
				s.tokens = rest
				below = append(below, s)
			}
		}
		e, err := t.replace(ctx, doc, value.start, below)
		if err != nil {
			failed = err
		}
		edits = append(edits, e...)
	})
	return apply(doc, edits), failed
}

// belowTokens returns what of tokens is left below at. An element of a list of references counts as the list.
func belowTokens(tokens, at []string) ([]string, bool) {
	for i, t := range at {
		if i == len(tokens) {
			last := at[i]
			return nil, i == len(at)-1 && (last == "-" || arrayIndex(last) >= 0)
		}
		if tokens[i] != t && (tokens[i] != "*" || t != "-" && arrayIndex(t) < 0) {
			return nil, false
		}
	}
	return tokens[len(at):], true
}

// replaceQuery exchanges the identifiers in the values of the parameters that are called like the place of an
// identifier: by its last token or by all of them with dots between. What is not exchanged stays byte for byte.
func replaceQuery(ctx context.Context, spots []spot, query string, find lookup) (string, error) {
	if query == "" {
		return query, nil
	}
	names := map[string]owner{}
	spots = slices.DeleteFunc(slices.Clone(spots), func(s spot) bool { return s.link != "" || s.marker })
	for _, s := range spots {
		names[strings.Join(s.tokens, ".")] = s.kind
	}
	for _, s := range spots {
		if last := s.tokens[len(s.tokens)-1]; names[last] == (owner{}) {
			names[last] = s.kind
		}
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		plainName, err := url.QueryUnescape(name)
		if err != nil {
			continue
		}
		kind, known := names[plainName]
		plain, err := url.QueryUnescape(value)
		if !known || err != nil || plain == "" {
			continue
		}
		raw, ok, err := find(ctx, kind, plain, false)
		if err != nil {
			return query, err
		}
		if ok {
			id, _, _ := identifier(raw)
			parts[i] = name + "=" + url.QueryEscape(id)
		}
	}
	return strings.Join(parts, "&"), nil
}

// toMeta is the lookup from this site's identifiers to meta-identifiers, for what clients see.
func (c *Client) toMeta(ctx context.Context, k owner, id string, number bool) ([]byte, bool, error) {
	if number {
		c.learn(k.kindName, true)
	}
	meta, ok := c.ids.Meta(ctx, k.service, k.name, k.localID(id))
	if !ok || k.own(string(meta)) == id {
		return nil, false, nil
	}
	return quote(k.own(string(meta))), true, nil
}

// toCanonical is the lookup for what comes from clients: this site's own identifiers become meta-identifiers, so that
// another site understands them. A meta-identifier stays, even where it looks like one of this site's own.
func (c *Client) toCanonical(ctx context.Context, k owner, id string, _ bool) ([]byte, bool, error) {
	if local, ok := c.ids.Local(ctx, k.service, k.name, k.metaID(id)); ok && k.own(string(local)) != id {
		return nil, false, nil
	}
	meta, ok := c.ids.Meta(ctx, k.service, k.name, k.localID(id))
	if !ok || k.own(string(meta)) == id {
		return nil, false, nil
	}
	return quote(k.own(string(meta))), true, nil
}

// toLocal returns the lookup from meta-identifiers to this site's identifiers, for what the application sees.
// Credentials are those of the request, in case the application has to be asked what its identifiers look like.
func (c *Client) toLocal(credentials *engine.Credentials) lookup {
	return func(ctx context.Context, k owner, id string, _ bool) ([]byte, bool, error) {
		local, ok := c.ids.Local(ctx, k.service, k.name, k.metaID(id))
		own := k.own(string(local))
		if !ok || own == id || own == "" {
			return nil, false, nil
		}
		if isInteger(own) {
			number, err := c.numbers(ctx, k.kindName, local, credentials)
			if err != nil {
				return nil, false, err
			}
			if number {
				return []byte(own), true, nil
			}
		}
		return quote(own), true, nil
	}
}

// Translates reports whether representations of the kind may hold something that differs between clients and this
// site's application. While it is false, everything can pass byte for byte.
func (c *Client) Translates(k *engine.Kind) bool {
	if len(k.Links) > 0 || k.Marker != "" || k.ID.At != "" && c.ids.Translated(k.Service, k.Name) {
		return true
	}
	return slices.ContainsFunc(k.Refs, func(r engine.Ref) bool { return r.At != "" && c.ids.Translated(r.Service, r.Kind) })
}

// Canonical returns the query and the body of a request on a kind with this site's own identifiers replaced by
// meta-identifiers, as operations carry them.
func (c *Client) Canonical(ctx context.Context, k *engine.Kind, within string, header http.Header, query string, body []byte) (string, []byte) {
	if !c.Translates(k) {
		return query, body
	}
	spots := c.spots(ctx, k, within)
	query, _ = replaceQuery(ctx, spots, query, c.toCanonical)
	if isJSON(header) {
		body, _ = translation{id: c.toCanonical, link: c.canonicalLink}.body(ctx, spots, mediaType(header), body)
	}
	return query, body
}

// Localize returns the query and the body of a request on a kind with meta-identifiers replaced by this site's own, as
// the application understands them. The header is that of a client: should the application have to be asked, then with what is in it.
func (c *Client) Localize(ctx context.Context, k *engine.Kind, within string, header http.Header, query string, body []byte) (string, []byte, error) {
	return c.localize(ctx, k, within, &engine.Credentials{Header: header}, header, query, body)
}

func (c *Client) localize(ctx context.Context, k *engine.Kind, within string, credentials *engine.Credentials, header http.Header,
	query string, body []byte) (string, []byte, error) {
	if !c.Translates(k) {
		return query, body, nil
	}
	find, spots := c.toLocal(credentials), c.spots(ctx, k, within)
	query, err := replaceQuery(ctx, spots, query, find)
	if err != nil || !isJSON(header) {
		return query, body, err
	}
	body, err = translation{id: find, link: c.localLink}.body(ctx, spots, mediaType(header), body)
	return query, body, err
}

// outward is the translation to what clients see.
func (c *Client) outward() translation {
	return translation{id: c.toMeta, link: c.presentLink, unmark: true}
}

// Present implements engine.Application.
func (c *Client) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	if r.Status < 200 || r.Status > 299 {
		return r, nil
	}
	body := r.Body
	if isJSON(r.Header) && c.Translates(k) {
		var err error
		if body, err = c.outward().body(ctx, c.spots(ctx, k, r.Within), "", r.Body); err != nil {
			return r, err
		}
	}
	location, relocated := c.PresentLocation(ctx, k.Service, r.Header.Get("Location"))
	if relocated || len(body) != len(r.Body) || (len(body) > 0 && &body[0] != &r.Body[0]) {
		r.Header = r.Header.Clone()
		if relocated {
			r.Header.Set("Location", location)
		}
		if len(body) == 0 || &body[0] != &r.Body[0] {
			dropDigests(r.Header)
		}
		r.Body = body
	}
	return r, nil
}

// PresentLocation returns a Location as clients are to see it: without the address of the application behind this
// agent, and with the meta-identifier of a replicated resource. False: it stays as it is.
func (c *Client) PresentLocation(ctx context.Context, service engine.ServiceName, location string) (string, bool) {
	up := c.upstreams[service]
	if location == "" || up == nil {
		return location, false
	}
	u, err := url.Parse(location)
	if err != nil || u.Opaque != "" {
		return location, false
	}
	changed := false
	if u.Host != "" && strings.EqualFold(u.Host, up.URL.Host) {
		u.Scheme, u.Host, u.User, changed = "", "", nil, true
	}
	base := strings.TrimSuffix(up.URL.EscapedPath(), "/")
	path, inside := strings.CutPrefix(u.EscapedPath(), base)
	if inside && base != "" && strings.HasPrefix(path, "/") {
		changed = true
	} else {
		path = u.EscapedPath()
	}
	if m, ok := c.Router(service).Match(http.MethodGet, path, nil); ok && m.Target != "" && m.Canonical {
		all := m.Target
		if meta, ok := c.ids.Meta(ctx, service, m.Kind.Name, engine.LocalID(m.Target)); ok {
			all = string(meta)
		} else if m.Within != "" {
			within, _ := c.container(ctx, m.Kind, m.Within)
			_, own := m.Kind.Split(m.Target)
			all = engine.Inside(within, own)
		}
		if p, ok := ExpandPath(m.Path, all); ok && all != m.Target {
			path, changed = p, true
		}
	}
	if !changed {
		return location, false
	}
	out := path
	if u.Host != "" {
		out = u.Scheme + "://" + u.Host + path
		if u.Scheme == "" {
			out = "//" + u.Host + path
		}
	}
	if u.RawQuery != "" || u.ForceQuery {
		out += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		out += "#" + u.EscapedFragment()
	}
	return out, true
}

// Digests are the headers of an answer, in lower case, that describe the bytes of its body.
var Digests = []string{"content-length", "content-md5", "digest", "content-digest", "repr-digest", "accept-ranges"}

// dropDigests removes what describes the bytes that were changed.
func dropDigests(h http.Header) {
	for _, name := range Digests {
		h.Del(name)
	}
}
