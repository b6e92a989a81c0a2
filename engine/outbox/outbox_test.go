package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/waiting"
)

var file = &engine.Kind{Service: "s", Name: "file", Collection: "/files", Item: "/files/{id}", ID: engine.IDRule{From: engine.IDFromPath}}

// office is all that an outbox works with: the loop, the store, the network and the other sites, in memory.
type office struct {
	*testing.T
	box        *Outbox
	kept       map[engine.OperationID]engine.Kept
	operations map[engine.OperationID]engine.OperationRow
	full       error // what a commit is answered with
	now        time.Time
	reachable  map[engine.SiteID]engine.SiteStatus
	// asked are the sites that were asked, and for what; answers are what each gives, 200 where it has none.
	asked   []string
	answers map[engine.SiteID]func(engine.Request) (engine.Answer, error)
	queued  []engine.OperationID
}

func officeOf(t *testing.T) *office {
	o := &office{T: t, kept: map[engine.OperationID]engine.Kept{}, operations: map[engine.OperationID]engine.OperationRow{}, now: time.Unix(1, 0),
		reachable: map[engine.SiteID]engine.SiteStatus{}, answers: map[engine.SiteID]func(engine.Request) (engine.Answer, error){}}
	o.open(waiting.DefaultRooms)
	return o
}

// open starts the outbox anew, as an agent does.
func (o *office) open(room waiting.Rooms) {
	o.box = New(Config{Site: o, Store: o, Members: o, Kept: room, RetryMin: time.Second, CallTimeout: time.Minute, Log: slog.New(slog.DiscardHandler),
		Now:   func() time.Time { o.now = o.now.Add(time.Second); return o.now },
		Clock: func() time.Time { return o.now },
		Keys: keys.New(keys.Config{Commit: o.Commit, Now: func() time.Time { return o.now }, Log: slog.New(slog.DiscardHandler), Answer: func(context.Context, [32]byte) (engine.KeyedAnswer, error) {
			return engine.KeyedAnswer{}, engine.ErrNotFound
		}}),
		Spools: spools{},
		Run: func(_ context.Context, r engine.Request) (engine.Answer, error) {
			return o.answer(o.Self(), r)
		},
		Queue: func(id engine.OperationID, _ waiting.Lane, _ time.Duration) { o.queued = append(o.queued, id) },
	})
	o.box.Attach(o, o)
	if err := o.box.TakeUp(o.Context()); err != nil {
		o.Fatal(err)
	}
}

func (o *office) Self() engine.SiteID { return "me" }

func (o *office) Name(id engine.SiteID) engine.SiteName { return engine.SiteName(id) }

func (o *office) Kind(s engine.ServiceName, k engine.KindName) *engine.Kind {
	if s == file.Service && k == file.Name {
		return file
	}
	return nil
}

func (o *office) Commit(_ context.Context, b *engine.Batch) error {
	if o.full != nil {
		return o.full
	}
	for _, k := range b.Outbox {
		o.kept[k.Operation] = k
	}
	for _, id := range b.Delivered {
		delete(o.kept, id)
	}
	for _, r := range b.Operations {
		o.operations[r.ID] = r
	}
	return nil
}

func (o *office) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	if r, ok := o.operations[id]; ok {
		return r, nil
	}
	return engine.OperationRow{}, engine.ErrNotFound
}

func (o *office) Kept(_ context.Context, id engine.OperationID) (engine.Kept, error) {
	if k, ok := o.kept[id]; ok {
		return k, nil
	}
	return engine.Kept{}, engine.ErrNotFound
}

// Outbox lists what is kept, the newest first: nobody says in which order a store has it.
func (o *office) Outbox(context.Context) ([]engine.Kept, error) {
	return slices.SortedFunc(maps.Values(o.kept), func(a, b engine.Kept) int { return byAge(b, a) }), nil
}

func (o *office) Status() map[engine.SiteID]engine.SiteStatus { return o.reachable }

func (o *office) Forward(_ context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	return o.answer(to, r)
}

func (o *office) answer(at engine.SiteID, r engine.Request) (engine.Answer, error) {
	again := ""
	if r.Again {
		again = " again"
	}
	o.asked = append(o.asked, fmt.Sprintf("%s: %s%s", at, r.Operation, again))
	if f := o.answers[at]; f != nil {
		return f(r)
	}
	return engine.Answer{Status: http.StatusOK, Site: at}, nil
}

// spools are those of nobody: no body is large.
type spools struct{ engine.Spools }

func (spools) Sweep(map[string]bool) error { return nil }

