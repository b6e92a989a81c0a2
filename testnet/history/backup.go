package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/memory"
)

// backup is what a site's machine held at one moment: its disk, and its application.
type backup struct {
	disk  *memory.Disk
	blobs *memory.Blobs
	app   *application
	asked int        // how many requests there were
	open  []*request // those that had had no answer yet
}

// restore takes a backup of a site, or sets one back to the backup that there is of it.
func (w *world) restore() {
	w.did = true
	s := w.anySite()
	if s.backup == nil || w.chance(3) {
		s.backup = &backup{s.disk.Clone(), s.blobs.Clone(), s.app.copied(), len(w.requests), w.open()}
		w.tells("backup", "site", s)
		return
	}
	if w.Restores > 0 && w.restored == w.Restores {
		return
	}
	w.setBack(s)
	if w.chance(2) {
		s.start()
	}
}

// open lists the requests that have had no answer yet.
func (w *world) open() []*request {
	return slices.DeleteFunc(slices.Clone(w.requests), func(q *request) bool { return q.status != 0 || q.refused })
}

// setBack puts a site's disk back as it was at its backup, with its application where that is on the same machine.
func (w *world) setBack(s *site) {
	w.tells("set back", "site", s, "application too", w.knobs.machines)
	if s.now != nil {
		s.now.die()
	}
	w.restored++
	s.restored = true
	w.wire = slices.DeleteFunc(w.wire, func(l letter) bool { return l.from == s }) // no machine is set back while what it has sent is under way
	before := s.disk
	s.disk, s.blobs = s.backup.disk.Clone(), s.backup.blobs.Clone()
	s.disk.Remember(before)
	if w.knobs.machines {
		mood := s.app.mood
		s.app = s.backup.app.copied()
		s.app.mood = mood
		for _, q := range w.requests { // what lies at this site alone is as it was
			q.undone = q.undone || q.resource.thing() && q.resource.placement[0] == s && q.n >= s.backup.asked
		}
	}
	for _, q := range s.backup.open { // it is done again, or for the first time, whatever its client was told
		q.refused, q.redone = false, w.knobs.machines
		q.undone = q.undone || w.knobs.machines && q.resource.thing() && q.resource.placement[0] == s
	}
	knows := func(id engine.OperationID) bool {
		return slices.ContainsFunc(w.sites, func(other *site) bool { return other.knows(id) })
	}
	for _, row := range rowsOf(w, before) {
		if s.knows(row.ID) || s.keeps(row.ID) {
			continue
		}
		s.forgotten[row.ID] = true
		if !knows(row.ID) {
			w.lost[row.ID] = true
		}
	}
	intents, _ := before.Intents(w.ctx)
	for _, i := range intents { // it may have run, and nobody may ask for it again
		if !knows(i.Operation) {
			w.lost[i.Operation] = true
		}
	}
	if !w.knobs.machines {
		for _, other := range w.sites { // this one may have been the last to know what others did
			if other.restored {
				w.leaveBehind(other)
			}
		}
	}
}

// refusedAgain notes what a machine that was set back has not done again, though its client had been told that it was done: it was refused, for
// its credentials are not good any more.
func (w *world) refusedAgain() {
	for _, q := range w.requests {
		if q.redone && slices.ContainsFunc(w.sites, func(s *site) bool {
			row, err := s.disk.Recalled().Operation(w.ctx, q.operation)
			return err == nil && s.restored && refusedFirst(row)
		}) {
			w.lost[q.operation] = true
		}
	}
}

// leaveBehind notes what the application of a site that was set back without it shows of requests that nobody knows to have run there, or
// only a site that had handed one on knows of: it has the answer, and nobody has the operation. So it is with an object
// that was made anew and cannot be found.
func (w *world) leaveBehind(s *site) {
	for _, key := range slices.Sorted(maps.Keys(s.app.effects)) {
		e := s.app.effects[key]
		id, _, _ := strings.Cut(key, ".")
		k := w.kindOf(e.kind)
		found := e.local == "" || k.HonoursKey || k.Marker != "" // by who looks for it, whether it was told of or not
		told := func(other *site) bool {
			return other.ran(s, engine.OperationID(id)) && (found || other.heardOf(s, engine.OperationID(id), e.local))
		}
		if e.times == 0 || !w.isLost(engine.OperationID(id)) && slices.ContainsFunc(w.sites, told) {
			continue
		}
		e.untold = e.times
		s.orphans[string(e.kind)+" "+e.local] = true
	}
}

