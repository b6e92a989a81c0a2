package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/testnet/world"
)

// check returns all that is not as it must be.
func (w *play) check() (problems []string) {
	c := &checker{w: w, yields: map[place]bool{}, dropped: map[place]bool{}, spoiled: map[engine.DocumentID]bool{}, held: map[engine.DocumentID]bool{},
		models: map[engine.DocumentID]*model{}, lives: map[resourceAt]engine.DocumentID{}}
	w.contended, w.superseded = 0, 0
	for _, s := range w.sites {
		c.findSpoiled(s)
		c.findOwners(s)
	}
	for _, s := range w.sites {
		c.checkSite(s)
	}
	for _, res := range w.resources {
		if res.kind.Name == crate {
			c.checkContents(res)
		}
		if res.moved {
			c.findPlacement(res)
		}
	}
	for _, res := range w.resources {
		c.checkResource(res)
	}
	for _, q := range w.requests {
		if q.acknowledged() && !q.resource.thing() {
			c.checkRequest(q)
		}
		c.checkOnce(q)
	}
	return c.problems
}

// checker collects what is not as it must be.
type checker struct {
	w *play
	// yields are the resources whose name is another's at a site.
	yields map[place]bool
	// dropped are those of which an operator wanted no object at a site.
	dropped map[place]bool
	// spoiled are the documents of which a site has refused something for good: sites differ, and say so.
	spoiled map[engine.DocumentID]bool
	// held are those where only an action stood in the way, whose effect nothing shows: sites may show the same all the same.
	held   map[engine.DocumentID]bool
	models map[engine.DocumentID]*model
	// lives are the documents of resources whose placement was to change, where they have come to live.
	lives    map[resourceAt]engine.DocumentID
	problems []string
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// rejected lists the operations that were refused, as far as a site knows.
func (w *play) rejected(s *site) (list []engine.OperationRow) {
	for _, o := range s.Disk.AllOperations() {
		if o.State == engine.StateRejected || o.Sites[s.ID].State == engine.StateRejected {
			list = append(list, o)
		}
	}
	return list
}

func (c *checker) findSpoiled(s *site) {
	for _, o := range c.w.rejected(s) {
		gaveUp := strings.HasPrefix(o.Sites[s.ID].Error, dropped) // perhaps at the last site of its resource
		if o.Document != "" && (gaveUp || !refusedFirst(o)) {
			if conflicts, _ := s.Disk.ConflictsOf(c.w.Ctx, o.Document); len(conflicts) > 0 { // else later ones have replaced it
				c.spoiled[o.Document] = true
			}
			held := heldForAction(o) || c.w.lostContainer(o) || c.w.knobs.backups
			c.held[o.Document] = c.held[o.Document] || held
			if !c.w.knobs.rejects && !held {
				c.say("%s: %s %s of %s was refused: %+v", s.Name, o.Type, o.ID, o.Resource, o.Sites)
			}
		}
	}
}

// heldForAction reports whether an operation was refused only where an action has run that the catalog does not declare, so that the
// object cannot be made anew: an operator drops it there.
func heldForAction(o engine.OperationRow) bool {
	for _, st := range o.Sites {
		if st.State == engine.StateRejected && !heldBack(st.Error) {
			return false
		}
	}
	return true
}

// checkSite sees to it that nothing is left to do at a site, and that it holds nothing that is not its own.
func (c *checker) checkSite(s *site) {
	w := c.w
	errands, _ := s.Disk.Errands(w.Ctx)
	kept, _ := s.Disk.Outbox(w.Ctx)
	for _, e := range errands {
		c.say("%s: the errand of %s is open", s.Name, e.Operation)
	}
	for _, k := range kept {
		c.say("%s: operation %s is kept", s.Name, k.Operation)
	}
	for _, row := range s.Disk.AllOperations() {
		if row.Document == "" && row.Sites[s.ID].State == engine.StatePending {
			c.say("%s: operation %s is listed as pending, and nothing is open", s.Name, row.ID)
		}
	}
	owned := map[string]bool{}
	for _, row := range c.w.rows(s) {
		if row.State != engine.StateDeleted { // of that its row tells what the object was called
			owned[string(row.Kind)+" "+string(row.Local)] = true
		}
		if row.State == engine.StateLeft {
			continue
		}
		yields := c.yields[place{row.Document, s}]
		switch {
		case row.Pending:
			c.say("%s: %s %s has something left to do: %s (%s)", s.Name, row.Kind, row.ID, row.Sites[s.ID].Reason, c.leftToDo(s, row))
		case c.spoiled[row.Document]:
			if row.State == engine.StateConverged && !c.held[row.Document] || row.State != engine.StateDeleted && row.Reason == "" {
				c.say("%s: of %s something was refused, and it is %s: %q", s.Name, row.ID, row.State, row.Reason)
			}
		case row.State != engine.StateConverged && row.State != engine.StateDeleted && !c.yieldsAnywhere(row.Document):
			c.say("%s: %s %s is %s: %s", s.Name, row.Kind, row.ID, row.State, row.Reason)
		}
		if !yields {
			c.checkDocument(s, row)
		}
	}
	for _, k := range w.kinds {
		for id, o := range s.App.Objects(k.Name) {
			tag, _ := o.Fields["tag"].(string)
			if !owned[string(k.Name)+" "+id] && !c.left(tag) && !w.isThing(tag) && !w.orphan(s, k, id) {
				c.say("%s: %s %s belongs to nothing: %s", s.Name, k.Name, id, encode(o.Fields))
			}
		}
	}
	for _, conflict := range c.conflicts(s) {
		if conflict.Kind == engine.ConflictAside {
			c.say("%s: %s is set aside: %s", s.Name, conflict.Resource, conflict.Reason)
		}
	}
	for _, other := range w.sites {
		if other.N <= s.N {
			continue
		}
		for _, id := range w.Differ(s.Site, other.Site) {
			c.say("%s and %s hold document %.8s differently", s.Name, other.Name, id)
		}
	}
}

// leftToDo says what a replica has left to do.
func (c *checker) leftToDo(s *site, row engine.ResourceRow) (words string) {
	err := s.Proc.Site.Look(c.w.Ctx, row.Document, func(r *replica.Replica) {
		words = fmt.Sprintf("busy %t, idle %t, next %s, %d epochs, ending %t, over %t, rejoins %t, waits %v", r.Busy(), r.Idle(), r.NextStep().Kind, len(r.Epochs),
			compact.EpochEnding(r.View), compact.EpochOver(r.View), r.Me.Rejoins, r.Me.Waits)
	})
	if err != nil {
		return err.Error()
	}
	return words
}

// conflicts lists all that wait for a person at a site.
func (c *checker) conflicts(s *site) []engine.Conflict {
	list, _, err := s.Disk.Conflicts(c.w.Ctx, engine.ConflictFilter{Limit: 1000})
	if err != nil {
		c.say("%s: %v", s.Name, err)
	}
	return list
}

// checkDocument sees to it that what a site's application shows is what the operations that it knows amount to.
func (c *checker) checkDocument(s *site, row engine.ResourceRow) {
	if c.spoiled[row.Document] {
		return
	}
	m := c.model(row)
	a := m.amounts()
	o := s.App.Object(row.Kind, row.Local)
	if row.State == engine.StateDeleted && (c.w.kept(s, row) || c.w.owned(s, c.w.Kind(row.Kind), string(row.Local))) {
		o = nil // its row tells what the object was called
	}
	if a.exists != (o != nil) {
		c.say("%s: %s as %q: it is there: %t; it is to be: %t", s.Name, row.ID, row.Local, o != nil, a.exists)
	}
	if o == nil || !a.exists {
		return
	}
	k := c.w.Kind(row.Kind)
	if value, set := a.cells["/count"]; set && row.Collaboration == engine.Cross && len(k.Divide) > 0 {
		if !a.unsure["/count"] {
			c.checkShares(s, row, value)
		}
		delete(a.cells, "/count")
	}
	for _, what := range a.differs(k, world.Unmarked(byKey(k, o.Fields))) {
		if !c.w.agreeOnLost(row) {
			c.say("%s: %s shows %s", s.Name, row.ID, what)
		}
	}
	for path, by := range a.bytes {
		want := string(by.Body)
		if by.Blob != nil {
			want = string(by.Blob.Hash)
		}
		if rest := strings.TrimPrefix(path, k.Item); o.Files[rest] != want && !c.w.doesWithoutAt(s, by.ID) && !c.w.putBefore(s, k, by.ID) && !c.w.overwritten(k, o.Fields["tag"]) {
			c.say("%s: %s has %q at %s, where %s put %q", s.Name, row.ID, o.Files, path, by.ID, want)
		}
	}
}

// agreeOnLost reports whether all sites that have a resource were set back without their applications, and all show the same, with what was done to it
// and nobody knows any more. Sites that agree are converged: where none is left that shows anything else, what only lost runs have set stays.
func (w *play) agreeOnLost(row engine.ResourceRow) bool {
	i := slices.IndexFunc(w.resources, func(res *resource) bool { return res.kind.Name == row.Kind && res.id == string(row.ID) })
	if i < 0 || w.knobs.machines {
		return false
	}
	res := w.resources[i]
	shown := w.shown(res.placement[0], res)
	differs := func(s *site) bool { return !s.restored || !slices.Equal(w.shown(s, res), shown) }
	return !slices.ContainsFunc(res.placement, differs) && slices.ContainsFunc(w.requests, func(q *request) bool {
		return q.resource == res && w.isLost(q.operation) && strings.Contains(strings.Join(shown, ""), strconv.Quote(q.mark()))
	})
}

// kept reports whether an object may be one that a site kept when it was to leave its placement: nobody's, though it belongs there again.
func (w *play) kept(s *site, row engine.ResourceRow) bool {
	return slices.ContainsFunc(w.resources, func(res *resource) bool {
		return res.kind.Name == row.Kind && res.id == string(row.ID) && slices.Contains(res.removed, s)
	})
}

// checkShares sees to it that the parts of a cross resource show an integer together that its operations amount to, and each of
// them as much as the others, or one more.
func (c *checker) checkShares(s *site, row engine.ResourceRow, whole []byte) {
	want, err := strconv.Atoi(string(whole))
	if err != nil {
		return // it was removed, or is no integer any more
	}
	sum, shares := 0, map[int]int{}
	for id, st := range row.Sites {
		other := c.w.siteOf(id)
		o := other.App.Object(row.Kind, c.w.local(other, row))
		if o == nil || st.Part == 0 {
			return // told elsewhere
		}
		count, ok := o.Fields["count"].(float64)
		if before, known := shares[st.Part]; !ok || known && before != int(count) {
			c.say("%s: %s counts %v at %s, whose twin counts %d", s.Name, row.ID, o.Fields["count"], other.Name, before)
		} else if !known {
			shares[st.Part] = int(count)
			sum += int(count)
		}
	}
	least, most := slices.Min(slices.Collect(maps.Values(shares))), slices.Max(slices.Collect(maps.Values(shares)))
	if sum != want || most-least > 1 {
		c.say("%s: the parts of %s count %v, of %d", s.Name, row.ID, shares, want)
	}
}

// local is what a site calls a resource that another one knows.
func (w *play) local(s *site, row engine.ResourceRow) engine.LocalID {
	mine, err := s.Disk.ResourceByDocument(w.Ctx, row.Document)
	if err != nil {
		return ""
	}
	return mine.Local
}

func lookUp(v any, p engine.Pointer) (any, bool) {
	for _, t := range p.Tokens() {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[t]; !ok {
			return nil, false
		}
	}
	return v, true
}

// shown is what a site's application shows of a resource, identifiers apart.
func (w *play) shown(s *site, res *resource) (all []string) {
	objects := s.App.Objects(res.kind.Name)
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		o := objects[id]
		if o.Fields["tag"] != res.tag || w.orphan(s, res.kind, id) || res.revived && w.other(s, res, id) {
			continue
		}
		fields := world.Unmarked(byKey(res.kind, o.Fields))
		delete(fields, "id")
		if w.shares(res) { // each shows its share
			delete(fields, "count")
		}
		files := w.filesOf(s, res, id, o)
		// A delete that ends one of two creates cannot take back the files of what it ends, and a site that was added may do without.
		if w.madeTwice(res) || w.doesWithout(res) || w.anyPutBefore(res) || w.overwritten(res.kind, res.tag) || len(files) == 0 {
			all = append(all, string(encode(fields)))
			continue
		}
		all = append(all, string(encode(fields))+string(encode(files)))
	}
	return all
}

