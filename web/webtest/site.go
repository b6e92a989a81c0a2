// Package webtest is a site in memory for the tests and the preview of the API and the dashboard: it implements what
// package api is handed, with generous data and with hooks for faults. Nothing here is part of an agent.
package webtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/audit"
)

// Site is the site. Its methods are safe for concurrent use.
type Site struct {
	// Clock is what the site takes for now. It is set before the site serves.
	Clock func() time.Time
	// Kept is what the agent keeps for itself, Accounts the file of those who may log in, if people must.
	Kept     Records
	Accounts string
	// Accept judges what other sites want to do here; nil: they may do everything. It is set before the site serves.
	Accept func(engine.Wish) engine.Acceptance
	hook   atomic.Pointer[func(method string) error]

	mu          sync.Mutex
	self        engine.SiteID
	members     []engine.Member
	status      map[engine.SiteID]engine.SiteStatus
	authorities []engine.SiteID // but for this one
	invitations []engine.Invitation
	zones       []engine.Zone        // by name
	resources   []engine.ResourceRow // newest first
	checked     []engine.DocumentID
	operations  []engine.OperationRow
	events      []engine.Event
	seq         uint64
	isolated    bool
	conflicts   []engine.Conflict // newest first
	preview     []engine.FieldDifference
	queues      map[engine.ServiceName]engine.QueueStatus
	changed     chan struct{} // closed and replaced when an event comes
	// What the application of each site shows, by site name, service and identifier.
	shown map[string]string
	kinds map[engine.ServiceName][]*engine.Kind
	// Objects of this site alone that refer to something, by that.
	referrers map[engine.Target][]glue.Referrer
	made      map[engine.Target][]glue.Referrer // by owner
	lost      map[engine.DocumentID][]engine.Superseded
	// What was decided about resources, newest first; which objects conflicts may be about; deletions that ran before those that are held.
	decisions  map[engine.DocumentID][]engine.Decision
	candidates map[engine.ConflictID][]engine.Candidate
	objects    []engine.Object
	ran        []engine.OperationID
}

// Empty is a site alone in its mesh with nothing in it.
func Empty() *Site {
	s := &Site{
		Clock: time.Now, self: "12D3KooWParis1111111111111111111111111111111111111",
		status: map[engine.SiteID]engine.SiteStatus{}, changed: make(chan struct{}), shown: map[string]string{}, kinds: kinds(), referrers: map[engine.Target][]glue.Referrer{}, made: map[engine.Target][]glue.Referrer{},
		queues: map[engine.ServiceName]engine.QueueStatus{}, decisions: map[engine.DocumentID][]engine.Decision{}, candidates: map[engine.ConflictID][]engine.Candidate{}, objects: []engine.Object{{Local: "legacy"}},
	}
	for name := range s.kinds {
		s.queues[name] = engine.QueueStatus{State: engine.QueueRunning}
	}
	s.AddMember("paris", s.self, engine.SiteStatus{Reachable: true})
	return s
}

