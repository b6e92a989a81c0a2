package glue

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Verb says what a request wants of a kind, as far as its way through the agent depends on it.
type Verb string

const (
	VerbList   Verb = "list"   // a safe method on the collection, or on another path that lists it
	VerbRead   Verb = "read"   // a safe method on an item or below it
	VerbCreate Verb = "create" // POST on the collection
	VerbChange Verb = "change" // anything else on an item or below it
	VerbOther  Verb = "other"  // anything else on one of these
)

// Match is what a request is about.
type Match struct {
	Kind *engine.Kind
	Verb Verb
	// Type is empty for lists, reads and VerbOther. A PUT of an item is TypeReplace or TypeAbsolute: whether it creates
	// one, only who knows the item can tell.
	Type engine.Type
	// Target is the identifier as the client wrote it, unescaped; empty on a collection. That of what lies inside a container
	// begins with the container's (engine.Inside).
	Target string
	// Within is the identifier of the container, empty for none.
	Within string
	// Path is the escaped path with {id} in the identifier's place and everything else as the client wrote it.
	Path string
	// Below says that the path goes on after the item.
	Below bool
	// Name is that of the operation that the catalog names, or empty.
	Name string
	// Canonical is false when the path matches only after dot segments, doubled slashes or escaped slashes were
	// resolved, or parameters after a semicolon left out. Servers differ in what they make of such a path, so nothing may be changed through it that the agent
	// keeps equal between sites.
	Canonical bool
	// Other is how a server would read the path that takes an escaped slash for a slash, or leaves out what follows a semicolon in a
	// segment, if that is another item. It may have a further one. It is nil nearly always.
	Other *Match
}

// Router finds out what the requests of one service are about. It is immutable.
type Router struct{ kinds []pattern }

type pattern struct {
	kind             *engine.Kind
	collection, item template
	lists            []template // as in kind.Lists
	operations       []template // as in kind.Operations
}

// NewRouter returns the router for the kinds of one service.
func NewRouter(kinds []*engine.Kind) *Router {
	r := &Router{}
	for _, k := range kinds {
		p := pattern{kind: k, collection: parseTemplate(k.Collection), item: parseTemplate(k.Item)}
		for _, path := range k.Lists {
			p.lists = append(p.lists, parseTemplate(path))
		}
		for _, o := range k.Operations {
			p.operations = append(p.operations, parseTemplate(o.Path))
		}
		r.kinds = append(r.kinds, p)
	}
	return r
}

// Match classifies a request by its method, its escaped path (without query) and its header. It returns false when
// the path belongs to no kind.
func (r *Router) Match(method, escaped string, header http.Header) (Match, bool) {
	if len(r.kinds) == 0 {
		return Match{}, false
	}
	asWritten, ok := splitPath(escaped, reading{})
	if !ok {
		return Match{}, false
	}
	m, found := r.find(method, asWritten, header)
	if !asWritten.escapedSlash && !asWritten.parameters {
		return m, found
	}
	for _, as := range [...]reading{{slashes: true, bare: true}, {bare: true}, {slashes: true}} {
		if as.slashes && !asWritten.escapedSlash || as.bare && !asWritten.parameters {
			continue
		}
		p, ok := splitPath(escaped, as)
		if !ok {
			continue
		}
		switch other, otherFound := r.find(method, p, header); {
		case !otherFound:
		case found:
			other.Other, m.Other = m.Other, &other
		default:
			m, found = other, true
		}
	}
	return m, found
}

