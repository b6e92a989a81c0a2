package drift

import (
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// Firm is how many times After lie between the looks that are to tell whether sites differ for good.
const Firm = 4

// Watch is when this site is to look at what its application shows. The first look comes After what was done; while sites differ others
// follow, each later than the one before, up to Every.
type Watch struct {
	After, Every time.Duration

	due   time.Time // zero: it need not
	tries int       // looks that have found sites to differ
	last  time.Time
	asked bool // somebody has asked for it
}

// Soon has it look as soon as there is something to see.
func (w *Watch) Soon(now time.Time) { w.due, w.asked = now, true }

// Stop forgets what was to be looked at.
func (w *Watch) Stop() { *w = Watch{After: w.After, Every: w.Every} }

// Waits reports whether it is to look now or soon. A look that was asked for waits for something to see.
func (w *Watch) Waits(v *view.View) bool { return !w.due.IsZero() && v.Exists() && v.Quiet(v.Self) }

// Next says whether to look now, and when to ask for that again; zero: once something has changed. Open says that a client's request has had
// no certain answer, busy that something is under way; reads reports whether the application may be asked.
func (w *Watch) Next(v *view.View, now time.Time, open, busy bool, reads func() bool) (looks bool, again time.Time) {
	if !v.Exists() || !v.Quiet(v.Self) || open {
		if w.tries, w.asked = 0, w.asked && v.Exists(); !w.asked {
			w.due = time.Time{}
		}
		return false, again
	}
	switch {
	case w.asked:
	case v.Me.Shown == nil:
		if w.due.IsZero() {
			w.due, w.tries = now.Add(w.After), 0
		}
	case (!v.Me.Shown.Steady || v.Me.Contended != "" && v.Me.Contended == v.Mine.Contends) && !report.Agree(v):
		if w.due.IsZero() {
			w.due = now.Add(w.wait())
		}
	case v.Mine.Unseen != "": // the last look has told nothing
		if w.due.IsZero() {
			w.due = now.Add(w.wait())
		}
	default:
		w.due, w.tries = time.Time{}, 0
	}
	switch {
	case w.due.IsZero() || busy:
		return false, again
	case now.Before(w.due):
		return false, w.due
	case !reads():
		w.due = now.Add(w.wait())
		w.tries++
		return false, w.due
	}
	w.due, w.asked = time.Time{}, false
	return true, again
}

// wait is how long to wait for the next look: it grows by half with each look that has found sites to differ.
func (w *Watch) wait() time.Duration {
	d := Firm * w.After
	for range min(w.tries, 64) {
		if d += d / 2; d >= w.Every {
			return w.Every
		}
	}
	return d
}

// Looked takes in what a look has read. Gone says that for a while none has found the object.
func (w *Watch) Looked(v *view.View, presented, reply engine.Reply, err error, at time.Time) (gone bool) {
	if !v.Quiet(v.Self) {
		return false
	}
	now, why := observe(v, presented, reply, err)
	if now == nil {
		if text := why.Error(); v.Mine.Unseen != text {
			v.Mine.Unseen = text
			v.Changed()
		}
		w.tries++
		w.due = at.Add(w.wait())
		return false
	}
	before := v.Me.Shown
	w.show(v, now, presented.Body, at, true)
	if !report.Agree(v) {
		w.tries++
	}
	o := v.Me.Shown
	return o.Unseen == engine.UnseenGone && o.Steady && (v.Me.Contended == "" || v.Me.Contended == v.Mine.Contends) && before != nil
}

// Saw takes in what the answer to a request shows, where that is the object as it is now: a look of its own is spared then.
func (w *Watch) Saw(v *view.View, presented, reply engine.Reply, at time.Time) {
	if presented.Status/100 != 2 || presented.Status == http.StatusAccepted || !v.Exists() || !v.Quiet(v.Self) || !isItem(v, presented.Body) {
		return
	}
	now, _ := observe(v, presented, reply, nil)
	if now == nil || now.Unseen != "" || len(now.Differs) > 0 {
		return
	}
	w.show(v, now, presented.Body, at, false)
}

// show takes in what the application shows in this state. Read says that it was read, and not answered to a request.
func (w *Watch) show(v *view.View, now *engine.Shown, body []byte, at time.Time, read bool) {
	later := read && !w.last.IsZero() && at.Sub(w.last) >= Firm/2*w.After
	w.last = at
	if lost := w.lost(v, now.Unseen == engine.UnseenGone, at); now.Unseen == engine.UnseenGone {
		later = later && lost
	}
	show(v, now, body, at, later)
}
