package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
)

// A panic in the work on one resource is a defect of the agent, which some member's bytes may have found. It ends neither the process nor the
// work on anything else: the resource is set aside. Nothing more is tried for it and nothing taken in until a person resumes it or the agent
// starts anew, and it is listed as paused, with the reason.

// asideReason is what the reason of such a pause begins with.
const asideReason = "set aside after a defect of the agent"

// errAside: a resource is set aside.
var errAside = errors.New(asideReason)

// guarded does one part of the work on a resource, unless that is set aside, and sets it aside when it panics.
func (s *Site) guarded(ctx context.Context, id DocumentID, work string, f func() error) (err error) {
	if s.isAside(id) {
		return fmt.Errorf("%s document %s: %w", work, id, errAside)
	}
	defer func() {
		if p := recover(); p != nil {
			s.setAside(context.WithoutCancel(ctx), id, work, p)
			err = fmt.Errorf("%s document %s: %w: %v", work, id, errAside, p)
		}
	}()
	return f()
}

func (s *Site) isAside(id DocumentID) bool {
	_, is := s.aside.Load(id)
	return is
}

// setAside sets a resource aside and says so. Of one that is not stored yet only the log tells.
func (s *Site) setAside(ctx context.Context, id DocumentID, work string, p any) {
	s.logPanic(id, work, p)
	s.aside.Store(id, &Pause{By: s.name(s.cfg.Self), At: s.cfg.Now(), Reason: fmt.Sprintf("%s, in: %s (%.100v); the log tells more", asideReason, work, p)})
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.forget(r) // whatever has been left half done
	before, err := s.cfg.Store.ResourceByDocument(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return
	}
	if err == nil {
		if s.gates[before.Service] != nil {
			s.leaves(before.Service, id)
		}
		row, stored := before, before.Sites
		row.Sites = make(map[SiteID]ReplicaStatus, len(stored))
		for site, st := range stored {
			row.Sites[site] = st
		}
		s.showAside(&row)
		err = s.commit(ctx, &Batch{Resources: []ResourceRow{row}, Events: s.pauseEvents(before, row)})
	}
	if err != nil {
		s.cfg.Log.Error("list a resource that is set aside", "resource", string(id), "err", err)
	}
}

func (s *Site) logPanic(id DocumentID, work string, p any) {
	s.cfg.Log.Error("a defect of the agent: its work panicked", "resource", string(id), "work", work, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// showAside makes a row say that its resource is set aside, if it is.
func (s *Site) showAside(row *ResourceRow) {
	p, is := s.aside.Load(row.Document)
	st, here := row.Sites[s.cfg.Self]
	if !is || !here {
		return
	}
	st.Paused = p.(*Pause)
	st.Reason = st.Paused.String()
	row.Pending, row.Reason = true, fmt.Sprintf("%s: %s", s.name(s.cfg.Self), st.Reason)
	if !row.State.Past() {
		st.State, row.State = StateDegraded, worstResource(row.State, StateDegraded)
	}
	row.Sites[s.cfg.Self] = st
}

// asideHere refuses what changes a resource that is set aside.
func (s *Site) asideHere(row ResourceRow) error {
	p, is := s.aside.Load(row.Document)
	if !is {
		return nil
	}
	return &Refusal{Status: http.StatusServiceUnavailable, Type: "paused", Detail: fmt.Sprintf(
		"%s %s is %s at %s; nothing has happened there", row.Kind, row.ID, p, s.name(s.cfg.Self))}
}

// showAnew lists a resource that was set aside as it is.
func (s *Site) showAnew(ctx context.Context, id DocumentID) error {
	r, _, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return err
	}
	return s.store(ctx, r, &Batch{})
}

// wasAside reports whether a row was left by a process that had set its resource aside.
func (s *Site) wasAside(row ResourceRow) bool {
	p := row.Sites[s.cfg.Self].Paused
	return p != nil && strings.HasPrefix(p.Reason, asideReason)
}

// about returns the resource that a job works on; empty for one that works on none.
func (j job) about() DocumentID {
	return cmp.Or(j.document, j.look, j.contents, j.relied, j.supported, j.owner, j.body.document)
}

// tryJob does one job. It reports whether to try again later. What panics and works on no resource is tried again later, but for one request of
// a client: that waits for the next start.
func (s *Site) tryJob(ctx context.Context, j job) (again bool, err error) {
	id := j.about()
	if id != "" {
		err = s.guarded(ctx, id, "work on", func() error {
			again, err = s.perform(ctx, j)
			return err
		})
		if errors.Is(err, errAside) {
			return false, nil
		}
		return again, err
	}
	defer func() {
		if p := recover(); p != nil {
			c, ok := (*crossing)(nil), false
			if j.intent != "" {
				c, ok = s.openIntent(ctx, j.intent)
			}
			if again, err = j.intent == "" && j.kept == "", nil; ok && c.Document != "" {
				s.setAside(context.WithoutCancel(ctx), c.Document, "settle operation "+string(j.intent), p)
			} else {
				s.logPanic("", fmt.Sprintf("%+v", j), p)
			}
		}
	}()
	return s.perform(ctx, j)
}
