package glue

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/skerry/skerry/engine"
)

// lookup finds what an identifier of a kind is to be replaced by. Raw is the JSON value that takes its place; false
// leaves the identifier as it is.
type lookup func(ctx context.Context, k kindName, id string, number bool) (raw []byte, ok bool, err error)

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
	kind    engine.KindName
}

func nameOf(k *engine.Kind) kindName { return kindName{k.Service, k.Name} }

// spot is the place in a representation of an identifier, of a link or of a marker.
type spot struct {
	tokens []string
	kind   kindName           // of the identifier, or of the representation that has the link
	link   engine.ServiceName // whose resources a link is to; empty: it is none
	marker bool
}

// identifierSpots lists where representations of a kind hold identifiers: its own and those of its references.
func identifierSpots(k *engine.Kind) []spot {
	var spots []spot
	if k.ID.At != "" {
		spots = append(spots, spot{tokens: k.ID.At.Tokens(), kind: nameOf(k)})
	}
	for _, r := range k.Refs {
		if r.At != "" {
			spots = append(spots, spot{tokens: r.At.Tokens(), kind: kindName{r.Service, r.Kind}})
		}
	}
	return spots
}

// spotsOf lists everything in representations of a kind that is not the same for clients and for the application.
func spotsOf(k *engine.Kind) []spot {
	spots := identifierSpots(k)
	for _, l := range k.Links {
		spots = append(spots, spot{tokens: l.At.Tokens(), kind: nameOf(k), link: l.Service})
	}
	if k.Marker != "" {
		spots = append(spots, spot{tokens: k.Marker.Tokens(), marker: true})
	}
	return spots
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
		trimmed := engine.TrimMarker(unquote(raw))
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
func (t translation) body(ctx context.Context, k *engine.Kind, media string, body []byte) ([]byte, error) {
	if len(body) == 0 || !json.Valid(body) {
		return body, nil
	}
	spots, start := spotsOf(k), skipSpace(body, 0)
	if media == "application/json-patch+json" {
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
func replaceQuery(ctx context.Context, k *engine.Kind, query string, find lookup) (string, error) {
	if query == "" {
		return query, nil
	}
	names := map[string]kindName{}
	for _, s := range identifierSpots(k) {
		names[strings.Join(s.tokens, ".")] = s.kind
	}
	for _, s := range identifierSpots(k) {
		if last := s.tokens[len(s.tokens)-1]; names[last] == (kindName{}) {
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
func (c *Client) toMeta(ctx context.Context, k kindName, id string, number bool) ([]byte, bool, error) {
	if number {
		c.learn(k, true)
	}
	meta, ok := c.ids.Meta(ctx, k.service, k.kind, engine.LocalID(id))
	if !ok || string(meta) == id {
		return nil, false, nil
	}
	return quote(string(meta)), true, nil
}

// toCanonical is the lookup for what comes from clients: this site's own identifiers become meta-identifiers, so that
// another site understands them. A meta-identifier stays, even where it looks like one of this site's own.
func (c *Client) toCanonical(ctx context.Context, k kindName, id string, _ bool) ([]byte, bool, error) {
	if local, ok := c.ids.Local(ctx, k.service, k.kind, engine.ResourceID(id)); ok && string(local) != id {
		return nil, false, nil
	}
	meta, ok := c.ids.Meta(ctx, k.service, k.kind, engine.LocalID(id))
	if !ok || string(meta) == id {
		return nil, false, nil
	}
	return quote(string(meta)), true, nil
}

// toLocal returns the lookup from meta-identifiers to this site's identifiers, for what the application sees.
// Credentials are those of the request, in case the application has to be asked what its identifiers look like.
func (c *Client) toLocal(credentials http.Header) lookup {
	return func(ctx context.Context, k kindName, id string, _ bool) ([]byte, bool, error) {
		local, ok := c.ids.Local(ctx, k.service, k.kind, engine.ResourceID(id))
		if !ok || string(local) == id || local == "" {
			return nil, false, nil
		}
		if isInteger(string(local)) {
			number, err := c.numbers(ctx, k, local, credentials)
			if err != nil {
				return nil, false, err
			}
			if number {
				return []byte(local), true, nil
			}
		}
		return quote(string(local)), true, nil
	}
}

// Translates reports whether representations of the kind may hold something that differs between clients and this
// site's application. While it is false, everything can pass byte for byte.
func (c *Client) Translates(k *engine.Kind) bool {
	if len(k.Links) > 0 || k.Marker != "" {
		return true
	}
	for _, s := range identifierSpots(k) {
		if c.ids.Translated(s.kind.service, s.kind.kind) {
			return true
		}
	}
	return false
}

// Canonical returns the query and the body of a request on a kind with this site's own identifiers replaced by
// meta-identifiers, as operations carry them.
func (c *Client) Canonical(ctx context.Context, k *engine.Kind, header http.Header, query string, body []byte) (string, []byte) {
	if !c.Translates(k) {
		return query, body
	}
	query, _ = replaceQuery(ctx, k, query, c.toCanonical)
	if isJSON(header) {
		body, _ = translation{id: c.toCanonical, link: c.canonicalLink}.body(ctx, k, mediaType(header), body)
	}
	return query, body
}

// Localize returns the query and the body of a request on a kind with meta-identifiers replaced by this site's own, as
// the application understands them.
func (c *Client) Localize(ctx context.Context, k *engine.Kind, header http.Header, query string, body []byte) (string, []byte, error) {
	if !c.Translates(k) {
		return query, body, nil
	}
	find := c.toLocal(header)
	query, err := replaceQuery(ctx, k, query, find)
	if err != nil || !isJSON(header) {
		return query, body, err
	}
	body, err = translation{id: find, link: c.localLink}.body(ctx, k, mediaType(header), body)
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
		if body, err = c.outward().body(ctx, k, "", r.Body); err != nil {
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
	if m, ok := c.routers[service].Match(http.MethodGet, path, nil); ok && m.Target != "" && m.Canonical {
		if meta, ok := c.ids.Meta(ctx, service, m.Kind.Name, engine.LocalID(m.Target)); ok && string(meta) != m.Target {
			if p, ok := ExpandPath(m.Path, string(meta)); ok {
				path, changed = p, true
			}
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

// dropDigests removes what describes the bytes that were changed.
func dropDigests(h http.Header) {
	for _, name := range []string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Accept-Ranges"} {
		h.Del(name)
	}
}
