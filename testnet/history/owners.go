package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

type place struct {
	document engine.DocumentID
	site     *site
}

// findOwners sees to it that of several living resources of one name the one that was created earliest has the object at a
// site, and that the site tells of the others that they have not.
func (c *checker) findOwners(s *site) {
	type named struct {
		kind engine.KindName
		id   engine.ResourceID
	}
	type living struct {
		row  engine.ResourceRow
		born *engine.Operation
	}
	names := map[named][]living{}
	for _, row := range c.w.rows(s) {
		if row.State.Past() || !c.w.Kind(row.Kind).Natural() {
			continue
		}
		creates := slices.DeleteFunc(c.model(row).living(), func(o *engine.Operation) bool { return o.Type != engine.TypeCreate })
		if row.Local == "" && slices.ContainsFunc(creates, func(o *engine.Operation) bool { return s.gaveUp(o.ID) }) { // its object is not to be here
			c.dropped[place{row.Document, s}] = true
			continue
		}
		for _, o := range creates {
			if !s.gaveUp(o.ID) {
				names[named{row.Kind, row.ID}] = append(names[named{row.Kind, row.ID}], living{row, o})
				break
			}
		}
	}
	for n, all := range names {
		slices.SortFunc(all, func(a, b living) int { return engine.Compare(a.born, b.born) })
		for i, l := range all {
			conflicts, _ := s.Disk.ConflictsOf(c.w.Ctx, l.row.Document)
			told := slices.ContainsFunc(conflicts, func(x engine.Conflict) bool {
				return x.Kind == engine.ConflictName && x.Site == s.ID && x.Open() && x.Reason != ""
			})
			if i > 0 {
				c.yields[place{l.row.Document, s}] = true
				c.w.contended++
			}
			if told != (i > 0) || told && (l.row.State != engine.StateConflict || l.row.Local != "") {
				c.say("%s: of %d resources called %s number %d (created by %s) says that it yields: %t; it is %s and here as %q",
					s.Name, len(all), n.id, i+1, l.born.ID, told, l.row.State, l.row.Local)
			}
		}
	}
}

// gaveUp reports whether an operator has dropped a create at a site, which has no replica then, and no use for the name.
func (s *site) gaveUp(create engine.OperationID) bool {
	row, err := s.Disk.Recalled(create)
	return err == nil && strings.Contains(row.Sites[s.ID].Error, dropped)
}

// yieldsAnywhere reports whether the name of a resource is another's at some site.
func (c *checker) yieldsAnywhere(id engine.DocumentID) bool {
	return slices.ContainsFunc(c.w.sites, func(s *site) bool { return c.yields[place{id, s}] })
}

// model reads what all sites know of a resource, or knew, once for a check.
func (c *checker) model(row engine.ResourceRow) *model {
	if m := c.models[row.Document]; m != nil {
		return m
	}
	m := &model{kind: c.w.Kind(row.Kind), places: map[operationOf][]*engine.Operation{}}
	own := map[*engine.Change]bool{} // those that nobody but their author has ever had
	lines := map[lineOf]map[uint64]map[[32]byte]*engine.Change{}
	for _, mine := range []bool{false, true} {
		for _, s := range c.w.sites { // one that was added may have begun with a checkpoint
			for _, change := range s.Disk.Written(row.Document) {
				l := lineOf{change.Line, change.Epoch}
				if lines[l] == nil {
					lines[l] = map[uint64]map[[32]byte]*engine.Change{}
				}
				if mine != (change.Author() == s.ID) || mine && len(lines[l][change.Number]) > 0 { // what others have of its words counts
					continue
				}
				if lines[l][change.Number] == nil {
					lines[l][change.Number] = map[[32]byte]*engine.Change{}
				}
				lines[l][change.Number][change.Hash] = change
				own[change] = mine
			}
		}
	}
	for _, mine := range []bool{false, true} {
		for _, line := range lines {
			for _, n := range slices.Sorted(maps.Keys(line)) {
				if len(line[n]) > 1 { // a site that was set back has written another one: from there on the line counts nowhere
					break
				}
				for _, change := range line[n] {
					if mine != own[change] {
						continue
					}
					for _, e := range change.Entries {
						c.entry(m, change, e, mine)
					}
				}
			}
		}
	}
	for _, s := range c.w.sites {
		rec, err := s.Disk.Record(c.w.Ctx, row.Document)
		var f view.Foundation
		if err == nil && rec.Checkpoint != nil && engine.Decode(rec.Checkpoint, &f) == nil {
			m.found(&f.Checkpoint)
			for _, o := range f.Checkpoint.Kept {
				if o.Origin == s.ID && !s.restored && len(m.places[idOf(o)]) == 0 { // its epoch ended in the turn that wrote it: no disk has it otherwise
					m.add(o)
				}
			}
		}
	}
	c.models[row.Document] = m
	return m
}

// lineOf names the changes of one line in one epoch.
type lineOf struct {
	line  engine.Line
	epoch uint64
}

// entry takes in one entry of a document.
func (c *checker) entry(m *model, of *engine.Change, e engine.Entry, mine bool) {
	var err error
	switch e.Map {
	case engine.MapOperations:
		o := &engine.Operation{Line: of.Line, Origin: of.Author(), Epoch: of.Epoch}
		if err = engine.Decode(e.Value, o); err == nil && !c.w.isLost(o.ID) && !(mine && len(m.places[idOf(o)]) > 0) { // its site has let go of it, and issued it again
			m.add(o)
		}
	}
	if err != nil {
		c.say("an entry of %s cannot be read: %v", of.Line, err)
	}
}

// yielded reports whether an operation is one of a resource whose name is another's, or was until an operator gave it up.
func (c *checker) yielded(id engine.OperationID) bool {
	return slices.ContainsFunc(c.w.sites, func(s *site) bool {
		row, err := s.Disk.Recalled(id)
		return err == nil && row.Document != "" && (c.yieldsAnywhere(row.Document) || c.w.nameless[row.Document])
	})
}
