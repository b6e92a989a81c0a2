package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// IDSource says where the identifier of a resource is found.
type IDSource string

const (
	// IDFromBody means that the application assigns it and tells it in its answer.
	IDFromBody IDSource = "body"
	// IDFromPath means that the client chooses it, in the path of a PUT.
	IDFromPath IDSource = "path"
)

// IDRule tells how the resources of a kind are identified.
type IDRule struct {
	From IDSource
	// At is where representations show the identifier. Empty: nowhere.
	At Pointer
	// Settable says that the application accepts an identifier that the client puts at At when it creates.
	Settable bool
}

// Ref declares that the representation of a kind refers to a resource of another kind.
type Ref struct {
	At       Pointer
	Service  ServiceName
	Kind     KindName
	Relation RelationType
	// Beside says that it names what lies in the same container as the resource itself.
	Beside bool `json:",omitempty"`
	// Unless is a member beside the reference: where it is true, what is referred to need not be there. Empty: none.
	Unless string `json:",omitempty"`
}

// Link declares that the representation of a kind holds the address of a resource, as a URL or a path.
type Link struct {
	// At may have * for every element of an array.
	At Pointer
	// Service is whose resources the addresses name.
	Service ServiceName
}

// NamedOperation is a request under an item that the catalog knows by name.
type NamedOperation struct {
	Name, Method string
	// Path has {id} in the identifier's place.
	Path string
	// BodyAt tells requests of one path apart: only those count whose body has something there, and where BodyHas is set that value, in compact
	// form. Empty: all do.
	BodyAt  Pointer         `json:",omitempty"`
	BodyHas json.RawMessage `json:",omitempty"`
	// Repeatable says that it may be sent again when it is not known whether it ran.
	Repeatable bool
	// Counter is the path of a number that it adds to, empty for none: what it is seen to add where it runs first, it adds
	// everywhere.
	Counter Pointer
	// Sets are the values, in compact form, that it leaves by path.
	Sets map[Pointer]json.RawMessage
	// Observed says that its effect is the difference of what the application shows before and after it.
	Observed bool
	// States says that a divided field stands in its body where it stands in the representation: that is then its value for all
	// parts, and each gets its share.
	States bool `json:",omitempty"`
}

// Declared reports whether the catalog says what the operation does to the representation.
func (n *NamedOperation) Declared() bool { return n.Counter != "" || n.Sets != nil || n.Observed }

// Content is a pair of requests that read and write what a resource holds beside its representation. Paths have {id} in the
// identifier's place. A write is absolute: the same once and twice.
type Content struct {
	Read          string // the path of a GET
	Method, Write string // of what puts it in its place
	// Busy says when it is being put there: the representation shows one of these values at BusyAt. Empty: that cannot be seen.
	BusyAt Pointer
	Busy   []json.RawMessage
}

// Settling is the field in which an application shows how far it has come with an object, and the values, in compact form, that it ends with. With
// no values it is a field that is there while the application is about to take the object away.
type Settling struct {
	At Pointer
	In []json.RawMessage
}