// other reports whether an object is that of another resource than the one that clients know by the name of res.
func (w *play) other(s *site, res *resource, id string) bool {
	row, err := s.Disk.ResourceByLocal(w.Ctx, res.kind.Service, res.kind.Name, engine.LocalID(id))
	return err == nil && string(row.ID) != res.id
}

// ofAnother reports whether a request is one of another resource than the one that clients know by that name: what has created one of the two was done
// after its client had been told that nothing had happened, and had asked for the other one.
func (w *play) ofAnother(q *request) bool {
	return q.resource.revived && slices.ContainsFunc(w.sites, func(s *site) bool {
		row, err := s.Disk.Recalled(q.operation)
		return err == nil && row.Document != "" && string(row.Resource) != q.resource.id
	})
}

// filesOf are the files of an object, without what an operation has put there that was lost when the site was set back without its
// application: nobody knows that operation any more, and no representation shows its bytes.
func (w *play) filesOf(s *site, res *resource, id string, o *world.Object) map[string]string {
	if !s.restored || w.knobs.machines || len(o.Files) == 0 {
		return o.Files
	}
	lost := false // something of a lost run, which its client may not know the operation of
	for key, e := range s.App.Effects {
		by, _, _ := strings.Cut(key, ".")
		lost = lost || e.Kind == res.kind.Name && slices.Contains(e.Runs, id) && !w.known(engine.OperationID(by))
	}
	files := maps.Clone(o.Files)
	for _, q := range w.requests {
		if q.resource != res || q.kind != "file" || !lost || q.operation != "" && w.known(q.operation) {
			continue
		}
		bytes := q.large
		if bytes == nil {
			bytes = q.sent.Body
		}
		maps.DeleteFunc(files, func(_, is string) bool { return is == world.Content(bytes) })
	}
	return files
}

