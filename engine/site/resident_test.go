package site

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// What waits for its turn stays in memory, the first to have come above all, and what is done gives way to it.
func TestWhatWaitsForItsTurnStays(t *testing.T) {
	l := newResidents(8)
	waits := map[engine.DocumentID]bool{}
	shrink := func() { l.shrink(func(r *resident) bool { return waits[r.id] }) }
	add := func(name string, n int, waiting bool) {
		for i := range n {
			id := engine.DocumentID(fmt.Sprintf("%s-%02d", name, i))
			about := engine.About{Service: "store", Kind: "box", Key: engine.ResourceID(id)}
			v := view.New("line", id, about, nil, boxes, func(engine.SiteID) engine.SiteName { return "" })
			l.add(&resident{Replica: replica.New(v, replica.Limits{}, false), id: id})
			waits[id] = waiting
			shrink()
		}
	}
	in := func(want ...string) {
		t.Helper()
		var have []string
		for id := range l.by {
			have = append(have, string(id))
		}
		if slices.Sort(have); !slices.Equal(have, want) {
			t.Errorf("in memory are %v, not %v", have, want)
		}
	}
	add("done", 12, false)
	in("done-04", "done-05", "done-06", "done-07", "done-08", "done-09", "done-10", "done-11")
	add("turn", 12, true)
	in("turn-00", "turn-01", "turn-02", "turn-03", "turn-04", "turn-05", "turn-06", "turn-07", "turn-10", "turn-11")
	for i := range 8 { // they have had their turns
		waits[l.get(engine.DocumentID(fmt.Sprintf("turn-%02d", i))).id] = false
	}
	shrink()
	in("turn-00", "turn-01", "turn-02", "turn-03", "turn-04", "turn-05", "turn-06", "turn-07", "turn-10", "turn-11")
	add("next", 6, false)
	in("next-00", "next-01", "next-02", "next-03", "next-04", "next-05", "turn-10", "turn-11")
}

// What another site has yet to do stays in memory until it says so, the first above all. Of a site that cannot be reached nothing is awaited.
func TestWhatOthersHaveYetToDoStays(t *testing.T) {
	for _, c := range []struct {
		cut  bool
		want string
	}{{false, "0123 7"}, {true, "    4567"}} {
		w := newWorldOf(t, "paris", Limits{Cache: 4})
		w.cut = c.cut
		have := ""
		for i := range 8 {
			w.ask(fmt.Sprint(i))
			w.settle()
		}
		for i := range 8 {
			if _, id := document(fmt.Sprint(i)); w.residents.by[id] != nil {
				have += fmt.Sprint(i)
			}
		}
		if want := strings.ReplaceAll(c.want, " ", ""); have != want {
			t.Errorf("in memory are %s, not %s, with nantes cut off: %v", have, want, c.cut)
		}
	}
}

// Of what all sites are done with a quarter stays, the last used: it gives way before what is under way.
func TestOfWhatIsDoneAQuarterStays(t *testing.T) {
	l := newResidents(8)
	for i := range 8 {
		id := engine.DocumentID(fmt.Sprint(i))
		v := view.New("line", id, engine.About{Service: "store", Kind: "box", Key: engine.ResourceID(id)}, nil, boxes, func(engine.SiteID) engine.SiteName { return "" })
		r := &resident{Replica: replica.New(v, replica.Limits{}, false), id: id, lags: i == 1}
		if l.add(r); i > 0 && i < 5 {
			l.put(r, l.done)
		}
	}
	l.get("2")
	l.shrink(func(*resident) bool { return false })
	var have []string
	for id := range l.by {
		have = append(have, string(id))
	}
	// 1 lags, and 2 was asked for.
	if slices.Sort(have); !slices.Equal(have, []string{"0", "1", "2", "3", "4", "5", "6", "7"}) {
		t.Errorf("in memory are %v", have)
	}
	l.put(l.by["5"], l.done)
	l.put(l.by["6"], l.done)
	l.shrink(func(*resident) bool { return false })
	have = nil
	for id := range l.by {
		have = append(have, string(id))
	}
	if slices.Sort(have); !slices.Equal(have, []string{"0", "1", "2", "5", "6", "7"}) {
		t.Errorf("in memory are %v", have)
	}
}

// What many sites say of their progress one after the other is stored soon at first, and then ever less often.
func TestProgressIsStoredEverLessOften(t *testing.T) {
	l, b, now := newResidents(8), newInbox(), began
	about := engine.About{Service: "store", Kind: "box", Key: "blue"}
	r := &resident{id: "blue", Replica: replica.New(view.New("line", "blue", about, nil, boxes, func(engine.SiteID) engine.SiteName { return "" }), replica.Limits{}, false)}
	l.add(r)
	for i, wait := range []time.Duration{1, 2, 4, 8, 8} {
		wait *= time.Second
		l.lag(r, b, now)
		b.take(now.Add(wait - 1)) // whatever else has the loop wake up
		if list := l.caughtUp(b, now.Add(wait-1)); len(list) > 0 {
			t.Errorf("%d: it is stored before %v", i, wait)
		}
		if at, ok := b.next(now); !ok || !at.Equal(now.Add(wait)) {
			t.Errorf("%d: it is looked after at %v", i, at)
		}
		now = now.Add(wait)
		if _, due, _ := b.take(now); !slices.Equal(due, []engine.DocumentID{lags}) {
			t.Errorf("%d: what is due is %v", i, due)
		}
		if list := l.caughtUp(b, now); len(list) != 1 {
			t.Errorf("%d: it is not stored after %v", i, wait)
		}
		r.lags = false
	}
}