// find returns the best match: an exact one before one below an item, then the template that is longer, then the one
// with a literal where the other has a parameter.
func (r *Router) find(method string, p splitted, header http.Header) (Match, bool) {
	var best *pattern
	var bestTemplate template
	bestPlace := nowhere
	for i := range r.kinds {
		k := &r.kinds[i]
		try := func(t template, w place) {
			if better(w, t, bestPlace, bestTemplate) {
				best, bestTemplate, bestPlace = k, t, w
			}
		}
		if k.collection.matches(p, false) {
			try(k.collection, onCollection)
		}
		for _, t := range k.lists {
			if t.matches(p, false) {
				try(t, onList)
			}
		}
		if k.item.matches(p, false) {
			try(k.item, onItem)
		} else if k.item.matches(p, true) {
			try(k.item, belowItem)
		}
	}
	if best == nil {
		return Match{}, false
	}
	m := Match{Kind: best.kind, Canonical: p.canonical, Below: bestPlace == belowItem}
	m.Verb, m.Type = classify(method, bestPlace, header)
	if method == http.MethodPatch && bestPlace == onItem && plainBody(header) && best.kind.MergeType != "" && mediaType(header) == best.kind.MergeType {
		m.Type = engine.TypeMerge
	}
	if m.Type == engine.TypeReplace && best.kind.MergeMethod == http.MethodPut {
		m.Type = engine.TypeMerge
	}
	if method == http.MethodPatch && bestPlace == onItem && plainBody(header) && best.kind.ObservesPatch(header.Get("Content-Type")) {
		m.Type = engine.TypePatch
	}
	if m.Type == engine.TypePatch && best.kind.Envelope != "" { // its paths are of what is sent
		m.Type = engine.TypeAction
	}
	var path strings.Builder
	path.Grow(len(p.raw) * 12)
	for i, raw := range p.raw {
		path.WriteByte('/')
		if i < len(bestTemplate) && bestTemplate[i].param {
			path.WriteString("{" + bestTemplate[i].literal + "}")
			switch {
			case !bestTemplate[i].id:
				m.Within = strings.TrimPrefix(engine.Inside(m.Within, p.plain[i]), "/")
			case m.Within != "":
				m.Target = engine.Inside(m.Within, p.plain[i])
			default:
				m.Target = p.plain[i]
			}
			continue
		}
		path.WriteString(safeSegment(raw))
	}
	if p.slash {
		path.WriteByte('/')
	}
	m.Path = path.String()
	if bestPlace == onItem || m.Below {
		for i, o := range best.operations {
			if n := &best.kind.Operations[i]; n.Method == method && n.BodyAt == "" && o.matches(p, false) {
				m.Name = best.kind.Operations[i].Name
				break
			}
		}
	}
	if m.Below && best.kind.OnlyNamed && m.Name == "" && !Safe(method) {
		return Match{}, false
	}
	return m, true
}

type place int

const (
	nowhere place = iota
	belowItem
	onItem
	onCollection
	onList
)

func better(w place, t template, than place, other template) bool {
	if than == nowhere {
		return true
	}
	if exact, otherExact := w != belowItem, than != belowItem; exact != otherExact {
		return exact
	}
	if len(t) != len(other) {
		return len(t) > len(other)
	}
	for i := range t {
		if t[i].param != other[i].param {
			return other[i].param
		}
	}
	return false
}

// classify is the table of types of ARCHITECTURE.md, "From merged operations to what happens here".
func classify(method string, w place, header http.Header) (Verb, engine.Type) {
	if Safe(method) {
		if w == onCollection || w == onList {
			return VerbList, ""
		}
		return VerbRead, ""
	}
	switch {
	case w == onCollection && method == http.MethodPost:
		return VerbCreate, engine.TypeCreate
	case w == onCollection || w == onList:
		return VerbOther, ""
	case method == http.MethodPut && w == onItem && isJSON(header):
		return VerbChange, engine.TypeReplace
	case method == http.MethodPut:
		return VerbChange, engine.TypeAbsolute
	case method == http.MethodDelete && w == onItem:
		return VerbChange, engine.TypeDelete
	case method == http.MethodPatch && w == onItem && plainBody(header):
		switch mediaType(header) {
		case "application/merge-patch+json", "application/json":
			return VerbChange, engine.TypeMerge
		default:
			if IsJSONPatch(mediaType(header)) {
				return VerbChange, engine.TypePatch
			}
		}
	}
	return VerbChange, engine.TypeAction
}

// Looked reports whether the body of the request is one that is looked into: a representation or a patch in JSON.
func (m *Match) Looked(header http.Header) bool {
	switch m.Type {
	case engine.TypeReplace, engine.TypeMerge, engine.TypePatch:
		return true
	case engine.TypeCreate:
		return isJSON(header)
	}
	return false
}

// Safe reports whether a method changes nothing (RFC 9110, section 9.2.1; RFC 4918, RFC 5323 and the QUERY method).
func Safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "PROPFIND", "REPORT", "SEARCH", "QUERY":
		return true
	}
	return false
}

