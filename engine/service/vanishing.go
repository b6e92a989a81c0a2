package service

import (
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

const (
	// remakesMost objects of one service are made anew within remakesWithin, because they have vanished.
	remakesMost   = 10
	remakesWithin = time.Hour
	// vanishedFew objects may be gone at once while nothing else is shown: of more, it is the application that shows nothing.
	vanishedFew = 3
)

// Vanishing bounds what is made anew of one service: an application that shows nothing for a while (the wrong project, a stand-by, an empty
// list of a router) has not lost its objects.
type Vanishing struct {
	gone  map[engine.DocumentID]looked
	shown time.Time // when an object was shown last
	ran   []time.Time
}

// looked is when an object was not found first, and last.
type looked struct{ first, last time.Time }

// Looked takes in that a look has found an object, or has not.
func (v *Vanishing) Looked(id engine.DocumentID, there bool, now time.Time) {
	if there {
		v.shown = now
		delete(v.gone, id)
		return
	}
	if v.gone == nil {
		v.gone = map[engine.DocumentID]looked{}
	}
	l, known := v.gone[id]
	if !known {
		l.first = now
	}
	l.last = now
	v.gone[id] = l
}

// Blind reports why what is gone does not count as ended by itself: the application shows nothing else either. Empty: it does. Objects that end by
// themselves are not among those that Looked tells of.
func (v *Vanishing) Blind(service engine.ServiceName, now time.Time) string {
	v.forget(now)
	for _, l := range v.gone {
		if v.shown.After(l.first) {
			return ""
		}
	}
	return v.blind(service)
}

func (v *Vanishing) blind(service engine.ServiceName) string {
	if len(v.gone) < vanishedFew {
		return ""
	}
	return fmt.Sprintf("the application shows none of %d objects of %s: see whether it is the right one", len(v.gone), service)
}

// forget leaves out what is deleted, or there again, and nobody has looked.
func (v *Vanishing) forget(now time.Time) {
	for id, l := range v.gone {
		if now.Sub(l.last) > remakesWithin {
			delete(v.gone, id)
		}
	}
}

// Remake reports why an object that is gone is not to be made anew now; empty: it is.
func (v *Vanishing) Remake(id engine.DocumentID, service engine.ServiceName, now time.Time) string {
	v.forget(now)
	if why := v.blind(service); why != "" && !v.shown.After(v.gone[id].first) {
		return why
	}
	v.ran = slices.DeleteFunc(v.ran, func(at time.Time) bool { return now.Sub(at) > remakesWithin })
	if len(v.ran) >= remakesMost {
		return fmt.Sprintf("%d objects of %s have vanished and were made anew within %s", len(v.ran), service, remakesWithin)
	}
	v.ran = append(v.ran, now)
	delete(v.gone, id)
	return ""
}