// Config is what a server of this site is made from.
func (s *Site) Config(listen string) web.Config {
	c := api.Config{
		Application: "lab", Catalog: "9f2c41d07ab35e1", Version: "0.1.0", Configuration: map[string]any{"Site": "paris"}, LogLevel: &slog.LevelVar{},
		Store: s, Counter: s, Mesh: s, Network: s, Operator: s, Waiter: s, Peer: peers{s},
		Referring: s.referring, Made: s.madeAlong, Types: s.types(),
		Reaches: func(engine.ServiceName, string, string) bool { return false },
		Accepts: s.Accepts,
		Token:   func(i engine.Invitation, secret []byte) string { return "skr1:" + i.ID + "." + string(secret) },
		Ready:   func() error { return s.fault("Ready") }, Registry: prometheus.NewRegistry(),
		Auth: s.guard(""), Audit: audit.New(&s.Kept, Secret), Hooks: s.desk(), Chronicle: s.chronicle(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: s.now,
	}
	for _, name := range []engine.ServiceName{"images", "networks", "servers"} {
		c.Services = append(c.Services, api.Service{Name: name, Kinds: func() []*engine.Kind { return s.kinds[name] }, Handler: s.service(name),
			URL: "http://127.0.0.1:9701"})
	}
	c.Services[1].URL, c.Services[1].ServerName = "https://127.0.0.1:9702", func() string { return "networks.example.org" }
	return web.Config{Config: c, Listen: listen}
}

func (s *Site) now() time.Time { return s.Clock() }

func (s *Site) fault(method string) error {
	if f := s.hook.Load(); f != nil {
		return (*f)(method)
	}
	return nil
}

// SetFault makes f be asked in each method with its name; what it returns is the method's error.
func (s *Site) SetFault(f func(method string) error) { s.hook.Store(&f) }

// AddMember lets a site in.
func (s *Site) AddMember(name engine.SiteName, id engine.SiteID, st engine.SiteStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock()
	s.members = append(s.members, engine.Member{ID: id, Joined: now.Add(-90 * time.Hour), Certified: s.self, SiteRecord: engine.SiteRecord{
		Name: name, Addresses: []string{"/ip4/127.0.0.1/udp/4701/quic-v1"}, Application: "lab", Catalog: "9f2c41d07ab35e1",
		Services: []engine.ServiceName{"images", "networks", "servers"}, Version: "0.1.0", At: now.Add(-90 * time.Hour).UnixMicro(),
	}})
	s.status[id] = st
}

// SetBulletin has a site tell how it is.
func (s *Site) SetBulletin(site engine.SiteID, b *engine.Bulletin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.members {
		if s.members[i].ID == site {
			s.members[i].Bulletin = b
		}
	}
}

// SetVersion says which version of the application a site has told of.
func (s *Site) SetVersion(site engine.SiteName, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.members {
		if s.members[i].Name == site {
			s.members[i].ApplicationVersion = version
		}
	}
}

// AddResource puts a resource in front.
func (s *Site) AddResource(r engine.ResourceRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Document == "" {
		r.Document = engine.DocumentID(fmt.Sprintf("%x", sha256.Sum256([]byte(string(r.Service)+string(r.ID)+r.CreatedAt.String()))))
	}
	s.resources = append([]engine.ResourceRow{r}, s.resources...)
}

// ResourceByDocument implements api.Store.
func (s *Site) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.Document == id {
			return r, nil
		}
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}

// AddOperation puts an operation in front.
func (s *Site) AddOperation(o engine.OperationRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if o.Document == "" && r.ID == o.Resource && r.Service == o.Service {
			o.Document = r.Document
		}
	}
	s.operations = append([]engine.OperationRow{o}, s.operations...)
}

// AddEvent appends to the log and returns the entry's number.
func (s *Site) AddEvent(typ, subject, data string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addEvent(typ, subject, data, s.Clock())
}

func (s *Site) addEvent(typ, subject, data string, at time.Time) uint64 {
	s.seq++
	s.events = append(s.events, engine.Event{Seq: s.seq, Type: typ, Subject: subject, Time: at, Data: []byte(data)})
	close(s.changed)
	s.changed = make(chan struct{})
	return s.seq
}

// Trim drops the events up to one.
func (s *Site) Trim(upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = slices.DeleteFunc(s.events, func(e engine.Event) bool { return e.Seq <= upTo })
}

// Kind is one of the catalog's, to be changed before it is asked about.
func (s *Site) Kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	return s.kinds[service][slices.IndexFunc(s.kinds[service], func(k *engine.Kind) bool { return k.Name == name })]
}

// Show says what a site's application shows of a resource; an empty body takes it away.
func (s *Site) Show(site, service, id, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[site+"/"+service+"/"+id] = body
}

// SetStatus changes what is known of the way to a site.
func (s *Site) SetStatus(id engine.SiteID, st engine.SiteStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status[id] = st
}

func page[T any](all []T, limit int, cursor string) ([]T, string, error) {
	at := 0
	if cursor != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(cursor, "c"))
		if err != nil || n < 0 || n > len(all) {
			return nil, "", fmt.Errorf("cursor %q: %w", cursor, engine.ErrRefused)
		}
		at = n
	}
	if limit == 0 {
		limit = 100
	}
	end := min(at+limit, len(all))
	next := ""
	if end < len(all) {
		next = "c" + strconv.Itoa(end)
	}
	return slices.Clone(all[at:end]), next, nil
}

