package draft

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is one that was found.
type kind struct {
	name             string
	collection, item string
	from, at         string // of the identifier; at is empty when it was not found
	settable         bool   // the body of a create has the identifier
	list             string // where the answer to a list has its array; empty: its only one
	page             string // the parameter of a list that takes a page's number
	ignore           []string
	sensitive        []string
	links            []string // members that hold addresses
	refs             []ref    // guessed from names
	actions          []string // POST below the item
}

type ref struct{ at, to string }

// found is what a document has.
type found struct {
	kinds   []*kind
	skipped []string // items that are none, with the reason
}

var (
	parameter = regexp.MustCompile(`^\{[^{}]+\}$`)
	plain     = regexp.MustCompile(`^[A-Za-z0-9._~!$&'()*+,;=:@-]+$`)
	unnamed   = regexp.MustCompile(`[^a-z0-9_.-]+`)
	dashes    = regexp.MustCompile(`-{2,}`)
	version   = regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]+)?$`)
)

// find looks for kinds: an item is a path that ends in a parameter, its collection the path before it.
func (d *document) find() found {
	paths := maps.Clone(d.root["paths"].(map[string]any))
	byShape := map[string]string{} // path with all parameters alike, to the path as it is written
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if twin, there := byShape[shape(p)]; there {
			// One path under two names of its parameters: what can be done there is told in parts. The one that reads names it.
			if at(paths[twin], "get") != nil {
				p, twin = twin, p
			}
			both, ok := paths[twin].(map[string]any)
			own, also := paths[p].(map[string]any)
			if ok && also {
				both = maps.Clone(both)
				maps.Copy(both, own)
				paths[p] = both
			}
		}
		byShape[shape(p)] = p
	}
	var items []string
	for s := range byShape {
		if strings.HasSuffix(s, "/{}") {
			items = append(items, s)
		}
	}
	slices.SortFunc(items, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	f, byItem, names := found{}, map[string]*kind{}, map[string]bool{}
	for _, s := range items {
		collection := byShape[strings.TrimSuffix(s, "/{}")]
		k, why := d.kind(s, byShape[s], paths[collection], byItem, paths)
		if why != "" {
			f.skipped = append(f.skipped, d.prefix+byShape[s]+": "+why)
			continue
		}
		k.name = nameOf(s, names)
		names[k.name] = true
		byItem[s] = k
		d.actions(k, s, byShape, paths)
		f.kinds = append(f.kinds, k)
	}
	for _, k := range f.kinds {
		for i, r := range k.refs {
			if !names[r.to] {
				k.refs[i].to = ""
			}
		}
		k.refs = slices.DeleteFunc(k.refs, func(r ref) bool { return r.to == "" })
	}
	return f
}

// shape is a path whose parameters have no names, so that two that name them otherwise are one.
func shape(p string) string {
	segments := strings.Split(strings.TrimSuffix(p, "/"), "/")
	for i, s := range segments {
		if parameter.MatchString(s) {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// canStand reports whether a segment can stand in the paths of a catalog.
func canStand(segment string) bool {
	return plain.MatchString(segment) && segment != "." && segment != ".."
}

// kind reads one pair of paths, or says why it is no kind. Path is the item's as it is written, s its shape.
func (d *document) kind(s, path string, collection any, containers map[string]*kind, paths map[string]any) (*kind, string) {
	item := paths[path]
	create, list := at(collection, "post"), at(collection, "get")
	read, put := at(item, "get"), at(item, "put")
	switch {
	case read == nil:
		return nil, "an item has no GET, which the agent needs"
	case create == nil && at(paths[parent(path)+"/create"], "post") != nil:
		return nil, "it is created by POST " + d.prefix + parent(path) + "/create, and not on its collection"
	case create == nil && put == nil:
		return nil, "nothing creates it"
	case create == nil && at(put, "responses", "404") != nil && at(put, "responses", "201") == nil:
		return nil, "nothing creates it: a PUT changes what is there"
	}
	if d.prefix != "" {
		for segment := range strings.SplitSeq(strings.TrimPrefix(d.prefix, "/"), "/") {
			if !canStand(segment) {
				return nil, "the segment " + segment + " of the base path is more than a name"
			}
		}
	}
	segments := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i, segment := range segments[:len(segments)-1] {
		if segment != "{}" {
			if !canStand(segment) {
				return nil, "the segment " + segment + " is more than a name"
			}
			continue
		}
		container := containerOf(segments[:i+1], containers)
		if container == nil {
			return nil, "it lies inside something that is no kind itself"
		}
		segments[i] = "{" + container.name + "}"
	}
	segments[len(segments)-1] = "{id}"
	k := &kind{item: d.prefix + "/" + strings.Join(segments, "/")}
	k.collection = strings.TrimSuffix(k.item, "/{id}")
	if len(segments) == 1 {
		return nil, "it has no collection"
	}
	schema := d.answer(read)
	if schema == nil {
		schema = d.answer(create)
	}
	if t := typ(schema); t != "" && t != "object" {
		return nil, "a GET does not show an object but a value of type " + t
	}
	d.identify(k, path, create, schema)
	d.fields(k, schema)
	d.lists(k, list)
	return k, ""
}

// containerOf finds the kind whose item a path is, the containers before it being named already. Where the path is no item itself,
// it is that of a group of paths which repeats the container's: the one kind whose item ends alike, such as /api/v1/namespaces/{} for
// /apis/apps/v1/namespaces/{}.
func containerOf(path []string, containers map[string]*kind) *kind {
	item := shape("/" + strings.Join(path, "/"))
	if k := containers[item]; k != nil || len(path) < 2 {
		return k
	}
	end := "/" + path[len(path)-2] + "/{}"
	var one *kind
	for other, k := range containers {
		if !strings.HasSuffix(other, end) || !slices.Equal(within(k.item), within("/"+strings.Join(path, "/"))) {
			continue
		}
		if one != nil {
			return nil // which one, nobody can tell
		}
		one = k
	}
	return one
}

// within lists the containers that a path of an item names, before the item itself.
func within(item string) []string {
	var names []string
	for _, s := range strings.Split(item, "/") {
		if parameter.MatchString(s) {
			names = append(names, s)
		}
	}
	return names[:max(0, len(names)-1)]
}

// ids are the names that members of identifiers have, the usual ones first.
var ids = []string{"/id", "/uuid", "/uid", "/metadata/name", "/guid", "/ID", "/Id", "/name", "/key", "/slug"}

// plainly is a name without what people write it with.
func plainly(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// besides are members of an answer that stand beside what it shows.
var besides = []string{"links", "_links", "meta"}

// identify finds where the identifier stands: first under the name that the path gives it.
func (d *document) identify(k *kind, path string, create any, schema map[string]any) {
	if create == nil {
		k.from = "path"
		return
	}
	k.from = "body"
	if answer := d.answer(create); answer != nil && len(d.properties(answer)) > 0 {
		schema = answer
	}
	members := d.pointers(schema, "", 2)
	sent := d.pointers(d.body(create), "", 2)
	last := path[strings.LastIndexByte(path, '/')+1:]
	one := plainly(singular(strings.ToLower(parent(path)[strings.LastIndexByte(parent(path), '/')+1:])))
	shown := d.properties(schema)
	for _, b := range besides {
		delete(shown, b)
	}
	named := func(want string) bool {
		for _, p := range slices.Sorted(maps.Keys(members)) {
			if strings.Count(p, "/") == 1 && plainly(p[1:]) == want && typ(members[p]) != "object" && typ(members[p]) != "array" {
				k.at = p
				m, there := sent[p]
				k.settable = there && m["readOnly"] != true
				return true
			}
		}
		return false
	}
	if named(plainly(strings.Trim(last, "{}"))) {
		return
	}
	defer func() {
		if k.at == "" {
			named(one + "id")
		}
	}()
	for _, id := range ids {
		for _, p := range slices.Sorted(maps.Keys(members)) {
			wrapped := len(shown) == 1 && strings.Count(p, "/") == 2 && (id == "/id" || id == "/uuid") && strings.HasSuffix(p, id)
			if p == id || wrapped {
				k.at = p
				m, there := sent[p]
				k.settable = there && m["readOnly"] != true
				return
			}
		}
	}
}

// pointers are the members of a schema by their place.
func (d *document) pointers(schema map[string]any, under string, depth int) map[string]map[string]any {
	all := map[string]map[string]any{}
	if depth == 0 {
		return all
	}
	for name, p := range d.properties(schema) {
		place := under + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		all[place] = p
		if typ(p) == "object" {
			maps.Copy(all, d.pointers(p, place, depth-1))
		}
	}
	return all
}

var (
	changing  = regexp.MustCompile(`(?i)(updated|modified|changed|last_?seen|accessed)(_?(at|on|time|date|timestamp))?$|^resource_?version$|^etag$|^generation$`)
	secret    = regexp.MustCompile(`(?i)(password|passwd|secret|private_?key|api_?key|access_?token)$`)
	reference = regexp.MustCompile(`^(.+?)(_id|Id|_uuid|_ref|Ref)$`)
)

// fields finds what differs by nature, what is secret, and what may refer to others.
func (d *document) fields(k *kind, schema map[string]any) {
	members, wrapper := d.pointers(schema, "", 2), ""
	if k.at != "" {
		wrapper = parent(k.at)
	}
	for _, p := range slices.Sorted(maps.Keys(members)) {
		m, name := members[p], p[strings.LastIndexByte(p, '/')+1:]
		if p == k.at || strings.HasPrefix(p, k.at+"/") && k.at != "" {
			continue
		}
		if under := parent(p); slices.Contains(k.ignore, under) || slices.Contains(k.sensitive, under) {
			continue
		}
		switch {
		case text(m["format"]) == "password" || secret.MatchString(name):
			k.sensitive = append(k.sensitive, p)
		case changing.MatchString(name):
			k.ignore = append(k.ignore, p)
		case text(m["format"]) == "uri" && (name == "self" || name == "href" || name == "url" && m["readOnly"] == true):
			k.links = append(k.links, p)
		}
		if to := reference.FindStringSubmatch(name); to != nil && strings.Count(strings.TrimPrefix(p, wrapper), "/") == 1 {
			k.refs = append(k.refs, ref{p, strings.ToLower(to[1])})
		}
	}
}

func parent(p string) string { return p[:max(0, strings.LastIndexByte(p, '/'))] }

// lists finds where the answer to a list has its array, when that is not plain, and how pages are asked for.
func (d *document) lists(k *kind, list any) {
	schema := d.answer(list)
	if typ(schema) != "array" {
		var arrays []string
		for name, p := range d.properties(schema) {
			if typ(p) == "array" {
				arrays = append(arrays, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			}
		}
		slices.Sort(arrays)
		if len(arrays) > 1 {
			k.list = arrays[0]
			for _, usual := range []string{"/items", "/data", "/results"} {
				if slices.Contains(arrays, usual) {
					k.list = usual
				}
			}
		} else if len(arrays) == 1 {
			k.list = arrays[0]
		}
	}
	params, _ := at(list, "parameters").([]any)
	for _, p := range params {
		if p := d.resolve(p); text(p["in"]) == "query" && text(p["name"]) == "page" && k.list != "" {
			k.page = "page"
		}
	}
}

// actions finds what else can be done with an item.
func (d *document) actions(k *kind, item string, byShape map[string]string, paths map[string]any) {
	for _, s := range slices.Sorted(maps.Keys(byShape)) {
		verb, below := strings.CutPrefix(s, item+"/")
		if below && !strings.Contains(verb, "/") && verb != "{}" && at(paths[byShape[s]], "post") != nil && at(paths[byShape[s]], "get") == nil && canStand(verb) {
			k.actions = append(k.actions, verb)
		}
	}
}

// nameOf is the singular of the collection's last segment; with what is before it when another kind has that name.
func nameOf(item string, taken map[string]bool) string {
	var words []string
	for _, s := range strings.Split(strings.TrimSuffix(item, "/{}"), "/") {
		if s != "" && s != "{}" {
			words = append(words, unnamed.ReplaceAllString(strings.ToLower(s), "-"))
		}
	}
	name := "item"
	if n := len(words); n > 0 {
		name = singular(words[n-1])
		for i := n - 2; i >= 0 && (taken[name] || version.MatchString(name)); i-- {
			name = singular(words[i]) + "-" + name
		}
	}
	name = strings.Trim(name, "-._")
	if name == "" {
		name = "item"
	}
	if len(name) > 48 {
		name = name[:48]
	}
	for base, n := name, 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

func singular(s string) string {
	switch {
	case len(s) < 4 || strings.HasSuffix(s, "ss") || strings.HasSuffix(s, "us") || strings.HasSuffix(s, "is"):
		return s
	case strings.HasSuffix(s, "ies"):
		return strings.TrimSuffix(s, "ies") + "y"
	case strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "shes"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "sses"):
		return strings.TrimSuffix(s, "es")
	}
	return strings.TrimSuffix(s, "s")
}
