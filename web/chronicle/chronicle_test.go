package chronicle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/webtest"
)

// site is a site that a test moves on: each step is one call of what follows the log.
type site struct {
	steps     []step
	resources map[engine.State]int
	backlog   map[engine.SiteID]int
	ways      map[engine.SiteID]engine.SiteStatus
	from      uint64
	newest    uint64
}

type step struct {
	before func()
	events []engine.Event
}

func (s *site) Newest(context.Context) (uint64, error) { return s.newest, nil }
func (s *site) Look(context.Context) (map[engine.State]int, map[engine.SiteID]int, error) {
	return s.resources, s.backlog, nil
}
func (s *site) Ways() map[engine.SiteID]engine.SiteStatus { return s.ways }
func (s *site) Follow(_ context.Context, after uint64, _ time.Duration, take func([]engine.Event) error) error {
	s.from = after
	for _, st := range s.steps {
		st.before()
		if err := take(st.events); err != nil {
			return err
		}
	}
	return nil
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// run plays steps of a new run over what is kept.
func run(t *testing.T, kept *webtest.Records, now *time.Time, s *site) *chronicle.Chronicle {
	t.Helper()
	c := chronicle.New(chronicle.Config{Store: kept, Now: func() time.Time { return *now }, Log: slog.New(slog.DiscardHandler)})
	if err := c.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return c
}

// asked is the identifier of an operation that was issued at a time.
func asked(at time.Time) string {
	u := uuid.Must(uuid.NewV7())
	for i := range 6 {
		u[i] = byte(at.UnixMilli() >> (40 - 8*i))
	}
	return u.String()
}

func TestMinutesAreCountedOverARestart(t *testing.T) {
	var kept webtest.Records
	now := noon.Add(10 * time.Second)
	event := func(seq uint64, typ string, issued, at time.Time) engine.Event {
		return engine.Event{Seq: seq, Type: typ, Subject: asked(issued), Time: at}
	}
	s := &site{resources: map[engine.State]int{engine.StateConverged: 7, engine.StateDeleted: 2, engine.StateUnknown: 1}, backlog: map[engine.SiteID]int{"n": 3}}
	s.steps = []step{
		{func() {}, []engine.Event{event(1, "operation.accepted", noon, noon.Add(11*time.Second)),
			event(2, "operation.converged", noon.Add(11*time.Second), noon.Add(11*time.Second+100*time.Millisecond))}},
		{func() { now = noon.Add(61 * time.Second) }, nil},
		{func() { now = noon.Add(70 * time.Second) }, []engine.Event{event(3, "operation.accepted", noon, noon.Add(70*time.Second))}},
	}
	run(t, &kept, &now, s)
	// The agent is started again: what it had not written it reads once more, and counts it once.
	s.newest = 4
	s.steps = []step{{func() {}, []engine.Event{event(3, "operation.accepted", noon, noon.Add(70*time.Second)), event(4, "operation.accepted", noon, noon.Add(75*time.Second))}},
		{func() { now = noon.Add(121 * time.Second) }, nil}}
	c := run(t, &kept, &now, s)
	if s.from != 2 {
		t.Errorf("it goes on after event %d, and had counted 2", s.from)
	}
	day, err := c.Day(t.Context())
	if err != nil || len(day) != 2 {
		t.Fatalf("%+v, %v", day, err)
	}
	first := day[0]
	if !first.Begin.Equal(noon) || first.Operations != 1 || first.Resources[engine.StateConverged] != 7 || first.Resources[engine.StateDeleted] != 0 || first.Backlog["n"] != 3 {
		t.Errorf("the first minute is %+v", first)
	}
	if took := first.Took.Within(.99); took < 100*time.Millisecond || took > 120*time.Millisecond {
		t.Errorf("an operation took 100 ms until every site had it, counted as %s", took)
	}
	if day[1].Operations != 2 || day[1].Resources == nil {
		t.Errorf("the minute of the restart is %+v", day[1])
	}
}

func TestHoursAreMadeOfMinutesAndOldOnesGo(t *testing.T) {
	var kept webtest.Records
	now := noon
	s := &site{resources: map[engine.State]int{engine.StateConverged: 5}}
	for i := range 26 * 60 {
		s.steps = append(s.steps, step{func() {
			now = noon.Add(time.Duration(i+1) * time.Minute)
			s.resources = map[engine.State]int{engine.StateConverged: 5}
			if i == 30 {
				s.resources = map[engine.State]int{engine.StateConverged: 3, engine.StateDegraded: 2}
			}
		}, []engine.Event{{Seq: uint64(i + 1), Type: "operation.accepted", Subject: asked(now), Time: noon.Add(time.Duration(i) * time.Minute)}}})
	}
	c := run(t, &kept, &now, s)
	month, err := c.Month(t.Context())
	if err != nil || len(month) != 26 {
		t.Fatalf("%d hours, %v", len(month), err)
	}
	for i, h := range month {
		if h.Resources == nil {
			t.Errorf("in hour %d nobody looked", i)
		}
		if h.Operations != 60 || !h.Begin.Equal(noon.Add(time.Duration(i)*time.Hour)) {
			t.Errorf("hour %d is %+v", i, h)
		}
	}
	if month[0].Resources[engine.StateDegraded] != 2 || month[1].Resources[engine.StateDegraded] != 0 {
		t.Errorf("an hour shows its worst minute: %+v", month[:2])
	}
	if day, err := c.Day(t.Context()); err != nil || len(day) != 24*60 || day[0].Begin.Before(now.Add(-24*time.Hour)) {
		t.Errorf("a day has %d minutes, %v", len(day), err)
	}
	n := 0
	if err := kept.Records(t.Context(), "counters of minutes", "", "a", 1e6, false, func(string, []byte) error { n++; return nil }); err != nil || n > 25*60+1 {
		t.Errorf("%d minutes are kept, %v", n, err)
	}
}

func TestACutIsWhenAndWho(t *testing.T) {
	var kept webtest.Records
	now := noon
	up := func() engine.SiteStatus { return engine.SiteStatus{Reachable: true, LastSeen: now} }
	down := func(since time.Time) engine.SiteStatus {
		return engine.SiteStatus{LastSeen: since, Since: since.Add(5 * time.Second)}
	}
	s := &site{ways: map[engine.SiteID]engine.SiteStatus{"nantes": up(), "rennes": up(), "brest": up()}}
	at := func(d time.Duration, change func()) step { return step{func() { now = noon.Add(d); change() }, nil} }
	s.steps = []step{
		at(0, func() {}),
		at(20*time.Second, func() { s.ways["nantes"] = down(noon.Add(10 * time.Second)) }),
		at(22*time.Second, func() { s.ways["rennes"] = down(noon.Add(15 * time.Second)) }),
	}
	c := run(t, &kept, &now, s)
	list, err := c.Cuts(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].Over() || len(list[0].Away) != 2 || fmt.Sprint(list[0].Near) != "[brest]" || !list[0].Began.Equal(noon.Add(10*time.Second)) {
		t.Fatalf("two sites that go together are one cut: %+v, %v", list, err)
	}
	id := list[0].ID
	if !list[0].AwayAt("nantes", noon.Add(time.Hour)) || list[0].AwayAt("nantes", noon) || list[0].AwayAt("brest", noon.Add(time.Minute)) {
		t.Errorf("who was away when: %+v", list[0])
	}
	// The agent is started again while it goes on. Nantes comes back at once, and is compared with later; rennes leaves the mesh meanwhile.
	s.steps = []step{
		at(5*time.Minute, func() {
			s.ways["nantes"] = engine.SiteStatus{Since: now}
			s.ways["rennes"] = engine.SiteStatus{Since: now}
		}),
		at(6*time.Minute, func() {
			s.ways["nantes"] = engine.SiteStatus{Reachable: true, Uncompared: true, LastSeen: now, Since: now}
		}),
		at(7*time.Minute, func() { s.ways["nantes"] = up(); delete(s.ways, "rennes") }),
		// Brest goes alone, later.
		at(9*time.Minute, func() { s.ways["brest"] = down(now) }),
	}
	c = run(t, &kept, &now, s)
	cut, err := c.Cut(t.Context(), id)
	if err != nil || !cut.Ended.Equal(noon.Add(7*time.Minute)) {
		t.Fatalf("it ends when all have been compared with or have left: %+v, %v", cut, err)
	}
	if n := cut.Away[0]; !n.Back.Equal(noon.Add(6*time.Minute)) || !n.Known.Equal(noon.Add(7*time.Minute)) || n.Left {
		t.Errorf("nantes: %+v", n)
	}
	if !cut.Away[1].Left {
		t.Errorf("rennes: %+v", cut.Away[1])
	}
	if list, err = c.Cuts(t.Context(), 10); err != nil || len(list) != 2 || list[0].Over() || list[0].Away[0].Site != "brest" {
		t.Errorf("another site that goes later is another cut: %+v, %v", list, err)
	}
	if _, err := c.Cut(t.Context(), "20200101-000000"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a cut that was not: %v", err)
	}
}

// TestAStartIsNoCut: an agent that has just started reaches nobody yet. Only what stays away is cut off.
func TestAStartIsNoCut(t *testing.T) {
	var kept webtest.Records
	now := noon
	s := &site{ways: map[engine.SiteID]engine.SiteStatus{"nantes": {Since: noon}}}
	s.steps = []step{{func() {}, nil}, {func() { now = noon.Add(20 * time.Second) }, nil}}
	if list, err := run(t, &kept, &now, s).Cuts(t.Context(), 10); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	s.steps = []step{{func() { now = noon.Add(40 * time.Second) }, nil}}
	if list, err := run(t, &kept, &now, s).Cuts(t.Context(), 10); err != nil || len(list) != 1 {
		t.Fatalf("a site that stays away: %+v, %v", list, err)
	}
}
