package plan

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Ending reports whether a representation shows that the object has come to its end: what is gone then is not made anew.
func Ending(k *engine.Kind, representation []byte) bool {
	if len(k.EndsIn) == 0 {
		return false
	}
	root, err := tree.ParseJSON(representation)
	return err == nil && slices.ContainsFunc(k.EndsIn, func(e engine.Settling) bool { return showsAny(root, e.At.Tokens(), e.In) })
}

// showsAny reports whether a tree has one of some values at a path, in which a token * stands for every element of an array.
func showsAny(v any, tokens []string, values []json.RawMessage) bool {
	if len(tokens) == 0 {
		shown := tree.Compact(v)
		return slices.ContainsFunc(values, func(value json.RawMessage) bool { return bytes.Equal(value, shown) })
	}
	switch c := v.(type) {
	case map[string]any:
		member, there := c[tokens[0]]
		return there && showsAny(member, tokens[1:], values)
	case []any:
		return tokens[0] == engine.AnyElement && slices.ContainsFunc(c, func(e any) bool { return showsAny(e, tokens[1:], values) })
	}
	return false
}