// put is a request of a client for a file.
func put(id engine.OperationID, target string) engine.Request {
	return engine.Request{Operation: id, Kind: file, Type: engine.TypeReplace, Method: http.MethodPut, Path: file.Item, Target: target, Caller: "ann", Body: []byte(`{}`)}
}

// pass passes a request on to sites, and returns the status of the answer, or the type of the refusal.
func (o *office) pass(r engine.Request, sites ...engine.SiteID) string {
	o.Helper()
	a, err := o.box.PassOn(o.Context(), r, sites, keys.Keeper{})
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Type
	case err != nil:
		o.Fatal(err)
	}
	return fmt.Sprint(a.Status)
}

// run delivers what is queued until nothing is left to do now.
func (o *office) run() {
	o.Helper()
	for len(o.queued) > 0 {
		id := o.queued[0]
		o.queued = o.queued[1:]
		if _, err := o.box.Deliver(o.Context(), id); err != nil {
			o.Fatal(err)
		}
	}
}

// wants compares who was asked since the last time, and says what is still kept.
func (o *office) wants(kept []engine.OperationID, asked ...string) {
	o.Helper()
	if !slices.Equal(o.asked, asked) {
		o.Errorf("asked were %q, want %q", o.asked, asked)
	}
	if got := slices.Sorted(maps.Keys(o.kept)); !slices.Equal(got, kept) {
		o.Errorf("kept are %q, want %q", got, kept)
	}
	o.asked = nil
}

func (o *office) reach(sites ...engine.SiteID) {
	o.reachable = map[engine.SiteID]engine.SiteStatus{}
	for i, s := range sites {
		o.reachable[s] = engine.SiteStatus{Reachable: true, RTT: time.Duration(i+1) * time.Millisecond}
	}
}

func TestPassOnAsksTheNearest(t *testing.T) {
	o := officeOf(t)
	o.reach("near", "far")
	if got := o.pass(put("1", "x"), "away", "far", "near"); got != "200" {
		t.Errorf("answered %s", got)
	}
	o.wants(nil, "near: 1")
	o.answers["near"] = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{}, &engine.Refusal{Status: 404, Type: "not-replicated"}
	}
	if got := o.pass(put("2", "x"), "near", "far"); got != "200" {
		t.Errorf("answered %s", got)
	}
	o.wants(nil, "near: 2", "far: 2")
}

// What nobody can be reached for is kept and goes out in the order in which it was asked for, after a restart as well.
func TestKeptForLater(t *testing.T) {
	o := officeOf(t)
	for _, r := range []engine.Request{put("1", "x"), put("2", "x"), put("3", "y")} {
		if got := o.pass(r, "near"); got != "202" {
			t.Errorf("%s was answered %s", r.Operation, got)
		}
	}
	if at := o.operations["1"].Sites["near"].State; at != engine.StatePending {
		t.Errorf("what is kept is %s", at)
	}
	if want := []engine.OperationID{"1", "3"}; !slices.Equal(o.queued, want) { // 2 waits for 1
		t.Errorf("queued are %q, want %q", o.queued, want)
	}
	o.queued = nil
	o.open(waiting.DefaultRooms)
	o.run()
	o.wants([]engine.OperationID{"1", "2", "3"})
	o.reach("near")
	if got := o.pass(put("4", "x"), "near"); got != "200" { // takes those before it along
		t.Errorf("the last was answered %s", got)
	}
	o.wants([]engine.OperationID{"3"}, "near: 1", "near: 2", "near: 4")
	if again, err := o.box.Deliver(t.Context(), "3"); again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants(nil, "near: 3")
	if at := o.operations["1"].Sites["near"].State; at != engine.StateApplied || !o.box.Empty() {
		t.Errorf("what was handed over is %s, and somebody waits: %v", at, !o.box.Empty())
	}
}

// What comes later waits for what is before it, though it could go elsewhere.
func TestNothingOvertakes(t *testing.T) {
	o := officeOf(t)
	o.pass(put("1", "x"), "near")
	o.reach("far")
	if got := o.pass(put("2", "x"), "far"); got != "202" {
		t.Errorf("the later one was answered %s", got)
	}
	o.wants([]engine.OperationID{"1", "2"})
}

