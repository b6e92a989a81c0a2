package webtest

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/chronicle"
)

// Cut is when the cut of Generous began that is over, as its page is named, and how long before the start that was.
const cutBefore = 5 * time.Hour

// CutOf is the identifier of the cut of Generous that is over.
func CutOf(s *Site) string {
	list, err := s.chronicle().Cuts(context.Background(), 100)
	if err != nil || len(list) == 0 {
		panic(fmt.Sprint("there is no cut: ", err))
	}
	return list[len(list)-1].ID
}

// remember fills a day: a cut from nantes five hours ago, of fifty minutes, and what both sides did in it.
func (s *Site) remember(start time.Time) {
	began, ended := start.Add(-cutBefore), start.Add(-cutBefore+50*time.Minute)
	now := start.Add(-24 * time.Hour)
	seq := s.seq
	d := &day{newest: seq, at: func(i int) []engine.Event {
		now = start.Add(-24*time.Hour + time.Duration(i)*2*time.Minute)
		var events []engine.Event
		for n := range (i*7)%23 + 1 {
			events = append(events, engine.Event{Seq: seq, Type: "operation.accepted", Time: now},
				engine.Event{Seq: seq, Type: "operation.converged", Time: now, Subject: fmt.Sprintf("%08x-%04x-7000-8000-%012x", now.Add(-time.Duration(30+n*n)*time.Millisecond).UnixMilli()>>16,
					now.Add(-time.Duration(30+n*n)*time.Millisecond).UnixMilli()&0xffff, n)})
		}
		return events
	}}
	d.ways = func() map[engine.SiteID]engine.SiteStatus {
		w := map[engine.SiteID]engine.SiteStatus{Nantes: {Reachable: true, LastSeen: now}, Toulouse: {Reachable: true, LastSeen: now}, Rennes: {Reachable: true, LastSeen: now}}
		if !now.Before(began) && now.Before(ended) {
			w[Nantes] = engine.SiteStatus{LastSeen: began, Since: began}
		}
		return w
	}
	d.look = func() (map[engine.State]int, map[engine.SiteID]int) {
		n := 40 + int(now.Sub(start.Add(-24*time.Hour)).Hours())
		switch {
		case !now.Before(began) && now.Before(ended):
			behind := int(now.Sub(began).Minutes()) / 3
			return map[engine.State]int{engine.StateConverged: n / 3, engine.StateUnknown: n - n/3 - behind, engine.StateConverging: behind}, map[engine.SiteID]int{Nantes: behind, s.self: behind / 2}
		case now.After(ended) && now.Before(ended.Add(time.Hour)):
			return map[engine.State]int{engine.StateConverged: n - 4, engine.StateDegraded: 3, engine.StateConflict: 1}, nil
		}
		return map[engine.State]int{engine.StateConverged: n}, map[engine.SiteID]int{Rennes: int(now.Sub(start.Add(-24*time.Hour)).Hours()) % 5}
	}
	c := chronicle.New(chronicle.Config{Store: &s.Kept, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err := c.Run(context.Background(), d); err != nil {
		panic(err)
	}
	s.bothSides(began)
}

// bothSides adds what paris and nantes did in the cut.
func (s *Site) bothSides(began time.Time) {
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	op := func(n int, resource engine.ResourceID, typ engine.Type, method string, origin engine.SiteID, user, body, change string) engine.OperationID {
		id := engine.OperationID(fmt.Sprintf("019aa3ea-%04x-7000-8000-00000c007000", n))
		path := "/images/{id}"
		if typ == engine.TypeCreate {
			path = "/images"
		}
		done := engine.OperationStatus{State: engine.StateApplied, Status: 200, At: at(51)}
		s.AddOperation(engine.OperationRow{ID: id, Resource: resource, Type: typ, Service: "images", Kind: "image", Method: method, Path: path, Scope: "{images: paris & nantes}",
			Origin: origin, User: user, IssuedAt: at(n), State: engine.StateApplied, Body: []byte(body), Change: []byte(change),
			Sites: map[engine.SiteID]engine.OperationStatus{s.self: done, Nantes: done}})
		return id
	}
	lost := op(10, "debian-325", engine.TypeMerge, "PATCH", s.self, "ada", `{"description":"of ada"}`, `{"set":{"/description":"of ada"}}`)
	over := op(20, "debian-325", engine.TypeMerge, "PATCH", Nantes, "grace", `{"description":"of grace"}`, `{"set":{"/description":"of grace"}}`)
	op(2, "gone-1", engine.TypeCreate, "POST", s.self, "ada", `{"name":"release"}`, `{"set":{"/name":"release"}}`)
	op(24, "gone-1", engine.TypeMerge, "PATCH", Nantes, "grace", `{"size":9}`, `{"set":{"/size":9}}`)
	op(30, "gone-1", engine.TypeDelete, "DELETE", s.self, "ada", "", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.operations {
		if o.ID == lost {
			s.lost = map[engine.DocumentID][]engine.Superseded{o.Document: {{Path: "/description", Value: []byte(`"of ada"`), By: lost, Over: over, Rule: "the later value of a field counts"}}}
		}
	}
}

// day is a site that a chronicle looks at every other minute of a day.
type day struct {
	newest uint64
	at     func(i int) []engine.Event
	ways   func() map[engine.SiteID]engine.SiteStatus
	look   func() (map[engine.State]int, map[engine.SiteID]int)
}

// Newest implements chronicle.Site, as all below.
func (d *day) Newest(context.Context) (uint64, error) { return d.newest, nil }

// Follow is the day.
func (d *day) Follow(_ context.Context, _ uint64, _ time.Duration, take func([]engine.Event) error) error {
	for i := range 24 * 30 {
		if err := take(d.at(i)); err != nil {
			return err
		}
		if err := take(nil); err != nil {
			return err
		}
	}
	return nil
}

// Look counts.
func (d *day) Look(context.Context) (map[engine.State]int, map[engine.SiteID]int, error) {
	r, b := d.look()
	return r, b, nil
}

// Ways tells of the others.
func (d *day) Ways() map[engine.SiteID]engine.SiteStatus { return d.ways() }
