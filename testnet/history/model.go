package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// model is what the operations of one resource amount to, written down once more from the rules alone (docs/resolution.md), slowly and
// plainly: of package merge only how far a checkpoint reaches is used.
type model struct {
	kind *engine.Kind
	ops  []*engine.Operation // in the order that counts
	// places are where an operation stands: in more than one line where a site was set back.
	places map[operationOf][]*engine.Operation
}

// amount is what a model says that an application is to show.
type amount struct {
	exists bool
	// cells are the values by path; nil: the path is absent. container stands for an object or a keyed array. Of those that are unsure the
	// model does not know the value.
	cells  map[engine.Pointer][]byte
	unsure map[engine.Pointer]bool
	// bytes are the operations that have put opaque bytes last, by path.
	bytes map[string]*engine.Operation
}

// container is the value of what has members.
var container = []byte("{}")

// add takes in an operation. One that was issued twice, since who was asked for it was set back in between, counts once, where it comes first, and
// who has seen it in one place has seen it.
func (m *model) add(o *engine.Operation) {
	m.places[idOf(o)] = append(m.places[idOf(o)], o)
	for i, known := range m.ops {
		if idOf(known) == idOf(o) {
			if engine.Compare(o, known) < 0 {
				m.ops[i] = o
			}
			slices.SortFunc(m.ops, engine.Compare)
			return
		}
	}
	m.ops = append(m.ops, o)
	slices.SortFunc(m.ops, engine.Compare)
}

// found takes in what a checkpoint stands for: an operation that was issued once more since it had seen less in its first place counts where it has
// seen that, or where the checkpoint stands for it too.
func (m *model) found(c *merge.Checkpoint) {
	builds := func(o *engine.Operation) bool {
		for line, n := range c.Firm {
			if line != o.Line && !o.Saw(line, n) {
				return c.Has(o)
			}
		}
		return true
	}
	for i, o := range m.ops {
		places := slices.DeleteFunc(slices.Clone(m.places[idOf(o)]), func(o *engine.Operation) bool { return !builds(o) })
		if len(places) > 0 {
			m.places[idOf(o)], m.ops[i] = places, slices.MinFunc(places, engine.Compare)
		}
	}
	slices.SortFunc(m.ops, engine.Compare)
}

// idOf is what makes two operations one.
func idOf(o *engine.Operation) operationOf { return operationOf{o.ID, o.Type} }

type operationOf struct {
	id engine.OperationID
	is engine.Type
}

// saw reports whether b was issued where a was settled, or after it in its own line.
func (m *model) saw(b, a *engine.Operation) bool {
	return slices.ContainsFunc(m.places[idOf(a)], func(a *engine.Operation) bool {
		if a.Line == b.Line {
			return a.Number < b.Number
		}
		return a.Number <= b.Seen[a.Line]
	})
}

func (m *model) apart(a, b *engine.Operation) bool { return a != b && !m.saw(a, b) && !m.saw(b, a) }

// living returns those that no delete has ended.
func (m *model) living() (list []*engine.Operation) {
	var deletes []*engine.Operation
	for _, d := range m.ops {
		if d.Type == engine.TypeDelete && !m.reversed(d) {
			deletes = append(deletes, d)
		}
	}
	lives := func(c *engine.Operation) bool {
		return c.Type == engine.TypeCreate && !slices.ContainsFunc(deletes, func(d *engine.Operation) bool { return m.saw(d, c) })
	}
	for _, o := range m.ops {
		switch o.Type {
		case engine.TypeDelete, engine.TypePlace:
			continue
		case engine.TypeCreate:
			if lives(o) {
				list = append(list, o)
			}
			continue
		}
		if slices.ContainsFunc(m.ops, func(c *engine.Operation) bool { return m.saw(o, c) && lives(c) }) {
			list = append(list, o)
		}
	}
	return list
}