// Kind holds the rules of one kind of resource, as the engine needs them. It is made from the catalog,
// shared, and never changed after.
type Kind struct {
	Service ServiceName
	Name    KindName
	// Collection is the path of the collection, Item the path of one resource with {id} in the identifier's place. Where resources
	// of this kind lie inside others, both paths name the kinds of those in braces, such as /namespaces/{namespace}/pods/{id}.
	Collection, Item string
	// Lists are further paths that list the collection, such as one that tells more of each item. They are no rule: sites may differ in them.
	Lists []string `json:"-"`
	// Within is the kind of the containers that resources of this kind lie in, of the same service; empty for none.
	Within KindName
	// Contains says that resources of other kinds lie inside those of this kind. It is no rule.
	Contains bool `json:"-"`
	// Unique is where a representation shows the name that is given only once in a container that is spread over sites; empty:
	// the identifier where clients choose it. UniqueExcept are patterns of names that are given more than once (path.Match).
	Unique       Pointer
	UniqueExcept []string
	ID           IDRule
	// Keys are the arrays whose elements are values of their own, the outer before those inside it.
	Keys []Key
	// Marker is a text field in which a create notes which request made the object, so that it is found by that. Empty: none.
	Marker Pointer
	// Ignore lists the fields that differ between replicas by nature. They are no part of any change.
	Ignore []Pointer
	// IgnoreIn lists those that do so in some objects only.
	IgnoreIn []IgnoredIn `json:",omitempty"`
	// Reasons say for people why fields are ignored, by the pointers of Ignore and IgnoreIn. They are no rules.
	Reasons map[Pointer]string `json:"-"`
	// Label is the field that has what people call a resource. Empty: none. It is no rule: sites may differ in it.
	Label Pointer `json:"-"`
	// Sensitive lists the fields that pages, API and logs never show.
	Sensitive []Pointer
	Refs      []Ref
	// Links are where representations hold addresses of resources.
	Links []Link
	// MergePatch says that a correction may be sent as a JSON merge patch (RFC 7396). Otherwise it is a PUT of
	// the whole representation.
	MergePatch bool
	// MergeType is the media type of merge patches where the application has one of its own; empty: it takes RFC 7396's.
	MergeType string `json:",omitempty"`
	// MergeMethod is that of merge patches where it is PUT: one changes what it names and leaves the rest. Empty: PATCH.
	MergeMethod string `json:",omitempty"`
	// PatchHas are fields that a merge patch has to have, with what the application shows there, such as the type and the identifier in an envelope.
	PatchHas []Pointer `json:",omitempty"`
	// JSONPatch is the media type under which a correction may be sent as a JSON Patch (RFC 6902). Empty: it may not.
	JSONPatch string
	// Unordered are arrays whose order is no value. A token * stands for every element of a keyed array above one.
	Unordered []Pointer
	// Operations are the requests under an item that the catalog names.
	Operations []NamedOperation
	// OnlyNamed says that these are all below an item that concerns the resource: what else is there is each site's own.
	OnlyNamed bool `json:",omitempty"`
	// ObservedPatches are the media types of patches of the application's own: what one sets is the difference of what the
	// application shows before and after it. Such a patch may be sent again.
	ObservedPatches []string `json:",omitempty"`
	// CreatingPatches are those of them that make an object under the identifier in the path where there is none.
	CreatingPatches []string `json:",omitempty"`
	// Content is what a resource holds beside its representation.
	Content []Content
	// Headers are those of the application's own that an operation has, beside those that describe its body. One that ends in "*" stands for all
	// that begin so.
	Headers []string `json:",omitempty"`
	// Envelope is where representations have what clients send, which is without the envelope. Empty: clients send representations.
	Envelope Pointer `json:",omitempty"`
	// Settles says when an application that goes on by itself has come to an end: what it shows then counts, and it takes changes. Nil: at once.
	Settles *Settling `json:",omitempty"`
	// Ends says that objects end by themselves: one that is gone, though no operation deleted it, is not made anew. EndsIn says so of those that
	// showed one of these last: a token * stands for every element of an array.
	Ends   bool       `json:",omitempty"`
	EndsIn []Settling `json:",omitempty"`
	// Single says why resources of the kind live at one site each: a request that would place one at several is refused with that. Empty: they may
	// live at several. It is no rule: sites may differ in it.
	Single string `json:"-"`
	// Divide lists the integers that the parts of a cross resource share; Aggregate tells how the parts are read as one.
	Divide    []Pointer
	Aggregate []Aggregate
	// HonoursKey says that the service answers a repeated Idempotency-Key without running the request again.
	HonoursKey bool
	// Resolutions are the rules for pairs of concurrent operations.
	Resolutions []Resolution
	// UpdateWins says that a change reverses a delete that is concurrent with it.
	UpdateWins bool
	// ReplaceWhole says that a PUT is one value, and not one for each field.
	ReplaceWhole bool
}

