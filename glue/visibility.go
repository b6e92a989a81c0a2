package glue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Local says in words why a resource of kind k cannot be used from another site than its owner: "networks of type "flat" are
// local to their site". It is empty for one that can. Whether the representation counts tells Conditional.
func (v Visibility) Local(k *engine.Kind, representation []byte) string {
	kinds := path.Base(k.Collection)
	switch v.Scope {
	case VisibilityLocal:
		return kinds + " are local to their site"
	case VisibilityLocalWhen:
		if value, ok := valueIn(representation, v.At); ok && sameJSON(value, v.Equals) {
			tokens := v.At.Tokens()
			return fmt.Sprintf("%s of %s %s are local to their site", kinds, strings.Join(tokens, "."), v.Equals)
		}
	}
	return ""
}

// Conditional reports whether the visibility depends on the resource's representation.
func (v Visibility) Conditional() bool { return v.Scope == VisibilityLocalWhen }

// valueIn returns the JSON value at a place of a representation.
func valueIn(doc []byte, at engine.Pointer) (raw []byte, ok bool) {
	if !json.Valid(doc) {
		return nil, false
	}
	values(doc, skipSpace(doc, 0), at.Tokens(), func(v span) { raw, ok = doc[v.start:v.end], true })
	return raw, ok
}

// sameJSON compares two valid JSON texts without their white space, the order of members and the way in which strings are
// escaped.
func sameJSON(a, b []byte) bool {
	canonical := func(text []byte) []byte {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return nil
		}
		out, _ := json.Marshal(v) // it was decoded from JSON
		return out
	}
	x, y := canonical(a), canonical(b)
	return x != nil && bytes.Equal(x, y)
}
