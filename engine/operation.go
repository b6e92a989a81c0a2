package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Type is what an operation does to its resource, as far as merging needs to know it.
type Type string

const (
	TypeCreate   Type = "create"   // POST on a collection, PUT of an item that is not there
	TypeReplace  Type = "replace"  // PUT of a JSON representation
	TypeMerge    Type = "merge"    // PATCH with a JSON merge patch (RFC 7396)
	TypePatch    Type = "patch"    // PATCH with a JSON Patch (RFC 6902), or one of the application's own
	TypeAbsolute Type = "absolute" // PUT of opaque bytes, at an item or below it
	TypeAction   Type = "action"   // POST below an item, and whatever else changes something
	TypeDelete   Type = "delete"   // DELETE of an item
	TypePlace    Type = "place"    // no request: it changes the placement, or how that is divided
	// TypeContent is a request of another agent that reads content beside a representation. It is no operation's.
	TypeContent Type = "content"
)

const (
	// MaxOperations is how many operations that no checkpoint stands for a resource takes from this site. From others it
	// takes twice as many, since several sites may come near the bound at once.
	MaxOperations = 10_000
	// MaxInlineBody is the most bytes of body that an operation carries inside its document.
	MaxInlineBody = 64 << 10
	// MaxLooked is the most bytes of a body that is looked into, and held in memory for that.
	MaxLooked = 2 << 20
)

// Operation is one request that changes a resource, to be applied at every site of the resource's placement. The site
// where it ran first, its origin, fixes all of it; it is immutable then. Slices and maps belong to it.
type Operation struct {
	ID   OperationID `cbor:"1,keyasint"`
	Type Type        `cbor:"2,keyasint"`
	// Method of one that divides is MethodDivide: an agent that does not know these takes no TypePlace with a method, and holds it back.
	Method string `cbor:"3,keyasint,omitempty"`
	// Path has {id} in place of the resource's identifier; other identifiers in it, in Query and in Body are
	// meta-identifiers.
	Path   string            `cbor:"4,keyasint,omitempty"`
	Query  string            `cbor:"5,keyasint,omitempty"`
	Header map[string]string `cbor:"6,keyasint,omitempty"`
	Body   []byte            `cbor:"7,keyasint,omitempty"`
	// Blob is the body where it is more than MaxInlineBody bytes; nil otherwise. Body is empty then.
	Blob *BlobRef `cbor:"8,keyasint,omitempty"`
	// Edit is what the operation sets. Nil: opaque bytes, a delete, a placement, an action of which the catalog says nothing.
	Edit *Edit `cbor:"9,keyasint,omitempty"`
	// Whereabouts tells where what it refers to was.
	Whereabouts []Whereabouts `cbor:"10,keyasint,omitempty"`
	// Place is what an operation of TypePlace does; nil for all others.
	Place *PlacementChange `cbor:"11,keyasint,omitempty"`
	// Number counts the operations of its line for this resource, from 1, without gaps, through all epochs.
	Number uint64 `cbor:"12,keyasint"`
	// Keep says that Edit is what one site's application shows and the others are to show, also where the fold says the
	// same already; what nobody has set goes.
	Keep bool   `cbor:"13,keyasint,omitempty"`
	User string `cbor:"14,keyasint,omitempty"`
	// Time is the hybrid time in Unix microseconds: at least the origin's clock, and more than that of all it has seen.
	Time int64 `cbor:"15,keyasint"`
	// Seen is what was settled in the origin's application when it was issued. Of its own line it has seen all before it.
	Seen Vector `cbor:"16,keyasint,omitempty"`
	// Scope is the scope as its caller wrote it, canonical.
	Scope string `cbor:"17,keyasint,omitempty"`
	// Asker is who asked, as far as that was found out for certain; nil: nobody knows. User is for people.
	Asker *Asker `cbor:"18,keyasint,omitempty"`

	// Line is that of the change that it is in. Origin is the site where it ran first, whose line it is.
	Line   Line   `cbor:"-"`
	Origin SiteID `cbor:"-"`
	// Epoch is that of the document that it is in, Change the number of the change; zero: a checkpoint has told of it.
	Epoch  uint64 `cbor:"-"`
	Change uint64 `cbor:"-"`
	// Name is what this site's catalog calls the request, empty for none; rules for pairs of operations may name it.
	Name string `cbor:"-"`
	// Copies are the other places where the same operation stands, in other lines. Copy says that this is one of them: it counts for nothing.
	Copies []*Operation `cbor:"-"`
	Copy   bool         `cbor:"-"`
}

