package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	// boxes have names that clients choose, racks identifiers that the application assigns.
	boxes = &engine.Kind{Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}, Sensitive: []engine.Pointer{"/secret"}}
	racks = &engine.Kind{Service: "store", Name: "rack", Collection: "/racks", Item: "/racks/{id}", MergePatch: true,
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
)

// fakeSite is a loop without one: its replicas are real, and what is decided is noted, and not done.
type fakeSite struct {
	replicas map[engine.DocumentID]*replica.Replica
	held     []engine.DocumentID
	ran      []engine.OperationID
	queues   map[engine.ServiceName]engine.QueueStatus
	decided  []string
	asked    []*replica.Ask
	given    replica.Given
	fails    map[engine.DocumentID]error
}

func (s *fakeSite) Self() engine.SiteID { return "paris" }

func (s *fakeSite) Kind(_ engine.ServiceName, name engine.KindName) *engine.Kind {
	return map[engine.KindName]*engine.Kind{"box": boxes, "rack": racks}[name]
}

func (s *fakeSite) Here(_ context.Context, _ *engine.Kind, id string) engine.LocalID {
	return engine.LocalID(id)
}

func (s *fakeSite) Decide(_ context.Context, id engine.DocumentID, about *engine.About, d *replica.Decide) (engine.OperationID, error) {
	if err := s.fails[id]; err != nil {
		return "", err
	}
	if s.replicas[id] == nil || about != nil {
		return "", engine.ErrNotFound
	}
	s.decided = append(s.decided, fmt.Sprintf("%s: %s", id, tellDecision(d)))
	return "made", nil
}

var verbs = map[replica.Verb]string{replica.VerbRetry: "retry", replica.VerbDone: "done", replica.VerbDrop: "drop", replica.VerbAdopt: "adopt",
	replica.VerbDismiss: "dismiss", replica.VerbDropName: "drop name", replica.VerbPlace: "place", replica.VerbPause: "pause",
	replica.VerbConfirm: "confirm", replica.VerbCheck: "check", replica.VerbKeep: "keep", replica.VerbResume: "resume", replica.VerbReopen: "reopen"}

// tellDecision says in words what a replica was to do.
func tellDecision(d *replica.Decide) string {
	text := verbs[d.What]
	if slices.Contains([]replica.Verb{replica.VerbRetry, replica.VerbDone, replica.VerbDrop, replica.VerbAdopt}, d.What) {
		text += " " + string(d.Operation)
	}
	for _, what := range []string{string(d.Local), string(d.Conflict), d.By.User, string(d.By.Site), d.Place.User} {
		if what != "" {
			text += " " + what
		}
	}
	if d.Force {
		text += " by force"
	}
	if d.Pause != nil {
		text += " " + d.Pause.String()
	}
	if p := d.Place; p.Sites != nil || p.Add != nil || p.Remove != nil {
		text += fmt.Sprint(p.Sites, p.Add, p.Remove)
	}
	return text
}

func (s *fakeSite) Ask(_ context.Context, id engine.DocumentID, _ *engine.About, a *replica.Ask) (replica.Given, error) {
	s.asked = append(s.asked, a)
	return s.given, s.fails[id]
}

func (s *fakeSite) Look(_ context.Context, id engine.DocumentID, f func(*replica.Replica)) error {
	r := s.replicas[id]
	if r == nil {
		return fmt.Errorf("document %s: %w", id, engine.ErrNotFound)
	}
	f(r)
	return nil
}

func (s *fakeSite) Present(_ context.Context, _ *engine.Kind, g replica.Given) (engine.Answer, error) {
	return g.Answer, nil
}

func (s *fakeSite) Queues() map[engine.ServiceName]engine.QueueStatus { return s.queues }
func (s *fakeSite) Held() ([]engine.DocumentID, []engine.OperationID) {
	return slices.Clone(s.held), s.ran
}

// fakeRequests are requests that no document tells of, with what can be decided about each.
type fakeRequests struct {
	open    map[engine.OperationID][]engine.Action
	settled []string
}

func (f *fakeRequests) decide(action engine.Action, id engine.OperationID) error {
	actions, ok := f.open[id]
	switch {
	case !ok:
		return fmt.Errorf("request %s: %w", id, engine.ErrNotFound)
	case !slices.Contains(actions, action):
		return engine.ErrSettled
	}
	f.settled = append(f.settled, fmt.Sprintf("%s %s", action, id))
	return nil
}

func (f *fakeRequests) Retry(_ context.Context, id engine.OperationID) error {
	return f.decide(engine.ActionRetry, id)
}

func (f *fakeRequests) Done(_ context.Context, id engine.OperationID) error {
	return f.decide(engine.ActionDone, id)
}

func (f *fakeRequests) Drop(_ context.Context, id engine.OperationID) error {
	return f.decide(engine.ActionDrop, id)
}

func (f *fakeRequests) Made(_ context.Context, id engine.OperationID, local engine.LocalID) error {
	f.settled = append(f.settled, fmt.Sprintf("made %s %s", id, local))
	return nil
}

func (f *fakeRequests) Decisions(_ context.Context, id engine.OperationID) ([]engine.Action, error) {
	actions, ok := f.open[id]
	if !ok {
		return nil, engine.ErrNotFound
	}
	return actions, nil
}