// overwritten reports whether bytes beside an object are those of a lost operation, which came after what was known then: no representation shows them,
// and nobody knows that something is to be put there again.
func (w *play) overwritten(k *engine.Kind, tag any) bool {
	for _, res := range w.resources {
		for _, s := range w.sites {
			for id, o := range s.App.Objects(k.Name) {
				if res.kind == k && res.tag == tag && o.Fields["tag"] == tag && len(w.filesOf(s, res, id, o)) < len(o.Files) {
					return true
				}
			}
		}
	}
	return false
}

// replaces reports whether a PUT that was to create a resource has found one: its site was set back, and had made another of what was there before it
// was asked for it again.
func (w *play) replaces(q *request) bool {
	return slices.ContainsFunc(w.sites, func(s *site) bool {
		row, err := s.Disk.Recalled(q.operation)
		return err == nil && row.Type == engine.TypeReplace
	})
}

// madeTwice reports whether a resource may have been created twice at one time, and one of the two deleted.
func (w *play) madeTwice(res *resource) bool {
	creates, deletes := 0, 0
	for _, q := range w.requests {
		if q.resource == res && !q.refused {
			switch q.kind {
			case "create":
				creates++
			case "delete":
				deletes++
			}
		}
	}
	return creates > 1 && deletes > 0
}

