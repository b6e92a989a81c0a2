package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Patch is a JSON Patch (RFC 6902).
type Patch []PatchStep

// PatchStep is one operation of a Patch.
type PatchStep struct {
	Op   string
	Path engine.Pointer
	From engine.Pointer // of a move and a copy
	// Value is what is added, put in place of something, or compared. It is not to be changed.
	Value any
}

// ParsePatch reads a JSON Patch. The error wraps engine.ErrTooLarge for one that is nested too deep.
func ParsePatch(body []byte) (Patch, error) {
	v, err := ParseJSON(body)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("it is no array of operations")
	}
	patch := make(Patch, len(list))
	for i, step := range list {
		if patch[i], err = parseStep(step); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return patch, nil
}

func parseStep(v any) (step PatchStep, err error) {
	members, ok := v.(map[string]any)
	if !ok {
		return step, errors.New("it is no object")
	}
	step.Op, _ = members["op"].(string)
	value, there := members["value"]
	switch step.Op {
	case "add", "replace", "test":
		if !there {
			return step, fmt.Errorf("%s of no value", step.Op)
		}
		step.Value = value
	case "move", "copy":
		if step.From, err = pathIn(members, "from"); err != nil {
			return step, err
		}
	case "remove":
	default:
		return step, fmt.Errorf("it is no operation of a patch: %.20q", step.Op)
	}
	step.Path, err = pathIn(members, "path")
	return step, err
}

func pathIn(members map[string]any, name string) (engine.Pointer, error) {
	text, ok := members[name].(string)
	if !ok {
		return "", fmt.Errorf("it has no %s", name)
	}
	return engine.Pointer(text), engine.Pointer(text).Validate()
}

// Apply returns a representation with the patch applied. What that takes is bounded: a few steps that copy could double it
// each, and many that insert could move a long array each. The error wraps engine.ErrTooLarge then.
func (p Patch) Apply(representation []byte) ([]byte, error) {
	root, err := ParseJSON(representation)
	if err != nil {
		return nil, err
	}
	a := applying{root: root}
	for i, step := range p {
		if err := a.apply(step); err != nil {
			return nil, fmt.Errorf("operation %d, %s at %.100q: %w", i, step.Op, string(step.Path), err)
		}
	}
	return Compact(a.root), nil
}

// maxMoved is how many elements of arrays a patch may move by inserting and removing.
const maxMoved = 64 << 20

var errNothingThere = errors.New("there is nothing")

// applying is a tree that a patch is being applied to.
type applying struct {
	root          any
	copied, moved int // bytes, elements of arrays
}

func (a *applying) apply(step PatchStep) error {
	switch step.Op {
	case "add":
		return a.add(step.Path, clone(step.Value))
	case "remove":
		_, err := a.remove(step.Path)
		return err
	case "replace":
		if step.Path == "" {
			a.root = clone(step.Value)
			return nil
		}
		return a.at(step.Path, func(list any, token string) (any, error) { return replaced(list, token, clone(step.Value)) })
	case "move":
		if step.From != step.Path && step.From.Contains(step.Path) {
			return errors.New("it would move something into itself")
		}
		v, err := a.remove(step.From)
		if err != nil {
			return err
		}
		return a.add(step.Path, v)
	case "copy":
		v, ok := ValueAt(a.root, step.From)
		if !ok {
			return errNothingThere
		}
		if a.copied += len(Compact(v)); a.copied > engine.MaxLooked {
			return fmt.Errorf("%w: it copies more than %d bytes", engine.ErrTooLarge, engine.MaxLooked)
		}
		return a.add(step.Path, clone(v))
	}
	v, ok := ValueAt(a.root, step.Path)
	if !ok {
		return errNothingThere
	}
	if !same(v, step.Value) {
		return errors.New("there is something else")
	}
	return nil
}

// at has f change what holds the value at a path; f returns what is to take its place.
func (a *applying) at(p engine.Pointer, f func(holder any, token string) (any, error)) (err error) {
	a.root, err = inside(a.root, p.Tokens(), f)
	return err
}

func inside(holder any, tokens []string, f func(holder any, token string) (any, error)) (any, error) {
	if len(tokens) == 1 {
		return f(holder, tokens[0])
	}
	switch c := holder.(type) {
	case map[string]any:
		child, ok := c[tokens[0]]
		if !ok {
			return holder, errNothingThere
		}
		v, err := inside(child, tokens[1:], f)
		c[tokens[0]] = v
		return c, err
	case []any:
		i, ok := indexIn(tokens[0], len(c))
		if !ok {
			return holder, errNothingThere
		}
		v, err := inside(c[i], tokens[1:], f)
		c[i] = v
		return c, err
	}
	return holder, errNothingThere
}

// indexIn reads the index of an element of an array of n: digits without leading zeros (RFC 6901, section 4).
func indexIn(token string, n int) (int, bool) {
	if !IsWhole(token) || strings.HasPrefix(token, "-") {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil && i < n
}

func (a *applying) add(p engine.Pointer, v any) error {
	if p == "" {
		a.root = v
		return nil
	}
	return a.at(p, func(holder any, token string) (any, error) {
		switch c := holder.(type) {
		case map[string]any:
			c[token] = v
			return c, nil
		case []any:
			if token == "-" {
				return append(c, v), nil
			}
			if i, ok := indexIn(token, len(c)+1); ok {
				return slices.Insert(c, i, v), a.move(len(c) - i)
			}
		}
		return holder, errNothingThere
	})
}

func (a *applying) remove(p engine.Pointer) (v any, err error) {
	if p == "" {
		return nil, errors.New("it is all there is")
	}
	return v, a.at(p, func(holder any, token string) (any, error) {
		switch c := holder.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[token]; ok {
				delete(c, token)
				return c, nil
			}
		case []any:
			if i, ok := indexIn(token, len(c)); ok {
				v = c[i]
				return slices.Delete(c, i, i+1), a.move(len(c) - i)
			}
		}
		return holder, errNothingThere
	})
}

func (a *applying) move(n int) error {
	if a.moved += n; a.moved > maxMoved {
		return fmt.Errorf("%w: it moves elements too often", engine.ErrTooLarge)
	}
	return nil
}

func replaced(holder any, token string, v any) (any, error) {
	switch c := holder.(type) {
	case map[string]any:
		if _, ok := c[token]; ok {
			c[token] = v
			return c, nil
		}
	case []any:
		if i, ok := indexIn(token, len(c)); ok {
			c[i] = v
			return c, nil
		}
	}
	return holder, errNothingThere
}

// clone copies what may be changed of a tree as ParseJSON makes it.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, member := range v {
			c[name] = clone(member)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = clone(element)
		}
		return c
	}
	return v
}

// same reports whether two trees are one value. It takes no longer than the smaller of them.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if w, ok := y[name]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || numberByValue(x) == numberByValue(y))
	}
	return a == b
}
