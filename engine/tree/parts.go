package tree

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/skerry/skerry/engine"
)

// ShareOf is one of n shares of an integer: they differ by one at most, the first ones get what is left over, and together
// they are the integer. ok is false for what is none.
func ShareOf(v json.RawMessage, n, at int) (share json.RawMessage, ok bool) {
	d, err := ParseDecimal(string(v))
	if err != nil || n <= 0 {
		return nil, false
	}
	integer, rest := new(big.Int).QuoRem(d.integer(), power(d.scale), new(big.Int))
	if rest.Sign() != 0 {
		return nil, false
	}
	each, left := new(big.Int).DivMod(integer, big.NewInt(int64(n)), new(big.Int)) // left ≥ 0, whatever the sign
	if left.Cmp(big.NewInt(int64(at))) > 0 {
		each.Add(each, big.NewInt(1))
	}
	return json.RawMessage(each.String()), true
}

// Shares are the values of the divided fields that a representation shows, for each of n parts; nil where it shows none.
func Shares(k *engine.Kind, representation []byte, n int) []map[engine.Pointer]json.RawMessage {
	tree, err := ParseJSON(representation)
	if err != nil {
		return nil
	}
	var shares []map[engine.Pointer]json.RawMessage
	for _, p := range k.Divide {
		v, ok := ValueAt(tree, p)
		if _, divisible := ShareOf(Compact(v), n, 0); !ok || !divisible {
			continue
		}
		if shares == nil {
			shares = make([]map[engine.Pointer]json.RawMessage, n)
		}
		for i := range shares {
			if shares[i] == nil {
				shares[i] = map[engine.Pointer]json.RawMessage{}
			}
			shares[i][p], _ = ShareOf(Compact(v), n, i)
		}
	}
	return shares
}

// Whole makes one representation of those that the parts of a cross resource show, in the order of the parts: by the kind's
// rules where it has some, else as parts[base] shows it. It returns false unless all of them are JSON.
func Whole(k *engine.Kind, base int, parts []json.RawMessage) (json.RawMessage, bool) {
	if base < 0 || base >= len(parts) {
		return nil, false
	}
	trees := make([]any, len(parts))
	for i, p := range parts {
		var err error
		if trees[i], err = ParseJSON(p); err != nil {
			return nil, false
		}
	}
	one, err := ParseJSON(parts[base]) // apart from trees, which the values come from
	if err != nil {
		return nil, false
	}
	for _, rule := range aggregates(k) {
		var values []any
		for _, tree := range trees {
			if v, ok := ValueAt(tree, rule.At); ok && v != nil {
				values = append(values, v)
			}
		}
		if v, ok := aggregate(rule.By, values); ok {
			one = SetAt(one, rule.At, v)
		}
	}
	return Compact(one), true
}

// aggregates are the rules of the catalog, and a sum for every divided field without one.
func aggregates(k *engine.Kind) []engine.Aggregate {
	rules := slices.Clone(k.Aggregate)
	for _, p := range k.Divide {
		if !slices.ContainsFunc(rules, func(a engine.Aggregate) bool { return a.At == p }) {
			rules = append(rules, engine.Aggregate{At: p, By: engine.AggregateSum})
		}
	}
	return rules
}

// aggregate makes one value of several; ok is false where there is none, or they are not what the rule is for.
func aggregate(by engine.AggregateBy, values []any) (v any, ok bool) {
	if len(values) == 0 {
		return nil, false
	}
	switch by {
	case engine.AggregateSum:
		return sumOf(values)
	case engine.AggregateUnion, engine.AggregateConcat:
		return joined(values, by == engine.AggregateUnion)
	}
	return values[0], true
}

func sumOf(values []any) (any, bool) {
	var sum Decimal
	for _, v := range values {
		n, ok := v.(json.Number)
		if !ok {
			return nil, false
		}
		d, err := ParseDecimal(string(n))
		if err != nil {
			return nil, false
		}
		sum = sum.Plus(d)
	}
	return sum.Number(), true
}

func joined(values []any, once bool) (any, bool) {
	all, seen := []any{}, map[string]bool{}
	for _, v := range values {
		list, ok := v.([]any)
		if !ok {
			return nil, false
		}
		for _, e := range list {
			if key := string(Compact(e)); !once || !seen[key] {
				seen[key] = true
				all = append(all, e)
			}
		}
	}
	return all, true
}
