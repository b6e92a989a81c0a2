package history

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
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
	for _, row := range s.rows() {
		if row.State.Past() || !c.w.kindOf(row.Kind).Natural() {
			continue
		}
		h := c.history(s, row)
		for _, o := range h.Living(func(*engine.Operation) bool { return true }) {
			if o.Type == engine.TypeCreate && !s.gaveUp(o.ID) {
				names[named{row.Kind, row.ID}] = append(names[named{row.Kind, row.ID}], living{row, o})
				break
			}
		}
	}
	for n, all := range names {
		slices.SortFunc(all, func(a, b living) int { return engine.Compare(a.born, b.born) })
		for i, l := range all {
			conflicts, _ := s.disk.ConflictsOf(c.w.ctx, l.row.Document)
			told := slices.ContainsFunc(conflicts, func(x engine.Conflict) bool {
				return x.Kind == engine.ConflictName && x.Site == s.id && x.Open() && x.Reason != ""
			})
			if i > 0 {
				c.yields[place{l.row.Document, s}] = true
				c.w.contended++
			}
			if told != (i > 0) || told && (l.row.State != engine.StateConflict || l.row.Local != "") {
				c.say("%s: of %d resources called %s number %d (created by %s) says that it yields: %t; it is %s and here as %q",
					s.name, len(all), n.id, i+1, l.born.ID, told, l.row.State, l.row.Local)
			}
		}
	}
}

// gaveUp reports whether an operator has dropped a create at a site, which has no replica then, and no use for the name.
func (s *site) gaveUp(create engine.OperationID) bool {
	row, err := s.disk.Recalled().Operation(s.w.ctx, create)
	return err == nil && strings.Contains(row.Sites[s.id].Error, dropped)
}

// yieldsAnywhere reports whether the name of a resource is another's at some site.
func (c *checker) yieldsAnywhere(id engine.DocumentID) bool {
	return slices.ContainsFunc(c.w.sites, func(s *site) bool { return c.yields[place{id, s}] })
}

// history reads what all sites know of a resource, once for a check.
func (c *checker) history(s *site, row engine.ResourceRow) *engine.History {
	if h := c.histories[row.Document]; h != nil {
		return h
	}
	var entries []engine.Entry
	for _, other := range c.w.sites { // one that was added may have begun with a checkpoint
		more, err := other.disk.Epochs(&c.w.changes, row.Document)
		if err != nil {
			c.say("%s: %v", other.name, err)
		}
		entries = append(entries, more...)
	}
	h, said := engine.HistoryOf(c.w.kindOf(row.Kind)), map[engine.SiteID]engine.Replica{}
	for _, e := range entries {
		if parts := strings.Split(e.Key, "/"); e.Map == engine.MapOutcomes && len(parts) == 3 {
			h.AddFact(engine.Fact{Earlier: engine.OperationID(parts[1]), Later: engine.OperationID(parts[2])})
		}
		if e.Map == engine.MapReplicas {
			hindsight(said, e)
		}
		if e.Map != engine.MapOperations {
			continue
		}
		o, err := engine.DecodeOperation(e.Key, e.Value)
		if err != nil {
			c.say("%s: %v", s.name, err)
			continue
		}
		if c.w.isLost(o.ID) {
			continue
		}
		h.Add(o)
	}
	for author, r := range said {
		h.Heed(author, r.Hindsight)
	}
	c.histories[row.Document] = h
	return h
}

// hindsight adds to said what a site has said last of what its operations count as having seen.
func hindsight(said map[engine.SiteID]engine.Replica, e engine.Entry) {
	var r engine.Replica
	if err := json.Unmarshal(e.Value, &r); err != nil {
		panic(err) // a site has written it
	}
	if author := engine.SiteID(e.Key); len(r.Hindsight) > 0 && !r.At.Before(said[author].At) {
		said[author] = r
	}
}
