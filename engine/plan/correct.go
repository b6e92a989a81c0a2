package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// act runs an operation whose effect cannot be folded into a request, and has what it sets beside what counts corrected.
func act(h *merge.History, s Standing, u *engine.Operation) Step {
	action, before := []*engine.Operation{u}, s.Fold(h)
	if h.Base().KeepsValues(u) {
		return correctFor(h, s, action, action)
	}
	with, again := s.target(h, s.Shown().Or(u), before)
	ran := is(s.Ran, u)
	if ran || h.Division(s.Shown().Or(u)).Divides(u) { // what is divided is done once, and shared
		shown := before
		if ran {
			shown = before.After(u, with)
		}
		e := tree.And(s.difference(shown, with), restoring(with, action))
		if e.Empty() {
			return Step{Kind: StepVacuous, Operations: action, Again: again}
		}
		return Step{Kind: StepCorrect, Operations: action, Correction: e, Again: again}
	}
	return Step{Kind: StepRun, Operations: action, Again: again, Late: !s.difference(before.After(u, with), with).Empty()}
}

// Leaves reports whether o, once it has run, leaves something that is to be corrected: what counts otherwise, or what it takes
// the effect of.
func Leaves(h *merge.History, s Standing, o *engine.Operation) bool {
	return !folds(o) && act(h, s, o).Late
}

// folds reports whether a correction brings about what o does, where o does not run by itself.
func folds(o *engine.Operation) bool {
	return o.Type != engine.TypeAction && o.Type != engine.TypeAbsolute
}

// foldable returns those at the beginning of rest that one request can bring about together.
func foldable(s Standing, rest []*engine.Operation, counts func(*engine.Operation) bool) []*engine.Operation {
	if s.Apart {
		rest = rest[:1]
	}
	for n, o := range rest {
		if !folds(o) || o.Type == engine.TypeDelete && n > 0 || s.Blocked(o) || !s.together(rest[0], o) || o.Type != engine.TypeDelete && !counts(o) {
			return rest[:n]
		}
	}
	return rest
}

// correctFor brings the application to what it is to show with those that are taken, the first of rest. An earlier correction
// may have left what others of rest set, but not what only their own requests do: that stays, for a service that honours keys
// does it once.
func correctFor(h *merge.History, s Standing, taken, rest []*engine.Operation) Step {
	before := s.Fold(h)
	after, again := s.target(h, s.Shown().Or(taken...), before)
	left := slices.DeleteFunc(slices.Clone(rest), func(o *engine.Operation) bool { return !folds(o) && !slices.Contains(taken, o) })
	maybe, certain := s.withoutAnswer(left), s.difference(before, after)
	restored := restoring(after, maybe)
	step := Step{Kind: StepVacuous, Operations: taken, Again: again, Doubted: doubted(certain, restored, maybe)}
	difference := tree.And(certain, restored)
	for _, o := range taken {
		if o.Keep {
			step.Only = after.Paths()
			assert(difference, h.Division(s.Shown().Or(taken...)).ShareOfEdit(o.Edit, after), after)
		}
	}
	if !difference.Empty() {
		step.Kind, step.Correction = StepCorrect, difference
	}
	return step
}

// assert adds to e what a keep sets, as far as the fold still says the same, with the order that this has.
func assert(e, kept *engine.Edit, after merge.Fold) {
	shown, order := after.Paths(), after.Order()
	for p := range kept.Order {
		if order[p] != nil {
			tree.SetOrder(e, p, order[p])
		}
	}
	for p, v := range kept.Set {
		if bytes.Equal(shown[p], v) {
			tree.Set(e, p, v)
		}
	}
	for _, p := range kept.Unset {
		if shown[p] == nil {
			e.Unset = append(e.Unset, p)
		}
	}
	slices.Sort(e.Unset)
	e.Unset = slices.Compact(e.Unset)
}

// Left returns what of a step's correction an application that shows this has still to be sent; it is empty where it shows all
// of it.
func Left(k *engine.Kind, step Step, representation []byte) *engine.Edit {
	e := tree.Missing(k, step.Correction, representation)
	if shown := leaves(k, representation); len(step.Doubted) > 0 && len(shown) > 0 {
		e.Unset = slices.DeleteFunc(e.Unset, func(p engine.Pointer) bool {
			values, may := step.Doubted[p]
			return may && !slices.ContainsFunc(values, func(v json.RawMessage) bool { return bytes.Equal(v, shown[p]) })
		})
	}
	return tree.And(e, &engine.Edit{Unset: strays(k, representation, step.Only)})
}

// strays lists what a representation shows beside the only paths that there are to be, of each branch the uppermost; nothing
// where these are not said.
func strays(k *engine.Kind, representation []byte, only map[engine.Pointer]json.RawMessage) []engine.Pointer {
	if only == nil {
		return nil
	}
	shown := leaves(k, representation)
	var found []engine.Pointer
	for _, p := range tree.Sorted(shown) {
		if parent := p.Parent(); only[p] == nil && (parent == "" || only[parent] != nil) {
			found = append(found, p)
		}
	}
	return found
}

