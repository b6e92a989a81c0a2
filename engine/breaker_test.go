package engine

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestBreaker tells the machine what happens, one step a line, and looks at the state after each.
func TestBreaker(t *testing.T) {
	type step struct {
		at     int // seconds
		do     string
		d      DocumentID
		h      health
		admits bool
		state  QueueState
	}
	for name, steps := range map[string][]step{
		"one resource that fails again and again stops nothing": {
			{0, "report", "a", healthBad, false, QueueRunning},
			{1, "report", "a", healthBad, false, QueueRunning},
			{2, "report", "a", healthBad, false, QueueRunning},
			{3, "admit", "b", 0, true, QueueRunning},
		},
		"a success in between begins the count anew": {
			{0, "report", "a", healthBad, false, QueueRunning},
			{0, "report", "b", healthBad, false, QueueRunning},
			{0, "report", "c", healthGood, false, QueueRunning},
			{0, "report", "d", healthBad, false, QueueRunning},
			{0, "report", "e", healthBad, false, QueueRunning},
			{0, "report", "f", healthBad, false, QueueFailing},
		},
		"it opens, probes one at a time with a growing wait, and closes": {
			{0, "report", "a", healthBad, false, QueueRunning},
			{0, "report", "b", healthBad, false, QueueRunning},
			{0, "report", "c", healthBad, false, QueueFailing}, // until 1
			{0, "admit", "a", 0, false, QueueFailing},
			{1, "admit", "a", 0, true, QueueFailing},
			{1, "admit", "b", 0, false, QueueFailing},
			{1, "admit", "a", 0, true, QueueFailing}, // its own further requests
			{1, "report", "a", healthNone, false, QueueFailing},
			{1, "report", "a", healthBad, false, QueueFailing}, // until 3
			{2, "admit", "b", 0, false, QueueFailing},
			{3, "admit", "b", 0, true, QueueFailing},
			{3, "report", "b", healthGood, false, QueueRunning},
			{3, "admit", "c", 0, true, QueueRunning},
		},
		"what went out before it opened counts no more, unless it succeeds": {
			{0, "report", "a", healthBad, false, QueueRunning},
			{0, "report", "b", healthBad, false, QueueRunning},
			{0, "report", "c", healthBad, false, QueueFailing}, // until 1
			{0, "report", "d", healthBad, false, QueueFailing},
			{1, "admit", "a", 0, true, QueueFailing},
			{1, "report", "e", healthGood, false, QueueRunning},
		},
		"a probe that told nothing is given back": {
			{0, "report", "a", healthDenied, false, QueuePaused},
			{1, "admit", "a", 0, true, QueuePaused},
			{1, "abandon", "b", 0, false, QueuePaused},
			{1, "admit", "b", 0, false, QueuePaused},
			{1, "abandon", "a", 0, false, QueuePaused},
			{1, "admit", "b", 0, true, QueuePaused},
		},
		"one denial pauses, failures of probes keep it so, a hurry probes at once": {
			{0, "report", "a", healthDenied, false, QueuePaused}, // until 1
			{1, "admit", "b", 0, true, QueuePaused},
			{1, "report", "b", healthBad, false, QueuePaused}, // until 3
			{2, "admit", "b", 0, false, QueuePaused},
			{2, "hurry", "", 0, false, QueuePaused},
			{2, "admit", "b", 0, true, QueuePaused},
			{2, "report", "b", healthGood, false, QueueRunning},
		},
		"a failing service that denies is paused": {
			{0, "report", "a", healthBad, false, QueueRunning},
			{0, "report", "b", healthBad, false, QueueRunning},
			{0, "report", "c", healthBad, false, QueueFailing},
			{0, "report", "d", healthDenied, false, QueuePaused},
		},
		"Retry-After holds the probe back": {
			{0, "report", "a", healthDenied, false, QueuePaused}, // until 1
			{9, "rest", "", 0, false, QueuePaused},
			{8, "admit", "a", 0, false, QueuePaused},
			{9, "admit", "a", 0, true, QueuePaused},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, start := newBreaker(), time.Unix(1000, 0)
			for i, st := range steps {
				now, before := start.Add(time.Duration(st.at)*time.Second), b.state
				var got, want bool
				switch st.do {
				case "admit":
					got, want = b.admit(st.d, now), st.admits
				case "report":
					got = b.report(st.d, st.h, "why", now, func(tries int) time.Duration { return time.Duration(tries) * time.Second })
					want = st.state != before
				case "abandon":
					b.abandon(st.d)
				case "hurry":
					b.hurry(now)
				case "rest":
					b.rest(now)
				}
				if got != want || b.state != st.state {
					t.Fatalf("step %d, %s %s at %d: got %t and state %s, want %t and %s", i, st.do, st.d, st.at, got, b.state, want, st.state)
				}
			}
			if (b.state == QueueRunning) != (b.reason == "") {
				t.Errorf("in state %s the reason is %q", b.state, b.reason)
			}
		})
	}
}

func TestHealthOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		status      int
		err         error
		read, wrote health
	}{
		{200, nil, healthNone, healthGood},
		{404, nil, healthNone, healthGood},
		{409, nil, healthNone, healthGood},
		{422, nil, healthNone, healthGood}, // it refuses this request, and works
		{501, nil, healthNone, healthGood},
		{401, nil, healthDenied, healthDenied},
		{403, nil, healthDenied, healthDenied},
		{408, nil, healthBad, healthBad},
		{429, nil, healthBad, healthBad},
		{500, nil, healthBad, healthBad},
		{503, nil, healthBad, healthBad},
		{0, ErrUnreachable, healthBad, healthBad},
		{0, errors.New("time-out"), healthBad, healthBad},
	} {
		r := Reply{Status: c.status, Header: http.Header{}}
		if got := healthOf(r, c.err, false); got != c.read {
			t.Errorf("a read answered with %d, %v: %d, want %d", c.status, c.err, got, c.read)
		}
		if got := healthOf(r, c.err, true); got != c.wrote {
			t.Errorf("a change answered with %d, %v: %d, want %d", c.status, c.err, got, c.wrote)
		}
	}
}

func TestParkingKeepsItsOrder(t *testing.T) {
	p := parking{places: map[DocumentID]uint64{}}
	for _, d := range []DocumentID{"a", "b", "c", "a"} {
		p.add(d)
	}
	if d, _ := p.next(); d != "a" {
		t.Errorf("first came %s", d)
	}
	p.leave("b")
	p.add("b") // at the end
	var got []DocumentID
	for range 4 {
		d, _ := p.next()
		got = append(got, d)
	}
	if want := []DocumentID{"c", "a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("then came %v, want %v", got, want)
	}
	if rest := p.all(); len(rest) != 3 || len(p.places) != 0 {
		t.Errorf("%v were left", rest)
	}
	if _, ok := p.next(); ok {
		t.Error("an empty parking has a next")
	}
}

// A resource that could be the probe of its service, and waits for something else, waits by itself: parked, it would be tried at once, and
// again, without end.
func TestWhatWaitsForSomethingElseIsNotParked(t *testing.T) {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	g := newGate()
	s := &Site{cfg: Config{Now: clock}, queue: newQueue(clock, 1), gates: map[ServiceName]*gate{"images": g}}
	g.breaker.enter(QueueFailing, "it does not answer", now)
	g.breaker.until = now.Add(time.Second)
	for _, d := range []DocumentID{"a", "b"} {
		if !s.waits("images", d) {
			t.Fatalf("%s does not wait for a service that is not to be tried yet", d)
		}
	}
	now = now.Add(time.Second)
	s.probe("images")
	if s.waits("images", "a") {
		t.Error("a is parked again and would be tried at once")
	}
	if len(g.parked.places) != 1 || s.queue.due(job{probe: "images"}).After(now) {
		t.Errorf("b, which is parked, is not tried: %v", g.parked.places)
	}
}
