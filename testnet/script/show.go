package script

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// show tells what each application holds and what each site says of it.
func (w *world) show(ctx context.Context) error {
	for _, s := range w.sites {
		held := s.app.holds()
		if len(held) == 0 {
			w.trace.add(s.name(), "holds nothing")
		}
		for _, line := range held {
			w.trace.add(s.name(), "holds "+line)
		}
		if s.Proc == nil {
			w.trace.add(s.name(), "is dead")
			continue
		}
		resources, _, err := s.Disk.Resources(ctx, engine.ResourceFilter{})
		if err != nil {
			return err
		}
		deleted, _, err := s.Disk.Resources(ctx, engine.ResourceFilter{State: engine.StateDeleted})
		if err != nil {
			return err
		}
		resources = append(resources, deleted...)
		slices.SortFunc(resources, func(a, b engine.ResourceRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, r := range resources {
			text := fmt.Sprintf("says %s is %s", r.ID, r.State)
			if r.Reason != "" {
				text += ": " + r.Reason
			}
			w.trace.add(s.name(), text)
		}
		if err := w.operations(ctx, s); err != nil {
			return err
		}
		errands, err := s.Disk.Errands(ctx)
		if err != nil {
			return err
		}
		for _, e := range errands {
			w.trace.add(s.name(), "has a request in flight, "+string(e.Operation))
		}
		conflicts, _, err := s.Disk.Conflicts(ctx, engine.ConflictFilter{Site: s.ID})
		if err != nil {
			return err
		}
		for _, c := range conflicts {
			w.trace.add(s.name(), "has a conflict: "+conflict(&c))
		}
		for _, other := range w.sites {
			switch {
			case !s.Proc.Mesh.IsMember(other.ID):
				w.trace.add(s.name(), "says "+other.name()+" is no member any more")
			case s.Proc.Mesh.Removed(other.ID):
				w.trace.add(s.name(), "says "+other.name()+" was taken out of the mesh")
			}
		}
		if q := s.Proc.Site.Queues()[service]; q.Reason != "" {
			w.trace.add(s.name(), fmt.Sprintf("says its application's queue is %s: %s", q.State, q.Reason))
		}
	}
	return nil
}

// left tells of which resources each site says that it has something left to do.
func (w *world) left(ctx context.Context) error {
	for _, s := range w.sites {
		documents, err := s.Disk.Pending(ctx)
		if err != nil {
			return err
		}
		for _, d := range documents {
			rec, err := s.Disk.Record(ctx, d)
			if err != nil {
				return err
			}
			w.trace.add(s.name(), fmt.Sprintf("has something left to do for %s, which is %s: %s", rec.Row.ID, rec.Row.State, rec.Row.Reason))
		}
	}
	return nil
}

// attempts tells how often a site has sent an operation to its application, what came of the last times, and whether it goes
// on with it by itself.
func (w *world) attempts(ctx context.Context, s *site, op string) error {
	id, ok := w.trace.operation(op)
	if !ok {
		return fmt.Errorf("there is no operation %s yet", op)
	}
	row, err := s.Disk.Operation(ctx, engine.OperationID(id))
	if err != nil {
		return err
	}
	st := row.Sites[s.ID]
	w.trace.add(s.name(), fmt.Sprintf("has sent %s %d times; it is %s", op, st.Attempts, st.State))
	for _, t := range st.Tries {
		what := "no answer"
		if t.Status != 0 {
			what = fmt.Sprint("answer ", t.Status)
		}
		w.trace.add(s.name(), strings.TrimSuffix(what+": "+t.Error, ": "))
	}
	if next := s.Proc.Desk.NextTry(row); !next.IsZero() {
		w.trace.add(s.name(), fmt.Sprintf("goes on in %s", next.Sub(s.Clock()).Round(time.Second)))
	}
	return nil
}

// operations tells of those that are not simply applied everywhere.
func (w *world) operations(ctx context.Context, s *site) error {
	list, _, err := s.Disk.Operations(ctx, engine.OperationFilter{})
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b engine.OperationRow) int { return a.IssuedAt.Compare(b.IssuedAt) })
	for _, o := range list {
		var states []string
		for _, at := range slices.Sorted(maps.Keys(o.Sites)) {
			st := o.Sites[at]
			if st.State == engine.StateApplied {
				continue
			}
			text := fmt.Sprintf("%s at %s", st.State, at)
			if st.Error != "" {
				text += " (" + strings.TrimSpace(st.Error) + ")"
			}
			states = append(states, text)
		}
		if len(states) > 0 {
			w.trace.add(s.name(), fmt.Sprintf("says %s is %s", o.ID, strings.Join(states, ", ")))
		}
	}
	return nil
}
