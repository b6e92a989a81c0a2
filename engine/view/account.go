package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Account is what a site says of its own replica, and what it knows of it beside that. Whoever changes it calls Changed, or one of the
// methods that do.
type Account struct {
	// Me is what the site says, or is about to say, about itself. Mine is what it knows beside that.
	Me   engine.Status
	Mine Mine
	// Touched are operations whose rows have to be written again.
	Touched map[engine.OperationID]bool
	// Dirty says that something has become different since whoever keeps it has cleared that.
	Dirty bool
	// Now is the site's clock, set by whoever is about to change something.
	Now int64

	run      uint64                     // distinguishes this run's numbers of statuses
	known    func() []*engine.Operation // in their order
	lastTold string                     // what Me was told as, number and time apart
	heardOf  uint64                     // the highest number of a status of this site's that another one has
}

// Mine is what a site knows of its own replica beside what it tells others.
type Mine struct {
	// Local is what the application here calls its object; empty: it has none.
	Local engine.LocalID `cbor:"1,keyasint,omitempty"`
	// Made counts how often the object was made anew, so that each time is a request of its own to the application.
	Made uint64 `cbor:"2,keyasint,omitempty"`
	// Outcomes are those of this site's, all of them.
	Outcomes map[engine.OperationID]engine.Outcome `cbor:"3,keyasint,omitempty"`
	// Tries are this site's attempts of operations that are not settled everywhere.
	Tries map[engine.OperationID]*Tries `cbor:"4,keyasint,omitempty"`
	// Unseen is why the last look told nothing.
	Unseen string `cbor:"5,keyasint,omitempty"`
	// Lacking says what the resource relies on and this site cannot reach; it is part of its row.
	Lacking string `cbor:"6,keyasint,omitempty"`
	// Halted is why this site does not try now what is left to do, where it is not for others to know.
	Halted *engine.Wait `cbor:"7,keyasint,omitempty"`
	// Undo are operations that do not count any more, and that the application may show.
	Undo []Undone `cbor:"8,keyasint,omitempty"`
	// Word is the epoch before which this site has said that it has all (Keeps).
	Word uint64 `cbor:"9,keyasint,omitempty"`
	// Was is what the object was called before the site joins anew: until it has, no other resource takes that object for its own.
	Was engine.LocalID `cbor:"10,keyasint,omitempty"`
	// Going is an object that was deleted and is not known to be gone; nil: there is none.
	Going *Going `cbor:"11,keyasint,omitempty"`
	// Seen says that the application has shown the object, GoneSince since when reads have not found it; zero: the last one has.
	Seen      bool  `cbor:"12,keyasint,omitempty"`
	GoneSince int64 `cbor:"13,keyasint,omitempty"`
	// Contends is why the object, which is gone, is not made anew, as Status.Contended has it; empty where that is for another reason.
	Contends string `cbor:"14,keyasint,omitempty"`
	// Ending says that the object, as it was seen last, has come to its end.
	Ending bool `cbor:"15,keyasint,omitempty"`
}

// Going is an object whose deletion the application has accepted, or answered with 404 or 410, and that is not known to be gone.
type Going struct {
	Local engine.LocalID `cbor:"1,keyasint"`
	// By is the operation that has deleted it, Status what the application answered, Since when.
	By     engine.OperationID `cbor:"2,keyasint"`
	Status int                `cbor:"3,keyasint,omitempty"`
	Since  int64              `cbor:"4,keyasint"`
	// Shown is the hash of what the application showed last, Again says that the deletion is sent once more. Both are of one that it has not found.
	Shown string `cbor:"5,keyasint,omitempty"`
	Again bool   `cbor:"6,keyasint,omitempty"`
	// Never says that the application had not shown it since it was made: it may show later what it makes.
	Never bool `cbor:"7,keyasint,omitempty"`
}

// Accepted reports whether there is an object whose deletion the application has accepted. One that it has not found (404) keeps nobody waiting.
func (g *Going) Accepted() bool { return g != nil && g.Status/100 == 2 }

// Undone is what is kept of an operation that is to be taken back, with the line that it was in.
type Undone struct {
	Operation engine.Operation `cbor:"1,keyasint"`
	Line      engine.Line      `cbor:"2,keyasint"`
}

