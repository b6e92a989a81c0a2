package glue

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

// operationTypes are what an operation is without a name of its own; resolutions may name them too.
var operationTypes = []string{
	string(engine.TypeCreate), string(engine.TypeReplace), string(engine.TypeMerge), string(engine.TypePatch),
	string(engine.TypeAbsolute), string(engine.TypeAction), string(engine.TypeDelete),
}

func readOperations(k *engine.Kind, v strictyaml.Value) {
	for _, e := range v.Sequence() {
		m := e.Mapping("operation")
		named, match := m.Required("name"), m.Required("match")
		op := engine.NamedOperation{Name: readName(named), Repeatable: m.Optional("repeatable").Bool()}
		at := readMethodPath(k, match, "POST", "PUT", "PATCH", "DELETE")
		op.Method, op.Path = at.Method, at.Path
		if v := m.Optional("body"); v.Present() {
			readBodyMatch(v, &op)
		}
		readEffect(m, &op)
		m.Done()
		if op.Path == k.Item && op.Method != "POST" && (op.Counter != "" || op.Sets != nil || op.Observed) {
			match.Problem("what %s %s does is in its body; an effect can be declared for a POST and for requests below the item", op.Method, op.Path)
		}

		if slices.Contains(operationTypes, op.Name) {
			named.Problem("%q is the name of a type of operation", op.Name)
		}
		for _, other := range k.Operations {
			if op.Name != "" && other.Name == op.Name {
				named.Problem("there is an operation %q already", op.Name)
			}
			if op.Path != "" && other.Method == op.Method && other.Path == op.Path && !apart(&op, &other) {
				match.Problem("the operation %q matches the same requests", other.Name)
			}
		}
		k.Operations = append(k.Operations, op)
	}
}

// readBodyMatch reads what a body has that tells an operation apart from others of its path.
func readBodyMatch(v strictyaml.Value, op *engine.NamedOperation) {
	m := v.Mapping("body")
	op.BodyAt = readPointer(m.Required("at"))
	if has := m.Optional("has"); has.Present() {
		op.BodyHas = has.JSON()
	}
	m.Done()
}

// apart reports whether bodies tell two operations of one path apart: they look at different places, or for different values.
func apart(a, b *engine.NamedOperation) bool {
	return a.BodyAt != "" && b.BodyAt != "" && (a.BodyAt != b.BodyAt || a.BodyHas != nil && b.BodyHas != nil && string(a.BodyHas) != string(b.BodyHas))
}

// readEffect reads what an operation does to the representation.
func readEffect(m *strictyaml.Mapping, effect *engine.NamedOperation) {
	if v := m.Optional("effect"); v.Present() {
		effect.Observed = v.Choice("observed") != ""
	}
	counter := m.Optional("counter")
	effect.Counter = readPointer(counter)
	sets := m.Optional("sets")
	for _, e := range sets.Mapping("set of values").Entries() {
		p, err := engine.ParsePointer(e.Key)
		if err != nil || p == "" {
			e.At.Problem("expected a JSON pointer such as /power, found %q", e.Key)
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(effect.Sets)) {
			if p.Contains(other) || other.Contains(p) {
				e.At.Problem("%q and %q are one inside the other", p, other)
			}
		}
		if effect.Counter != "" && (p.Contains(effect.Counter) || effect.Counter.Contains(p)) {
			e.At.Problem("%q is set and counted at %q", p, effect.Counter)
		}
		if effect.Sets == nil {
			effect.Sets = map[engine.Pointer]json.RawMessage{}
		}
		effect.Sets[p] = e.Value.JSON()
	}
}

func readResolutions(k *engine.Kind, v strictyaml.Value) {
	names := slices.Clone(operationTypes)
	for _, op := range k.Operations {
		names = append(names, op.Name)
	}
	for _, e := range v.Sequence() {
		m := e.Mapping("resolution")
		resolution := engine.Resolution{
			Before: readOperationName(m.Required("before"), names),
			After:  readOperationName(m.Required("after"), names),
			Take:   engine.Take(m.Required("take").Choice(string(engine.TakeOne), string(engine.TakeBothAnyOrder), string(engine.TakeBothKeepOrder))),
		}
		m.Done()
		if deletes := resolution.Before == string(engine.TypeDelete) || resolution.After == string(engine.TypeDelete); deletes && resolution.Take != engine.TakeOne && resolution.Take != "" {
			e.Problem("a delete and another operation cannot both count; take one, or leave it to \"on-delete\"")
		}
		if slices.ContainsFunc(k.Resolutions, func(o engine.Resolution) bool {
			return o.Before == resolution.Before && o.After == resolution.After && o.Before != "" && o.After != ""
		}) {
			e.Problem("there is a resolution for %s before %s already", resolution.Before, resolution.After)
		}
		k.Resolutions = append(k.Resolutions, resolution)
	}
}

func readOperationName(v strictyaml.Value, names []string) string {
	s := v.Text()
	if s == "" || slices.Contains(names, s) {
		return s
	}
	v.Problem("there is no operation %q; expected a name from \"operations\" or a type (%s)%s", s,
		strings.Join(operationTypes, ", "), strictyaml.DidYouMean(s, names))
	return ""
}

// readMethodPath returns a request at an item or below it, written "POST /servers/{id}/start".
func readMethodPath(k *engine.Kind, v strictyaml.Value, methods ...string) MethodPath {
	s := v.Text()
	if s == "" {
		return MethodPath{}
	}
	method, path, ok := strings.Cut(s, " ")
	if !ok || !strings.HasPrefix(path, "/") {
		v.Problem("expected a method, a space and a path such as \"%s %s\", found %q", methods[0], k.Item, s)
		return MethodPath{}
	}
	if !slices.Contains(methods, method) {
		v.Problem("the method %q does not fit, expected %s", method, strings.Join(methods, ", "))
	}
	readPath(v, path, 1)
	if k.Item != "" && path != k.Item && !pathBelow(k.Item, path) {
		v.Problem("the path %q is not the item %q or below it", path, k.Item)
	}
	return MethodPath{Method: method, Path: path}
}