// doesWithoutAt reports whether a site began without the large body of an operation that no other had any more: the operator who added it
// had accepted that.
func (w *play) doesWithoutAt(s *site, id engine.OperationID) bool {
	row, err := s.Disk.Recalled(id)
	at := row.Sites[s.ID]
	return err == nil && at.State == engine.StateApplied && strings.Contains(at.Error, "no site had its body any more")
}

func (w *play) doesWithout(res *resource) bool {
	return res.moved && slices.ContainsFunc(w.requests, func(q *request) bool {
		return q.resource == res && q.large != nil && q.operation != "" &&
			slices.ContainsFunc(w.sites, func(s *site) bool { return w.doesWithoutAt(s, q.operation) })
	})
}

// putBefore reports whether a lost run had put the bytes of an operation in their place, and nobody knew of that. Where the application does nothing
// for a key that it has had, what came between is there still: no representation shows bytes.
func (w *play) putBefore(s *site, k *engine.Kind, id engine.OperationID) bool {
	return k.HonoursKey && s.untold[string(id)+"."+string(s.Name)] > 0
}

// anyPutBefore is putBefore of any bytes of a resource, also of a request that its client knows no operation of.
func (w *play) anyPutBefore(res *resource) bool {
	return res.kind.HonoursKey && slices.ContainsFunc(w.sites, func(s *site) bool {
		for key := range s.untold {
			id, _, _ := strings.Cut(key, ".")
			for _, at := range w.sites {
				if row, err := at.Disk.Recalled(engine.OperationID(id)); err == nil && row.Type == engine.TypeAbsolute && string(row.Resource) == res.id {
					return true
				}
			}
		}
		return false
	})
}

