package engine

import "slices"

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
	Relation string
}

// NamedOperation is a request under an item that the catalog knows by name.
type NamedOperation struct {
	Name, Method string
	// Path has {id} in the identifier's place.
	Path string
	// Repeatable says that it may be sent again when it is not known whether it ran.
	Repeatable bool
}

// Content is a pair of requests that read and write what a resource holds beside its representation. Paths have {id} in the
// identifier's place. A write is absolute: the same once and twice.
type Content struct {
	Read          string // the path of a GET
	Method, Write string // of what puts it in its place
}

// Kind holds the rules of one kind of resource, as the engine needs them. It is made from the catalog,
// shared, and never changed after.
type Kind struct {
	Service ServiceName
	Name    KindName
	// Collection is the path of the collection, Item the path of one resource with {id} in the identifier's place.
	Collection, Item string
	ID               IDRule
	// Ignore lists the fields that differ between replicas by nature. They are no part of any change.
	Ignore []Pointer
	// Sensitive lists the fields that pages, API and logs never show.
	Sensitive []Pointer
	Refs      []Ref
	// MergePatch says that a correction may be sent as a JSON merge patch (RFC 7396). Otherwise it is a PUT of
	// the whole representation.
	MergePatch bool
	// Operations are the requests under an item that the catalog names.
	Operations []NamedOperation
	// Content is what a resource holds beside its representation.
	Content []Content
	// HonoursKey says that the service answers a repeated Idempotency-Key without running the request again.
	HonoursKey bool
}

// Natural reports whether clients choose the identifiers of this kind, so that every site uses the same one.
func (k *Kind) Natural() bool { return k.ID.From == IDFromPath || k.ID.Settable }

// Ignored reports whether p is at or below a field that the catalog tells to ignore, or at the identifier.
func (k *Kind) Ignored(p Pointer) bool {
	if k.ID.At != "" && k.ID.At.Contains(p) {
		return true
	}
	return slices.ContainsFunc(k.Ignore, func(i Pointer) bool { return i.Contains(p) })
}