// keptTries are remembered of one operation, the last ones: of what is tried for weeks the newest tell enough.
const keptTries = 10

// Tries are this site's attempts of one operation.
type Tries struct {
	Count int   `cbor:"1,keyasint"`
	Last  []Try `cbor:"2,keyasint,omitempty"` // oldest first, keptTries at most
}

// Try is one attempt.
type Try struct {
	At     int64  `cbor:"1,keyasint"`
	Status int    `cbor:"2,keyasint,omitempty"`
	Error  string `cbor:"3,keyasint,omitempty"`
}

// begin makes it the account of a site that has done nothing, of operations that are known.
func (a *Account) begin(id engine.DocumentID, run string, known func() []*engine.Operation) {
	a.Me, a.Touched, a.known = engine.Status{Document: id}, map[engine.OperationID]bool{}, known
	a.run = engine.FingerprintOf("run", []byte(run))[0] % runs
	a.Anew(0)
}

// Anew forgets what the site knows of its object, which was made anew so many times.
func (a *Account) Anew(made uint64) {
	a.Mine = Mine{Made: made, Outcomes: map[engine.OperationID]engine.Outcome{}, Tries: map[engine.OperationID]*Tries{}}
}

// Rejoin forgets what the site has said of itself, and what it knows of its object, which was made anew so many times: others may have a
// status of it of a number.
func (a *Account) Rejoin(number, made uint64) {
	a.SayOnly(engine.Status{Rejoins: true})
	a.Me.Number = max(a.Me.Number, number)
	a.Anew(made)
	a.Changed()
}

// SayOnly has the site say one thing of itself, and nothing else but how much it has written: of an epoch that is over nobody could count
// that any more, and who has that epoch still goes by it.
func (a *Account) SayOnly(st engine.Status) {
	st.Document, st.Number, st.At, st.Epoch, st.Lines = a.Me.Document, a.Me.Number, a.Me.At, a.Me.Epoch, a.Me.Lines
	a.Me = st
}

// Changed says that what is kept or shown is something else than before.
func (a *Account) Changed() { a.Dirty = true }

// Settles reports whether an operation needs nothing more here.
func (a *Account) settles(o *engine.Operation) bool {
	return o.In(a.Me.Settled) && !a.Mine.Outcomes[o.ID].Again
}

// Settle says that operations need nothing more here. What was shown was of another state.
func (a *Account) Settle(ops ...*engine.Operation) {
	if a.Me.Settled == nil {
		a.Me.Settled = engine.Vector{}
	}
	for _, o := range ops {
		if a.undone(o) {
			continue
		}
		was := a.Me.Settled[o.Line]
		a.Me.Settled[o.Line] = max(was, o.Number)
		a.Touched[o.ID] = true
		if o.Number > was+1 { // what came before it counts for nothing, and is settled with it
			a.touchWithin(o.Line, was, o.Number)
		}
		if o.ID == a.Me.Joined {
			a.Me.Bare = false
		}
	}
	a.Me.Shown, a.Mine.Unseen = nil, ""
	a.Changed()
}

// touchWithin has the rows of those operations of a line written again that come after one and before another.
func (a *Account) touchWithin(l engine.Line, after, before uint64) {
	for _, o := range a.known() {
		if o.Line == l && o.Number > after && o.Number < before {
			a.Touched[o.ID] = true
		}
	}
}

// undone takes note that what an operation has set was taken back, if it is of those that are to be: such a one is in no change.
func (a *Account) undone(o *engine.Operation) bool {
	if o.Change != 0 {
		return false
	}
	i := slices.IndexFunc(a.Mine.Undo, func(u Undone) bool { return u.Line == o.Line && u.Operation.Number == o.Number })
	if i < 0 {
		return false
	}
	a.Mine.Undo = slices.Delete(slices.Clone(a.Mine.Undo), i, i+1)
	delete(a.Mine.Outcomes, o.ID)
	return true
}

