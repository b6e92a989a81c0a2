package glue

import (
	"cmp"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

// kind reads one kind of a service into k and returns the rest of its rules.
func (r *catalogReader) kind(k *engine.Kind, e strictyaml.Entry) *Rules {
	rules := &Rules{Visibility: Visibility{Scope: VisibilityGlobal}}
	m := e.Value.Mapping("kind")

	collection := m.Required("collection")
	k.Collection = readPath(collection, collection.Text(), 0)
	item := m.Required("item")
	k.Item = readPath(item, item.Text(), 1)
	if k.Collection != "" && k.Item != "" && !pathBelow(k.Collection, k.Item) {
		item.Problem("the path %q is not below the collection %q", k.Item, k.Collection)
	}
	if len(parameters(k.Collection)) > 0 || len(parameters(k.Item)) > 0 {
		r.inside = append(r.inside, pendingContainer{k, collection, item})
	}
	readUnique(k, m)
	r.claim(collection, k.Collection, k.Name)
	r.claim(item, k.Item, k.Name)

	k.ID = readID(m.Required("id"))
	keys := m.Optional("keys")
	readKeys(k, keys)
	readIgnore(k, m.Optional("ignore"))
	k.Sensitive = readFields(k, m.Optional("sensitive"))
	k.Label = "/name"
	if v := m.Optional("label"); v.Present() {
		k.Label = readPointer(v)
	}
	checkKeys(k, keys)
	if v := m.Optional("correct"); v.Present() {
		switch v.Choice("put", "merge-patch", "json-patch") {
		case "merge-patch":
			k.MergePatch = true
		case "json-patch":
			k.JSONPatch = "application/json-patch+json"
		}
	}
	if v := m.Optional("patch-type"); v.Present() {
		readPatchType(k, v)
	}
	readPatchMethod(k, m.Optional("patch-method"))
	has := m.Optional("patch-has")
	for _, v := range has.Sequence() {
		k.PatchHas = append(k.PatchHas, readPointer(v))
	}
	if len(k.PatchHas) > 0 && !k.MergePatch {
		has.Problem("\"patch-has\" is for merge patches: it goes with \"correct: merge-patch\"")
	}
	if v := m.Optional("settles"); v.Present() {
		settles := readSettling(v)
		k.Settles = &settles
	}
	readRemake(k, m.Optional("remake"))
	readReplicate(k, m.Optional("replicate"))
	for _, v := range m.Optional("list_order").Sequence() {
		order := v.Mapping("list order")
		at := readPointer(order.Required("at"))
		if order.Required("as").Choice("set", "list") == "set" {
			k.Unordered = append(k.Unordered, at)
		}
		order.Done()
	}
	if v := m.Optional("on-delete"); v.Present() {
		k.UpdateWins = v.Choice("delete-wins", "update-wins") == "update-wins"
	}
	if v := m.Optional("replace"); v.Present() {
		k.ReplaceWhole = v.Choice("fields", "whole") == "whole"
	}
	if v := m.Optional("visibility"); v.Present() {
		rules.Visibility = readVisibility(v)
	}
	if v := m.Optional("list"); v.Present() {
		list := v.Mapping("list")
		for _, also := range list.Optional("also").Sequence() {
			path := readPath(also, also.Text(), 0)
			if !slices.Equal(parameters(path), parameters(k.Collection)) {
				also.Problem("the path %q names other containers than the collection %q", path, k.Collection)
			}
			r.claim(also, path, k.Name)
			k.Lists = append(k.Lists, path)
		}
		rules.List = readList(list)
	}
	refs, links := m.Optional("refs"), m.Optional("links")
	r.readRefs(k, refs)
	r.readLinks(k, links)
	if v := m.Optional("envelope"); v.Present() {
		k.Envelope = readPointer(v)
		switch {
		case k.Envelope == "":
			v.Problem("expected a JSON pointer to what is in the envelope, such as /data")
		case k.JSONPatch != "" || k.ID.Settable || refs.Present() || links.Present():
			v.Problem("what clients send is not looked into where it has no envelope: \"envelope\" goes with none of \"refs\", \"links\", \"settable\" and \"correct: json-patch\"")
		}
	}
	readMarker(k, m.Optional("marker"))
	for _, v := range m.Optional("divide").Sequence() {
		d := v.Mapping("divided field")
		k.Divide = append(k.Divide, readPointer(d.Required("at")))
		d.Done()
	}
	for _, v := range m.Optional("aggregate").Sequence() {
		a := v.Mapping("aggregated field")
		k.Aggregate = append(k.Aggregate, engine.Aggregate{
			At: readPointer(a.Required("at")),
			By: engine.AggregateBy(a.Required("by").Choice("sum", "union", "concat", "first")),
		})
		a.Done()
	}
	if rules.List != nil && rules.List.Each != "" && len(k.Divide)+len(k.Aggregate) > 0 {
		m.Key("list").Problem("what spans sites is read as one in its representation, and \"each\" says that a list has something else")
	}
	for _, v := range m.Optional("content").Sequence() {
		c := v.Mapping("content")
		read, write := readMethodPath(k, c.Required("read"), "GET"), readMethodPath(k, c.Required("write"), "PUT", "POST", "PATCH")
		content := engine.Content{Read: read.Path, Method: write.Method, Write: write.Path}
		if v := c.Optional("busy"); v.Present() {
			busy := v.Mapping("busy")
			content.BusyAt = readPointer(busy.Required("at"))
			for _, value := range busy.Required("in").Sequence() {
				content.Busy = append(content.Busy, value.JSON())
			}
			busy.Done()
		}
		k.Content = append(k.Content, content)
		c.Done()
	}
	readOperations(k, m.Optional("operations"))
	readResolutions(k, m.Optional("resolutions"))
	m.Done()
	return rules
}

// readPatchType reads the media type of patches that an application has made up for itself.
func readPatchType(k *engine.Kind, v strictyaml.Value) {
	media, _, err := mime.ParseMediaType(v.Text())
	switch {
	case k.JSONPatch != "" && IsJSONPatch(v.Text()):
		k.JSONPatch = v.Text()
	case k.MergePatch && err == nil && media == v.Text() && (strings.HasSuffix(media, "+json") || media == "application/json"):
		k.MergeType = media
	default:
		v.Problem("\"patch-type\" is the media type of patches: with \"correct: json-patch\" it ends in json-patch or json-patch+json, with \"correct: merge-patch\" in +json, or is application/json")
	}
}

// readPatchMethod reads that partial bodies come with PUT, as application/json unless the catalog says otherwise.
func readPatchMethod(k *engine.Kind, v strictyaml.Value) {
	switch {
	case !v.Present() || v.Choice("PATCH", "PUT") != "PUT":
	case !k.MergePatch:
		v.Problem("\"patch-method\" is for merge patches: it goes with \"correct: merge-patch\"")
	case k.ID.From == engine.IDFromPath:
		v.Problem("clients choose the identifier: a PUT creates what it names, and has all of it")
	default:
		k.MergeMethod, k.MergeType = "PUT", cmp.Or(k.MergeType, "application/json")
	}
}

// readUnique reads which names are given once inside a container that is spread over sites.
func readUnique(k *engine.Kind, m *strictyaml.Mapping) {
	k.Unique = readPointer(m.Optional("unique"))
	for _, v := range m.Optional("unique-except").Sequence() {
		pattern := v.Text()
		if _, err := path.Match(pattern, ""); err != nil {
			v.Problem("%q is no pattern: * stands for any characters, ? for one, [a-z] for one of these", pattern)
		}
		k.UniqueExcept = append(k.UniqueExcept, pattern)
	}
}

// claim notes that a path belongs to another kind of the service already.
func (r *catalogReader) claim(v strictyaml.Value, claimed string, kind engine.KindName) {
	other, taken := r.claimed[claimed]
	switch {
	case claimed == "":
	case taken && other != kind:
		v.Problem("the kind %q has the path %q too", other, claimed)
	default:
		r.claimed[claimed] = kind
	}
}

func readID(v strictyaml.Value) engine.IDRule {
	m := v.Mapping("identifier")
	id := engine.IDRule{From: engine.IDSource(m.Required("from").Choice(string(engine.IDFromBody), string(engine.IDFromPath)))}
	id.At = readPointer(m.Optional("at"))
	settable := m.Optional("settable")
	id.Settable = settable.Bool()
	m.Done()
	switch {
	case id.Settable && id.From == engine.IDFromPath:
		settable.Problem("clients choose the identifier already, with \"from: path\"")
	case id.Settable && id.At == "" && !m.Key("at").Present():
		settable.Problem("\"settable\" needs \"at\": where the identifier is put when a resource is created")
	}
	return id
}

func readList(m *strictyaml.Mapping) *List {
	parameter := func(v strictyaml.Value) string {
		name := v.Text()
		if name != "" && url.QueryEscape(name) != name {
			v.Problem("%q is not the plain name of a parameter", name)
		}
		return name
	}
	list := &List{Items: readPointer(m.Optional("items")), Each: readPointer(m.Optional("each")), Next: readPointer(m.Optional("next")),
		NextHeader: m.Optional("next-header").Text(), Parameter: parameter(m.Optional("parameter")),
		Page: parameter(m.Optional("page")), Offset: parameter(m.Optional("offset")),
		Watch: parameter(m.Optional("watch")), Deletes: m.Optional("deletes").Bool()}
	m.Exclusive("next", "next-header", "page", "offset")
	switch {
	case list.NextHeader != "" && !headerName.MatchString(list.NextHeader):
		m.Key("next-header").Problem("%q is no name of a header", list.NextHeader)
	case list.Parameter != "" && list.Next == "" && list.NextHeader == "":
		m.Key("parameter").Problem("\"parameter\" takes what stands at \"next\" or in \"next-header\"; say one of these too")
	}
	m.Done()
	return list
}

// readMarker reads where a create leaves a note of who made it.
func readMarker(k *engine.Kind, v strictyaml.Value) {
	if !v.Present() {
		return
	}
	k.Marker = readPointer(v)
	switch {
	case k.Marker == "":
		v.Problem("expected a JSON pointer to a text field such as /description")
	case k.Natural():
		v.Problem("clients choose the identifier: what a create made is found by that")
	case k.ID.At.Contains(k.Marker):
		v.Problem("%q is the identifier", k.Marker)
	case k.Ignored(k.Marker), k.Hides(k.Marker):
		v.Problem("%q is ignored or sensitive", k.Marker)
	}
}

func readVisibility(v strictyaml.Value) Visibility {
	if !v.IsMapping() {
		return Visibility{Scope: v.Choice(VisibilityGlobal, VisibilityLocal)}
	}
	m := v.Mapping("visibility")
	when := m.Required(VisibilityLocalWhen).Mapping("condition")
	m.Done()
	visibility := Visibility{
		Scope:  VisibilityLocalWhen,
		At:     readPointer(when.Required("at")),
		Equals: when.Required("equals").JSON(),
	}
	when.Done()
	return visibility
}

func (r *catalogReader) readRefs(k *engine.Kind, v strictyaml.Value) {
	for _, e := range v.Sequence() {
		m := e.Mapping("reference")
		at := m.Required("at")
		to := m.Required("to")
		ref := engine.Ref{
			At:       readPointer(at),
			Relation: engine.RelationType(m.Required("relation").Choice("requirement", "reliance", "composition")),
		}
		m.Done()
		for _, other := range k.Refs {
			if other.At == ref.At && ref.At != "" {
				at.Problem("there is a reference at %q already", ref.At)
			}
		}
		r.refs = append(r.refs, pendingRef{from: k, ref: len(k.Refs), to: to})
		k.Refs = append(k.Refs, ref)
	}
}

// readLinks reads where representations have addresses; "to" is a service that may stand further down in the file.
func (r *catalogReader) readLinks(k *engine.Kind, v strictyaml.Value) {
	for _, e := range v.Sequence() {
		m := e.Mapping("link")
		at, to := m.Required("at"), m.Optional("to")
		link := engine.Link{At: readPointer(at), Service: k.Service}
		m.Done()
		if link.At == "" && at.Present() {
			at.Problem("expected a JSON pointer to a URL or a path, such as /links/*/href")
		}
		for _, other := range k.Links {
			if other.At == link.At && link.At != "" {
				at.Problem("there is a link at %q already", link.At)
			}
		}
		if to.Present() {
			r.links = append(r.links, pendingLink{from: k, link: len(k.Links), to: to})
		}
		k.Links = append(k.Links, link)
	}
}

// readSettling reads a field and the values that tell something there.
func readSettling(v strictyaml.Value) engine.Settling {
	m := v.Mapping("settling")
	s := engine.Settling{At: readPointer(m.Required("at"))}
	for _, value := range m.Required("in").Sequence() {
		s.In = append(s.In, value.JSON())
	}
	m.Done()
	return s
}

// readRemake reads whether an object that is gone is made anew: always, never, or not where it showed something last.
func readRemake(k *engine.Kind, v strictyaml.Value) {
	if !v.Present() {
		return
	}
	if !v.IsMapping() {
		k.Ends = v.Choice("always", "never") == "never"
		return
	}
	m := v.Mapping("remake rule")
	for _, end := range m.Required("never-when").Sequence() {
		k.EndsIn = append(k.EndsIn, readSettling(end))
	}
	m.Done()
}

// readReplicate reads whether sites may hold resources of the kind together, and what a client is told where they may not.
func readReplicate(k *engine.Kind, v strictyaml.Value) {
	switch {
	case !v.Present():
	case v.IsMapping():
		m := v.Mapping("replicate rule")
		k.Single = m.Required("never").Text()
		m.Done()
	default:
		v.Choice("never")
		k.Single = "each site has its own"
	}
}