// TravellingHeaders are the headers that any operation may have: those that describe its body.
func TravellingHeaders() []string {
	return []string{"Content-Type", "Content-Language", "Content-Encoding"}
}

// noOperation are headers that no operation has, whatever a catalog says: they show who asks, belong to one request or connection, or are what
// agents say. One that ends in a hyphen stands for all that begin so.
var noOperation = []string{"Authorization", "Cookie", "Proxy-", "X-Auth-", "X-Api-Key", "X-Subject-Token", "X-Service-Token", "Forwarded", "X-Forwarded-", "X-Remote-",
	"Host", "Content-", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Expect", "If-", "Range", "Idempotency-Key", "Prefer",
	"Skerry-", "Scope", "X-Scope", "Impersonate-"}

// maxHeaders bounds the headers of an operation, maxHeader the bytes of one.
const (
	maxHeaders = 16
	maxHeader  = 4 << 10
)

// ownHeader reports whether a header is one that an application may have for itself, by its canonical name.
func ownHeader(name string) bool {
	plain := len(name) > 0 && len(name) <= 64 && name[0] >= 'A' && name[0] <= 'Z' && strings.IndexFunc(name, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0
	return plain && !slices.ContainsFunc(noOperation, func(no string) bool {
		return name == no || strings.HasSuffix(no, "-") && strings.HasPrefix(name, no)
	})
}

// validHeader reports whether an operation may have these headers, and an application be sent them.
func validHeader(h map[string]string) bool {
	if len(h) > maxHeaders {
		return false
	}
	for name, value := range h {
		if !slices.Contains(TravellingHeaders(), name) && !ownHeader(name) || len(value) > maxHeader || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return false
		}
	}
	return true
}

// Saw reports whether o has seen the n-th operation of a line.
func (o *Operation) Saw(l Line, n uint64) bool {
	if l == o.Line {
		return n < o.Number
	}
	return n <= o.Seen[l]
}

// In reports whether a vector counts an operation, in one of the places where it stands.
func (o *Operation) In(v Vector) bool {
	return v.Has(o.Line, o.Number) || slices.ContainsFunc(o.Copies, func(c *Operation) bool { return v.Has(c.Line, c.Number) })
}

// Before returns all that o has seen, those of its own line included.
func (o *Operation) Before() Vector {
	seen := o.Seen.Clone()
	if o.Number > 1 {
		seen[o.Line] = o.Number - 1
	}
	return seen
}

// BlobHash returns the name of the blob that is the body of o, empty without one.
func (o *Operation) BlobHash() BlobHash {
	if o.Blob == nil {
		return ""
	}
	return o.Blob.Hash
}

// Validate checks what an operation from outside must fulfil, whatever the kind of its resource. The error wraps
// ErrRefused.
func (o *Operation) Validate() error {
	err := o.validate()
	if err != nil {
		return fmt.Errorf("operation %.64q: %w: %w", string(o.ID), ErrRefused, err)
	}
	return nil
}

func (o *Operation) validate() error {
	switch {
	case !o.ID.Valid():
		return errors.New("no identifier")
	case o.Number == 0:
		return errors.New("no number")
	case o.Time < 0:
		return errors.New("a time before 1970")
	case len(o.Body) > MaxInlineBody:
		return fmt.Errorf("%w: body of %d bytes", ErrTooLarge, len(o.Body))
	case o.Blob != nil && len(o.Body) > 0:
		return errors.New("two bodies")
	case !validHeader(o.Header):
		return errors.New("a header that no operation has")
	case (o.Type == TypePlace) != (o.Place != nil), o.Place != nil && o.Place.Parts != nil && o.Method != MethodDivide:
		return errors.New("a placement change that is none")
	}
	if o.Asker != nil {
		if err := o.Asker.Validate(); err != nil {
			return err
		}
	}
	needs, may := false, true
	switch o.Type {
	case TypeCreate, TypeReplace, TypeMerge, TypePatch:
		needs = true
	case TypeAbsolute, TypeAction:
	case TypeDelete, TypePlace:
		may = false
	default:
		return fmt.Errorf("unknown type %.20q", o.Type)
	}
	switch {
	case needs && o.Edit == nil:
		return errors.New("it does not say what it sets")
	case !may && o.Edit != nil:
		return errors.New("it sets something, and its type sets nothing")
	case o.Keep && o.Edit == nil:
		return errors.New("it keeps nothing")
	}
	for l, n := range o.Seen {
		if !l.Valid() || n == 0 {
			return errors.New("it has seen what is nothing")
		}
	}
	if o.Blob != nil {
		if err := o.Blob.Validate(); err != nil {
			return err
		}
	}
	if o.Edit != nil {
		if err := o.Edit.Validate(); err != nil {
			return err
		}
	}
	if o.Place != nil {
		if err := o.Place.Validate(); err != nil {
			return err
		}
	}
	return validWhereabouts(o.Whereabouts)
}

