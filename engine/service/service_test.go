package service

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

var start = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

func second(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }

// In scripts the wait before the first probe is one second, and grows by half.
var scripted = Limits{Probes: Backoff{Min: time.Second, Max: 30 * time.Second}, Most: 4}

// TestService plays scripts: a line has a second, what happens and, after an arrow, what comes of it.
//
//	admit a n:b   for each yes or no; n is the site whose operation it is for
//	works a       and nothing, fails, denied, forbidden: reports; rest=9 adds a Retry-After
//	abandon a, forget a, tick, hurry, succeeded
//
// What comes of it: go with those whose turn it is, alone, wait=seconds, retry with those of a hurry, and the state where
// that has changed.
func TestService(t *testing.T) {
	for name, script := range map[string]string{
		"one resource that fails again and again stops nothing": `
			0 admit a -> yes
			0 fails a ->
			1 admit a -> yes
			1 fails a ->
			2 admit a -> yes
			2 fails a ->
			3 admit a b -> yes yes`,
		"a success in between begins the count anew": `
			0 admit a b c -> yes yes yes
			0 fails a ->
			0 fails b ->
			0 works c ->
			0 admit d e f -> yes yes yes
			0 fails d ->
			0 fails e ->
			0 fails f -> failing`,
		"it fails, is tried one at a time with a growing wait, and what waits follows": `
			0 admit a b c d -> yes yes yes yes
			0 fails a ->
			0 fails b ->
			0 fails c -> failing
			0 admit a b c e -> no no no no
			0.9 tick ->
			1 tick -> go a
			1 admit a b -> yes no
			1 nothing a ->
			1 admit a -> yes
			1 fails a ->
			1 admit a -> no
			2 tick ->
			2.5 tick -> go b
			2.5 works b -> running go c e
			2.5 works c -> go a
			2.5 works e ->
			2.5 admit f g h -> yes yes yes`,
		"how many go grows with each success": `
			0 admit a -> yes
			0 denied a -> paused
			0 admit a b c d e f g -> no no no no no no no
			99 tick -> go a
			99 works a -> running go b c
			99 works b -> go d e
			99 works c -> go f g
			99 admit h i -> no no
			99 works d -> go h
			99 abandon e -> go i`,
		"what went out before it failed counts no more, unless it succeeds": `
			0 admit a b c d -> yes yes yes yes
			0 fails a ->
			0 fails b ->
			0 fails c -> failing
			0 fails d ->
			1 admit a -> yes
			1 works d -> running`,
		"a turn that is not used goes to the next": `
			0 admit a -> yes
			0 denied a -> paused
			0 admit b c d -> no no no
			60 tick -> go b
			60 abandon c ->
			60 admit d -> no
			60 abandon b -> go d
			60 abandon d ->
			60 admit a -> yes`,
		"who comes later does not go first": `
			0 admit a -> yes
			0 denied a -> paused
			0 admit b -> no
			60 admit c -> no
			60 tick -> go b
			60 works b -> running go c`,
		"one denial pauses, failed probes keep it so, a hurry tries at once": `
			0 admit a -> yes
			0 denied a -> paused
			0 admit b c -> no no
			25 tick ->
			26 tick -> go b
			26 fails b ->
			31 admit b -> no
			31 hurry -> go c retry a
			31 denied c ->
			32 hurry -> go b retry c
			32 works b -> running`,
		"a failing service that denies is paused": `
			0 admit a b c d -> yes yes yes yes
			0 fails a ->
			0 fails b ->
			0 fails c -> failing
			0 denied d -> paused`,
		"a forbidden resource holds up nothing": `
			0 admit a b -> yes yes
			0 forbidden a -> alone wait=30
			0 admit c -> yes
			30 admit a -> yes
			30 forbidden a -> alone wait=30
			30 hurry -> retry a`,
		"a forbidden resource shows that the agent is let in again": `
			0 admit a -> yes
			0 denied a -> paused
			0 admit b c -> no no
			60 tick -> go b
			60 forbidden b -> running alone wait=30 go c`,
		"but not when it was sent before": `
			0 admit a b -> yes yes
			0 denied a -> paused
			0 forbidden b -> alone wait=30`,
		"denied again though others were let in, it is alone until it is let in": `
			0 admit a b -> yes yes
			0 denied a -> paused
			30 admit b -> yes
			30 works b -> running
			31 admit a -> yes
			31 denied a -> alone wait=30
			61 admit a -> yes
			61 denied a -> alone wait=30
			62 admit b -> yes
			62 denied b -> paused
			99 admit a -> yes
			99 works a -> running
			100 admit a -> yes
			100 denied a -> paused`,
		"denied again while nobody was let in, it is not alone": `
			0 admit a b -> yes yes
			0 denied a -> paused
			30 admit b -> yes
			30 forbidden b -> running alone wait=30
			31 admit a -> yes
			31 denied a -> paused`,
		"while it is paused nobody is alone": `
			0 admit a b -> yes yes
			0 denied a -> paused
			30 admit b -> yes
			30 works b -> running
			31 admit c -> yes
			31 denied c -> paused
			61 admit a -> yes
			61 denied a ->
			62 admit b -> no`,
		"Retry-After has the service rest": `
			0 admit a b -> yes yes
			0 fails a rest=9 -> failing
			1 admit c -> no
			8.9 tick ->
			9 tick -> go c
			9 fails c rest=20 ->
			9 admit c -> no
			28 tick ->
			29 tick -> go c
			29 works c -> running`,
		"of one resource alone it holds up no other": `
			0 admit a b -> yes yes
			0 fails a rest=9 -> failing
			0 works b -> running
			9 admit a -> yes
			9 fails a rest=9 -> alone wait=9
			9 admit b -> yes
			9 works b ->
			18 admit a -> yes
			18 works a ->
			19 admit a -> yes
			19 fails a rest=9 -> failing`,
		"a late Retry-After holds the probe back": `
			0 admit a b c d -> yes yes yes yes
			0 fails a ->
			0 fails b ->
			0 fails c -> failing
			0 admit a -> no
			0.5 fails d rest=9 ->
			9 tick ->
			9.5 tick -> go a`,
		"a client's own request shows that it does not fail": `
			0 succeeded ->
			0 admit a b c -> yes yes yes
			0 fails a ->
			0 fails b ->
			0 fails c -> failing
			0 admit a b c -> no no no
			0.2 succeeded -> running go a b`,
		"and nothing of whether the agent is let in": `
			0 admit a -> yes
			0 denied a -> paused
			0 succeeded ->`,
		"turns go round the sites whose operations wait": `
			0 admit n:a n:b n:c n:d -> yes yes yes yes
			0 admit n:e n:f n:g p:h n:i p:j r:k -> no no no no no no no
			0 works n:a -> go n:e
			0 works n:b -> go p:h
			0 works n:c -> go r:k
			0 abandon n:f ->
			0 works n:d -> go n:g
			0 works n:e -> go p:j
			0 works p:h -> go n:i`,
		"no more go at once than may": `
			0 admit a b c d e f -> yes yes yes yes no no
			0 forget a -> go e
			0 works b -> go f
			0 works c ->
			0 admit g -> yes`,
	} {
		t.Run(name, func(t *testing.T) {
			s := New(scripted)
			for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
				do, want, _ := strings.Cut(strings.TrimSpace(line), "->")
				if got := play(t, s, strings.Fields(do)); got != strings.TrimSpace(want) {
					t.Fatalf("%s\n\tgot %s", strings.TrimSpace(line), got)
				}
				if st := s.Status(); (st.State == engine.QueueRunning) != (st.Reason == "") {
					t.Fatalf("%s\n\tthe status is %+v", line, st)
				}
			}
		})
	}
}