// repeats notes what an action has done of which a site that was set back cannot know that it has run: none of those that it has been compared
// with, be it none at all after it has waited for them, knows that; and a create, where its lost run has deleted the object since or nothing
// tells which object that is.
func (p *process) repeats(c engine.Call) {
	e, s := p.site.app.effects[c.Key], p.site
	id, _, _ := strings.Cut(c.Key, ".")
	knows := func(other *site) bool { return other.ran(s, engine.OperationID(id)) }
	if e == nil {
		return
	}
	_, there := s.app.objects[e.kind][e.local]
	found := there && (c.Kind.HonoursKey || c.Kind.Marker != "")
	if e.times > 0 && s.restored && c.Method == http.MethodPost && (c.Local != "" || !found) && (p.left || len(p.met) > 0) && !slices.ContainsFunc(p.met, knows) {
		e.untold = e.times
	}
}

// ran reports whether a site knows what has become of an operation of a document at another, or here. What it was answered to a request
// that it had handed on tells nothing once the document is lost.
func (s *site) ran(at *site, id engine.OperationID) bool {
	row, err := s.disk.Recalled().Operation(s.w.ctx, id)
	st, told := row.Sites[at.id]
	waits := st.State == engine.StatePending || st.State == engine.StatePaused || st.State == engine.StateHeld
	return err == nil && row.Document != "" && told && !waits
}

// heardOf reports whether a site has heard that what an operation is about was an object of this identifier at another, or here. What had
// run there may have been about one before.
func (s *site) heardOf(at *site, id engine.OperationID, local string) bool {
	row, err := s.disk.Recalled().Operation(s.w.ctx, id)
	if err != nil {
		return false
	}
	entries, err := s.disk.Epochs(&s.w.changes, row.Document)
	if err != nil {
		s.w.problem("%s: %v", s.name, err)
	}
	return slices.ContainsFunc(entries, func(e engine.Entry) bool {
		var r engine.Replica
		return e.Map == engine.MapReplicas && e.Key == string(at.id) && json.Unmarshal(e.Value, &r) == nil && string(r.Local) == local
	})
}

// knows reports whether a site has an operation in a document.
func (s *site) knows(id engine.OperationID) bool {
	row, err := s.disk.Recalled().Operation(s.w.ctx, id)
	return err == nil && row.Document != ""
}

// keeps reports whether a site has a request that it was asked for on its disk.
func (s *site) keeps(id engine.OperationID) bool {
	kept, _ := s.disk.Outbox(s.w.ctx)
	return slices.ContainsFunc(kept, func(k engine.Kept) bool { return k.Operation == id })
}

func rowsOf(w *world, d *memory.Disk) []engine.OperationRow {
	rows, _, err := d.Recalled().Operations(w.ctx, engine.OperationFilter{Limit: 1000})
	if err != nil {
		w.problem("list operations: %v", err)
	}
	return rows
}

// isLost reports whether only a site that was set back to a backup had an operation: that is the operator's doing.
func (w *world) isLost(id engine.OperationID) bool {
	return w.lost[id] && !slices.ContainsFunc(w.sites, func(s *site) bool {
		row, err := s.disk.Recalled().Operation(w.ctx, id)
		return err == nil && row.Document != "" && !refusedFirst(row)
	})
}

// lostContainer reports whether an operation is of something in a container that nobody has any more, since only lost operations had made
// it, of which a client may not even have been told: nothing of it can be made, and an operator gives that up.
func (w *world) lostContainer(row engine.OperationRow) bool {
	if row.Kind != item {
		return false
	}
	id, _ := w.kindOf(item).Split(string(row.Resource))
	known := func(s *site) bool {
		r, err := s.disk.ResourceByID(w.ctx, row.Service, crate, engine.ResourceID(id))
		return err == nil && !r.State.Past()
	}
	return !slices.ContainsFunc(w.sites, known) && slices.ContainsFunc(w.requests, func(q *request) bool {
		return q.kind == "create" && q.resource.kind.Name == crate && q.resource.id == id && (w.isLost(q.operation) || q.operation == "" && len(w.lost) > 0)
	})
}

