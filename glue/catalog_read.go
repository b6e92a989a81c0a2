package glue

import (
	"regexp"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

// catalogName is what the scope language takes for a service: every name of a catalog can stand in a scope.
var catalogName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// catalogReader builds a catalog. Problems go to the document that is read; what it builds counts only without any.
type catalogReader struct {
	catalog *Catalog
	// refs are checked when all kinds are known.
	refs []pendingRef
	// links likewise.
	links []pendingLink
	// inside are the kinds whose paths have the names of others in them.
	inside []pendingContainer
	// claimed has the kind of each collection and item of the service that is being read.
	claimed map[string]engine.KindName
}

// pendingContainer is a kind whose paths name those of its containers.
type pendingContainer struct {
	kind             *engine.Kind
	collection, item strictyaml.Value
}

// pendingRef is the "to" of a reference whose kind may stand further down in the file.
type pendingRef struct {
	from *engine.Kind
	ref  int
	to   strictyaml.Value
}

// pendingLink is the "to" of a link whose service may stand further down in the file.
type pendingLink struct {
	from *engine.Kind
	link int
	to   strictyaml.Value
}

func (r *catalogReader) read(v strictyaml.Value) {
	m := v.Mapping("catalog")
	r.catalog.Application = readName(m.Required("application"))
	services := m.Required("services").Mapping("list of services")
	if services.Empty() {
		m.Key("services").Problem("the application has no service")
	}
	for _, e := range services.Entries() {
		checkName(e.Key, e.At)
		s := r.service(engine.ServiceName(e.Key), e.Value)
		r.catalog.Services[s.Name] = s
	}
	m.Done()
	r.resolveRefs()
	r.resolveLinks()
	r.resolveContainers()
}

func (r *catalogReader) service(n engine.ServiceName, v strictyaml.Value) *Service {
	s := &Service{Name: n, Glue: "http", Rules: map[engine.KindName]*Rules{}}
	m := v.Mapping("service")
	if g := m.Optional("glue"); g.Present() {
		s.Glue = g.Choice("http", GlueKubernetes, GlueOpenStack)
	}
	if kinds := m.Key("kinds"); s.Glue == GlueKubernetes && kinds.Present() {
		kinds.Problem("the agent asks the cluster itself for its kinds")
	}
	honours := false
	if k := m.Optional("idempotency_key"); k.Present() {
		honours = k.Choice("honoured") != ""
	}
	for _, v := range m.Optional("paths").Sequence() {
		if s.Paths = append(s.Paths, v.Text()); !strings.HasPrefix(v.Text(), "/") || strings.ContainsAny(strings.TrimSuffix(v.Text(), "*"), "*?#") {
			v.Problem("%q is no path: it begins with /, and may end in * for all that begin so", v.Text())
		}
	}
	for _, v := range m.Optional("headers").Sequence() {
		if s.Headers = append(s.Headers, v.Text()); !headerName.MatchString(v.Text()) {
			v.Problem("%q is no name of a header; it may end in * for all that begin so", v.Text())
		}
	}
	r.claimed = map[string]engine.KindName{}
	kinds := m.Optional("kinds").Mapping("list of kinds")
	for _, e := range kinds.Entries() {
		checkName(e.Key, e.At)
		k := &engine.Kind{Service: n, Name: engine.KindName(e.Key), HonoursKey: honours, Headers: s.Headers}
		s.Rules[k.Name] = r.kind(k, e)
		s.Kinds = append(s.Kinds, k)
	}
	m.Done()
	return s
}

// resolveRefs finds the kinds that references name. Names may have dots, so "a.b.c" is looked up as both a and b.c, a.b
// and c.
func (r *catalogReader) resolveRefs() {
	var known []string
	kinds := map[string][]*engine.Kind{}
	for _, s := range r.catalog.Services {
		for _, k := range s.Kinds {
			full := string(k.Service) + "." + string(k.Name)
			known = append(known, full)
			kinds[full] = append(kinds[full], k)
		}
	}
	slices.Sort(known)
	for _, p := range r.refs {
		to := p.to.Text()
		if to == "" {
			continue
		}
		switch found := kinds[to]; len(found) {
		case 0:
			p.to.Problem("there is no kind %q, expected SERVICE.KIND%s", to, strictyaml.DidYouMean(to, known))
		case 1:
			p.from.Refs[p.ref].Service, p.from.Refs[p.ref].Kind = found[0].Service, found[0].Name
		default:
			p.to.Problem("%q names more than one kind; rename one of them", to)
		}
	}
}

// resolveLinks finds the services that links name.
func (r *catalogReader) resolveLinks() {
	var known []string
	for name := range r.catalog.Services {
		known = append(known, string(name))
	}
	slices.Sort(known)
	for _, p := range r.links {
		to := p.to.Text()
		if to != "" && !slices.Contains(known, to) {
			p.to.Problem("there is no service %q%s", to, strictyaml.DidYouMean(to, known))
		}
		p.from.Links[p.link].Service = engine.ServiceName(to)
	}
}

// resolveContainers finds the kinds that paths name in braces: each names the container of the one after it.
func (r *catalogReader) resolveContainers() {
	for _, p := range r.inside {
		names := parameters(p.kind.Item)
		if !slices.Equal(names, parameters(p.kind.Collection)) {
			p.item.Problem("the path %q names other containers than the collection %q", p.kind.Item, p.kind.Collection)
			continue
		}
		container := r.catalog.Kind(p.kind.Service, engine.KindName(names[len(names)-1]))
		switch {
		case container == nil:
			p.collection.Problem("the path %q has the parameter {%s}, and the service has no kind of that name", p.kind.Collection, names[len(names)-1])
		case !slices.Equal(names[:len(names)-1], parameters(container.Item)):
			p.collection.Problem("the path %q names other containers before {%s} than %q, where that kind is", p.kind.Collection, container.Name, container.Item)
		default:
			p.kind.Within, container.Contains = container.Name, true
		}
	}
}

// parameters lists the names in braces of a path, {id} apart.
func parameters(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(segment, "{") && segment != "{id}" {
			names = append(names, strings.Trim(segment, "{}"))
		}
	}
	return names
}