// siteOf is the site in front of the colon of what is admitted: nantes:a is to do an operation of nantes.
func siteOf(word string) engine.SiteID {
	site, _, _ := strings.Cut(word, ":")
	return engine.SiteID(site[:strings.Count(word, ":")*len(site)])
}

func play(t *testing.T, s *Service, words []string) string {
	var at float64
	if _, err := fmt.Sscan(words[0], &at); err != nil {
		t.Fatal(err)
	}
	now, before := second(at), s.Status().State
	var d engine.DocumentID
	if len(words) > 2 {
		d = engine.DocumentID(words[2])
	}
	var out []string
	var turn Turn
	var retry []engine.DocumentID
	switch do := words[1]; do {
	case "admit":
		for _, w := range words[2:] {
			out = append(out, map[bool]string{true: "yes", false: "no"}[s.Admit(engine.DocumentID(w), siteOf(w), now)])
		}
	case "abandon":
		turn = s.Abandon(d, now)
	case "forget":
		turn = s.Forget(d, now)
	case "tick":
		turn = s.Tick(now)
	case "hurry":
		turn, retry = s.Hurry(now)
	case "succeeded":
		turn = s.Succeeded(now)
	default:
		a := Answer{Health: map[string]Health{"works": Works, "fails": Fails, "denied": Denied, "forbidden": Forbidden}[do], Why: "why"}
		for _, w := range words[3:] {
			var rest int
			if _, err := fmt.Sscanf(w, "rest=%d", &rest); err != nil {
				t.Fatal(err)
			}
			a.Rest = time.Duration(rest) * time.Second
		}
		turn = s.Report(d, a, now, 0.5)
	}
	state := s.Status().State
	if turn.Changed != (state != before) {
		t.Fatalf("%v: changed %t, from %s to %s", words, turn.Changed, before, state)
	}
	if turn.Changed {
		out = append(out, string(state))
	}
	if turn.Alone {
		out = append(out, "alone")
	}
	if turn.Wait > 0 {
		out = append(out, fmt.Sprintf("wait=%d", turn.Wait/time.Second))
	}
	for i, d := range turn.Go {
		out = append(out, map[bool]string{true: "go ", false: ""}[i == 0]+string(d))
	}
	for i, d := range retry {
		out = append(out, map[bool]string{true: "retry ", false: ""}[i == 0]+string(d))
	}
	return strings.Join(out, " ")
}