// IsJSONPatch reports whether a media type is that of a JSON Patch (RFC 6902), or one of those that services made up for it, such as
// application/openstack-images-v2.1-json-patch.
func IsJSONPatch(media string) bool {
	return media == "application/json-patch+json" || strings.HasSuffix(media, "-json-patch") || strings.HasSuffix(media, "-json-patch+json")
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// isJSON reports whether the header says that the body is JSON that can be read as it is.
func isJSON(h http.Header) bool {
	t := mediaType(h)
	return (t == "application/json" || strings.HasSuffix(t, "+json") || IsJSONPatch(t)) && plainBody(h)
}

// plainBody reports whether the body is not compressed or otherwise encoded.
func plainBody(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e == "" || strings.EqualFold(e, "identity")
}

// segment is one of a template; of a parameter literal is the name.
type segment struct {
	literal   string
	param, id bool
}

type template []segment

func parseTemplate(s string) template {
	if s == "" {
		return nil
	}
	var t template
	for part := range strings.SplitSeq(strings.Trim(s, "/"), "/") {
		switch {
		case part == "{id}":
			t = append(t, segment{param: true, id: true, literal: "id"})
		case strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}"):
			t = append(t, segment{param: true, literal: part[1 : len(part)-1]})
		default:
			if plain, err := url.PathUnescape(part); err == nil {
				part = plain
			}
			t = append(t, segment{literal: part})
		}
	}
	return t
}

// matches compares with the whole path, or with its beginning when below is set.
func (t template) matches(p splitted, below bool) bool {
	if len(t) == 0 || len(p.plain) < len(t) || (len(p.plain) > len(t)) != below {
		return false
	}
	for i, s := range t {
		if !s.param && s.literal != p.plain[i] {
			return false
		}
	}
	return true
}

// splitted is a path in segments, without dot segments and empty ones.
type splitted struct {
	raw, plain   []string
	slash        bool // it ends with a slash
	canonical    bool // there was nothing to resolve
	escapedSlash bool
	parameters   bool // a segment has a semicolon
}

// reading is what a server may make of a path: slashes takes escaped ones for slashes, bare leaves out what follows a semicolon.
type reading struct{ slashes, bare bool }

// splitPath splits an escaped path. False: the path is no origin-form or is escaped wrongly.
func splitPath(escaped string, as reading) (splitted, bool) {
	if !strings.HasPrefix(escaped, "/") {
		return splitted{}, false
	}
	p := splitted{canonical: as == reading{}}
	rest := escaped[1:]
	if as.slashes {
		// Only slashes: the segments themselves are decoded once, below.
		rest = strings.NewReplacer("%2F", "/", "%2f", "/").Replace(rest)
	}
	n := strings.Count(rest, "/") + 1
	both := make([]string, 2*n)
	p.raw, p.plain = both[:0:n], both[n:n]
	for {
		raw, tail, more := strings.Cut(rest, "/")
		if at := semicolon(raw); at >= 0 {
			if p.parameters = true; as.bare {
				raw = raw[:at]
			}
		}
		plain := raw
		if strings.IndexByte(raw, '%') >= 0 {
			var err error
			if plain, err = url.PathUnescape(raw); err != nil {
				return splitted{}, false
			}
			if strings.IndexByte(plain, '/') >= 0 {
				p.escapedSlash = true
			}
		}
		p.slash = false
		switch plain {
		case "":
			p.slash = !more
			p.canonical = p.canonical && !more
		case ".":
			p.slash, p.canonical = !more, false
		case "..":
			p.slash, p.canonical = !more, false
			if n := len(p.raw); n > 0 {
				p.raw, p.plain = p.raw[:n-1], p.plain[:n-1]
			}
		default:
			p.raw, p.plain = append(p.raw, raw), append(p.plain, plain)
		}
		if !more {
			break
		}
		rest = tail
	}
	if len(p.raw) == 0 {
		p.slash = false
	}
	return p, true
}

// semicolon finds the first one in a segment, escaped or not; -1 for none.
func semicolon(raw string) int {
	for i := range len(raw) {
		if raw[i] == ';' || raw[i] == '%' && i+2 < len(raw) && raw[i+1] == '3' && (raw[i+2] == 'B' || raw[i+2] == 'b') {
			return i
		}
	}
	return -1
}

// safeSegment escapes what may not stand in a path, braces above all, so that {id} in Match.Path is never a
// client's own.
func safeSegment(raw string) string {
	const hex = "0123456789ABCDEF"
	clean := true
	for i := range len(raw) {
		clean = clean && safeByte(raw[i])
	}
	if clean {
		return raw
	}
	var b strings.Builder
	for i := range len(raw) {
		if c := raw[i]; safeByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func safeByte(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte("\"<>\\^`{|}?#", c) < 0
}

// ExpandPath puts an identifier into a path with {id}, and those of the containers that it begins with before it. It returns
// false for an identifier that no path can carry: an empty one and the dot segments, which servers resolve.
func ExpandPath(path, id string) (string, bool) {
	good := true
	filled, ok := engine.FillPath(path, id, func(part string) string {
		good = good && part != "" && part != "." && part != ".."
		return url.PathEscape(part)
	})
	if !ok || !good {
		return "", false
	}
	return filled, true
}