// Became notes what became here of an operation that did not simply succeed.
func (a *Account) Became(id engine.OperationID, out engine.Outcome) {
	out.At = a.Now
	old, ok := a.Mine.Outcomes[id]
	if ok && old.At >= out.At {
		out.At = old.At + 1
	}
	out.Let = out.Let || old.Let
	a.Mine.Outcomes[id] = out
	a.Touched[id] = true
	a.Changed()
}

// Voided says of operations that something has taken away what they have done here.
func (a *Account) Voided(ops []*engine.Operation) {
	for _, o := range ops {
		a.Became(o.ID, engine.Outcome{State: engine.StateSuperseded})
	}
}

// Applied says of operations that are applied now, and of which something else was told, that they are.
func (a *Account) Applied(ops []*engine.Operation, status int) {
	for _, o := range ops {
		if _, told := a.Mine.Outcomes[o.ID]; told {
			a.Became(o.ID, engine.Outcome{State: engine.StateApplied, Status: status})
		}
	}
}

// Tried takes in what came of sending an operation to the application here.
func (a *Account) Tried(id engine.OperationID, status int, problem string) {
	t := a.Mine.Tries[id]
	if t == nil {
		t = &Tries{}
		a.Mine.Tries[id] = t
	}
	t.Count++
	t.Last = append(slices.Clip(t.Last), Try{At: a.Now, Status: status, Error: problem})
	t.Last = t.Last[max(0, len(t.Last)-keptTries):]
	a.Touched[id] = true
}

// Attempts is how often an operation was sent to the application here.
func (a *Account) Attempts(id engine.OperationID) int {
	if t := a.Mine.Tries[id]; t != nil {
		return t.Count
	}
	return 0
}

// LastTry is the newest attempt of an operation here; ok is false when there was none.
func (a *Account) LastTry(id engine.OperationID) (t Try, ok bool) {
	tries := a.Mine.Tries[id]
	if tries == nil || len(tries.Last) == 0 {
		return t, false
	}
	return tries.Last[len(tries.Last)-1], true
}

// Forget drops what is remembered of operations that are not known any more.
func (a *Account) Forget(known func(engine.OperationID) bool) {
	maps.DeleteFunc(a.Mine.Tries, func(id engine.OperationID, _ *Tries) bool { return !known(id) })
	maps.DeleteFunc(a.Mine.Outcomes, func(id engine.OperationID, _ engine.Outcome) bool { return !known(id) })
}

// Say says why this site does not do now what is left to do.
func (a *Account) Say(w engine.Wait) {
	if old := a.Me.Wait(w.Kind); old != nil {
		if old.Reason == w.Reason && old.Operation == w.Operation && old.By == w.By {
			return
		}
		if w.Kind != engine.WaitPaused && old.Operation == w.Operation {
			w.Since = old.Since
		}
		*old = w
	} else {
		a.Me.Waits = append(slices.Clip(a.Me.Waits), w)
	}
	a.touchOpen()
}

// Unsay takes reasons to wait back.
func (a *Account) Unsay(kinds ...engine.WaitKind) {
	left := slices.DeleteFunc(slices.Clone(a.Me.Waits), func(w engine.Wait) bool { return slices.Contains(kinds, w.Kind) })
	if len(left) == len(a.Me.Waits) {
		return
	}
	if a.Me.Waits = left; len(left) == 0 {
		a.Me.Waits = nil
	}
	a.touchOpen()
}

// UnsayOf takes reasons to wait back that are about an operation. It reports whether there were any.
func (a *Account) UnsayOf(id engine.OperationID, kinds ...engine.WaitKind) (any bool) {
	for _, kind := range kinds {
		if w := a.Me.Wait(kind); w != nil && w.Operation == id {
			a.Unsay(kind)
			any = true
		}
	}
	return any
}

// Lack says, for people, what the resource relies on and this site cannot reach; empty: it lacks nothing.
func (a *Account) Lack(why string) {
	if a.Mine.Lacking != why {
		a.Mine.Lacking = why
		a.Changed()
	}
}

// halts are the reasons for which a resource is not tried now, and that are told to all sites, since people have to do something.
var halts = []engine.WaitKind{engine.WaitDenied, engine.WaitMismatch, engine.WaitClock, engine.WaitReference}

