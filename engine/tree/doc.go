// Package tree looks into JSON: it parses representations of a kind, finds and sets values by path, tells what differs
// between two of them, and compares them by value. It is pure.
//
// A tree is what Parse makes of JSON: map[string]any, []any, string, json.Number, bool and nil, where numbers stay as they
// are written. Arrays that the catalog says so of are sets of elements, each with a path of its own (elements.go). Trees are
// changed in place by functions whose names say so (Set, Unset); nothing else changes what it is given.
//
// docs/words.md explains the terms.
package tree
