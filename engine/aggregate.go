package engine

import (
	"encoding/json"
	"slices"
)

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

// rules are those of the catalog, and a sum for every divided field without one.
func (k *Kind) rules() []Aggregate {
	rules := slices.Clone(k.Aggregate)
	for _, p := range k.Divide {
		if !slices.ContainsFunc(rules, func(a Aggregate) bool { return a.At == p }) {
			rules = append(rules, Aggregate{p, AggregateSum})
		}
	}
	return rules
}

// Whole makes one representation of those that the parts of a cross resource show, in the order of the parts: by the kind's
// rules where it has some, else as parts[base] shows it. It returns false unless all of them are JSON.
func (k *Kind) Whole(base int, parts []json.RawMessage) (json.RawMessage, bool) {
	trees := make([]any, len(parts))
	for i, p := range parts {
		tree, err := parseJSON(p)
		if err != nil {
			return nil, false
		}
		trees[i] = tree
	}
	if base >= len(trees) {
		return nil, false
	}
	whole, err := parseJSON(parts[base])
	if err != nil {
		return nil, false
	}
	for _, rule := range k.rules() {
		var values []any
		for _, tree := range trees {
			if v, ok := valueAt(tree, rule.At); ok && v != nil {
				values = append(values, v)
			}
		}
		if v, ok := rule.By.of(values); ok {
			whole = setAt(whole, rule.At, v)
		}
	}
	return compact(whole), true
}

// of makes one value of several; ok is false where there is none, or they are not what the rule is for.
func (by AggregateBy) of(values []any) (v any, ok bool) {
	if len(values) == 0 {
		return nil, false
	}
	switch by {
	case AggregateSum:
		return sumOf(values)
	case AggregateUnion, AggregateConcat:
		return joined(values, by == AggregateUnion)
	}
	return values[0], true
}

func sumOf(values []any) (any, bool) {
	sum := zero
	for _, v := range values {
		n, ok := v.(json.Number)
		if !ok {
			return nil, false
		}
		d, err := parseDecimal(string(n))
		if err != nil {
			return nil, false
		}
		sum = sum.plus(d)
	}
	return sum.number(), true
}

func joined(values []any, once bool) (any, bool) {
	all, seen := []any{}, map[string]bool{}
	for _, v := range values {
		elements, ok := v.([]any)
		if !ok {
			return nil, false
		}
		for _, e := range elements {
			if key := string(compact(e)); !once || !seen[key] {
				seen[key] = true
				all = append(all, e)
			}
		}
	}
	return all, true
}