// StatesAt reports whether what is read and written at a path below an item states divided fields.
func (k *Kind) StatesAt(path string) bool {
	return len(k.Divide) > 0 && slices.ContainsFunc(k.Operations, func(n NamedOperation) bool { return n.States && n.Path == path })
}

// Named returns what the catalog says of a request beyond its type, nil for nothing. The body is read only where it tells operations apart.
func (k *Kind) Named(method, path string, body []byte) *NamedOperation {
	i := slices.IndexFunc(k.Operations, func(n NamedOperation) bool { return n.Method == method && n.Path == path && n.says(body) })
	if i < 0 {
		return nil
	}
	return &k.Operations[i]
}

// says reports whether a body is that of the operation.
func (n *NamedOperation) says(body []byte) bool {
	if n.BodyAt == "" {
		return true
	}
	value := json.RawMessage(body)
	for _, token := range n.BodyAt.Tokens() {
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil {
			return false
		}
		inner, has := members[token]
		if !has {
			return false
		}
		value = inner
	}
	var shown bytes.Buffer
	return n.BodyHas == nil || json.Compact(&shown, value) == nil && bytes.Equal(shown.Bytes(), n.BodyHas)
}

// ObservesPatch reports whether what a PATCH of an item with this Content-Type sets is to be observed.
func (k *Kind) ObservesPatch(contentType string) bool {
	return k != nil && hasMedia(k.ObservedPatches, contentType)
}

// CreatesByPatch reports whether a PATCH with this Content-Type makes the object where there is none.
func (k *Kind) CreatesByPatch(contentType string) bool {
	return hasMedia(k.CreatingPatches, contentType)
}

func hasMedia(list []string, contentType string) bool {
	if len(list) == 0 {
		return false
	}
	media, _, _ := strings.Cut(contentType, ";")
	return slices.Contains(list, strings.ToLower(strings.TrimSpace(media)))
}

// Carries reports whether an operation of the kind may have a header, by its canonical name.
func (k *Kind) Carries(header string) bool {
	return slices.Contains(TravellingHeaders(), header) || ownHeader(header) && slices.ContainsFunc(k.Headers, func(own string) bool {
		prefix, open := strings.CutSuffix(own, AnyElement)
		return strings.EqualFold(own, header) || open && len(header) >= len(prefix) && strings.EqualFold(header[:len(prefix)], prefix)
	})
}

// Natural reports whether clients choose the identifiers of this kind, so that every site uses the same one.
func (k *Kind) Natural() bool { return k.ID.From == IDFromPath || k.ID.Settable }

// Ignored reports whether p is at or below a field that the catalog tells to ignore, or at the identifier.
func (k *Kind) Ignored(p Pointer) bool {
	if k.ID.At != "" && k.ID.At.Contains(p) {
		return true
	}
	return slices.ContainsFunc(k.Ignore, func(i Pointer) bool { return i.Covers(p) })
}

// IgnoredIn is a field that differs between replicas by nature where the object has a text, Equals, at In.
type IgnoredIn struct {
	At     Pointer
	In     Pointer
	Equals string
}

// IgnoredWhere lists the fields that differ between replicas by nature in an object of which says tells what stands where.
func (k *Kind) IgnoredWhere(says func(Pointer) any) []Pointer {
	list := k.Ignore
	for _, i := range k.IgnoreIn {
		if says(i.In) == i.Equals {
			list = append(slices.Clip(list), i.At)
		}
	}
	return list
}

// Reason says for people why a field that Ignore or IgnoreIn has is left out of comparisons.
func (k *Kind) Reason(ignored Pointer) string {
	if why := k.Reasons[ignored]; why != "" {
		return why
	}
	return "the catalog says that it differs between replicas by nature (ignore)"
}

// Hides reports whether the value at p is sensitive, or contains something that is.
func (k *Kind) Hides(p Pointer) bool {
	return slices.ContainsFunc(k.Sensitive, func(s Pointer) bool { return s.Covers(p) || p.Covers(s) })
}

