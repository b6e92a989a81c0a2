package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// indexConflicts adds to b what has become of the conflicts of a document, and the events that tell it.
func (s *Site) indexConflicts(ctx context.Context, id DocumentID, now []Conflict, b *Batch) error {
	before, err := s.cfg.Store.ConflictsOf(ctx, id)
	if err != nil {
		return fmt.Errorf("conflicts of document %s: %w", id, err)
	}
	known := make(map[ConflictID]Conflict, len(before))
	before = slices.DeleteFunc(before, func(c Conflict) bool { return c.ID == askedAs(c.Site, c.Operation) }) // no document tells of these
	for _, c := range before {
		known[c.ID] = c
	}
	for _, c := range now {
		old, ok := known[c.ID]
		delete(known, c.ID)
		if ok && old.same(c) {
			continue
		}
		b.Conflicts = append(b.Conflicts, c)
		switch again := !ok || !old.Open() || !old.Since.Equal(c.Since); {
		case c.Open() && again:
			b.Events = append(b.Events, s.conflictEvent("conflict.opened", c))
		case ok && old.Open() && !c.Open():
			b.Events = append(b.Events, s.conflictEvent("conflict.resolved", c))
		}
	}
	for _, c := range before {
		if _, gone := known[c.ID]; !gone {
			continue
		}
		b.Resolved = append(b.Resolved, c.ID)
		if c.Open() {
			b.Events = append(b.Events, s.conflictEvent("conflict.resolved", c))
		}
	}
	return nil
}

func (c *Conflict) same(d Conflict) bool {
	return c.Kind == d.Kind && c.Since.Equal(d.Since) && c.Reason == d.Reason && c.Blocks == d.Blocks && c.Open() == d.Open() &&
		slices.Equal(c.Actions, d.Actions)
}

func (s *Site) conflictEvent(kind string, c Conflict) Event {
	data := map[string]any{"conflict": c.ID, "about": c.Kind, "resource": c.Resource, "service": c.Service, "kind": c.KindName,
		"site": s.name(c.Site), "operation": c.Operation, "reason": c.Reason}
	if c.Accepted != nil {
		data["action"], data["by"] = c.Accepted.Action, s.name(c.Accepted.By)
	}
	return s.event(kind, string(c.ID), data)
}

// Resolve does what a person has decided about a conflict: at the site where the conflict is, or, to dismiss it, at any that
// has the resource, or, to keep one, at the site that is kept. Local is for ActionAdopt, as in AdoptObject. It returns ErrNotFound when there is no such conflict here (any
// more), ErrSettled, or another *Refusal.
func (s *Site) Resolve(ctx context.Context, id ConflictID, action Action, local LocalID) error {
	c, err := s.cfg.Store.Conflict(ctx, id)
	if err != nil {
		return fmt.Errorf("resolve conflict %s: %w", id, err)
	}
	if !slices.Contains(c.Actions, action) {
		return &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: c.Operation,
			Detail: fmt.Sprintf("%q is nothing that can be decided about this conflict; it takes %s", action, listActions(c.Actions))}
	}
	if action == ActionDismiss {
		return s.dismissConflict(ctx, c)
	}
	if action == ActionKeep {
		_, err := s.Keep(ctx, c.Document, "", true)
		return err
	}
	if c.Site != s.cfg.Self {
		return &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: c.Operation,
			Detail: fmt.Sprintf("the conflict is at %s: it is resolved there", s.name(c.Site))}
	}
	if c.Kind == ConflictName {
		return s.dropName(ctx, c.Document)
	}
	switch action {
	case ActionRetry:
		return s.Retry(ctx, c.Operation)
	case ActionDone:
		return s.Done(ctx, c.Operation)
	case ActionDrop:
		return s.Drop(ctx, c.Operation)
	}
	return s.AdoptObject(ctx, c.Operation, local)
}

func listActions(actions []Action) string {
	if len(actions) == 0 {
		return "nothing now: the reason says what it waits for"
	}
	text := string(actions[0])
	for i, a := range actions[1:] {
		if i == len(actions)-2 {
			text += " or " + string(a)
		} else {
			text += ", " + string(a)
		}
	}
	return text
}

// dismissConflict tells all sites of the resource that a person accepts that one of them differs.
func (s *Site) dismissConflict(ctx context.Context, c Conflict) error {
	r, v, unlock, err := s.locked(ctx, c.Document)
	defer unlock()
	if err != nil {
		return fmt.Errorf("dismiss conflict %s: %w", c.ID, err)
	}
	i := slices.IndexFunc(v.conflicts(), func(now Conflict) bool { return now.ID == c.ID && slices.Contains(now.Actions, ActionDismiss) })
	if i < 0 { // it has been settled meanwhile
		return ErrSettled
	}
	d := Decision{Action: ActionDismiss, By: s.cfg.Self, At: s.cfg.Now(), For: v.conflicts()[i].Since}
	return s.write(ctx, r, []Entry{{Map: MapDecisions, Key: string(s.cfg.Self) + "/" + string(c.ID), Value: compactStruct(d)}}, &Batch{})
}

// askedAs names the conflict of a request of a site that is in no document.
func askedAs(site SiteID, id OperationID) ConflictID { return conflictID(string(site), string(id)) }

// askedOf is the conflict of a request of this site that waits for a person in no document.
func (s *Site) askedOf(c *crossing, at time.Time) Conflict {
	k := s.known.Load().by[kindKey{c.Service, c.Kind}]
	conflict := Conflict{
		ID: askedAs(s.cfg.Self, c.Operation.ID), Kind: ConflictUncertain, Service: c.Service, KindName: c.Kind, Site: s.cfg.Self,
		Operation: c.Operation.ID, Type: c.Operation.Type, Since: at, Blocks: true, Resource: c.resource(),
		Reason: c.question(), Actions: []Action{ActionRetry, ActionDone, ActionDrop},
	}
	if c.About == nil {
		conflict.Document, conflict.Resource = c.Document, cmp.Or(c.Resource, ResourceID(c.Target))
	} else if !k.Natural() {
		conflict.Actions = []Action{ActionRetry, ActionDrop}
	}
	return conflict
}

// askedNoMore adds to b that a request of this site that waited for a person does not any more.
func (s *Site) askedNoMore(ctx context.Context, id OperationID, b *Batch) error {
	c, err := s.cfg.Store.Conflict(ctx, askedAs(s.cfg.Self, id))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up the conflict of operation %s: %w", id, err)
	}
	b.Resolved = append(b.Resolved, c.ID)
	b.Events = append(b.Events, s.conflictEvent("conflict.resolved", c))
	return nil
}