// reversed reports whether a change takes a delete back.
func (m *model) reversed(d *engine.Operation) bool {
	for _, u := range m.ops {
		if u.Type == engine.TypeCreate || u.Type == engine.TypeDelete || u.Type == engine.TypePlace || !m.apart(u, d) {
			continue
		}
		if !slices.ContainsFunc(m.ops, func(c *engine.Operation) bool { return c.Type == engine.TypeCreate && m.saw(u, c) && m.saw(d, c) }) {
			continue
		}
		first, second := u, d
		if engine.Compare(d, u) < 0 {
			first, second = d, u
		}
		if r := m.rule(first, second); r != nil && r.Take == engine.TakeOne {
			if second == u {
				return true
			}
		} else if m.kind.UpdateWins {
			return true
		}
	}
	return false
}

// rule is that of the catalog for two that are apart, in their order: one for names goes before one for types.
func (m *model) rule(a, b *engine.Operation) (best *engine.Resolution) {
	fits := func(word string, o *engine.Operation) int {
		if n := m.kind.Named(o.Method, o.Path, o.Body); n != nil && n.Name == word {
			return 1
		}
		if word == string(o.Type) {
			return 0
		}
		return -1
	}
	most := -1
	for i := range m.kind.Resolutions {
		r := &m.kind.Resolutions[i]
		x, y := fits(r.Before, a), fits(r.After, b)
		if x >= 0 && y >= 0 && x+y > most {
			best, most = r, x+y
		}
	}
	return best
}

// counting returns those of the living that have not lost their effect to a later one, which counts itself.
func (m *model) counting() (list []*engine.Operation) {
	for _, o := range slices.Backward(m.living()) {
		loses := slices.ContainsFunc(list, func(w *engine.Operation) bool {
			if !m.apart(o, w) {
				return false
			}
			r := m.rule(o, w)
			return r != nil && r.Take == engine.TakeOne ||
				r == nil && o.Type == engine.TypeAbsolute && w.Type == engine.TypeAbsolute && o.Path == w.Path
		})
		if !loses {
			list = append(list, o)
		}
	}
	slices.Reverse(list)
	return list
}

// amounts says what all operations amount to.
func (m *model) amounts() amount {
	a := amount{cells: map[engine.Pointer][]byte{}, unsure: map[engine.Pointer]bool{}, bytes: map[string]*engine.Operation{}}
	by := map[engine.Pointer]*engine.Operation{}
	a.exists = slices.ContainsFunc(m.living(), func(o *engine.Operation) bool { return o.Type == engine.TypeCreate })
	counting := m.counting()
	var whole *engine.Operation
	gone := map[engine.Pointer]element{}
	for _, o := range counting {
		if o.Type == engine.TypeAbsolute {
			a.bytes[o.Path] = o
		}
		if o.Edit == nil {
			continue
		}
		if o.Edit.Whole {
			clear(a.cells)
			clear(by)
			clear(gone)
			whole = o
		}
		var away []engine.Pointer
		for _, p := range o.Edit.Unset {
			if _, is := tree.KeyAt(m.kind, p.Parent()); is && p != "" {
				gone[p] = a.element(p, o, by, gone[p])
				away = append(away, p)
			}
		}
		for _, p := range o.Edit.Unset {
			a.put(p, nil)
			by[p] = o
		}
		for _, p := range away { // something in it that o has not seen
			if a.below(p) {
				a.bringBack(gone[p], by)
				delete(gone, p)
			}
		}
		for _, p := range sortedPointers(o.Edit.Set) {
			delete(gone, p)
			for q := p.Parent(); q != ""; q = q.Parent() {
				if e, is := gone[q]; is && m.apart(e.by, o) {
					a.bringBack(e, by)
					delete(gone, q)
				}
			}
			v := []byte(o.Edit.Set[p])
			if holds(v) {
				v = container
			}
			a.put(p, v)
			by[p] = o
		}
	}
	m.countUp(&a, counting, func(p engine.Pointer) *engine.Operation {
		if o := by[p]; o != nil {
			return o
		}
		return whole
	})
	return a
}

// element is one of a keyed array that an operation has taken away, with what was in it: it is there whole or not at all.
type element struct {
	by    *engine.Operation
	cells map[engine.Pointer][]byte
	set   map[engine.Pointer]*engine.Operation // who has set each
}

