package glue

import (
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

// readKeys reads which arrays are keyed. In the pointers of a kind * stands for every element of one.
func readKeys(k *engine.Kind, v strictyaml.Value) {
	for _, e := range v.Sequence() {
		m := e.Mapping("key of an array")
		at, member := m.Required("at"), m.Required("key")
		m.Done()
		key := engine.Key{At: readPointer(at), Member: member.Text()}
		switch array, inside := lastArray(key.At); {
		case key.At == "":
			if at.Present() {
				at.Problem("expected a JSON pointer to an array inside the representation, such as /disks")
			}
		case isKeyed(k, key.At):
			at.Problem("the array %q has a key already", key.At)
		case inside && !isKeyed(k, array):
			at.Problem("%q is inside the array %q, which has no key; name that first", key.At, array)
		case k.ID.At != "" && (k.ID.At.Contains(key.At) || key.At.Contains(k.ID.At)):
			at.Problem("%q has to do with the identifier", key.At)
		}
		k.Keys = append(k.Keys, key)
	}
}

// checkKeys refuses keys that are sensitive, since paths name elements by them.
func checkKeys(k *engine.Kind, v strictyaml.Value) {
	for i, e := range v.Sequence() {
		member := k.Keys[i].At.Append("*").Append(k.Keys[i].Member)
		if slices.ContainsFunc(k.Sensitive, func(p engine.Pointer) bool { return p.Covers(member) }) {
			e.Problem("the key %s is sensitive, and paths show it; let \"sensitive\" name the other members", member)
		}
	}
}

// lastArray returns the array whose elements the last * of a pointer stands for.
func lastArray(p engine.Pointer) (array engine.Pointer, ok bool) {
	i := strings.LastIndex(string(p)+"/", "/*/")
	return p[:max(i, 0)], i >= 0
}

func isKeyed(k *engine.Kind, p engine.Pointer) bool {
	return slices.ContainsFunc(k.Keys, func(key engine.Key) bool { return key.At == p })
}