// leaves are the values that a representation shows, by path; none where it is no JSON.
func leaves(k *engine.Kind, representation []byte) map[engine.Pointer]json.RawMessage {
	shown := map[engine.Pointer]json.RawMessage{}
	if root, _, ok := tree.Canonical(k, representation); ok {
		tree.Leaves(root, "", shown)
	}
	return shown
}

// Form is how a correction is written.
type Form int

const (
	// FormKind is that of the kind: a patch where its catalog says so, else a PUT of all that the application shows, corrected.
	FormKind Form = iota
	// FormMerge is a merge patch, FormSet a PUT of what clients have set and of nothing that the application adds to that.
	FormMerge
	FormSet
)

// Forms are those in which a correction is tried, one after the other, while the application refuses it: it may refuse the form, such as a PUT
// of fields that it alone sets. A merge patch is tried where clients of the resource send some.
func Forms(k *engine.Kind, h *merge.History) []Form {
	switch {
	case k.MergePatch || k.JSONPatch != "":
		return []Form{FormKind}
	case merge.TakesMerges(h):
		return []Form{FormKind, FormMerge, FormSet}
	}
	return []Form{FormKind, FormSet}
}

// In is the correction of a step in a form, where e is what the application has still to be sent. It fails where the application shows no
// JSON.
func In(f Form, h *merge.History, s Standing, step Step, e *engine.Edit, shown engine.Reply, local engine.LocalID) (engine.Call, error) {
	k := h.Kind()
	switch f {
	case FormMerge:
		patched := *k
		patched.MergePatch = true
		call, err := Correction(&patched, h.MergeType(), e, shown, local)
		call.Kind = k
		return call, err
	case FormSet:
		shown.Body, e = tree.Representation(s.Fold(h).Paths()), step.Correction
	}
	return Correction(k, h.MergeType(), e, shown, local)
}

// Correction makes the request that brings the application from what it shows to what it is to show. MergeType is the media
// type of its merge patches (merge.History.MergeType). It fails where the application shows no JSON.
func Correction(k *engine.Kind, mergeType string, e *engine.Edit, shown engine.Reply, local engine.LocalID) (engine.Call, error) {
	call := engine.Call{Kind: k, Path: k.Item, Local: local, Header: map[string]string{"Accept": "application/json"}}
	var err error
	switch {
	case k.MergePatch:
		call.Method, _ = tree.MergeForm(k)
		call.Header["Content-Type"] = mergeType
		call.Body, err = tree.MergePatch(k, tree.And(asShown(k.PatchHas, shown.Body), e), shown.Body)
	case k.JSONPatch != "":
		call.Method, call.Header["Content-Type"] = http.MethodPatch, k.JSONPatch
		call.Body, err = tree.JSONPatch(k, e, shown.Body)
	default:
		call.Method, call.Header["Content-Type"] = http.MethodPut, "application/json"
		call.Body, err = tree.Apply(k, e, shown.Body)
	}
	if err != nil {
		return engine.Call{}, fmt.Errorf("the application shows no JSON that could be corrected: %w", err)
	}
	call.Header = Matching(call.Header, Tag(shown))
	return call, nil
}

// asShown sets fields to what a representation shows.
func asShown(fields []engine.Pointer, representation []byte) *engine.Edit {
	e := &engine.Edit{}
	root, _ := tree.ParseJSON(representation)
	for _, p := range fields {
		if v, ok := tree.ValueAt(root, p); ok {
			tree.Set(e, p, tree.Compact(v))
		}
	}
	return e
}

// Tag is what tells what an application shows from what it has shown before and after that, empty where nothing does for certain.
func Tag(shown engine.Reply) string {
	if tag := shown.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return ""
}

// Matching is a header with the precondition that the application still shows what has this tag; of an empty one the header as it is.
func Matching(header map[string]string, tag string) map[string]string {
	if tag == "" {
		return header
	}
	header = maps.Clone(header)
	if header == nil {
		header = map[string]string{}
	}
	header["If-Match"] = tag
	return header
}

// Carry puts into a header what the application has for itself in that of an operation.
func Carry(o *engine.Operation, header map[string]string) {
	for name, value := range o.Header {
		if header[name] == "" && !slices.Contains(engine.TravellingHeaders(), name) {
			header[name] = value
		}
	}
}

// Shows reports whether a representation has every value that e sets, in the order that it gives.
func Shows(k *engine.Kind, representation []byte, e *engine.Edit) bool {
	if _, err := tree.Parse(k, representation); err != nil || e == nil {
		return false
	}
	missing := tree.Missing(k, e, representation)
	return len(missing.Set)+len(missing.Order) == 0
}