// onlyLost reports whether all that clients were told of a resource is lost. Its object may have been left, and be a resource of one site
// alone since, of which no client was told that others were added.
func (w *world) onlyLost(res *resource) bool {
	told := slices.DeleteFunc(slices.Clone(w.requests), func(q *request) bool { return q.resource != res || !q.acknowledged() })
	return res.kind.Natural() && len(told) > 0 && !slices.ContainsFunc(told, func(q *request) bool { return !w.isLost(q.operation) })
}

// madeOfLeft reports whether a site that was set back to before it knew a resource has made one of its own of the object, since it met no
// other, of which no client was told that others were added.
func (c *checker) madeOfLeft(res *resource) bool {
	return res.kind.Natural() && slices.ContainsFunc(c.w.sites, func(s *site) bool {
		row, err := s.disk.ResourceByID(c.w.ctx, res.kind.Service, res.kind.Name, engine.ResourceID(res.id))
		if err != nil || row.State.Past() || !s.restored || len(row.Sites) > 1 {
			return false
		}
		asked := func(o *engine.Operation) bool {
			return slices.ContainsFunc(c.w.requests, func(q *request) bool { return q.operation == o.ID })
		}
		creates := slices.DeleteFunc(slices.Clone(c.history(s, row).Ordered()), func(o *engine.Operation) bool { return o.Type != engine.TypeCreate })
		return !slices.ContainsFunc(creates, asked)
	})
}

// madeOften reports whether several creates of a resource whose identifier is assigned may have run: one was refused, and another one asked
// for, when a site was set back to before its answer.
func (w *world) madeOften(res *resource) bool {
	creates := 0
	for _, q := range w.requests {
		if q.resource == res && q.kind == "create" && !q.refused {
			creates++
		}
	}
	return creates > 1 && !res.kind.Natural()
}

// leftEverywhere reports whether all sites of a resource show what it was left as by a lost operation that sets it: that may be how their
// applications write what was set before, as far as anybody can tell.
func (w *world) leftEverywhere(row engine.ResourceRow, at engine.Pointer, shown any) bool {
	k := w.kindOf(row.Kind)
	return w.showEverywhere(row, at, shown) && slices.ContainsFunc(w.requests, func(q *request) bool {
		return w.isLost(q.operation) && q.resource.id == string(row.ID) && q.sets(at) && slices.ContainsFunc(w.sites, func(s *site) bool {
			e := s.app.effect(q.operation, s.name)
			var left map[string]any
			return e != nil && json.Unmarshal(e.reply.Body, &left) == nil && shows(k, left, at, shown)
		})
	})
}

// sets reports whether a request may set what is at a path.
func (q *request) sets(at engine.Pointer) bool {
	field := at.Tokens()[0]
	var body map[string]any
	if json.Unmarshal(q.body(), &body) == nil {
		_, sets := body[field]
		return sets || q.kind == "replace" || q.kind == "create" && q.resource.kind.Natural() // a PUT of what is there already
	}
	var patch []struct{ Path engine.Pointer }
	return json.Unmarshal(q.body(), &patch) == nil && slices.ContainsFunc(patch, func(o struct{ Path engine.Pointer }) bool {
		return o.Path.Tokens()[0] == field
	})
}

// shows reports whether a representation has this value at a path, nil for none.
func shows(k *engine.Kind, fields map[string]any, at engine.Pointer, want any) bool {
	value, _ := lookUp(byKey(k, fields), at)
	return bytes.Equal(encode(value), encode(want))
}

// showEverywhere reports whether all sites of a resource show the same at a path.
func (w *world) showEverywhere(row engine.ResourceRow, at engine.Pointer, shown any) bool {
	for id := range row.Sites {
		other := w.siteOf(id)
		o := other.app.objects[row.Kind][string(other.local(row))]
		if o == nil {
			return false
		}
		if !shows(w.kindOf(row.Kind), o.fields, at, shown) {
			return false
		}
	}
	return true
}

// ranOnLost reports whether an operation ran first where an application showed what only a lost operation had set: the others do not show
// that, and may refuse it.
func (w *world) ranOnLost(row engine.OperationRow) bool {
	return slices.ContainsFunc(w.requests, func(q *request) bool {
		return q.resource.id == string(row.Resource) && q.resource.kind.Name == row.Kind && w.siteOf(row.Origin).hasRunLost(q.operation)
	})
}