// Who may have got a request is the only one to be asked again, and is told so; also by the next process.
func TestOneSiteMayHaveIt(t *testing.T) {
	o := officeOf(t)
	o.reach("near", "far")
	o.answers["near"] = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{}, errors.New("the connection broke")
	}
	if got := o.pass(put("1", "x"), "near", "far"); got != "upstream" {
		t.Errorf("answered %s", got)
	}
	o.open(waiting.DefaultRooms)
	o.run()
	o.wants([]engine.OperationID{"1"}, "near: 1", "near: 1 again", "near: 1 again")
	o.answers["near"] = nil
	o.reach("far")
	if again, err := o.box.Deliver(t.Context(), "1"); !again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants([]engine.OperationID{"1"})
	o.reach("near", "far")
	if again, err := o.box.Deliver(t.Context(), "1"); again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants(nil, "near: 1 again")
}

// That a site is asked is on disk before it is, so that an agent that dies then asks no other one.
func TestSentIsDurableFirst(t *testing.T) {
	o := officeOf(t)
	o.pass(put("1", "x"), "near", "far")
	o.reach("near", "far")
	o.full = errors.New("the disk is full")
	if again, err := o.box.Deliver(t.Context(), "1"); !again || err == nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants([]engine.OperationID{"1"})
	o.full = nil
	o.answers["near"] = func(engine.Request) (engine.Answer, error) {
		if _, e, err := o.box.read(t.Context(), "1"); err != nil || e.Sent != "near" {
			t.Errorf("while it is asked it is sent to %q on disk: %v", e.Sent, err)
		}
		return engine.Answer{}, &engine.Refusal{Status: 503, Type: "upstream"} // it did not happen: all may be asked again
	}
	if again, err := o.box.Deliver(t.Context(), "1"); again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants(nil, "near: 1", "far: 1")
}

func TestRefusedForGood(t *testing.T) {
	o := officeOf(t)
	o.pass(put("1", "x"), "near")
	o.reach("near")
	o.answers["near"] = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{Status: 422, Body: []byte("no")}, nil
	}
	o.queued = nil
	if again, err := o.box.Deliver(t.Context(), "1"); again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	o.wants(nil, "near: 1")
	if st := o.operations["1"].Sites["near"]; st.State != engine.StateRejected || st.Status != 422 || st.Error == "" {
		t.Errorf("it became %+v", st)
	}
}

// One caller does not take the room of others; what is kept no more gives its room back.
func TestRoom(t *testing.T) {
	o := officeOf(t)
	o.open(waiting.Rooms{All: waiting.Share{Number: 3, Bytes: 1 << 20}, Each: waiting.Share{Number: 2, Bytes: 1 << 20}, Nobody: waiting.Share{Number: 1, Bytes: 1 << 20}})
	bob := put("4", "z")
	bob.Caller = "bob"
	for _, c := range []struct {
		r    engine.Request
		want string
	}{{put("1", "x"), "202"}, {put("2", "y"), "202"}, {put("3", "z"), "unreachable"}, {bob, "202"}} {
		if got := o.pass(c.r, "near"); got != c.want {
			t.Errorf("%s was answered %s, want %s", c.r.Operation, got, c.want)
		}
	}
	if err := o.box.Drop(t.Context(), "1"); err != nil {
		t.Error(err)
	}
	if st := o.operations["1"].Sites["near"]; st.State != engine.StateRejected {
		t.Errorf("what was dropped became %+v", st)
	}
	if got := o.pass(put("3", "z"), "near"); got != "202" {
		t.Errorf("where there is room again it was answered %s", got)
	}
	if err := o.box.Drop(t.Context(), "1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("it was dropped twice: %v", err)
	}
}

// What its caller does not wait for runs here as if it came then.
func TestDeferred(t *testing.T) {
	for r, want := range map[*engine.Request]bool{{}: false, {Async: true}: true, {Async: true, Wait: time.Second}: true, {Wait: time.Second}: true,
		{Wait: time.Second, Agreement: engine.AgreeSync}: false} {
		if got := Deferred(*r); got != want {
			t.Errorf("async %v, wait %s, agreement %q: deferred is %v", r.Async, r.Wait, r.Agreement, got)
		}
	}
	o := officeOf(t)
	r := put("1", "x")
	r.Async = true
	a, err := o.box.Accept(t.Context(), r, []engine.SiteID{"me"}, keys.Keeper{})
	if a.Status != 202 || a.Operation != "1" || err != nil {
		t.Errorf("accepted: %+v, %v", a, err)
	}
	o.wants([]engine.OperationID{"1"})
	o.run()
	o.wants(nil, "me: 1")
	if at := o.operations["1"].Sites["me"].State; at != engine.StateApplied {
		t.Errorf("it became %s", at)
	}
}