func TestStatus(t *testing.T) {
	s := New(scripted)
	if st := s.Status(); st != (engine.QueueStatus{State: engine.QueueRunning}) || !s.Readable(start) {
		t.Errorf("at first it is %+v", st)
	}
	s.Admit("a", "", start)
	why := strings.Repeat("é", 400)
	s.Report("a", Answer{Health: Denied, Why: why[1:]}, start, 0.5)
	st := s.Status()
	if st.State != engine.QueuePaused || !st.Since.Equal(start) || st.Waiting != 0 || !st.Next.IsZero() {
		t.Errorf("paused it is %+v", st)
	}
	if len(st.Reason) > maxWhy || !utf8.ValidString(st.Reason) || !strings.HasPrefix(st.Reason, "é") {
		t.Errorf("the reason is %q", st.Reason)
	}
	if s.Readable(second(25)) || !s.Readable(second(26)) {
		t.Error("with nothing that waits, it is read from as soon as a probe may go out, and not before")
	}
	s.Admit("b", "", second(1))
	if st = s.Status(); st.Waiting != 1 || !st.Next.Equal(s.Wake()) || s.Wake().Sub(start).Round(time.Second) != 26*time.Second || !s.Waits("b") || s.Waits("a") {
		t.Errorf("with one that waits it is %+v, and wakes at %v", st, s.Wake())
	}
	if s.Tick(second(30)); s.Readable(second(30)) || !s.Wake().IsZero() || s.Waits("b") {
		t.Error("while it is tried it is not read from, and nothing else happens")
	}
}

// TestToldByTime: a service that fails one resource again and again, and does nothing else, is told as failing after a minute, and lets
// others go out meanwhile.
func TestToldByTime(t *testing.T) {
	s := New(scripted)
	failing := func(at float64) bool { return s.Told(second(at)).State == engine.QueueFailing }
	for _, at := range []float64{10, 30, 69} {
		s.Admit("a", "nantes", second(at))
		s.Report("a", Answer{Health: Fails, Why: "it answers 503"}, second(at), 0)
	}
	if failing(69) || !failing(70) {
		t.Error("it is not told after a minute, or before")
	}
	if st := s.Told(second(80)); !st.Since.Equal(second(10)) || st.Reason != "it answers 503" || st.Waiting != 1 {
		t.Errorf("it is told as %+v", st)
	}
	if s.Status().State != engine.QueueRunning || !s.Admit("b", "nantes", second(80)) {
		t.Error("others have to wait")
	}
	if _, retry := s.Hurry(second(81)); !slices.Equal(retry, []engine.DocumentID{"a"}) || failing(82) {
		t.Errorf("it is tried again with %v", retry)
	}
	s.Report("a", Answer{Health: Fails}, second(82), 0)
	if s.Succeeded(second(150)); failing(151) {
		t.Error("it is told though it has done what a client asked for")
	}
	s.Report("a", Answer{Health: Fails}, second(160), 0)
	if s.Report("b", Answer{Health: Works}, second(230), 0); failing(231) {
		t.Error("it is told though it works")
	}
	s.Report("a", Answer{Health: Fails}, second(240), 0)
	if s.Forget("a", second(250)); failing(400) {
		t.Error("it is told for a resource that is no more")
	}
}