// Valid reports whether id can be an identifier of an operation: 1 to 64 letters, digits and hyphens.
func (id OperationID) Valid() bool {
	return id != "" && len(id) <= 64 && !slices.ContainsFunc([]byte(id), func(c byte) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// Edit is what an operation sets: values and absences by path, each path for itself. An object is set as an empty one,
// beside its members, so that two operations that touch different members do not touch each other.
type Edit struct {
	// Set holds values in compact form.
	Set   map[Pointer]json.RawMessage `cbor:"1,keyasint,omitempty" json:"set,omitempty"`
	Unset []Pointer                   `cbor:"2,keyasint,omitempty" json:"unset,omitempty"`
	// Order tells in which order the operation had the elements of keyed arrays in which it put some where they stand.
	Order map[Pointer][]string `cbor:"3,keyasint,omitempty" json:"order,omitempty"`
	// Add is what it adds to numbers. No path of it is in Set or Unset.
	Add map[Pointer]Increment `cbor:"4,keyasint,omitempty" json:"add,omitempty"`
	// Whole says that Set is all there is: everything else is removed.
	Whole bool `cbor:"5,keyasint,omitempty" json:"whole,omitempty"`
	// Placed are those elements, by array of Order; where it has none of an array, they are all.
	Placed map[Pointer][]string `cbor:"6,keyasint,omitempty" json:"placed,omitempty"`
	// Partial says that the body has more than that: what the application of its origin showed by itself, which is of no other site's.
	Partial bool `cbor:"7,keyasint,omitempty" json:"partial,omitempty"`
}

// Increment is what an operation was seen to add to a number where it ran first.
type Increment struct {
	By json.Number `cbor:"1,keyasint" json:"by"`
	// From is what the application showed before; empty where it showed nothing.
	From json.Number `cbor:"2,keyasint,omitempty" json:"from,omitempty"`
}

// Empty reports whether e sets, removes and arranges nothing.
func (e *Edit) Empty() bool {
	return e == nil || len(e.Set) == 0 && len(e.Unset) == 0 && len(e.Order) == 0 && len(e.Add) == 0 && !e.Whole
}

const (
	// MaxDepth is how deep a path may lead, and how deep JSON that is looked into may be nested.
	MaxDepth = 200
	// maxPaths is how many paths an Edit may name.
	maxPaths = 1 << 16
)

// Validate checks what an Edit from another site must fulfil.
func (e *Edit) Validate() error {
	if n := len(e.Set) + len(e.Unset) + len(e.Order) + len(e.Add) + len(e.Placed); n > maxPaths {
		return fmt.Errorf("%w: it sets %d paths", ErrTooLarge, n)
	}
	for p, v := range e.Set {
		if err := p.Validate(); err != nil {
			return err
		}
		if !json.Valid(v) {
			return fmt.Errorf("the value at %.100q is not JSON", p)
		}
	}
	for _, p := range e.Unset {
		if err := p.Validate(); err != nil {
			return err
		}
	}
	for p, tokens := range e.Order {
		if err := p.Validate(); err != nil {
			return err
		}
		had := make(map[string]bool, len(tokens))
		for _, t := range tokens {
			if had[t] || t == "" {
				return fmt.Errorf("the order at %.100q names %.100q twice, or nothing", p, t)
			}
			had[t] = true
		}
	}
	for p := range e.Placed {
		if len(e.Order[p]) == 0 {
			return fmt.Errorf("what is placed at %.100q is in no order", p)
		}
	}
	for p, i := range e.Add {
		if err := p.Validate(); err != nil {
			return err
		}
		if !isNumber(i.By) || i.From != "" && !isNumber(i.From) {
			return fmt.Errorf("what is added at %.100q is no number", p)
		}
		if _, set := e.Set[p]; set || slices.Contains(e.Unset, p) {
			return fmt.Errorf("%.100q is set and added to", p)
		}
	}
	return nil
}

// maxNumber is the most bytes of a number that is added or added to.
const maxNumber = 128

func isNumber(n json.Number) bool {
	return n != "" && len(n) <= maxNumber && (n[0] == '-' || n[0] >= '0' && n[0] <= '9') && json.Valid([]byte(n))
}

// PlacementChange is what an operation of TypePlace does to where its resource lives. It is no request to the application.
type PlacementChange struct {
	// Add and Remove are sorted, have no site twice and none in common; at least one is not empty. Some of Add may be there already.
	Add    []SiteID `cbor:"1,keyasint,omitempty" json:"add,omitempty"`
	Remove []SiteID `cbor:"2,keyasint,omitempty" json:"remove,omitempty"`
	// Forced says that the added sites make the object from what is known, though actions have run on it whose effect
	// nothing tells.
	Forced bool `cbor:"3,keyasint,omitempty" json:"forced,omitempty"`
	// Parts are the sites of each part from then on: one part makes it a replicated resource. Their sites are those of Add. Nil: as before.
	Parts Parts `cbor:"4,keyasint,omitempty" json:"parts,omitempty"`
}

// MethodDivide is the method of an operation that states parts.
const MethodDivide = "DIVIDE"

// MaxPlaced is the most sites that one operation adds or removes.
const MaxPlaced = 1024

// Validate checks what a PlacementChange from another site must fulfil.
func (c *PlacementChange) Validate() error {
	if n := len(c.Add) + len(c.Remove); n == 0 || n > MaxPlaced {
		return fmt.Errorf("a placement change of %d sites", n)
	}
	for _, list := range [][]SiteID{c.Add, c.Remove} {
		for i, id := range list {
			if id == "" || len(id) > MaxSiteID || i > 0 && list[i-1] >= id {
				return errors.New("a placement change whose sites are not sorted, or are none")
			}
		}
	}
	if slices.ContainsFunc(c.Add, func(id SiteID) bool { return slices.Contains(c.Remove, id) }) {
		return errors.New("a placement change that adds and removes one site")
	}
	all := slices.Sorted(slices.Values(slices.Concat(c.Parts...)))
	if c.Parts != nil && !slices.Equal(all, c.Add) || slices.ContainsFunc(c.Parts, func(part []SiteID) bool { return len(part) == 0 }) {
		return errors.New("a division whose parts are not the sites that it names")
	}
	return nil
}

// Whereabouts says where a resource was that an operation refers to, as far as its origin knew. Sites that do not share
// that resource cannot look it up.
type Whereabouts struct {
	Target Target   `cbor:"1,keyasint" json:"target"`
	Sites  []SiteID `cbor:"2,keyasint" json:"sites"` // sorted, at least one
	// Replicated says that it is a resource of the agents: a site of Sites that does not know it yet will hear of it.
	Replicated bool `cbor:"3,keyasint,omitempty" json:"replicated,omitempty"`
}

// MaxWhereabouts is the most resources that one operation tells the whereabouts of, and the most sites of each.
const MaxWhereabouts = 64

func validWhereabouts(list []Whereabouts) error {
	if len(list) > MaxWhereabouts {
		return fmt.Errorf("the whereabouts of %d resources", len(list))
	}
	for _, w := range list {
		if err := w.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks what a Whereabouts from another site must fulfil.
func (w Whereabouts) Validate() error {
	if len(w.Sites) == 0 || len(w.Sites) > MaxWhereabouts || !slices.IsSorted(w.Sites) ||
		slices.ContainsFunc(w.Sites, func(id SiteID) bool { return id == "" || len(id) > MaxSiteID }) {
		return fmt.Errorf("the whereabouts of a resource at %d sites", len(w.Sites))
	}
	return nil
}

// Compare orders operations by time, origin and identifier, and nothing else. An operation's time exceeds those of all it
// has seen, so the order respects causality. Number and line tell apart what was given one identifier twice.
func Compare(a, b *Operation) int {
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Line, b.Line))
}
