package history

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
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
	if q.status == 202 {
		row, err := q.at.disk.Recalled().Operation(c.w.ctx, q.operation)
		switch {
		case err != nil && q.at.forgotten[q.operation]:
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
		row, err := s.disk.Recalled().Operation(c.w.ctx, q.operation)
		switch {
		case err != nil && (c.livesApart(s, q) || c.yielded(q.operation)):
			continue
		case err != nil && (q.resource.moved || s.restored) && c.beganLate(s, q.resource):
			continue
		case err != nil:
			if !c.w.saidDone[q.operation] && !s.forgot(q.operation) {
				c.say("%s is not known at %s: %v", q, s.name, err)
			}
			continue
		}
		st, told := row.Sites[s.id]
		if !told && q.resource.moved {
			continue // the site was added when a checkpoint stood for it, or was removed
		}
		switch st.State {
		case engine.StateApplied:
			e := s.app.effect(q.operation, s.name)
			if q.kind == "start" && !q.resource.moved && !declares(q.resource.kind, "start") && !e.once(s.deletedByLost(q.resource)) && !(e == nil && (c.wasAdded(s, row.Document) || s.restored && (s.doesWithoutObject(q.resource) || c.deletedAt(s, q.resource)))) {
				c.say("%s: %s counts as applied and ran %+v", s.name, q, e)
			}
		case engine.StateSuperseded:
			superseded = true
		case engine.StateRejected:
			untold := refusedFirst(row) && q.at.forgotten[q.operation] // whom its client had asked knows of it no more
			if !c.spoiled[row.Document] && !c.w.knobs.rejects && !heldBack(st.Error) && !untold && !c.w.metOrphan(row) {
				c.say("%s: %s was refused: %s", s.name, q, st.Error)
			}
		case engine.StatePending:
			if !c.yields[place{row.Document, s}] {
				c.say("%s: %s is pending: %s", s.name, q, st.Error)
			}
		default:
			c.say("%s: %s is %s: %s", s.name, q, st.State, st.Error)
		}
	}
	if superseded {
		c.w.superseded++
	}
}

// wasAdded reports whether a site was added to a resource later, as where another one has made it of an object that a lost run had left there:
// what had run on that comes with its content.
func (c *checker) wasAdded(s *site, id engine.DocumentID) bool {
	row, err := s.disk.ResourceByDocument(c.w.ctx, id)
	return err == nil && slices.ContainsFunc(c.history(s, row).Ordered(), func(o *engine.Operation) bool {
		return o.Place != nil && slices.Contains(o.Place.Add, s.id)
	})
}

// doesWithoutObject reports whether an operator has dropped the create of a resource at a site. What a lost run had run there is gone with the
// object then.
func (s *site) doesWithoutObject(res *resource) bool {
	return slices.ContainsFunc(s.w.requests, func(q *request) bool {
		return q.resource == res && q.kind == "create" && q.operation != "" && s.gaveUp(q.operation)
	})
}

// leftGivenUp reports whether a lost run had made an object of a resource whose create an operator has dropped at a site since: nobody looks
// for it.
func (s *site) leftGivenUp(tag string) bool {
	return s.restored && slices.ContainsFunc(s.w.resources, func(res *resource) bool { return res.tag == tag && s.doesWithoutObject(res) })
}

// deletedAt reports whether a resource is deleted at a site: a run that is lost with its application may have run what is not run again, for a
// checkpoint that stands for the deletion takes its place.
func (c *checker) deletedAt(s *site, res *resource) bool {
	row, err := s.disk.ResourceByID(c.w.ctx, res.kind.Service, res.kind.Name, engine.ResourceID(res.id))
	return c.w.knobs.machines && err == nil && row.State == engine.StateDeleted
}

// forgot reports whether a site does not know of an operation because of its age: it had forgotten others that were settled later
// than this one was made when it heard of it.
func (s *site) forgot(id engine.OperationID) bool {
	until, err := s.disk.ForgottenUntil(s.w.ctx)
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

// beganLate reports whether a site has got a checkpoint of a resource in the place of what had happened before it was added.
func (c *checker) beganLate(s *site, res *resource) bool {
	row, err := s.disk.ResourceByID(c.w.ctx, res.kind.Service, res.kind.Name, engine.ResourceID(res.id))
	if err != nil {
		return false
	}
	first, err := s.disk.Document(c.w.ctx, row.Document)
	return err == nil && first.Epoch > 0
}

// checkOnce sees to it that nothing that must not be repeated ran twice, whatever the client was told.
func (c *checker) checkOnce(q *request) {
	once := q.kind == "start" || q.kind == "incr" || q.kind == "stop" || q.kind == "create" && !q.resource.kind.Natural()
	if q.operation == "" || !once {
		return
	}
	for _, s := range c.w.sites {
		e := s.app.effects[string(q.operation)+"."+string(s.name)]
		if e == nil {
			continue
		}
		if e.times > e.untold+1+s.deletedByLost(q.resource) {
			c.say("%s: %s ran %d times", s.name, q, e.times)
		}
	}
}
