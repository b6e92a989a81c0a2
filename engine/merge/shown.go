package merge

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Paths returns all that the fold shows, by path: an object or a keyed array is there when it was set, or something below it
// is.
func (f Fold) Paths() map[engine.Pointer]json.RawMessage {
	shown := make(map[engine.Pointer]json.RawMessage, len(f.Cells))
	for p, c := range f.Cells {
		if c.Value == nil {
			continue
		}
		shown[p] = c.Value
		for p != "" {
			if p = p.Parent(); p == "" || shown[p] != nil {
				break
			}
			shown[p] = tree.ContainerAt(f.kind, p)
		}
	}
	return shown
}

// implies reports whether what the fold shows at p is there only because something below it is: once that goes, it does.
func (f Fold) implies(p engine.Pointer) bool { return f.Cells[p].Value == nil && f.filled(p) }

// Representation returns the folded values as one JSON document.
func (f Fold) Representation() []byte {
	var root any = map[string]any{}
	shown := f.Paths()
	for _, p := range tree.Sorted(shown) {
		root = tree.SetPath(root, p, shown[p])
	}
	tree.Arrange(root, f.Order())
	return tree.Compact(root)
}

// Difference returns what has to be set and removed to get from f to g. Where a whole object goes, only the object is named.
// A path that only f holds is removed: no operation that counts sets it any more.
func (f Fold) Difference(g Fold) *engine.Edit {
	e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	was, now := f.Paths(), g.Paths()
	for p, v := range now {
		if !bytes.Equal(was[p], v) {
			e.Set[p] = v
		}
	}
	gone := map[engine.Pointer]bool{}
	for p := range was {
		gone[p] = now[p] == nil
	}
	for p, cell := range g.Cells {
		if old, ok := f.Cells[p]; cell.Value == nil && now[p] == nil && (!ok || old.Value != nil) {
			gone[p] = true // a path that no fold showed, but the application may
		}
	}
	for p, is := range gone {
		if is && uppermost(p, now) {
			e.Unset = append(e.Unset, p)
		}
	}
	slices.Sort(e.Unset)
	before := f.Order()
	for at, tokens := range g.Order() {
		if len(tree.Moved(before[at], tokens)) > 0 {
			tree.SetOrder(e, at, tokens)
		}
	}
	return e
}

// Paths lists the paths that operations here have set, whether they count or not.
func (h *History) Paths() []engine.Pointer {
	set := map[engine.Pointer]bool{}
	for _, o := range h.Ordered() {
		for p := range edited(o).Set {
			set[p] = true
		}
	}
	return tree.Sorted(set)
}

// Anew returns what has to be set and removed where an object may show anything that operations have ever set: those here, and those at the paths once.
func (h *History) Anew(fold Fold, once []engine.Pointer) *engine.Edit {
	e, now := h.Nothing().Difference(fold), fold.Paths()
	for _, p := range slices.Concat(h.Paths(), once) {
		if now[p] == nil && uppermost(p, now) {
			e.Unset = append(e.Unset, p)
		}
	}
	slices.Sort(e.Unset)
	e.Unset = slices.Compact(e.Unset)
	return e
}

// uppermost reports whether what holds p is there, so that p is to be named where it goes.
func uppermost(p engine.Pointer, now map[engine.Pointer]json.RawMessage) bool {
	parent := p.Parent()
	return parent == "" || tree.IsContainer(now[parent])
}

// After is what the application shows once u has run on what f folds: its effect is that of the last operation. With is the
// fold with u; it tells what f does not: the value of a counter that nobody has set before.
func (f Fold) After(u *engine.Operation, with Fold) Fold {
	if u.Edit == nil {
		return f
	}
	g := f.clone()
	g.Superseded = nil
	last := *u
	last.Edit = &engine.Edit{Set: u.Edit.Set, Unset: u.Edit.Unset, Order: u.Edit.Order, Placed: u.Edit.Placed}
	g.apply(nil, &last)
	for p, i := range u.Edit.Add {
		was, set := f.Cells[p]
		if !set {
			if was, set = with.Cells[p]; was.By == u && was.Counted && !was.Idle { // it is the first that adds to it
				g.Cells[p] = was
				continue
			}
		}
		if from, ok := countable(was); set && ok {
			if by, err := tree.ParseDecimal(string(i.By)); err == nil {
				was.Value = json.RawMessage(from.Plus(by).Number())
				g.Cells[p] = was
			}
		}
	}
	return g
}

// clone returns a fold that shares nothing with f that changes.
func (f Fold) clone() Fold {
	f.Cells, f.Absolute, f.below, f.order = maps.Clone(f.Cells), maps.Clone(f.Absolute), maps.Clone(f.below), maps.Clone(f.order)
	f.arranged, f.Superseded, f.gone = maps.Clone(f.arranged), slices.Clone(f.Superseded), maps.Clone(f.gone)
	if f.Cells == nil {
		f.Cells = map[engine.Pointer]Cell{}
	}
	return f
}

// Deviations lists the paths that f sets and at which a canonical tree (tree.Canonical) shows something else, the uppermost
// of each branch.
func (f Fold) Deviations(k *engine.Kind, root any) []engine.Pointer {
	var paths []engine.Pointer
	shown := f.Paths()
	for _, p := range tree.Sorted(shown) {
		want := shown[p]
		if k.Ignored(p) || slices.ContainsFunc(paths, func(q engine.Pointer) bool { return q.Contains(p) }) {
			continue
		}
		got, ok := tree.ValueAt(root, p)
		if tree.Holds(want, got) || !ok && p == k.Marker && string(want) == `""` {
			continue
		}
		if !ok || !bytes.Equal(tree.Compact(got), tree.ByValue(want)) {
			paths = append(paths, p)
		}
	}
	for p, c := range f.Cells { // what was removed is not to be there
		if got, ok := tree.ValueAt(root, p); c.Value == nil && shown[p] == nil && ok && got != nil && !k.Ignored(p) {
			paths = append(paths, p)
		}
	}
	for p, tokens := range f.Order() {
		if !k.Ignored(p) && !slices.ContainsFunc(paths, func(q engine.Pointer) bool { return q.Contains(p) }) && !tree.Arranged(root, p, tokens) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// Digest tells folds apart by what they show. It is keyed by the document, see tree.KeyedDigest.
func (f Fold) Digest(d engine.DocumentID) string {
	b := strconv.AppendBool(nil, f.Exists)
	write := func(part string) {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ':')
		b = append(b, part...)
	}
	shown := f.Paths()
	for _, p := range tree.Sorted(shown) {
		write(string(p))
		write(string(shown[p]))
	}
	order := f.Order()
	for _, p := range tree.Sorted(order) {
		write(string(p))
		write(string(tree.Compact(order[p])))
	}
	for _, path := range slices.Sorted(maps.Keys(f.Absolute)) {
		write(path)
		write(string(f.Absolute[path].ID))
	}
	return tree.KeyedDigest(d, "fold", b)
}

// maxLabel is the most characters of a label.
const maxLabel = 100

// Label is what people call a resource of kind k: the text in the field that the catalog names.
func (f Fold) Label(k *engine.Kind) string {
	if k.Label == "" || k.Hides(k.Label) {
		return ""
	}
	var text string
	if json.Unmarshal(f.Cells[k.Label].Value, &text) != nil {
		return ""
	}
	if runes := []rune(text); len(runes) > maxLabel {
		text = string(runes[:maxLabel-1]) + "…"
	}
	return text
}