func TestHear(t *testing.T) {
	for _, c := range []struct {
		status      int
		err         error
		read, wrote Health
	}{
		{200, nil, Nothing, Works},
		{404, nil, Nothing, Works},
		{409, nil, Nothing, Works},
		{422, nil, Nothing, Works}, // it refuses this request, and works
		{501, nil, Nothing, Works},
		{505, nil, Nothing, Works},
		{401, nil, Denied, Denied},
		{403, nil, Forbidden, Forbidden},
		{408, nil, Fails, Fails},
		{429, nil, Fails, Fails},
		{500, nil, Fails, Fails},
		{503, nil, Fails, Fails},
		{0, engine.ErrUnreachable, Fails, Fails},
		{0, engine.ErrUnsendable, Unsent, Unsent},
		{0, errors.New("time-out"), Fails, Fails},
	} {
		r := engine.Reply{Status: c.status, Header: http.Header{}}
		read, wrote := Hear(r, c.err, false, "why", start), Hear(r, c.err, true, "why", start)
		if lost := c.status == 408 || c.status == 500 || c.err != nil && !errors.Is(c.err, engine.ErrUnreachable); read != (Answer{c.read, 0, lost, "why"}) || wrote != (Answer{c.wrote, 0, lost, "why"}) {
			t.Errorf("%d, %v tells %+v when read and %+v when changed", c.status, c.err, read, wrote)
		}
	}
	if a := Hear(engine.Reply{Status: 403, Closed: true}, nil, true, "", start); a.Health != Works {
		t.Errorf("that a container is being deleted tells %+v", a)
	}
	for after, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-7": 0, "3600": maxRest, "99999999999999999999": 0, "soon": 0,
		start.Add(time.Minute).Format(http.TimeFormat): time.Minute, start.Add(-time.Minute).Format(http.TimeFormat): 0,
		start.Add(time.Hour).Format(http.TimeFormat): maxRest,
	} {
		r := engine.Reply{Status: 503, Header: http.Header{"Retry-After": {after}}}
		if got := Hear(r, nil, true, "", start).Rest; got != want {
			t.Errorf("Retry-After %q rests %v, want %v", after, got, want)
		}
	}
}

// A resource over which the service stumbles each time is told from a service that fails.
func TestStumbles(t *testing.T) {
	stumbles := func(s *Service, between func()) (n int) {
		for n = 1; n < 100 && !s.stumbles("a", second(float64(20*n))); n++ {
			between()
		}
		return n
	}
	s := New(Limits{})
	if n := stumbles(s, func() { s.Report("b", Answer{Health: Works}, start, 0.5) }); n != few {
		t.Errorf("while others are served it takes %d tries", n)
	}
	if s.Report("a", Answer{Health: Works}, start, 0.5); s.stumbles("a", start) {
		t.Error("what it had stumbled over counts after it was done")
	}
	if n := stumbles(New(Limits{}), func() {}); n != 1+int(long/(20*time.Second)) {
		t.Errorf("while nothing else is asked for it takes %d tries", n)
	}
	s = New(Limits{})
	for _, d := range []engine.DocumentID{"b", "c", "d"} {
		s.Report(d, Answer{Health: Fails}, start, 0.5)
	}
	if n := stumbles(s, func() {}); n != 100 {
		t.Errorf("while the service fails for everybody it takes %d tries", n)
	}
}

// What was never sent says nothing of the service, and gives its place to others.
func TestWhatWasNotSentIsNoFault(t *testing.T) {
	s := New(Limits{Most: 1})
	for range 10 {
		s.Admit("a", "", start)
		s.Admit("b", "", start)
		if turn := s.Report("a", Answer{Health: Unsent}, start, 0.5); turn.Changed || turn.Alone || !slices.Equal(turn.Go, []engine.DocumentID{"b"}) {
			t.Fatalf("it is %+v", turn)
		}
		s.Abandon("b", start)
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 10 * time.Second}
	for tries, want := range map[int]time.Duration{0: 1000, 1: 1000, 2: 1500, 3: 2250, 6: 7594, 7: 10_000, 1000: 10_000} {
		if got := b.After(tries, 0.5).Round(time.Millisecond); got != want*time.Millisecond {
			t.Errorf("after %d tries it waits %v, want %v", tries, got, want*time.Millisecond)
		}
	}
	if got := b.After(1, 0); got != 800*time.Millisecond {
		t.Errorf("at least it waits %v", got)
	}
	if got := (Backoff{}).After(1, 0.5); got != 200*time.Millisecond {
		t.Errorf("by default it waits %v", got)
	}
}