// element is the one at a path, as it is taken away; before is what it was where that has happened already.
func (a *amount) element(p engine.Pointer, o *engine.Operation, by map[engine.Pointer]*engine.Operation, before element) element {
	e := element{o, map[engine.Pointer][]byte{}, map[engine.Pointer]*engine.Operation{}}
	for q, v := range a.cells {
		if v != nil && (q == p || p.Contains(q)) {
			e.cells[q], e.set[q] = v, by[q]
		}
	}
	if len(e.cells) == 0 {
		e.cells, e.set = before.cells, before.set
	}
	return e
}

// bringBack puts in place again what was in an element, as far as there is nothing else.
func (a *amount) bringBack(e element, by map[engine.Pointer]*engine.Operation) {
	for q, v := range e.cells {
		if a.cells[q] == nil {
			a.cells[q], by[q] = v, e.set[q]
		}
	}
}

// holds reports whether the value of an edit stands for an object or a keyed array, whose members have paths of their own.
func holds(v []byte) bool {
	return len(v) > 0 && v[0] == '{'
}

func sortedPointers[V any](m map[engine.Pointer]V) []engine.Pointer {
	var list []engine.Pointer
	for p := range m {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// put sets one path: what has no members ends what was below it, and what is set below something without members ends that.
func (a *amount) put(p engine.Pointer, v []byte) {
	for q := p.Parent(); q != ""; q = q.Parent() {
		if above, known := a.cells[q]; known && above != nil && !bytes.Equal(above, container) {
			if v == nil {
				return
			}
			delete(a.cells, q)
		}
	}
	if v != nil && !bytes.Equal(v, container) {
		for q := range a.cells {
			if q != p && p.Contains(q) {
				delete(a.cells, q)
			}
		}
	}
	a.cells[p] = v
}

// countUp adds to numbers what was added to them and not seen by who set them last.
func (m *model) countUp(a *amount, counting []*engine.Operation, setter func(engine.Pointer) *engine.Operation) {
	paths := map[engine.Pointer]bool{}
	for _, o := range m.ops {
		if o.Edit != nil {
			for p := range o.Edit.Add {
				paths[p] = true
			}
		}
	}
	for p := range paths {
		by := setter(p)
		value, known := a.cells[p]
		sum, err := strconv.Atoi(string(value))
		some := false
		for _, o := range counting {
			if o.Edit == nil || o.Edit.Add[p].By == "" || by != nil && m.saw(by, o) {
				continue
			}
			some = true
			n, err := strconv.Atoi(string(o.Edit.Add[p].By))
			if err != nil {
				a.unsure[p] = true
			}
			sum += n
		}
		switch {
		case !some && (known || by == nil):
		case !known || value == nil || err != nil: // it began with what the application had
			a.unsure[p] = true
		default:
			a.cells[p] = []byte(strconv.Itoa(sum))
		}
	}
}

// differs says where what an application shows is not what the model says; elements of keyed arrays are members here and there.
func (a *amount) differs(k *engine.Kind, shown map[string]any) (all []string) {
	for _, p := range sortedPointers(a.cells) {
		v := a.cells[p]
		if a.unsure[p] || k.Ignored(p) || a.underUnsure(p) {
			continue
		}
		if p == k.Marker && string(v) == `""` { // what is left of the agent's marker is as good as nothing
			continue
		}
		is, there := lookUp(shown, p)
		_, members := is.(map[string]any)
		switch {
		case v == nil && (!there || a.below(p)):
		case bytes.Equal(v, container) && members:
		case v != nil && there && !members && sameJSON(v, is):
		default:
			all = append(all, fmt.Sprintf("%s at %s, and not %s", encode(is), p, v))
		}
	}
	return all
}

// below reports whether something is to be there below a path.
func (a *amount) below(p engine.Pointer) bool {
	for q, v := range a.cells {
		if v != nil && q != p && p.Contains(q) {
			return true
		}
	}
	return false
}

func (a *amount) underUnsure(p engine.Pointer) bool {
	for q := range a.unsure {
		if q.Contains(p) || p.Contains(q) {
			return true
		}
	}
	return false
}

func sameJSON(raw []byte, v any) bool {
	var w any
	return json.Unmarshal(raw, &w) == nil && bytes.Equal(encode(w), encode(v))
}
