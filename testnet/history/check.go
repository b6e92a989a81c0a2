package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/memory"
)

// check returns all that is not as it must be.
func (w *world) check() (problems []string) {
	c := &checker{w: w, yields: map[place]bool{}, spoiled: map[engine.DocumentID]bool{}, held: map[engine.DocumentID]bool{},
		histories: map[engine.DocumentID]*engine.History{}, lives: map[replica]engine.DocumentID{}}
	w.contended, w.superseded = 0, 0
	w.refusedAgain()
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
		if res.moved || w.onlyLost(res) || c.madeOfLeft(res) {
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
	w *world
	// yields are the resources whose name is another's at a site.
	yields map[place]bool
	// spoiled are the documents of which a site has refused something for good: sites differ, and say so.
	spoiled map[engine.DocumentID]bool
	// held are those where only an action stood in the way, whose effect nothing shows: sites may show the same all the same.
	held      map[engine.DocumentID]bool
	histories map[engine.DocumentID]*engine.History
	// lives are the documents of resources whose placement was to change, where they have come to live.
	lives    map[replica]engine.DocumentID
	problems []string
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// rows lists all resources of a site, deleted ones included.
func (s *site) rows() []engine.ResourceRow {
	living, _, err := s.disk.Resources(s.w.ctx, engine.ResourceFilter{Limit: 1000})
	if err != nil {
		s.w.problem("%s: %v", s.name, err)
	}
	deleted, _, err := s.disk.Resources(s.w.ctx, engine.ResourceFilter{State: engine.StateDeleted, Limit: 1000})
	if err != nil {
		s.w.problem("%s: %v", s.name, err)
	}
	return append(living, deleted...)
}

func (s *site) operations(f engine.OperationFilter) []engine.OperationRow {
	f.Limit = 1000
	rows, _, err := s.disk.Recalled().Operations(s.w.ctx, f)
	if err != nil {
		s.w.problem("%s: %v", s.name, err)
	}
	return rows
}

func (c *checker) findSpoiled(s *site) {
	for _, o := range s.operations(engine.OperationFilter{State: engine.StateRejected}) {
		if o.Document != "" && !refusedFirst(o) {
			if conflicts, _ := s.disk.ConflictsOf(c.w.ctx, o.Document); len(conflicts) > 0 { // else later ones have replaced it
				c.spoiled[o.Document] = true
			}
			held := heldForAction(o) || c.w.lostContainer(o) || c.w.ranOnLost(o) || c.w.metOrphan(o)
			c.held[o.Document] = c.held[o.Document] || held
			if !c.w.knobs.rejects && !held {
				c.say("%s: %s %s of %s was refused: %+v", s.name, o.Type, o.ID, o.Resource, o.Sites)
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
	intents, _ := s.disk.Intents(w.ctx)
	kept, _ := s.disk.Outbox(w.ctx)
	for _, i := range intents {
		c.say("%s: the intent of %s is open", s.name, i.Operation)
	}
	for _, k := range kept {
		c.say("%s: operation %s is kept", s.name, k.Operation)
	}
	for _, row := range s.operations(engine.OperationFilter{State: engine.StatePending, Site: s.id}) {
		if row.Document == "" {
			c.say("%s: operation %s is listed as pending, and nothing is open", s.name, row.ID)
		}
	}
	owned := map[string]bool{}
	for _, row := range s.rows() {
		owned[string(row.Kind)+" "+string(row.Local)] = true
		if row.State == engine.StateLeft {
			continue
		}
		yields := c.yields[place{row.Document, s}]
		switch {
		case row.Pending:
			c.say("%s: %s %s has something left to do: %s", s.name, row.Kind, row.ID, row.Sites[s.id].Reason)
		case c.spoiled[row.Document]:
			if row.State == engine.StateConverged && !c.held[row.Document] || row.State != engine.StateDeleted && row.Reason == "" {
				c.say("%s: of %s something was refused, and it is %s: %q", s.name, row.ID, row.State, row.Reason)
			}
		case row.State != engine.StateConverged && row.State != engine.StateDeleted && !c.yieldsAnywhere(row.Document):
			c.say("%s: %s %s is %s: %s", s.name, row.Kind, row.ID, row.State, row.Reason)
		case row.State == engine.StateDeleted && row.Local != "":
			c.say("%s: deleted %s is there as %s", s.name, row.ID, row.Local)
		}
		if !yields {
			c.checkDocument(s, row)
		}
	}
	for kind, objects := range s.app.objects {
		for id, o := range objects {
			tag, _ := o.fields["tag"].(string)
			if !owned[string(kind)+" "+id] && !c.left(tag) && !w.isThing(tag) && !s.orphans[string(kind)+" "+id] && !s.leftGivenUp(tag) {
				c.say("%s: %s %s belongs to nothing: %s", s.name, kind, id, encode(o.fields))
			}
		}
	}
	for _, other := range w.sites {
		mine, _ := s.disk.Summaries(w.ctx, other.id, "", "")
		for _, d := range mine {
			row, err := s.disk.Document(w.ctx, d.Document)
			here, _ := s.disk.ResourceByDocument(w.ctx, s.disk.Root(d.Document))
			_, former := row.Former[other.id] // an epoch that is over may still be shown to who has left in it
			if err != nil || !row.Mesh && !former && !slices.Contains(row.Sites, s.id) && here.State != engine.StateLeft {
				c.say("%s: document %.8s is here, whose placement it is not in (%v)", s.name, d.Document, err)
			}
		}
		theirs, _ := other.disk.Summaries(w.ctx, s.id, "", "")
		// One may have dropped an epoch that the other drops when it next looks at the resource.
		if other.n > s.n && !slices.Equal(lacking(mine, theirs, other.disk), lacking(theirs, mine, s.disk)) {
			c.say("%s and %s hold different documents", s.name, other.name)
		}
	}
}

// lacking leaves out of a list of documents what the other site does not show and has dropped.
func lacking(list, theirs []engine.Summary, disk *memory.Disk) []engine.Summary {
	return slices.DeleteFunc(slices.Clone(list), func(d engine.Summary) bool {
		return disk.Dropped(d.Document) && !slices.ContainsFunc(theirs, func(t engine.Summary) bool { return t.Document == d.Document })
	})
}

// checkDocument sees to it that what a site's application shows is what the operations that it knows amount to.
func (c *checker) checkDocument(s *site, row engine.ResourceRow) {
	if c.spoiled[row.Document] {
		return
	}
	h := c.history(s, row)
	cross := row.Collaboration == engine.Cross
	fold := engine.FoldOf(h, func(*engine.Operation) bool { return true })
	o := s.app.objects[row.Kind][string(row.Local)]
	if fold.Exists != (o != nil) {
		c.say("%s: %s as %q: it is there: %t; it is to be: %t", s.name, row.ID, row.Local, o != nil, fold.Exists)
	}
	if o == nil || !fold.Exists {
		return
	}
	var want map[string]any
	if err := json.Unmarshal(fold.Representation(), &want); err != nil {
		panic(err) // it was just encoded
	}
	k := c.w.kindOf(row.Kind)
	fields := unmarked(byKey(k, o.fields))
	want = unmarked(byKey(k, want))
	for _, p := range slices.Sorted(maps.Keys(fold.Cells)) {
		if cross && p == "/count" && len(k.Divide) > 0 {
			c.checkShares(s, row, fold.Cells[p].Value)
			continue
		}
		shown, ok := lookUp(fields, p)
		value, is := lookUp(want, p)
		_, object := value.(map[string]any)
		_, shownObject := shown.(map[string]any)
		if (ok != is || object != shownObject || !object && !bytes.Equal(encode(value), encode(shown))) && !c.w.leftEverywhere(row, p, shown) && !c.w.countedOnLost(row, p, shown, value) {
			c.say("%s: %s shows %s (%t) at %s, and not %s (%t)", s.name, row.ID, encode(shown), ok, p, encode(value), is)
		}
	}
	for path, by := range fold.Absolute {
		want := string(by.Body)
		if by.Blob != nil {
			want = string(by.Blob.Hash)
		}
		rest := strings.TrimPrefix(path, k.Item)
		left := slices.ContainsFunc(c.w.resources, func(res *resource) bool {
			return res.kind == k && res.id == string(row.ID) && s.leftBytes(res, o.files[rest])
		})
		if o.files[rest] != want && !s.doesWithout(by.ID) && !left {
			c.say("%s: %s has %q at %s, where %s put %q", s.name, row.ID, o.files, path, by.ID, want)
		}
	}
}

// checkShares sees to it that the parts of a cross resource show an integer together that its operations amount to, and each of
// them as much as the others, or one more.
func (c *checker) checkShares(s *site, row engine.ResourceRow, whole json.RawMessage) {
	want, err := strconv.Atoi(string(whole))
	if err != nil {
		return // it was removed, or is no integer any more
	}
	sum, shares := 0, map[int]int{}
	for id, st := range row.Sites {
		other := c.w.siteOf(id)
		o := other.app.objects[row.Kind][string(other.local(row))]
		if o == nil || st.Part == 0 {
			return // told elsewhere
		}
		count, ok := o.fields["count"].(float64)
		if before, known := shares[st.Part]; !ok || known && before != int(count) {
			c.say("%s: %s counts %v at %s, whose twin counts %d", s.name, row.ID, o.fields["count"], other.name, before)
		} else if !known {
			shares[st.Part] = int(count)
			sum += int(count)
		}
	}
	least, most := slices.Min(slices.Collect(maps.Values(shares))), slices.Max(slices.Collect(maps.Values(shares)))
	if sum != want || most-least > 1 {
		c.say("%s: the parts of %s count %v, of %d", s.name, row.ID, shares, want)
	}
}

// local is what a site calls a resource that another one knows.
func (s *site) local(row engine.ResourceRow) engine.LocalID {
	mine, err := s.disk.ResourceByDocument(s.w.ctx, row.Document)
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
func (s *site) shown(res *resource) (all []string) {
	for _, id := range slices.Sorted(maps.Keys(s.app.objects[res.kind.Name])) {
		o := s.app.objects[res.kind.Name][id]
		if o.fields["tag"] != res.tag || s.orphans[string(res.kind.Name)+" "+id] && !s.owns(res.kind, id) {
			continue
		}
		fields := unmarked(byKey(res.kind, o.fields))
		delete(fields, "id")
		if res.cross { // each shows its share
			delete(fields, "count")
		}
		// A delete that ends one of two creates cannot take back the files of what it ends, and a site that was added may do without.
		if s.w.madeTwice(res) || s.w.doesWithout(res) {
			all = append(all, string(encode(fields)))
			continue
		}
		files := maps.Clone(o.files)
		maps.DeleteFunc(files, func(path, _ string) bool {
			return slices.ContainsFunc(s.w.sites, func(other *site) bool { return other.leftBytesOf(res, path) })
		})
		if len(files) == 0 {
			files = nil
		}
		all = append(all, string(encode(fields))+string(encode(files)))
	}
	return all
}

// owns reports whether an object is a resource's.
func (s *site) owns(k *engine.Kind, id string) bool {
	_, err := s.disk.ResourceByLocal(s.w.ctx, k.Service, k.Name, engine.LocalID(id))
	return err == nil
}

// madeTwice reports whether a resource may have been created twice at one time, and one of the two deleted.
func (w *world) madeTwice(res *resource) bool {
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

// doesWithout reports whether a site began without the large body of an operation that no other had any more: the operator who added it
// had accepted that.
func (s *site) doesWithout(id engine.OperationID) bool {
	row, err := s.disk.Recalled().Operation(s.w.ctx, id)
	at := row.Sites[s.id]
	return err == nil && at.State == engine.StateApplied && strings.Contains(at.Error, "no site had its body any more")
}

func (w *world) doesWithout(res *resource) bool {
	return res.moved && slices.ContainsFunc(w.requests, func(q *request) bool {
		return q.resource == res && q.large != nil && q.operation != "" &&
			slices.ContainsFunc(w.sites, func(s *site) bool { return s.doesWithout(q.operation) })
	})
}

// left reports whether a site has had something to do with an object that it keeps for itself since.
func (c *checker) left(tag string) bool {
	return slices.ContainsFunc(c.w.resources, func(r *resource) bool { return r.tag == tag && r.moved })
}

// checkResource sees to it that a resource is the same at all sites of its placement, and nowhere else.
func (c *checker) checkResource(res *resource) {
	if c.w.madeOften(res) {
		return
	}
	for _, s := range c.w.sites {
		for _, row := range s.rows() {
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
		shown := s.shown(res)
		held := slices.Contains(res.placement, s)
		switch {
		case !held && len(shown) > 0 && !res.moved:
			c.say("%s: %s is here, and its placement is elsewhere", s.name, res.tag)
		case len(shown) > 1:
			c.say("%s: %s is here %d times: %s", s.name, res.tag, len(shown), shown)
		}
		if !held {
			continue
		}
		d := c.lives[replica{res, s}]
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
	if len(shown) == 0 || res.cross || !declares(res.kind, "incr") || len(res.kind.Resolutions) > 0 {
		return
	}
	want, creates := 0, 0
	// What lost operations may have left, or what has run once more where nobody could know, where somebody has had that kept. What was asked for
	// again at a site that had forgotten its key may be two operations, of which the client knows one.
	left := map[int]bool{0: true}
	for _, q := range c.w.requests {
		if q.resource != res {
			continue
		}
		if q.kind == "create" && !q.refused {
			if creates++; creates > 1 { // a second PUT of what is there is a whole representation
				return
			}
		}
		if (q.kind == "delete" || q.kind == "replace") && !q.refused || q.kind == "incr" && q.operation == "" && !q.refused {
			return
		}
		if q.kind != "incr" || q.operation == "" || c.yielded(q.operation) {
			continue
		}
		more := []bool{q.forgotten, c.w.isLost(q.operation) || slices.ContainsFunc(res.placement, func(s *site) bool { return s.app.effect(q.operation, s.name).twice() })}
		for range slices.DeleteFunc(more, func(may bool) bool { return !may }) {
			for _, n := range slices.Collect(maps.Keys(left)) {
				left[n+q.n+1] = true
			}
		}
		for _, s := range res.placement { // one that was set back may have got a checkpoint for it
			if row, err := s.disk.Recalled().Operation(c.w.ctx, q.operation); err == nil && row.Document != "" && !refusedFirst(row) {
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
			creates++
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
		if q.resource != res || !q.acknowledged() || c.w.isLost(q.operation) || c.yielded(q.operation) {
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
