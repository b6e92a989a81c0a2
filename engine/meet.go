package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// contested reports whether the answer before this one was that a request did not fit what is there, too.
func (s *Site) contested(r *resource, o *Operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view == nil {
		return false
	}
	a := r.view.attempts[o.ID]
	return a != nil && Outcome{Status: a.last().Status}.contested()
}

// key returns the natural key or meta-identifier of the resource.
func (s *Site) key(ctx context.Context, r *resource) (ResourceID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	return v.about.Key, nil
}

// lookFor settles a create that may have been sent before: it looks for the resource under its chosen identifier. settled is
// false when the request is to be sent (again).
func (s *Site) lookFor(ctx context.Context, r *resource, k *Kind, o *Operation, step Step) (settled, again bool, err error) {
	if s.marks(k, o) {
		return s.lookForMarked(ctx, r, k, o, step)
	}
	if o.Type != TypeCreate || !k.Natural() {
		return true, false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Blocks: true,
			Error: "the agent stopped before the answer came"})
	}
	key, err := s.key(ctx, r)
	if err != nil {
		return true, false, err
	}
	at := s.here(ctx, k, string(key))
	reply, err := s.shown(ctx, k, at)
	if isGone(reply, err) {
		return false, false, nil
	}
	again, err = s.compare(ctx, r, k, o, at, reply, err, step)
	return true, again, err
}

// meet decides about a create whose identifier the application says is taken.
func (s *Site) meet(ctx context.Context, r *resource, k *Kind, o *Operation, refusal Reply, step Step) (bool, error) {
	if !k.Natural() {
		return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: refusal.Status, Blocks: true, Cause: ConflictExists,
			Error: "the application has something of this kind already that is not a replica (" + tell(refusal, nil) +
				"): adopt it, or delete or rename it there and retry"})
	}
	key, err := s.key(ctx, r)
	if err != nil {
		return false, err
	}
	at := s.here(ctx, k, string(key))
	reply, err := s.shown(ctx, k, at)
	if isGone(reply, err) {
		return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: refusal.Status, Blocks: true, Error: tell(refusal, nil)})
	}
	return s.compare(ctx, r, k, o, at, reply, err, step)
}

// compare decides about a create whose identifier is taken, by what the application answered to a look at it: an object
// that shows what the operation sets is the operation's own work; any other belongs to somebody else and is never
// overwritten.
func (s *Site) compare(ctx context.Context, r *resource, k *Kind, o *Operation, key LocalID, shown Reply, err error, step Step) (bool, error) {
	switch {
	case err != nil || shown.Status != http.StatusOK:
		return true, s.note(ctx, r, o, shown, err)
	case showsChange(k, shown.Body, o.Change):
		return false, s.succeed(ctx, r, k, o, Reply{Status: http.StatusOK, Local: key}, key, step)
	}
	return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: http.StatusConflict, Blocks: true, Cause: ConflictExists, Error: exists})
}

const exists = "the application has an object of this identifier already that is not a replica: adopt it, or delete or rename it there and retry"

// showsChange reports whether a representation has every value that c sets.
func showsChange(k *Kind, representation []byte, c *Change) bool {
	tree, err := k.parse(representation)
	if err != nil || c == nil {
		return false
	}
	for at, want := range c.Set {
		got, ok := valueAt(tree, at)
		if !ok || !holds(want, got) && !bytes.Equal(compact(got), canonical(want)) {
			return false
		}
	}
	return true
}

func canonical(b json.RawMessage) json.RawMessage {
	v, err := parseJSON(b)
	if err != nil {
		return b
	}
	return compact(v)
}