// Resources implements api.Store.
func (s *Site) Resources(_ context.Context, f engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	if err := s.fault("Resources"); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []engine.ResourceRow
	for _, r := range s.resources {
		_, placed := r.Sites[f.Site]
		wanted := f.Names == (r.Collaboration == engine.ExactlyOne) && (f.ID == "" || f.ID == r.ID) && (f.Service == "" || f.Service == r.Service) && (f.Kind == "" || f.Kind == r.Kind) &&
			(f.Site == "" || placed) && (f.State == r.State && !(f.State == engine.StateConverged && atOneOf(r, f.Silent)) || f.State == "" && !r.State.Past() ||
			f.State == engine.StateUnknown && r.State == engine.StateConverged && atOneOf(r, f.Silent)) &&
			(strings.Contains(string(r.ID), f.Query) || strings.Contains(string(r.Local), f.Query))
		wanted = wanted && (!f.Related || len(r.Relations) > 0) && (f.RefersTo == (engine.Target{}) || slices.ContainsFunc(r.Relations, func(to engine.Relation) bool {
			return to.Target == f.RefersTo && (!f.Relying || to.Type == engine.RelationReliance)
		}))
		if wanted {
			rows = append(rows, r)
		}
	}
	switch f.Order {
	case engine.OrderOldest:
		slices.Reverse(rows)
	case engine.OrderName:
		slices.SortStableFunc(rows, func(a, b engine.ResourceRow) int {
			return strings.Compare(cmp.Or(a.Label, string(a.ID)), cmp.Or(b.Label, string(b.ID)))
		})
	case engine.OrderChanged:
		slices.SortStableFunc(rows, func(a, b engine.ResourceRow) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	}
	return page(rows, f.Limit, f.Cursor)
}

// TallyResources implements api.Counter.
func (s *Site) TallyResources(_ context.Context, text string) (all []engine.ResourceTally, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if strings.Contains(string(r.ID)+"\n"+string(r.Local), text) {
			all = append(all, engine.ResourceTally{State: r.State, Service: r.Service, Kind: r.Kind, Sites: slices.Sorted(maps.Keys(r.Sites)), Number: 1})
		}
	}
	return all, s.fault("TallyResources")
}

// TallyOperations implements api.Counter.
func (s *Site) TallyOperations(ctx context.Context, f engine.OperationFilter) (map[engine.State]int, error) {
	f.State, f.Cursor, f.Limit = "", "", 1<<20
	rows, _, err := s.Operations(ctx, f)
	n := map[engine.State]int{}
	for _, o := range rows {
		state := o.State
		if f.Site != "" {
			state = o.Sites[f.Site].State
		}
		n[state]++
	}
	return n, err
}

