package plan

import (
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		typ    engine.Type
		status int
		err    error
		want   Verdict
	}{
		{engine.TypeCreate, 201, nil, Done},
		{engine.TypeDelete, 404, nil, Done},
		{engine.TypeDelete, 410, nil, Done},
		{engine.TypeMerge, 404, nil, Refused},
		{engine.TypeMerge, 409, nil, Conflict},
		{engine.TypeMerge, 412, nil, Conflict},
		{engine.TypeMerge, 422, nil, Refused},
		{engine.TypeMerge, 401, nil, Denied},
		{engine.TypeMerge, 403, nil, Denied},
		{engine.TypeMerge, 429, nil, Later},
		{engine.TypeMerge, 503, nil, Later},
		{engine.TypeMerge, 501, nil, Refused},
		{engine.TypeMerge, 408, nil, Unknown},
		{engine.TypeMerge, 500, nil, Unknown},
		{engine.TypeMerge, 504, nil, Unknown},
		{engine.TypeMerge, 0, engine.ErrUnreachable, Unsent},
		{engine.TypeMerge, 0, http.ErrHandlerTimeout, Unknown},
	} {
		if got := Judge(c.typ, engine.Reply{Status: c.status}, c.err); got != c.want {
			t.Errorf("%s %d %v: verdict %d, want %d", c.typ, c.status, c.err, got, c.want)
		}
	}
}

// TestWhatIsBeingDeletedTakesNothing: that nothing is made in a container any more has nothing to do with what the agent may do.
func TestWhatIsBeingDeletedTakesNothing(t *testing.T) {
	r := engine.Reply{Status: 403, Closed: true, Body: []byte(`{"message":"it is being terminated"}`)}
	if got := Judge(engine.TypeCreate, r, nil); got != Refused {
		t.Errorf("verdict %d", got)
	}
	if got, want := Lacks(r), `the application is deleting the container of it: it answered "it is being terminated" (403 Forbidden)`; got != want {
		t.Errorf("it is told %q", got)
	}
}

func TestAPatchIsSentAgainOnlyWhereThatIsHarmless(t *testing.T) {
	for patch, want := range map[string]bool{
		`[{"op":"add","path":"/a","value":1},{"op":"replace","path":"/b/c","value":2}]`: true,
		`[{"op":"add","path":"/tags/-","value":1}]`:                                     false,
		`[{"op":"add","path":"/tags/0","value":1}]`:                                     false,
		`[{"op":"remove","path":"/a"}]`:                                                 false,
		`[{"op":"test","path":"/a","value":0},{"op":"add","path":"/a","value":1}]`:      false,
		`no patch`: false,
	} {
		if got := Resendable(lab, &Operation{Type: engine.TypePatch, Body: []byte(patch)}); got != want {
			t.Errorf("%s: %v", patch, got)
		}
	}
}

// TestLate: what waits while sites have different rules is what follows from the rules, and not from its operation alone.
func TestLate(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	create := a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1)
	b.history.Add(create)
	late := func(want bool) {
		t.Helper()
		if step := Next(b.history, b.standing()); Late(b.history, b.standing(), step) != want {
			t.Errorf("to %s %v follows from the rules: %v", step.Kind, ids(step.Operations), !want)
		}
		b.catchUp(t)
	}
	late(false)
	b.history.Add(a.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"m"}`, 2))
	late(false) // in order
	a.issue(t, engine.TypeMerge, "/images/{id}", `{"size":1}`, 3)
	b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":2}`, 4)
	b.history.Add(a.history.Ordered()[2])
	late(true) // beside another one
}

// TestWhatIsSeenOfWhatWasRefusedAgain: an application that refuses a request the second time may have done it the first time.
func TestWhatIsSeenOfWhatWasRefusedAgain(t *testing.T) {
	d := newDesk("a")
	d.issue(t, engine.TypeCreate, "/images", `{"name":"n","size":1}`, 1)
	before := d.history.Whole(merge.Any)
	change := &Operation{Type: engine.TypeMerge, Edit: &Edit{Set: set("/size", "2").Set, Unset: []Pointer{"/name"}}}
	shows := func(body string) engine.Reply { return engine.Reply{Status: 200, Body: []byte(body)} }
	gone := engine.Reply{Status: 404}
	for _, c := range []struct {
		why   string
		o     *Operation
		shown engine.Reply
		err   error
		want  Verdict
	}{
		{"it shows what is set", change, shows(`{"size":2}`), nil, Done},
		{"it shows what was there", change, shows(`{"name":"n","size":1}`), nil, Refused},
		{"it shows something else", change, shows(`{"name":"n","size":3}`), nil, Unknown},
		{"it shows some of what was there", change, shows(`{"size":1}`), nil, Unknown},
		{"it has no such object", change, gone, nil, Unknown},
		{"it does not answer", change, engine.Reply{}, engine.ErrUnreachable, Later},
		{"it is overloaded", change, engine.Reply{Status: 503}, nil, Later},
		{"a delete has been done", &Operation{Type: engine.TypeDelete}, gone, nil, Done},
		{"a delete has not", &Operation{Type: engine.TypeDelete}, shows(`{}`), nil, Refused},
		{"a create has not", &Operation{Type: engine.TypeCreate, Edit: set("/a", "1")}, gone, nil, Refused},
		{"a create shows something else", &Operation{Type: engine.TypeCreate, Edit: set("/a", "1")}, shows(`{"a":2}`), nil, Unknown},
		{"an action tells nothing", &Operation{Type: engine.TypeAction}, shows(`{}`), nil, Unknown},
		{"a number says nothing", &Operation{Type: engine.TypeAction, Edit: &Edit{Add: map[Pointer]engine.Increment{"/n": {By: "1"}}}}, shows(`{"n":1}`), nil, Unknown},
	} {
		if got := Seen(lab, c.o, before, c.shown, c.err); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.why, got, c.want)
		}
	}
}
