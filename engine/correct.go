package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// correct sends what differs in one request: it reads what the application shows, sets the paths whose folded value has
// changed, and sends it back with the application's precondition. The caller holds the turn.
func (s *Site) correct(ctx context.Context, r *resource, k *Kind, step Step, local LocalID) (bool, error) {
	first := step.Operations[0]
	var reply Reply
	for try := range 2 { // once more when someone else wrote in between
		shown, err := s.shown(ctx, k, local)
		if err == nil && step.Void && s.takenBack(k, shown, step.Correction) {
			return false, s.succeedAll(ctx, r, step, shown, local)
		}
		if isGone(shown, err) {
			if done, err := s.vanished(ctx, r, local); done || err != nil {
				return false, err
			}
			return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Status: shown.Status,
				Error: "the replica is gone from the application, though no operation deleted it"})
		}
		if err != nil || shown.Status != http.StatusOK {
			return true, s.later(ctx, r, first, shown, err, s.heard(ctx, k.Service, r.id, shown, err, false))
		}
		left := step.Correction.missingFrom(k, shown.Body).and(&Change{Unset: strays(k, shown.Body, step.Only)})
		if left.Empty() { // the application shows it already
			return false, s.succeedAll(ctx, r, step, shown, local)
		}
		call, err := s.correction(k, r, left, shown, local)
		if err != nil {
			return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Error: err.Error()})
		}
		s.doubt(step.Operations...)
		bounded, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
		reply, err = s.cfg.App.Do(bounded, call)
		cancel()
		alone := s.heard(ctx, k.Service, r.id, reply, err, true)
		switch judge(TypeReplace, reply, err) {
		case verdictDone:
			return false, s.succeedAll(context.WithoutCancel(ctx), r, step, reply, local)
		case verdictUnknown, verdictUnsent, verdictLater, verdictDenied:
			return true, s.later(ctx, r, first, reply, err, alone)
		case verdictConflict:
			if try == 0 {
				continue
			}
		}
		break
	}
	if reply.Status == http.StatusBadRequest || reply.Status == http.StatusUnprocessableEntity {
		if published, err := s.publishFacts(context.WithoutCancel(ctx), r, step, reply); published || err != nil {
			return false, err
		}
	}
	return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Status: reply.Status, Error: tell(reply, nil)})
}

// missingFrom returns that part of c which a representation does not show.
func (c *Change) missingFrom(k *Kind, representation []byte) *Change {
	tree, err := k.parse(representation)
	if err != nil {
		return c
	}
	left := &Change{Set: map[Pointer]json.RawMessage{}, Order: c.Order}
	for p, want := range c.Set {
		if got, ok := valueAt(tree, p); !ok || !holds(want, got) && !bytes.Equal(compact(got), canonical(want)) {
			left.Set[p] = want
		}
	}
	for _, p := range c.Unset {
		if _, ok := valueAt(tree, p); ok {
			left.Unset = append(left.Unset, p)
		}
	}
	return left
}

// strays lists what a representation shows beside the only paths that there are to be, of each branch the uppermost; nothing where these are
// not said.
func strays(k *Kind, representation []byte, only map[Pointer]json.RawMessage) []Pointer {
	if only == nil {
		return nil
	}
	tree, _, ok := canonicalForm(k, representation)
	if !ok {
		return nil
	}
	var found []Pointer
	for _, p := range sortedPointers(replaceChange(tree, Fold{}).Set) {
		if parent := p.parent(); only[p] == nil && (parent == "" || only[parent] != nil) {
			found = append(found, p)
		}
	}
	return found
}

// correction makes the request that brings the application from what it shows to what it is to show.
func (s *Site) correction(k *Kind, r *resource, c *Change, shown Reply, local LocalID) (Call, error) {
	call := Call{Kind: k, Path: k.Item, Local: local, Header: map[string]string{"Accept": "application/json"}}
	var err error
	switch {
	case k.MergePatch:
		call.Method, call.Header["Content-Type"] = http.MethodPatch, s.mergeType(r)
		call.Body, err = c.MergePatch(k, shown.Body)
	case k.JSONPatch != "":
		call.Method, call.Header["Content-Type"] = http.MethodPatch, k.JSONPatch
		call.Body, err = c.JSONPatch(k, shown.Body)
	default:
		call.Method, call.Header["Content-Type"] = http.MethodPut, "application/json"
		call.Body, err = c.ApplyTo(k, shown.Body)
	}
	if err != nil {
		return Call{}, fmt.Errorf("the application shows no JSON that could be corrected: %w", err)
	}
	if etag := shown.Header.Get("ETag"); etag != "" && !strings.HasPrefix(etag, "W/") {
		call.Header["If-Match"] = etag
	}
	return call, nil
}

// mergeType is the media type of the merge patches that this resource gets.
func (s *Site) mergeType(r *resource) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view == nil {
		return defaultMergeType
	}
	return r.view.mergeType()
}

func (s *Site) succeedAll(ctx context.Context, r *resource, step Step, reply Reply, local LocalID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	if step.Void {
		o := step.Operations[0]
		return s.settleAll(ctx, r, step, []Entry{s.outcomeEntry(o, Outcome{State: StateSuperseded}), s.replicaEntry(v, local, o)})
	}
	for _, o := range step.Operations {
		s.attempt(v, o, reply, nil)
	}
	applied := append(slices.Clip(step.Operations), v.madeGood(v.repairedBy(step.Operations))...)
	return s.settleAll(ctx, r, step, s.stepEntries(v, local, step, applied, reply))
}

// settleAll writes that the operations of a step are settled, and ends their intents. The caller holds r.mu.
func (s *Site) settleAll(ctx context.Context, r *resource, step Step, entries []Entry) error {
	ids := s.intentsOf(step)
	if err := s.write(ctx, r, entries, &Batch{Settled: ids}); err != nil {
		return err
	}
	for _, id := range ids {
		s.opened.Delete(id)
	}
	s.certain(step.Operations...)
	return nil
}

// takenBack reports whether the application shows nothing that a correction would still change.
func (s *Site) takenBack(k *Kind, shown Reply, c *Change) bool {
	switch shown.Status {
	case http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusOK:
		left := c.missingFrom(k, shown.Body)
		return left != c && left.Empty()
	}
	return false
}

// intentsOf lists the operations of a step that have an intent.
func (s *Site) intentsOf(step Step) []OperationID {
	var ids []OperationID
	for _, o := range step.Operations {
		if _, sent := s.opened.Load(o.ID); sent {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

func (s *Site) failAll(ctx context.Context, r *resource, step Step, out Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	entries := []Entry{s.stepReplica(v, v.local(), step, step.Operations)}
	for _, o := range step.Operations {
		v.ended(o.ID, out, s.cfg.Now())
		entries = append(entries, s.outcomeEntry(o, out))
	}
	return s.settleAll(ctx, r, step, entries)
}