// ResourceByLocal implements api.Store.
func (s *Site) ResourceByLocal(_ context.Context, service engine.ServiceName, k engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	if err := s.fault("ResourceByLocal"); err != nil {
		return engine.ResourceRow{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.Service == service && r.Kind == k && r.Local == id {
			return r, nil
		}
	}
	return engine.ResourceRow{}, fmt.Errorf("resource %s: %w", id, engine.ErrNotFound)
}

// Operation implements api.Store.
func (s *Site) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	if err := s.fault("Operation"); err != nil {
		return engine.OperationRow{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.operations {
		if o.ID == id {
			return o, nil
		}
	}
	return engine.OperationRow{}, fmt.Errorf("operation %s: %w", id, engine.ErrNotFound)
}

// Operations implements api.Store.
func (s *Site) Operations(_ context.Context, f engine.OperationFilter) ([]engine.OperationRow, string, error) {
	if err := s.fault("Operations"); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []engine.OperationRow
	for _, o := range s.operations {
		_, placed := o.Sites[f.Site]
		if (f.Resource == "" || f.Resource == o.Resource) && (f.Document == "" || f.Document == o.Document) &&
			(f.State == "" || f.State == o.State) && (f.Site == "" || placed) && strings.HasPrefix(string(o.ID), f.Begins) && s.mentions(o, f.Words) &&
			!o.IssuedAt.Before(f.From) && (f.Before.IsZero() || o.IssuedAt.Before(f.Before)) {
			rows = append(rows, o)
		}
	}
	if f.Oldest {
		slices.Reverse(rows)
	}
	return page(rows, f.Limit, f.Cursor)
}

// mentions reports whether an operation shows all words.
func (s *Site) mentions(o engine.OperationRow, words []engine.SearchWord) bool {
	text := fmt.Sprint(o.ID, o.Method, o.Path, o.Service, o.Kind, o.Resource, o.User)
	for _, at := range o.Sites {
		text += at.Error
	}
	return !slices.ContainsFunc(words, func(w engine.SearchWord) bool {
		concerned := slices.ContainsFunc(w.Sites, func(id engine.SiteID) bool { _, ok := o.Sites[id]; return ok || o.Origin == id })
		return !concerned && !strings.Contains(strings.ToLower(text), strings.ToLower(w.Text))
	})
}

// Events implements api.Store.
func (s *Site) Events(_ context.Context, after uint64, limit int) ([]engine.Event, error) {
	if err := s.fault("Events"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eventsAfter(after, limit), nil
}

func (s *Site) eventsAfter(after uint64, limit int) []engine.Event {
	i, _ := slices.BinarySearchFunc(s.events, after+1, func(e engine.Event, seq uint64) int { return int(e.Seq) - int(seq) })
	return slices.Clone(s.events[i:min(i+limit, len(s.events))])
}

// WaitEvents implements api.Waiter.
func (s *Site) WaitEvents(ctx context.Context, after uint64) ([]engine.Event, error) {
	for {
		s.mu.Lock()
		got, changed := s.eventsAfter(after, 1000), s.changed
		s.mu.Unlock()
		if err := s.fault("WaitEvents"); err != nil {
			return nil, err
		}
		if len(got) > 0 {
			return got, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// CountConverged implements api.Counter.
func (s *Site) CountConverged(_ context.Context, at []engine.SiteID) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.State == engine.StateConverged && atOneOf(r, at) {
			n++
		}
	}
	return n, s.fault("CountConverged")
}

func atOneOf(r engine.ResourceRow, sites []engine.SiteID) bool {
	return slices.ContainsFunc(sites, func(id engine.SiteID) bool { _, has := r.Sites[id]; return has })
}

// CountResources implements api.Counter.
func (s *Site) CountResources(context.Context) (map[engine.State]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[engine.State]int{}
	for _, r := range s.resources {
		n[r.State]++
	}
	return n, s.fault("CountResources")
}

// CountOperations implements api.Counter.
func (s *Site) CountOperations(context.Context) (map[engine.State]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[engine.State]int{}
	for _, o := range s.operations {
		n[o.State]++
	}
	return n, s.fault("CountOperations")
}

// Decisions implements api.Operator.
func (s *Site) Decisions(_ context.Context, id engine.OperationID) ([]engine.Action, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.operations {
		at := o.Sites[s.self].State
		switch {
		case o.ID != id:
		case at == engine.StateRejected, at == engine.StateUncertain:
			return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}, s.fault("Decisions")
		case at == "" && o.State == engine.StatePending && o.Origin == s.self:
			return []engine.Action{engine.ActionDrop}, s.fault("Decisions")
		}
	}
	return nil, s.fault("Decisions")
}

// Retry implements api.Operator.
func (s *Site) Retry(_ context.Context, id engine.OperationID, _ engine.Decider) error {
	return s.settle("Retry", id, engine.StatePending)
}

// Done implements api.Operator.
func (s *Site) Done(_ context.Context, id engine.OperationID, _ engine.Decider) error {
	return s.settle("Done", id, engine.StateApplied)
}

// Drop implements api.Operator.
func (s *Site) Drop(_ context.Context, id engine.OperationID, _ engine.Decider) error {
	return s.settle("Drop", id, engine.StateSuperseded)
}

func (s *Site) settle(method string, id engine.OperationID, to engine.State) error {
	if err := s.fault(method); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.operations {
		if o.ID != id {
			continue
		}
		if o.State != engine.StateRejected && o.State != engine.StateUncertain {
			return &engine.Refusal{Status: 409, Type: "settled", Detail: "the operation is " + string(o.State) + ": there is nothing to settle",
				Err: errors.New("settled")}
		}
		sites := map[engine.SiteID]engine.OperationStatus{}
		for site, st := range o.Sites {
			if st.State == o.State {
				st.State, st.Error = to, ""
			}
			sites[site] = st
		}
		s.operations[i].State, s.operations[i].Sites = to, sites
		return nil
	}
	return fmt.Errorf("operation %s: %w", id, engine.ErrNotFound)
}

// Compacted tells of three operations of every resource that were folded away.
func (s *Site) Compacted(context.Context, engine.DocumentID) (engine.Compacted, error) {
	return engine.Compacted{Operations: 3, Until: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)}, nil
}

// ForgottenUntil says that nothing was forgotten.
func (s *Site) ForgottenUntil(context.Context) (time.Time, error) { return time.Time{}, nil }

// Superseded tells of one value of every resource that was lost, by operations that are listed or not, where it has nothing else to tell.
func (s *Site) Superseded(ctx context.Context, id engine.DocumentID) ([]engine.Superseded, error) {
	s.mu.Lock()
	lost := s.lost[id]
	s.mu.Unlock()
	if lost != nil {
		return lost, nil
	}
	ops, _, err := s.Operations(ctx, engine.OperationFilter{Limit: 1})
	if err != nil || len(ops) == 0 {
		return nil, err
	}
	return []engine.Superseded{{Path: "/name", Value: []byte(`"old"`), By: "gone", Over: ops[0].ID, Rule: "the later value of a field counts"}}, nil
}