// left reports whether a site has had something to do with an object that it keeps for itself since.
func (c *checker) left(tag string) bool {
	return slices.ContainsFunc(c.w.resources, func(r *resource) bool { return r.tag == tag && r.moved })
}

// has is the document of the resource that has the name at a site; empty: it is the same one everywhere. Where sites were set back, one may have taken
// what its lost run had made for its own.
func (c *checker) has(res *resource, s *site) engine.DocumentID {
	if d := c.lives[resourceAt{res, s}]; d != "" || c.w.restored == 0 || !res.kind.Natural() {
		return d
	}
	row, err := s.Disk.ResourceByID(c.w.Ctx, res.kind.Service, res.kind.Name, engine.ResourceID(res.id))
	if err != nil {
		return ""
	}
	for _, other := range c.w.rows(s) {
		if other.Kind == row.Kind && other.ID == row.ID && c.yields[place{other.Document, s}] {
			return row.Document
		}
	}
	return ""
}

// checkResource sees to it that a resource is the same at all sites of its placement, and nowhere else.
func (c *checker) checkResource(res *resource) {
	for _, s := range c.w.sites {
		for _, row := range c.w.rows(s) {
			if row.Kind == res.kind.Name && string(row.ID) == res.id && c.spoiled[row.Document] {
				return
			}
		}
	}
	first := map[engine.DocumentID][]string{}
	for i, s := range c.w.sites {
		if slices.Contains(res.removed, s) { // it may have kept the object, and have got another when it was added again
			continue
		}
		shown := c.w.shown(s, res)
		held := slices.Contains(res.placement, s)
		switch {
		case !held && len(shown) > 0 && !res.moved:
			c.say("%s: %s is here, and its placement is elsewhere", s.Name, res.tag)
		case len(shown) > 1:
			c.say("%s: %s is here %d times: %s", s.Name, res.tag, len(shown), shown)
		}
		if !held {
			continue
		}
		d := c.has(res, s)
		if before, others := first[d]; !others {
			first[d] = shown
		} else if !slices.Equal(before, shown) {
			c.say("%s differs: %s, at site%d %s", res.tag, before, i, shown)
		}
	}
	if len(first) == 1 {
		for _, shown := range first {
			c.checkMarks(res, shown)
			c.checkCount(res, shown)
		}
	}
}