// Halt says why the resource is not tried now: to all sites when people have to do something about it, else here. Nil: it is.
func (a *Account) Halt(w *engine.Wait) {
	here := w
	if w != nil && w.Kind != "" {
		a.Unsay(slices.DeleteFunc(slices.Clone(halts), func(k engine.WaitKind) bool { return k == w.Kind })...)
		a.Say(*w)
		here = nil
	} else {
		a.Unsay(halts...)
	}
	if old := a.Mine.Halted; (old == nil) != (here == nil) || old != nil && *old != *here {
		a.Mine.Halted = here
		a.touchOpen()
	}
}

// Halted is why the resource is not tried now; nil: it is.
func (a *Account) Halted() *engine.Wait {
	if a.Mine.Halted != nil {
		return a.Mine.Halted
	}
	return HaltedOf(&a.Me)
}

// HaltedOf is what a status says of why its site does not try now what is left to do; nil: nothing.
func HaltedOf(st *engine.Status) *engine.Wait {
	for _, kind := range halts {
		if w := st.Wait(kind); w != nil {
			return w
		}
	}
	return nil
}

// touchOpen has the rows of what is not settled here written again.
func (a *Account) touchOpen() {
	for _, o := range a.known() {
		if !a.settles(o) {
			a.Touched[o.ID] = true
		}
	}
	a.Changed()
}

// runs is how many runs are told apart by the numbers of their statuses, the last digits of which are of the run. Where a disk was set back, the next
// run gives no number that the lost one had given: of one number each site would keep what it had heard first, and none would see that they differ.
const runs = 1 << 16

// told makes Me a status, if it is news: it gets a number. It is where others have a later one of a lost run, which they would go by.
func (a *Account) told(at int64) (encoded []byte, news bool) {
	a.Me.Object, a.Me.Outcomes = a.Mine.Local != "", newestOutcomes(a.Mine.Outcomes, engine.MaxOutcomes)
	text := a.text()
	if a.Me.Number > 0 && text == a.lastTold && a.heardOf <= a.Me.Number {
		return nil, false
	}
	a.lastTold = text
	a.Me.Number, a.Me.At = (a.LastNumber()/runs+1)*runs+a.run, max(a.Me.At+1, at)
	return engine.Encode(&a.Me), true
}

// text is what Me says, number and time apart.
func (a *Account) text() string {
	number, at := a.Me.Number, a.Me.At
	a.Me.Number, a.Me.At = 0, 0
	text := engine.Encode(&a.Me)
	a.Me.Number, a.Me.At = number, at
	return string(text)
}

// restore takes in what was kept.
func (a *Account) restore(me engine.Status, mine Mine, id engine.DocumentID) {
	me.Document = id
	made := mine.Made
	if a.Anew(made); mine.Outcomes == nil {
		mine.Outcomes = a.Mine.Outcomes
	}
	if mine.Tries == nil {
		mine.Tries = a.Mine.Tries
	}
	if a.Me, a.Mine = me, mine; me.Number > 0 {
		a.lastTold = a.text()
	}
}

// HeardOfMe takes in that another site has a status of this one of a number. It reports whether this site has not given that number.
func (a *Account) HeardOfMe(number uint64) bool {
	if number <= a.Me.Number {
		return false
	}
	a.heardOf = max(a.heardOf, number)
	return true
}

// LastNumber is the highest number of a status of this site's that is known of, here or elsewhere.
func (a *Account) LastNumber() uint64 { return max(a.Me.Number, a.heardOf) }

// newestOutcomes returns those n of some outcomes that came last; nil for none.
func newestOutcomes(all map[engine.OperationID]engine.Outcome, n int) map[engine.OperationID]engine.Outcome {
	switch {
	case len(all) == 0:
		return nil
	case len(all) <= n:
		return all
	}
	ids := slices.SortedFunc(maps.Keys(all), func(a, b engine.OperationID) int {
		return cmp.Or(cmp.Compare(all[b].At, all[a].At), cmp.Compare(a, b))
	})
	newest := make(map[engine.OperationID]engine.Outcome, n)
	for _, id := range ids[:n] {
		newest[id] = all[id]
	}
	return newest
}
