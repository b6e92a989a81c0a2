package drift

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// longestLost is how long an object must not be found, at most, before it is taken for gone: an application that starts anew, a stand-by and a
// router may show nothing for a while, and some show what they make later than they answer.
const longestLost = time.Minute

// keepToMake tells what a person can do about an object that is not made anew.
const keepToMake = ": it is not made anew unless somebody keeps what another site shows, and goes on by itself once it is shown again"

// lost takes in whether a read has found the object, and reports whether it has not been found for so long that it is to be taken for gone.
func (w *Watch) lost(v *view.View, gone bool, at time.Time) bool {
	if !gone {
		w.Shown(v)
		return false
	}
	if v.Mine.GoneSince == 0 {
		v.Mine.GoneSince = at.UnixMicro()
		v.Changed()
	}
	return at.Sub(engine.Time(v.Mine.GoneSince)) >= lostFor(w.After)
}

// Shown takes in that the application shows the object.
func (w *Watch) Shown(v *view.View) {
	if v.Mine.GoneSince, v.Mine.Seen = 0, true; v.Me.Contended != "" && v.Me.Contended == v.Mine.Contends {
		v.Me.Contended = ""
	}
	v.Mine.Contends = ""
}

// lostFor is how long an object must not be found.
func lostFor(after time.Duration) time.Duration { return min(Firm*60*after, longestLost) }

// Believe takes in that a read has not found the object, and reports whether it counts as gone: it has been gone for a while, it was there, and
// the service, which bounds tells of, may have it made anew, or shows others where it ends by itself. Else it is tried again, and a person is asked
// where it is for one to say.
func (w *Watch) Believe(v *view.View, at time.Time, bounds func(ends bool) string) bool {
	if !w.lost(v, true, at) {
		return false
	}
	if len(Keeps(v, at)) > 0 { // a person has said so
		return true
	}
	why := ""
	if ends := Ends(v); !v.Mine.Seen && !ends {
		why = "it was made here, and the application has never shown it"
	} else {
		why = bounds(ends)
	}
	if why == "" {
		return true
	}
	if why += keepToMake; v.Me.Contended == "" || v.Me.Contended == v.Mine.Contends {
		if v.Me.Contended != why {
			v.Me.Contended, v.Mine.Contends = why, why
			v.Changed()
		}
	}
	return false
}

// Made forgets what was seen of the object before: there is another one.
func Made(v *view.View) { v.Mine.GoneSince, v.Mine.Seen = 0, false }
