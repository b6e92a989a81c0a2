package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Type is what an operation does to its resource, as far as the engine needs to know to merge it.
type Type string

const (
	TypeCreate   Type = "create"   // POST on a collection, PUT of an item that is not there
	TypeReplace  Type = "replace"  // PUT of a JSON representation
	TypeMerge    Type = "merge"    // PATCH with a JSON merge patch (RFC 7396)
	TypePatch    Type = "patch"    // PATCH with a JSON Patch (RFC 6902)
	TypeAbsolute Type = "absolute" // PUT of opaque bytes, at an item or below it
	TypeAction   Type = "action"   // POST below an item, and whatever else changes something
	TypeDelete   Type = "delete"   // DELETE of an item
	TypePlace    Type = "place"    // no request: sites are added to the resource's placement or removed from it
)

// maxOperations is how many operations one document takes from this site; from others it takes twice as many, since several
// sites may come near the bound at once.
const maxOperations = 10_000

// MaxInlineBody is the most bytes of body that an operation carries inside its document.
const MaxInlineBody = 64 << 10

// Operation is one request that changes a resource, to be applied at every site of the resource's placement.
// The site where it ran first, its origin, fixes all of it; it is immutable then.
type Operation struct {
	ID   OperationID `json:"id"`
	Type Type        `json:"type"`
	// Name is what its origin's catalog calls the request, empty for none; rules for pairs of operations may name it.
	Name   string `json:"name,omitempty"`
	Method string `json:"method"`
	// Path has {id} in place of the resource's identifier; other identifiers in it, in Query and in Body are
	// meta-identifiers.
	Path   string            `json:"path"`
	Query  string            `json:"query,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   []byte            `json:"body,omitempty"`
	// Blob is the body where it is more than MaxInlineBody bytes; nil otherwise. Body is empty then.
	Blob *BlobRef `json:"blob,omitempty"`
	// Change is what the operation sets; nil for absolute operations, deletes, and actions of which the catalog does not say it.
	Change *Change `json:"change,omitempty"`
	// Found tells where what it refers to was.
	Found []Found `json:"found,omitempty"`
	// Place is what an operation of TypePlace does; nil for all others.
	Place  *PlacementChange `json:"place,omitempty"`
	Origin SiteID           `json:"origin"`
	// Run names the run of the origin's agent: 8 hex digits, new at every start.
	Run string `json:"run"`
	// Epoch is that of the document that it is in.
	Epoch uint64 `json:"epoch,omitempty"`
	// Seq numbers the operations of one line in one document, from 1, without gaps.
	Seq uint64 `json:"seq"`
	// Repair says that Change is what one site's application shows, and what the others are to show, whatever they do: it
	// is set also where the fold says the same already, and what nobody has set goes.
	Repair bool   `json:"repair,omitempty"`
	User   string `json:"user,omitempty"`
	// Time is the hybrid time in Unix microseconds: at least the origin's clock, and more than that of all it has seen.
	Time int64 `json:"time"`
	// Seen tells, for each other line, how many of its operations were settled in the origin's application: its first ones.
	// Of its own line an operation has seen all that came before it, and of lines that are over in its epoch everything.
	Seen map[Line]uint64 `json:"seen,omitempty"`
	// Scope is the scope as its caller wrote it, canonical.
	Scope string `json:"scope,omitempty"`

	line      Line // kept by decoding, which spares making it
	hindsight bool // it counts as having seen more than it says
}

// Line returns the line of operations that this is one of.
func (o *Operation) Line() Line {
	if o.line != "" {
		return o.line
	}
	return lineOf(o.Origin, o.Run, o.Epoch)
}

// sees has o count as having seen what a vector contains, but for lines that are over in its epoch.
func (o *Operation) sees(vector map[Line]uint64) {
	for name, n := range vector {
		if n > o.Seen[name] && !name.over(o.Epoch) {
			o.Seen[name] = n
		}
	}
}

// saw reports whether o has seen the n-th operation of a line.
func (o *Operation) saw(name Line, n uint64) bool {
	switch {
	case name.over(o.Epoch):
		return true
	case name == o.Line():
		return n < o.Seq
	}
	return n <= o.Seen[name]
}

// blobHash returns the name of the blob that is the body of o, empty without one.
func (o *Operation) blobHash() BlobHash {
	if o.Blob == nil {
		return ""
	}
	return o.Blob.Hash
}

// before counts, line by line, the operations that o has seen.
func (o *Operation) before() map[Line]uint64 {
	seen := make(map[Line]uint64, len(o.Seen)+1)
	maps.Copy(seen, o.Seen)
	if o.Seq > 1 {
		seen[o.Line()] = o.Seq - 1
	}
	return seen
}

// Key returns the key of the operation in its document. A site that was set back to a backup may do a request once more that a lost run
// of its agent had done: each run has a key of its own for it.
func (o *Operation) Key() string { return string(o.Origin) + "/" + string(o.ID) + "/" + o.Run }

// Encode returns the bytes that travel. They are the same for equal operations.
func (o *Operation) Encode() ([]byte, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode operation %s: %w", o.ID, err)
	}
	if len(b) > MaxEntry {
		return nil, fmt.Errorf("encode operation %s: %w: %d bytes", o.ID, ErrTooLarge, len(b))
	}
	return b, nil
}

// DecodeOperation decodes the entry of an operation and checks that its key and its author are its own.
func DecodeOperation(key string, b []byte) (*Operation, error) {
	var o Operation
	if err := decodeStrict(b, &o); err != nil {
		return nil, fmt.Errorf("decode operation %s: %w", key, err)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("decode operation %s: %w", key, err)
	}
	switch {
	case o.Key() != key && string(o.Origin)+"/"+string(o.ID) != key: // as earlier versions have it
		return nil, fmt.Errorf("decode operation %s: it calls itself %s", key, o.Key())
	case len(o.Body) > MaxInlineBody:
		return nil, fmt.Errorf("decode operation %s: %w: body of %d bytes", key, ErrTooLarge, len(o.Body))
	case o.Blob != nil && len(o.Body) > 0:
		return nil, fmt.Errorf("decode operation %s: two bodies", key)
	}
	if err := validFound(o.Found); err != nil {
		return nil, fmt.Errorf("decode operation %s: %w", key, err)
	}
	o.line = lineOf(o.Origin, o.Run, o.Epoch)
	return &o, nil
}

// check checks what every operation from outside must fulfil, also one that a checkpoint keeps with a part of its change.
func (o *Operation) check() error {
	switch o.Type {
	case TypeCreate, TypeReplace, TypeMerge, TypePatch, TypeAbsolute, TypeAction, TypeDelete, TypePlace:
	default:
		return fmt.Errorf("unknown type %q", o.Type)
	}
	switch {
	case !isRun(o.Run):
		return fmt.Errorf("%q names no run", o.Run)
	case (o.Type == TypePlace) != (o.Place != nil):
		return errors.New("a placement change that is none")
	case o.Seq == 0:
		return errors.New("no sequence number")
	case o.Repair && o.Change == nil:
		return errors.New("a repair that says nothing of what is to be shown")
	case o.Blob != nil:
		return o.Blob.Validate()
	}
	return nil
}

// isRun reports whether s is 8 lower-case hex digits.
func isRun(s string) bool {
	return len(s) == 8 && !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// decodeStrict decodes exactly one JSON value without unknown members.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}