// checkCount sees to it that a counter that nobody sets is what all that counted has added.
func (c *checker) checkCount(res *resource, shown []string) {
	if len(shown) == 0 || c.w.shares(res) || !world.Declares(res.kind, "incr") || len(res.kind.Resolutions) > 0 {
		return
	}
	want, creates := 0, 0
	// What was asked for again at a site that had forgotten its key may be two operations, of which the client knows one.
	left := map[int]bool{0: true}
	counted := map[engine.OperationID]bool{}
	for _, q := range c.w.requests {
		if q.resource != res || q.first != nil && (q.operation == "" || counted[q.operation]) || c.yielded(q.operation) {
			continue
		}
		counted[q.operation] = true
		if q.kind == "create" && !q.refused {
			if creates++; creates > 1 { // a second PUT of what is there is a whole representation
				return
			}
		}
		if (q.kind == "delete" || q.kind == "replace") && !q.refused || q.kind == "incr" && q.operation == "" && !q.refused {
			return
		}
		if q.kind != "incr" || q.operation == "" {
			continue
		}
		times := 0
		if q.again && c.w.knobs.backups || c.w.isLost(q.operation) {
			times = 1
		}
		for _, s := range res.placement { // what had run there before, untold, is where the number began
			times = max(times, s.untold[string(q.operation)+"."+string(s.Name)])
		}
		for _, n := range slices.Collect(maps.Keys(left)) {
			for i := range times {
				left[n+(i+1)*(q.n+1)] = true
			}
		}
		for _, s := range res.placement {
			if row, err := s.Disk.Recalled(q.operation); err == nil && row.Document != "" && !refusedFirst(row) {
				want += q.n + 1
				break
			}
		}
	}
	var fields struct{ Count float64 }
	if err := json.NewDecoder(strings.NewReader(shown[0])).Decode(&fields); err != nil || !left[int(fields.Count)-want] {
		c.say("%s counts %v, and %d was added", res.tag, fields.Count, want)
	}
}

// refusedFirst reports whether a request was refused where it ran first, also when it was sent again to find out what had become of it:
// it is listed there with its resource, and is in no document.
func refusedFirst(row engine.OperationRow) bool {
	return row.State == engine.StateRejected && len(row.Sites) < 2
}

// checkMarks sees to it that every field that was set, and that nothing has removed, is there.
func (c *checker) checkMarks(res *resource, shown []string) {
	creates, deletes := 0, 0
	for _, q := range c.w.requests {
		if q.resource == res && !q.refused && q.kind == "create" {
			if creates++; c.w.replaces(q) {
				creates++
			}
		}
		if q.resource == res && !q.refused && q.kind == "delete" {
			deletes++
		}
	}
	var fields map[string]any
	if len(shown) > 0 {
		if err := json.NewDecoder(strings.NewReader(shown[0])).Decode(&fields); err != nil {
			panic(err) // it was just encoded
		}
	}
	for _, q := range c.w.requests {
		if q.resource != res || !q.acknowledged() || c.w.isLost(q.operation) || c.yielded(q.operation) || c.w.ofAnother(q) {
			continue
		}
		if q.kind == "create" && deletes == 0 && len(shown) == 0 && q.status != 202 {
			c.say("%s was created (%s) and is gone", res.tag, q)
		}
		// A whole representation ends what its author did not see, and a second PUT of what is created by one is one.
		// Of two operations whose correction was refused the later counts whole.
		if deletes > 0 || res.whole || c.w.knobs.rejects || len(res.kind.Resolutions) > 0 || res.kind.ReplaceWhole || len(shown) == 0 || creates > 1 && res.kind.ID.From == engine.IDFromPath {
			continue
		}
		sets := q.kind == "create" || q.kind == "merge" || q.kind == "patch"
		if _, ok := fields[q.mark()]; sets && q.status != 202 && !ok {
			c.say("%s does not show what %s set: %s", res.tag, q, shown[0])
		}
	}
}