// metOrphan reports whether a create was refused only where what a lost request had made was in its way, and the resource was deleted before
// an operator had seen to that: nothing is left to decide about.
func (w *world) metOrphan(row engine.OperationRow) bool {
	for _, s := range w.sites {
		res, err := s.disk.ResourceByDocument(w.ctx, row.Document)
		orphan := s.orphans[string(row.Kind)+" "+string(w.here(s, w.kindOf(row.Kind), row.Resource))]
		if row.Sites[s.id].State == engine.StateRejected && !(orphan && err == nil && res.State == engine.StateDeleted) {
			return false
		}
	}
	return row.Type == engine.TypeCreate
}

// countedOnLost reports whether a number differs at all sites of a resource by what lost operations have added to it: an application showed that
// when somebody added more, and the site of that has left.
func (w *world) countedOnLost(row engine.ResourceRow, at engine.Pointer, shown, value any) bool {
	lost := 0
	for _, q := range w.requests {
		var body struct{ By int }
		ran := func(s *site) bool { return s.hasRunLost(q.operation) && row.Sites[s.id].State == "" }
		if q.kind == "incr" && q.resource.id == string(row.ID) && slices.ContainsFunc(w.sites, ran) && json.Unmarshal(q.body(), &body) == nil {
			lost += body.By
		}
	}
	is, err := strconv.Atoi(string(encode(shown)))
	to, err2 := strconv.Atoi(string(encode(value)))
	return lost != 0 && err == nil && err2 == nil && to-is == lost && w.showEverywhere(row, at, shown)
}

// leftBytes reports whether opaque bytes of a resource are there that only a lost operation has put, or are not, since only a lost one has
// deleted the object that had them: nothing shows either.
func (s *site) leftBytes(res *resource, file string) bool {
	if !s.restored {
		return false
	}
	return file == "" && s.deletedByLost(res) > 0 || slices.ContainsFunc(s.w.requests, func(q *request) bool {
		return q.kind == "file" && content(q.body()) == file && (s.hasRunLost(q.operation) || q.operation == "" && s.hasRunUntold())
	})
}

// hasRunLost reports whether a lost operation has run at a site.
func (s *site) hasRunLost(id engine.OperationID) bool {
	return id != "" && s.app.effect(id, s.name) != nil && s.w.isLost(id)
}

// deletedByLost counts the operations that have deleted the object of a resource at a site in a run that is lost, and that nobody had or
// knew to have run there: it is made anew, also where such an operation is asked for again later, and what had run on it runs on the new one.
func (s *site) deletedByLost(res *resource) int {
	n := 0
	for _, q := range s.w.requests {
		if q.resource != res || q.kind != "delete" {
			continue
		}
		e := s.app.effect(q.operation, s.name)
		if s.hasRunLost(q.operation) || e != nil && e.untold > 0 || q.operation == "" && s.hasRunUntold() {
			n++
		}
	}
	return n
}

// hasRunUntold reports whether a lost operation has run at a site that no client was told of.
func (s *site) hasRunUntold() bool {
	for id := range s.w.lost {
		if s.hasRunLost(id) && !slices.ContainsFunc(s.w.requests, func(q *request) bool { return q.operation == id }) {
			return true
		}
	}
	return false
}

func (s *site) leftBytesOf(res *resource, path string) bool {
	for _, o := range s.app.objects[res.kind.Name] {
		if o.fields["tag"] == res.tag && s.leftBytes(res, o.files[path]) {
			return true
		}
	}
	return false
}

// yielded reports whether an operation is one of a resource whose name is another's, or was until an operator gave it up: a site that was
// set back to before it knew a resource makes another of what its application shows.
func (c *checker) yielded(id engine.OperationID) bool {
	return c.w.knobs.backups && slices.ContainsFunc(c.w.sites, func(s *site) bool {
		row, err := s.disk.Recalled().Operation(c.w.ctx, id)
		return err == nil && row.Document != "" && (c.yieldsAnywhere(row.Document) || c.w.nameless[row.Document])
	})
}

// copied returns the application as it is now, in a good mood.
func (a *application) copied() *application {
	c := newApplication(a.prefix)
	c.next = a.next
	for kind, objects := range a.objects {
		c.objects[kind] = map[string]*object{}
		for id, o := range objects {
			var fields map[string]any
			if err := json.Unmarshal(encode(o.fields), &fields); err != nil {
				panic(err) // it was just encoded
			}
			c.objects[kind][id] = &object{fields, maps.Clone(o.files), maps.Clone(o.large), o.version}
		}
	}
	for key, e := range a.effects {
		copied := *e
		c.effects[key] = &copied
	}
	return c
}