// headerName is a name of a header (RFC 9110, 5.1), or the beginning of some.
var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'+.^_|~-]+\*?$`)

func readName(v strictyaml.Value) string {
	s := v.Text()
	if s != "" {
		checkName(s, v)
	}
	return s
}

func checkName(s string, at strictyaml.Value) {
	if !catalogName.MatchString(s) {
		at.Problem("%q is no name: at most 63 letters, digits, \"_\", \"-\" and \".\", a letter or digit first", s)
	}
}

// readPointer returns a JSON Pointer to something inside a representation.
func readPointer(v strictyaml.Value) engine.Pointer {
	s := v.Text()
	if s == "" {
		return ""
	}
	p, err := engine.ParsePointer(s)
	if err != nil {
		v.Problem("%v", err)
	}
	return p
}

// readFields returns pointers to fields of a kind, in which * stands for every element of a keyed array.
func readFields(k *engine.Kind, v strictyaml.Value) []engine.Pointer {
	var list []engine.Pointer
	seen := map[engine.Pointer]bool{}
	for _, e := range v.Sequence() {
		if p, ok := readField(k, e, seen); ok {
			list = append(list, p)
		}
	}
	return list
}

// readField returns a pointer to one that is not among those seen, to which it is added.
func readField(k *engine.Kind, v strictyaml.Value, seen map[engine.Pointer]bool) (p engine.Pointer, ok bool) {
	if p = readPointer(v); p != "" && seen[p] {
		v.Problem("%q is listed twice", p)
		return p, false
	}
	if array, inside := lastArray(p); inside && !isKeyed(k, array) {
		v.Problem("* stands for the elements of an array that \"keys\" names, and %q is none", array)
	}
	seen[p] = true
	return p, true
}

// readIgnore reads which fields differ between replicas by nature, in all objects or in some, and why.
func readIgnore(k *engine.Kind, v strictyaml.Value) {
	seen := map[engine.Pointer]bool{}
	for _, e := range v.Sequence() {
		if !e.IsMapping() {
			if p, ok := readField(k, e, seen); ok {
				k.Ignore = append(k.Ignore, p)
			}
			continue
		}
		m := e.Mapping("ignored field")
		p, ok := readField(k, m.Required("at"), seen)
		if why := m.Optional("why"); why.Present() {
			if k.Reasons == nil {
				k.Reasons = map[engine.Pointer]string{}
			}
			k.Reasons[p] = why.Text()
		}
		if when := m.Optional("when"); when.Present() {
			w := when.Mapping("\"when\"")
			k.IgnoreIn = append(k.IgnoreIn, engine.IgnoredIn{At: p, In: readPointer(w.Required("at")), Equals: w.Required("equals").Text()})
			w.Done()
		} else if ok {
			k.Ignore = append(k.Ignore, p)
		}
		m.Done()
	}
}

// readPath returns a path template: plain segments, and {id} as often as ids says.
func readPath(v strictyaml.Value, s string, ids int) string {
	if s == "" {
		return ""
	}
	if s[0] != '/' || s == "/" {
		v.Problem("the path %q does not begin with a slash and a segment", s)
		return s
	}
	found := 0
	for segment := range strings.SplitSeq(s[1:], "/") {
		switch {
		case segment == "{id}":
			found++
		case segment == "":
			v.Problem("the path %q has an empty segment", s)
			return s
		case segment == "." || segment == "..":
			v.Problem("the path %q has the segment %q", s, segment)
			return s
		case strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}"):
			if found > 0 {
				v.Problem("the path %q has the parameter %s after {id}: containers come first", s, segment)
			}
		case strings.ContainsAny(segment, "{}"):
			v.Problem("the path %q has a brace inside a segment: {id} stands for a whole one", s)
			return s
		case !catalogSegment.MatchString(segment):
			v.Problem("the path %q has a character in %q that a path must escape; it is compared unescaped and "+
				"cannot stand here", s, segment)
			return s
		}
	}
	switch {
	case found == ids:
	case ids == 0:
		v.Problem("the path %q has {id}: a collection has none", s)
	default:
		v.Problem("the path %q has {id} %d times, expected once", s, found)
	}
	return s
}

// catalogSegment is what RFC 3986, section 3.3, allows in a segment without escapes.
var catalogSegment = regexp.MustCompile(`^[A-Za-z0-9._~!$&'()*+,;=:@-]+$`)

// pathBelow reports whether path is below prefix, by whole segments.
func pathBelow(prefix, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
}
