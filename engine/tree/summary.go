package tree

import (
	"encoding/json"

	"github.com/skerry/skerry/engine"
)

// Summary is what the sites are told that a part of a cross resource shows, for the time when it cannot be reached. It has no
// sensitive fields, and of the ignored ones those that the kind has a rule for. Where that is more than most bytes, only the
// fields with a rule are left; nil: those are too much, too, or the representation is not JSON.
func Summary(k *engine.Kind, representation []byte, most int) json.RawMessage {
	tree, err := ParseJSON(representation)
	if err != nil {
		return nil
	}
	for _, p := range k.Sensitive {
		UnsetAll(tree, p)
	}
	ruled := map[engine.Pointer]any{}
	var short any = map[string]any{}
	for _, rule := range aggregates(k) {
		if value, ok := ValueAt(tree, rule.At); ok {
			ruled[rule.At] = value
			short = SetAt(short, rule.At, value)
		}
	}
	WithoutOwn(k, tree)
	for p, value := range ruled {
		tree = SetAt(tree, p, value)
	}
	for _, t := range []any{tree, short} {
		if s := Compact(t); len(s) <= most {
			return s
		}
	}
	return nil
}
