package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// Some of what an operation does is seen only where it runs: what an action adds or changes, and what an application does to a
// counter that a PUT does not mention. Its origin reads the representation before and after it.

// NeedsBefore reports whether the representation before o has to be read.
func NeedsBefore(k *engine.Kind, o *engine.Operation) bool {
	n := merge.Effect(k, o)
	return n != nil && (n.Counter != "" || n.Observed)
}

// NeedsAfter reports whether the representation after o has to be read.
func NeedsAfter(k *engine.Kind, o *engine.Operation) bool {
	return NeedsBefore(k, o) || o.Type == engine.TypeReplace && len(unmentioned(k, o)) > 0
}

// unmentioned lists the counters that the body of a PUT does not have.
func unmentioned(k *engine.Kind, o *engine.Operation) []engine.Pointer {
	var missing []engine.Pointer
	var body any
	for i, n := range k.Operations {
		if n.Counter == "" {
			continue
		}
		if body == nil {
			var err error
			if body, err = tree.ParseJSON(o.Body); err != nil {
				return nil
			}
		}
		if _, has := tree.ValueAt(body, n.Counter); !has {
			missing = append(missing, k.Operations[i].Counter)
		}
	}
	return missing
}

// Witness completes what o sets by what the application showed before and after it; before is the fold of that. It gives o,
// which is being made, another Edit. Where that tells nothing, because it is no JSON or a counter is no number, what o does
// stays undeclared.
func Witness(k *engine.Kind, o *engine.Operation, before merge.Fold, shown, shows []byte) {
	if n := merge.Effect(k, o); n != nil {
		o.Edit = Declared(k, n, shown, shows)
		return
	}
	if o.Type != engine.TypeReplace || o.Edit == nil {
		return
	}
	after, err := tree.ParseJSON(shows)
	if err != nil {
		return
	}
	e := *o.Edit
	e.Set, e.Unset = maps.Clone(e.Set), slices.Clone(e.Unset)
	for _, p := range unmentioned(k, o) {
		was, known := before.Cells[p]
		e.Unset = slices.DeleteFunc(e.Unset, func(q engine.Pointer) bool { return q == p })
		switch is, ok := tree.ValueAt(after, p); {
		case !ok && known && was.Value != nil:
			e.Unset = append(e.Unset, p)
		case ok && is != nil && (e.Whole || known && string(was.Value) != string(tree.Compact(is))):
			tree.Set(&e, p, tree.Compact(is))
		}
	}
	o.Edit = &e
}

// Declared is what a named operation was seen to do between two representations, nil where that cannot be said.
func Declared(k *engine.Kind, n *engine.NamedOperation, shown, shows []byte) *engine.Edit {
	e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	if n.Observed {
		seen, err := tree.Difference(k, shown, shows)
		if err != nil {
			return nil
		}
		after, _ := tree.Parse(k, shows)
		e = tree.Without(k, seen, tree.Says(after))
		delete(e.Set, n.Counter)
	}
	for at, v := range n.Sets {
		if value, err := tree.ParseJSON(v); err == nil {
			tree.Leaves(value, at, e.Set)
		}
	}
	if n.Counter != "" {
		i, err := increment(n.Counter, shown, shows)
		if err != nil {
			return nil
		}
		e.Add = map[engine.Pointer]engine.Increment{n.Counter: i}
	}
	return e
}

// increment is what was added at a path between two representations.
func increment(at engine.Pointer, shown, shows []byte) (i engine.Increment, err error) {
	from, was, err := numberAt(at, shown)
	if err != nil {
		return i, err
	}
	_, is, err := numberAt(at, shows)
	if err != nil {
		return i, err
	}
	return engine.Increment{By: is.Minus(was).Number(), From: from}, nil
}

// numberAt returns the number at a path of a representation; the text is empty when there is nothing.
func numberAt(at engine.Pointer, representation []byte) (text json.Number, n tree.Decimal, err error) {
	root, err := tree.ParseJSON(representation)
	if err != nil {
		return "", n, fmt.Errorf("the representation is not JSON: %w", err)
	}
	v, ok := tree.ValueAt(root, at)
	if !ok || v == nil {
		return "", n, nil
	}
	text, ok = v.(json.Number)
	if !ok {
		return "", n, fmt.Errorf("there is no number at %q", at)
	}
	n, err = tree.ParseDecimal(string(text))
	return text, n, err
}

// ContentOf returns the part of the content that an operation puts in its place, nil when it is none.
func ContentOf(k *engine.Kind, o *engine.Operation) *engine.Content {
	i := slices.IndexFunc(k.Content, func(c engine.Content) bool { return c.Method == o.Method && c.Write == o.Path })
	if i < 0 || o.Type != engine.TypeAbsolute {
		return nil
	}
	return &k.Content[i]
}

// Wanted is the reference of the content that an operation puts in its place.
func Wanted(o *engine.Operation) engine.BlobRef {
	if o.Blob != nil {
		return *o.Blob
	}
	h := engine.NewBlobHasher()
	_, _ = h.Write(o.Body) // never fails
	ref, _ := h.Sum()
	return ref
}

// Unsettled says what a representation shows of how far the application has come, while it goes on by itself; nil: it has come to an end, or
// nothing tells.
func Unsettled(k *engine.Kind, representation []byte) error {
	if k.Settles == nil || len(k.Settles.In) == 0 && !bytes.Contains(representation, []byte(k.Settles.At[len(k.Settles.At.Parent())+1:])) {
		return nil
	}
	root, err := tree.ParseJSON(representation)
	if err != nil {
		return nil
	}
	value, ok := tree.ValueAt(root, k.Settles.At)
	if !ok {
		return nil
	}
	shown := tree.Compact(value)
	if slices.ContainsFunc(k.Settles.In, func(v json.RawMessage) bool { return bytes.Equal(v, shown) }) {
		return nil
	}
	return fmt.Errorf("the application goes on with it: %s is %.60s", k.Settles.At, shown)
}

// Busy reports whether a representation shows that a part of the content is being put in its place.
func Busy(part *engine.Content, representation []byte) bool {
	if len(part.Busy) == 0 {
		return false
	}
	root, err := tree.ParseJSON(representation)
	if err != nil { // nothing tells
		return false
	}
	value, ok := tree.ValueAt(root, part.BusyAt)
	return ok && slices.ContainsFunc(part.Busy, func(v json.RawMessage) bool { return string(v) == string(tree.Compact(value)) })
}
