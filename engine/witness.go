package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Some of what an operation does is seen only where it runs: what an action adds or changes, and what an application does to a
// counter that a PUT does not mention. Its origin reads the representation before and after it, under the resource's turn.

// needsBefore reports whether the representation before o has to be read.
func (k *Kind) needsBefore(o *Operation) bool {
	n := k.effect(o)
	return n != nil && (n.Counter != "" || n.Observed)
}

// needsAfter reports whether the representation after o has to be read.
func (k *Kind) needsAfter(o *Operation) bool {
	return k.needsBefore(o) || o.Type == TypeReplace && len(k.unmentioned(o)) > 0
}

// effect returns what the catalog declares of a request whose body does not tell what it sets, nil for nothing.
func (k *Kind) effect(o *Operation) *NamedOperation {
	if o.Type == TypePatch && k.ObservesPatch(o.Header["Content-Type"]) {
		return observedPatch
	}
	if o.Type != TypeAction && o.Type != TypeAbsolute {
		return nil
	}
	if n := k.named(o.Method, o.Path); n != nil && n.declared() {
		return n
	}
	return nil
}

// unmentioned lists the counters that the body of a PUT does not have.
func (k *Kind) unmentioned(o *Operation) []Pointer {
	var missing []Pointer
	body, err := parseJSON(o.Body)
	for _, n := range k.Operations {
		if _, has := valueAt(body, n.Counter); n.Counter != "" && !has && err == nil {
			missing = append(missing, n.Counter)
		}
	}
	return missing
}

// witness completes the change of o by what the application showed before and after it. Where that tells nothing, because it
// is no JSON or a counter is no number, what o does stays undeclared.
func witness(k *Kind, o *Operation, before Fold, shown, shows []byte) {
	if n := k.effect(o); n != nil {
		o.Change = n.change(k, shown, shows)
		return
	}
	if o.Type != TypeReplace || o.Change == nil {
		return
	}
	after, err := parseJSON(shows)
	if err != nil {
		return
	}
	for _, p := range k.unmentioned(o) {
		was, known := before.Cells[p]
		o.Change.Unset = slices.DeleteFunc(o.Change.Unset, func(q Pointer) bool { return q == p })
		switch is, ok := valueAt(after, p); {
		case !ok && known && was.Value != nil:
			o.Change.Unset = append(o.Change.Unset, p)
		case ok && is != nil && (o.Change.Whole || known && string(was.Value) != string(compact(is))):
			o.Change.Set[p] = compact(is)
		}
	}
}

// change is what a named operation was seen to do, nil where that cannot be said.
func (n *NamedOperation) change(k *Kind, shown, shows []byte) *Change {
	c := &Change{Set: map[Pointer]json.RawMessage{}}
	if n.Observed {
		seen, err := difference(k, shown, shows)
		if err != nil {
			return nil
		}
		c = seen.without(k)
		delete(c.Set, n.Counter)
	}
	for at, v := range n.Sets {
		if value, err := parseJSON(v); err == nil {
			leaves(value, at, c.Set)
		}
	}
	if n.Counter != "" {
		i, err := incrementOf(n.Counter, shown, shows)
		if err != nil {
			return nil
		}
		c.Add = map[Pointer]Increment{n.Counter: i}
	}
	return c
}

// recount sets what o, which has been asked for before, has added to a number where the application shows what it showed before: it had run
// under its key then, and this agent was set back since. What is shown beyond the fold is what it has added, with what the lost run had
// added beside that nobody knows of.
func recount(k *Kind, o *Operation, before Fold, shows []byte) {
	n := k.effect(o)
	if n == nil || n.Counter == "" || o.Change == nil || o.Change.Add[n.Counter].By != "0" {
		return
	}
	to, err := numberAt(n.Counter, shows)
	if err != nil {
		return
	}
	if i, err := increment(json.Number(before.Cells[n.Counter].Value), to); err == nil {
		o.Change.Add[n.Counter] = i
	}
}

// watch completes what an operation that this site's application has just done is seen to set. The caller holds the turn.
func (s *Site) watch(ctx context.Context, res *resource, k *Kind, c *crossing) error {
	o := &c.Operation
	if k.effect(o) == nil && !k.needsAfter(o) {
		return nil
	}
	before, local, err := s.standsAt(ctx, res)
	if err != nil {
		return err
	}
	var shows []byte
	if k.needsAfter(o) {
		reply, err := s.read(ctx, k, local)
		if err == nil && reply.Status == http.StatusOK {
			reply, err = s.cfg.App.Present(ctx, k, reply)
			shows = reply.Body
		} else if err == nil && !statusGone(reply.Status) {
			err = fmt.Errorf("status %d", reply.Status)
		}
		if err != nil {
			return fmt.Errorf("see what operation %s has done: %w", o.ID, err)
		}
	}
	was := o.Change
	if was != nil {
		o.Change = &Change{Set: maps.Clone(was.Set), Unset: slices.Clone(was.Unset), Order: was.Order, Whole: was.Whole}
	}
	witness(k, o, before, c.Shown, shows)
	if k.HonoursKey && c.Resent {
		recount(k, o, before, shows)
	}
	division, err := s.divisionOf(ctx, res, k, c)
	if err != nil {
		return err
	}
	division.base(o, before)
	division.restate(o)
	b, err := o.Encode()
	if err != nil || len(b) > MaxEntry-entryReserve || o.Change != nil && o.Change.Validate() != nil {
		o.Change = was // more than an operation can carry: its effect stays undeclared
	}
	if o.Type == TypePatch && o.Change == nil {
		o.Type = TypeAction
	}
	return nil
}