// Key says that an array has objects that a member of each tells apart: each element then is a value of its own, and pointers lead to it by
// the value of that member. The order of the elements is a value too, unless the array is among the unordered ones.
type Key struct {
	// At is where the array stands. A token * stands for every element of a keyed array above it.
	At Pointer
	// Member has the key: a string that is not empty, or a whole number, no two alike.
	Member string
}

// AggregateBy is how the values that the parts of a cross resource show at one path become one.
type AggregateBy string

const (
	AggregateSum    AggregateBy = "sum"    // numbers are added up
	AggregateUnion  AggregateBy = "union"  // arrays are joined, each element once
	AggregateConcat AggregateBy = "concat" // arrays are joined
	AggregateFirst  AggregateBy = "first"  // the first part that shows something
)

// Aggregate is a rule for one path.
type Aggregate struct {
	At Pointer
	By AggregateBy
}

// Take says what becomes of two concurrent operations.
type Take string

const (
	// TakeOne: the later in order counts, and takes away what the earlier one does.
	TakeOne Take = "one"
	// TakeBothAnyOrder: both count, and it makes no difference in which order they run.
	TakeBothAnyOrder Take = "both-any-order"
	// TakeBothKeepOrder: both count, in order.
	TakeBothKeepOrder Take = "both-keep-order"
)

// Resolution is a rule for two concurrent operations, Before being the earlier one in order. Before and After are names of
// operations of the kind, or types.
type Resolution struct {
	Before, After string
	Take          Take
}

func (r Resolution) String() string {
	return fmt.Sprintf("take %s of %s before %s", r.Take, r.Before, r.After)
}

// What lies inside a container is named by both: blue in the namespace foo is "foo/blue", to clients and in this site's own
// terms alike. The container's own identifier comes first, so that paths can be filled from left to right.
var (
	escapePart   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescapePart = strings.NewReplacer("%2F", "/", "%25", "%")
)

// Inside is the identifier of what id names inside a container; of an empty id, the beginning of all of them.
func Inside(container, id string) string { return container + "/" + escapePart.Replace(id) }

// Inside is the identifier of what id names: inside a container where the kind's resources lie in one. An empty id stays.
func (k *Kind) Inside(container, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	return Inside(container, id)
}

// Split takes an identifier of this kind apart: that of its container, empty where it has none, and its own.
func (k *Kind) Split(id string) (container, own string) {
	if k.Within == "" {
		return "", id
	}
	i := strings.LastIndexByte(id, '/')
	return id[:max(i, 0)], unescapePart.Replace(id[i+1:])
}

// AsContainer writes an identifier of this kind as Inside takes it, and FromContainer reads it again.
func (k *Kind) AsContainer(id string) string {
	if k.Within != "" {
		return id
	}
	return escapePart.Replace(id)
}

// FromContainer reads what AsContainer has written.
func (k *Kind) FromContainer(container string) string {
	if k.Within != "" {
		return container
	}
	return unescapePart.Replace(container)
}

// FillPath puts an identifier into a path that has {id} and, before it, the names of the containers' kinds in braces. ok is
// false where the identifier has less parts than the path. A path without {id} takes the parts that it has room for.
func FillPath(path, id string, escape func(string) string) (filled string, ok bool) {
	segments := strings.Split(path, "/")
	var places []int
	item := false
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
			places = append(places, i)
			item = item || s == "{id}"
		}
	}
	switch {
	case len(places) == 0:
		return path, true
	case item && len(places) == 1:
		segments[places[0]] = escape(id)
		return strings.Join(segments, "/"), true
	}
	parts := strings.Split(id, "/")
	if len(parts) < len(places) {
		return path, false
	}
	for i, at := range places {
		segments[at] = escape(unescapePart.Replace(parts[i]))
	}
	return strings.Join(segments, "/"), true
}
