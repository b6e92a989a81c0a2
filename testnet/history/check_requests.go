package history

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// checkRequest sees to it that an acknowledged operation was applied at every site, or that every site tells why not.
func (c *checker) checkRequest(q *request) {
	if q.operation == "" {
		c.say("%s was acknowledged without an operation", q)
		return
	}
	if c.w.isLost(q.operation) {
		return
	}
	if q.kept {
		row, err := q.at.Disk.Recalled(q.operation)
		switch {
		case err != nil && q.at.forgotten[q.operation]:
			if slices.ContainsFunc(c.w.sites, func(s *site) bool { return s.refused(q.operation) }) {
				return // it is told where it was refused, and no more where it was asked for, whose disk was set back
			}
		case err != nil:
			c.say("%s is not known where it was kept: %v", q, err)
			return
		case refusedFirst(row):
			return // the site that it was kept for refused it, and it is told where it was asked for
		case row.State == engine.StateApplied && row.Document == "" && c.w.saidDone[q.operation]:
			return // nobody knew of it any more, and a person has found that it ran
		}
	}
	superseded := false
	for _, s := range q.resource.placement {
		row, err := s.Disk.Recalled(q.operation)
		switch {
		case err != nil && (c.livesApart(s, q) || c.yielded(q.operation) || c.w.madeAlone(s, q)):
			continue
		case err != nil && (q.resource.moved || s.restored) && c.beganLate(s, q):
			continue
		case err != nil:
			if !c.w.saidDone[q.operation] && !c.w.forgot(s, q.operation) {
				c.say("%s is not known at %s: %v", q, s.Name, err)
			}
			continue
		}
		st, told := row.Sites[s.ID]
		if !told && (q.resource.moved || row.Document == "" && (s.restored || c.w.madeAlone(s, q))) {
			continue // the site was added when a checkpoint stood for it, or was removed; or its row is of what another one answered
		}
		switch st.State {
		case engine.StateApplied:
			e := s.App.Effect(q.operation, s.Name)
			ran := e != nil && e.Times >= 1 && e.Times <= 1+s.untold[string(q.operation)+"."+string(s.Name)]
			if q.kind == "start" && !q.resource.moved && !world.Declares(q.resource.kind, "start") && !ran && !s.restored && !c.added(s, row.Document) {
				c.say("%s: %s counts as applied and ran %+v", s.Name, q, e)
			}
		case engine.StateSuperseded:
			superseded = true
		case engine.StateRejected:
			if !c.spoiled[row.Document] && !c.w.knobs.rejects && !heldBack(st.Error) && !s.restored {
				c.say("%s: %s was refused: %s", s.Name, q, st.Error)
			}
		case engine.StatePending:
			if !c.yields[place{row.Document, s}] {
				c.say("%s: %s is pending: %s", s.Name, q, st.Error)
			}
		default:
			c.say("%s: %s is %s: %s", s.Name, q, st.State, st.Error)
		}
	}
	if superseded {
		c.w.superseded++
	}
}

// refused reports whether a site tells of an operation that it was refused where it ran first.
func (s *site) refused(id engine.OperationID) bool {
	row, err := s.Disk.Recalled(id)
	return err == nil && refusedFirst(row)
}

// madeAlone reports whether another site was set back, and has made a resource of its own of what its lost run had made, before it was told what that
// was, and this request was for that one: what is done to it concerns no other site.
func (w *play) madeAlone(s *site, q *request) bool {
	return slices.ContainsFunc(w.sites, func(alone *site) bool {
		row, err := alone.Disk.Recalled(q.operation)
		return err == nil && alone.restored && s != alone && row.Document != "" && len(row.Sites) == 1
	})
}

// forgot reports whether a site does not know of an operation because of its age: it had forgotten others that were settled later
// than this one was made when it heard of it.
func (w *play) forgot(s *site, id engine.OperationID) bool {
	until, err := s.Disk.ForgottenUntil(w.Ctx)
	return err == nil && !until.IsZero() && !madeAt(id).After(until)
}

// madeAt is when newID made an identifier.
func madeAt(id engine.OperationID) time.Time {
	ms, err := strconv.ParseInt(strings.ReplaceAll(string(id), "-", "")[:12], 16, 64)
	if err != nil {
		panic(err) // newID has made it
	}
	return time.UnixMilli(ms)
}

// beganLate reports whether a site has got a checkpoint of a request's resource in the place of what had happened before it was added, or was set back.
// Another resource may have that name now.
func (c *checker) beganLate(s *site, q *request) bool {
	return slices.ContainsFunc(c.w.sites, func(other *site) bool {
		row, err := other.Disk.Recalled(q.operation)
		if err != nil {
			return false
		}
		rec, err := s.Disk.Record(c.w.Ctx, row.Document)
		return err == nil && rec.Checkpoint != nil
	})
}

// added reports whether an operation has added a site to a resource: the client's, or one of a site that was set back and has adopted for a client
// what its lost run had made. Its object begins with what the others show, and what has no declared effect does not run for it.
func (c *checker) added(s *site, document engine.DocumentID) bool {
	row, err := s.Disk.ResourceByDocument(c.w.Ctx, document)
	return err == nil && slices.ContainsFunc(c.model(row).ops, func(o *engine.Operation) bool { return o.Place != nil && slices.Contains(o.Place.Add, s.ID) })
}

// checkOnce sees to it that nothing that must not be repeated ran twice, whatever the client was told.
func (c *checker) checkOnce(q *request) {
	once := q.kind == "start" || q.kind == "incr" || q.kind == "stop" || q.kind == "create" && !q.resource.kind.Natural()
	if q.operation == "" || !once {
		return
	}
	for _, s := range c.w.sites {
		e := s.App.Effects[string(q.operation)+"."+string(s.Name)]
		if e == nil {
			continue
		}
		if q.kind == "create" && q.open == s && len(e.Runs) < e.Times {
			continue // a lost run had deleted what it had made, and nothing of it is to be seen
		}
		if e.Times > 1+s.untold[string(q.operation)+"."+string(s.Name)] && !q.forgotten {
			c.say("%s: %s ran %d times", s.Name, q, e.Times)
		}
	}
}
