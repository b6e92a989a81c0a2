package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/skerry/skerry/engine"
)

// errUnread says that the other site has not come to look into the body.
var errUnread = errors.New("the body was not looked into")

// deepest is how deep the JSON of a member is nested: Go's own decoder takes that, and no more than a hundred levels above it.
const deepest = 9900

func deepBody() string {
	return `{"description":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + `}`
}

// doublingPatch copies an array into itself so many times, each of which doubles it.
func doublingPatch(times int) string {
	double := `{"op":"copy","from":"/tags","path":"/tags/-"},`
	return `[{"op":"add","path":"/tags","value":["x"]},` + strings.TrimSuffix(strings.Repeat(double, times), ",") + "]"
}

// pass passes on a request with a body, as for a client who wants it at one site, and returns the status of the answer: 0, there was none.
func (m *Member) pass(ctx context.Context, to honest, request, media, body string) (status int, err error) {
	b, err := m.send(ctx, to, requests, fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Via: %s\r\nSkerry-Operation: %s\r\n"+
		"Skerry-Placement: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		request, m.id, uuid.Must(uuid.NewV7()), to.id, media, len(body), body))
	if _, unread := fmt.Sscanf(string(b), "HTTP/1.1 %d", &status); unread != nil && err == nil {
		err = errUnread
	}
	return status, err
}

// nulls signs and passes on JSON that is nothing, or has nothing where something is to be.
func nulls(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
	}
	null := json.RawMessage("null")
	set := func(p ...engine.Pointer) *engine.Edit {
		e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
		for _, at := range p {
			e.Set[at] = null
		}
		return e
	}
	kinds := []func(o *engine.Operation){
		func(o *engine.Operation) { o.Body, o.Edit = []byte("null"), &engine.Edit{} },
		func(o *engine.Operation) { o.Body, o.Edit = []byte("null"), set("") },
		func(o *engine.Operation) {
			o.Body, o.Edit = []byte(`{"description":null,"tags":null}`), set("/description", "/tags")
		},
		func(o *engine.Operation) {
			o.Body, o.Edit = []byte(`{"tags":[null,{"x":null}]}`), set("/tags/0", "/tags/1/x")
		},
		func(o *engine.Operation) {
			o.Body, o.Edit = []byte(`{"description":null}`), set("/description")
			o.Edit.Whole = true
		},
		func(o *engine.Operation) { o.Body, o.Edit.Set["/description"] = []byte(`{}`), nil },
		func(o *engine.Operation) {
			o.Type, o.Header["Content-Type"], o.Body, o.Edit = engine.TypePatch, "application/json-patch+json", []byte("[null]"), set("/description")
		},
	}
	o := m.operation(d, kinds[m.chance(len(kinds))])
	if err := m.issue(ctx, d, o); err != nil {
		return err
	}
	requests := []string{"POST /images", "PUT /images/" + string(d.about.Key), "PATCH /images/" + string(d.about.Key)}
	_, err := m.pass(ctx, m.victim(), requests[m.chance(len(requests))], o.Header["Content-Type"], string(o.Body))
	return err
}

// deepBodies signs and passes on JSON that is nested as deep as a decoder may take it. Whoever looks into such a body refuses it, and asks no
// application.
func deepBodies(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
	}
	err := m.issue(ctx, d, m.operation(d, func(o *engine.Operation) {
		o.Body = []byte(deepBody())
		if m.chance(2) == 0 {
			o.Edit.Set["/description"] = json.RawMessage(deepBody())
		}
	}))
	if err != nil {
		return err
	}
	status, err := m.pass(ctx, m.victim(), "PATCH /images/"+string(d.about.Key), "application/merge-patch+json", deepBody())
	if err == nil && status != 413 {
		return fmt.Errorf("%w: %d", errUnread, status)
	}
	return err
}

// doublingPatches signs a JSON Patch that makes megabytes of nothing, and passes on one that makes gigabytes.
func doublingPatches(ctx context.Context, m *Member, _ *Orders) error {
	d := m.anyDocument()
	if d == nil {
		return errNothing
	}
	const media = "application/json-patch+json"
	err := m.issue(ctx, d, m.operation(d, func(o *engine.Operation) { // applications carry it out, which have no such bound
		o.Type, o.Header["Content-Type"], o.Body = engine.TypePatch, media, []byte(doublingPatch(18))
		o.Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/tags": json.RawMessage(`["x"]`)}}
	}))
	if err != nil {
		return err
	}
	status, err := m.pass(ctx, m.victim(), "PATCH /images/"+string(d.about.Key), media, doublingPatch(30))
	if err == nil && status != 413 {
		return fmt.Errorf("%w: %d", errUnread, status)
	}
	return err
}