func (f *fakeRequests) NextTry(id engine.OperationID) time.Time {
	if _, ok := f.open[id]; ok {
		return start.Add(time.Minute)
	}
	return time.Time{}
}

// fakeStore holds rows. Err is what every read fails with.
type fakeStore struct {
	operations map[engine.OperationID]engine.OperationRow
	conflicts  map[engine.ConflictID]engine.Conflict
	pending    []engine.DocumentID
	replicas   []engine.LocalID
	err        error
}

func (s *fakeStore) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	row, ok := s.operations[id]
	if !ok {
		return row, engine.ErrNotFound
	}
	return row, s.err
}

func (s *fakeStore) Conflict(_ context.Context, id engine.ConflictID) (engine.Conflict, error) {
	c, ok := s.conflicts[id]
	if !ok {
		return c, engine.ErrNotFound
	}
	return c, s.err
}

func (s *fakeStore) KnownLocally(_ context.Context, _ engine.ServiceName, _ engine.KindName, ids []engine.LocalID) (map[engine.LocalID]bool, error) {
	known := map[engine.LocalID]bool{}
	for _, id := range ids {
		if slices.Contains(s.replicas, id) {
			known[id] = true
		}
	}
	return known, s.err
}

func (s *fakeStore) Pending(context.Context) ([]engine.DocumentID, error) {
	return slices.Clone(s.pending), s.err
}

// fakeMembers are paris and nantes; lille was one.
type fakeMembers struct{}

func (fakeMembers) Name(id engine.SiteID) engine.SiteName { return "the site " + engine.SiteName(id) }
func (fakeMembers) IsMember(id engine.SiteID) bool        { return id == "paris" || id == "nantes" }
func (m fakeMembers) WasAdmitted(id engine.SiteID) bool   { return m.IsMember(id) || id == "lille" }

// fakeApp shows objects by what they are called here.
type fakeApp struct {
	engine.Application
	objects map[engine.LocalID]string
	err     error
}

func (a *fakeApp) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	body, ok := a.objects[c.Local]
	if !ok {
		return engine.Reply{Status: http.StatusNotFound}, a.err
	}
	return engine.Reply{Status: http.StatusOK, Body: []byte(body)}, a.err
}

func (a *fakeApp) Present(_ context.Context, _ *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return r, nil
}

func (a *fakeApp) Items(_ *engine.Kind, body []byte) (items [][]byte, err error) {
	var list []json.RawMessage
	err = json.Unmarshal(body, &list)
	for _, item := range list {
		items = append(items, item)
	}
	return items, err
}

// bench is a desk with all that it works with.
type bench struct {
	*Desk
	site     *fakeSite
	requests *fakeRequests
	store    *fakeStore
	app      *fakeApp
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		site: &fakeSite{replicas: map[engine.DocumentID]*replica.Replica{}, queues: map[engine.ServiceName]engine.QueueStatus{},
			fails: map[engine.DocumentID]error{}},
		requests: &fakeRequests{open: map[engine.OperationID][]engine.Action{}},
		store:    &fakeStore{operations: map[engine.OperationID]engine.OperationRow{}, conflicts: map[engine.ConflictID]engine.Conflict{}},
		app:      &fakeApp{objects: map[engine.LocalID]string{}},
	}
	b.Desk = New(Config{Site: b.site, Requests: b.requests, Store: b.store, Members: fakeMembers{}, App: b.app,
		Now: func() time.Time { return start }, NewID: func() string { return "new" }, CallTimeout: time.Second})
	return b
}

// add puts a replica on the bench: of a kind, at paris and nantes, with operations of which those up to settled are settled here. It
// notes their rows.
func (b *bench) add(id engine.DocumentID, k *engine.Kind, settled engine.Vector, ops ...*engine.Operation) *replica.Replica {
	about := engine.About{Service: k.Service, Kind: k.Name, Collaboration: engine.Replication, Key: engine.ResourceID(id),
		Placement: []engine.SiteID{"nantes", "paris"}}
	return b.addAbout(id, k, about, settled, ops...)
}

func (b *bench) addAbout(id engine.DocumentID, k *engine.Kind, about engine.About, settled engine.Vector, ops ...*engine.Operation) *replica.Replica {
	v := view.New("paris", id, about, nil, k, fakeMembers{}.Name)
	v.Epochs = []*view.Epoch{view.NewEpoch(0, engine.Tip{})}
	for _, o := range ops {
		v.AddOperation(o)
		b.store.operations[o.ID] = engine.OperationRow{ID: o.ID, Document: id, Service: k.Service}
	}
	v.Me.Settled = maps.Clone(settled)
	if v.History.Exists(func(o *engine.Operation) bool { return settled.Has(o.Line, o.Number) }) {
		v.Mine.Local = engine.LocalID(id)
	}
	r := replica.New(v, replica.Limits{}, false)
	b.site.replicas[id] = r
	return r
}

// op is the n-th operation of an origin, which has seen nothing of others. Those of paris come after those of nantes.
func op(origin engine.SiteID, n uint64, t engine.Type, e *engine.Edit) *engine.Operation {
	at := start.UnixMicro() + int64(n)
	if origin == "paris" {
		at += 100
	}
	return &engine.Operation{ID: engine.OperationID(fmt.Sprintf("%s-%d", origin, n)), Type: t, Path: "/boxes/{id}", Edit: e, Line: engine.Line(origin), Origin: origin,
		Number: n, Time: at}
}