func TestParkingKeepsItsOrder(t *testing.T) {
	p := newParking()
	for _, d := range []engine.DocumentID{"a", "b", "c", "a"} {
		p.add(d, "")
	}
	p.leave("b")
	p.add("b", "") // at the end
	var got []engine.DocumentID
	for d, ok := p.next(); ok; d, ok = p.next() {
		got = append(got, d)
	}
	if want := []engine.DocumentID{"a", "c", "b"}; !slices.Equal(got, want) || p.len() != 0 {
		t.Errorf("they came %v, want %v", got, want)
	}
	p.add("z", "")
	for i := range 10_000 {
		p.add("a", "")
		p.leave("a")
		if n := len(p.lanes[""].order); n > 32 {
			t.Fatalf("after %d comings and goings there are %d places", i, n)
		}
	}
	if d, ok := p.next(); d != "z" || !ok {
		t.Errorf("first is %q", d)
	}
}

// TestNobodyIsForgotten plays random histories: never do more go than may, nobody gets two turns at once or is told twice, whoever has
// to wait gets a turn in the end, and no time is missed at which somebody could go.
func TestNobodyIsForgotten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, now := New(Limits{Most: rapid.IntRange(1, 5).Draw(rt, "most")}), start
		flying := map[engine.DocumentID]bool{} // who has a turn, and has not ended it
		take := func(turn Turn) {
			if turn.Changed && s.Status().State != engine.QueueRunning {
				clear(flying) // what is under way has no turn any more
			}
			for _, d := range turn.Go {
				if flying[d] {
					rt.Fatalf("%s gets a second turn", d)
				}
				flying[d] = true
			}
		}
		check := func() {
			if len(s.flying) > s.window || s.window > s.limits.Most || s.Status().State != engine.QueueRunning && s.window != 1 {
				rt.Fatalf("%d go of %d, in state %s", len(s.flying), s.window, s.Status().State)
			}
			if s.parked.len() > 0 && len(s.flying) < s.window && s.Wake().IsZero() {
				rt.Fatal("somebody waits for nothing")
			}
			for d := range s.flying {
				if s.Waits(d) {
					rt.Fatalf("%s goes and waits", d)
				}
			}
		}
		names := []engine.DocumentID{"a", "b", "c", "d", "e", "f", "g", "h"}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			d := rapid.SampledFrom(names).Draw(rt, "d")
			switch rapid.SampledFrom([]string{"admit", "admit", "admit", "report", "report", "abandon", "hurry", "tick", "time", "succeeded"}).Draw(rt, "do") {
			case "admit":
				if s.Admit(d, rapid.SampledFrom([]engine.SiteID{"m", "n"}).Draw(rt, "of"), now) {
					flying[d] = true
				}
			case "report":
				a := Answer{Health: Health(rapid.IntRange(0, 4).Draw(rt, "health")), Why: "why"}
				if a.Health == Fails && rapid.Bool().Draw(rt, "rests") {
					a.Rest = 5 * time.Second
				}
				if a.Health != Nothing {
					delete(flying, d)
				}
				take(s.Report(d, a, now, 0.5))
			case "abandon":
				delete(flying, d)
				take(s.Abandon(d, now))
			case "hurry":
				turn, _ := s.Hurry(now)
				take(turn)
			case "tick":
				take(s.Tick(now))
			case "time":
				now = now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "ms")) * time.Millisecond)
			case "succeeded":
				take(s.Succeeded(now))
			}
			check()
		}
		// From now on the service works: everybody who waits gets a turn.
		for _, d := range names {
			if s.Admit(d, "", now) {
				flying[d] = true
			}
		}
		had := map[engine.DocumentID]bool{}
		for round := 0; len(had) < len(names); round++ {
			if round > 100 {
				rt.Fatalf("only %v have had a turn", had)
			}
			for _, d := range names {
				if s.flying[d] {
					had[d] = true
					delete(flying, d)
					take(s.Report(d, Answer{Health: Works}, now, 0.5))
					check()
				}
			}
			if w := s.Wake(); !w.IsZero() {
				if w.After(now) {
					now = w
				}
				take(s.Tick(now))
			}
		}
		if s.Status().State != engine.QueueRunning || s.parked.len() > 0 {
			rt.Fatalf("it is %+v", s.Status())
		}
	})
}

// BenchmarkTurn is what a request costs here.
func BenchmarkTurn(b *testing.B) {
	s := New(Limits{})
	b.ReportAllocs()
	for b.Loop() {
		s.Admit("a", "", start)
		s.Report("a", Answer{Health: Works}, start, 0.5)
	}
}
