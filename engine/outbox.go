package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kept is a request in the outbox: no involved site could be reached, or the one that was reached gave no answer, or its caller did
// not want to wait.
type kept struct {
	Request   Request     `json:"request"`
	Service   ServiceName `json:"service"`
	Kind      KindName    `json:"kind"`
	Placement []SiteID    `json:"placement"`
	// Spool is the name of a large body, Size its length.
	Spool string `json:"spool,omitempty"`
	Size  int64  `json:"size,omitempty"`
	// Sent is the site that may have got it already; only that one may be asked again.
	Sent SiteID `json:"sent,omitempty"`
	// Deferred says that this site is to run it as if it came now (deferred.go).
	Deferred bool `json:"deferred,omitempty"`
}

// blob tells of a large body in the list of operations; nil when it is not large. Its hash is nobody's business.
func (e *kept) blob() *BlobRef {
	if e.Size == 0 {
		return nil
	}
	return &BlobRef{Size: e.Size}
}

// nearest orders sites: reachable ones by round trip, the others after them.
func (s *Site) nearest(ids []SiteID) []SiteID {
	status := s.network.Status()
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b SiteID) int {
		x, y := status[a], status[b]
		if x.Reachable != y.Reachable {
			if x.Reachable {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.RTT, y.RTT), cmp.Compare(a, b))
	})
	return sorted
}

// passOn hands a client's request to the nearest of sites that takes it. When none can be reached, it is kept. What another
// site has handed to this one goes no further: that site alone knows which others may have got it.
func (s *Site) passOn(ctx context.Context, r Request, sites []SiteID, k keeper) (Answer, error) {
	if r.Operation == "" {
		r.Operation = OperationID(s.cfg.NewID())
	}
	spool, err := s.spool(r)
	if err != nil {
		return Answer{}, err
	}
	if k.sent != "" { // under the same key before: that site may have it
		sites = []SiteID{k.sent}
	}
	if waits, err := s.catchUp(ctx, r); err != nil {
		return Answer{}, fmt.Errorf("hand over earlier requests for %s: %w", r.Target, err)
	} else if waits {
		return s.keepOrRefuse(ctx, r, sites, k)
	}
	status := s.network.Status()
	passed := r
	passed.Alternatives = nil       // this site alone tries them
	var last func() (Answer, error) // what a site said that cannot take it
	later := false
	for _, to := range s.nearest(sites) {
		if !status[to].Reachable {
			later = true
			continue
		}
		if asked := s.asked(k, r.Kind, r.Operation, to); len(asked) > 0 { // the same key is the same operation from here on
			if err := s.commit(ctx, &Batch{Answers: asked}); err != nil {
				return Answer{}, fmt.Errorf("remember operation %s: %w", r.Operation, err)
			}
		}
		passed.Again = k.sent == to
		a, err := s.forwarder.Forward(ctx, to, passed)
		if spool != nil && spool.Failed() != nil {
			return Answer{}, bodyError(spool.Failed()) // the other site has not got it whole either
		}
		heard := hear(a, err)
		if k.sent != "" && errors.Is(err, ErrUnreachable) {
			heard = heardNothing // this try has not reached it; an earlier one may have
		}
		switch heard {
		case heardAnswer:
			reply := Reply{Status: a.Status, Header: a.Header, Body: a.Body}
			if answers := s.answers(k, r.Kind, reply, a.Operation, a.Resource); err == nil && len(answers) > 0 && a.Status < 300 {
				if err := s.commit(context.WithoutCancel(ctx), &Batch{Answers: answers}); err != nil {
					s.cfg.Log.Error("keep the answer to a request with a key", "operation", string(r.Operation), "err", err)
				}
			}
			return a, err
		case heardElsewhere, heardLater:
			if errors.Is(err, ErrUnreachable) {
				later = true
			} else {
				last = func() (Answer, error) { return a, err }
			}
			continue
		}
		if err := s.keep(context.WithoutCancel(ctx), r, sites, to, k); err != nil {
			return Answer{}, err
		}
		return Answer{}, &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: r.Operation, Err: err,
			Detail: fmt.Sprintf("%s gave no certain answer; the operation will be settled", s.name(to))}
	}
	if last != nil && (!later || r.Agreement != AgreeOne) { // all were asked that have to be
		return last()
	}
	return s.keepOrRefuse(ctx, r, sites, k)
}

// keepOrRefuse keeps a request for sites that cannot take it now, unless it is for now or not at all.
func (s *Site) keepOrRefuse(ctx context.Context, r Request, sites []SiteID, k keeper) (Answer, error) {
	if len(r.Alternatives) > 0 || r.Agreement != AgreeOne {
		return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable",
			Detail: fmt.Sprintf("%s cannot be reached now; nothing has happened", s.names(sites))}
	}
	return s.keepFor(ctx, r, sites, k)
}

// keepFor keeps a request for sites of which none can be reached, and answers it.
func (s *Site) keepFor(ctx context.Context, r Request, sites []SiteID, k keeper) (Answer, error) {
	if err := s.keep(ctx, r, sites, k.sent, k); err != nil {
		return Answer{}, err
	}
	return s.keptAnswer(r.Operation), nil
}

func (s *Site) keptAnswer(id OperationID) Answer {
	return Answer{Status: http.StatusAccepted, Operation: id, Site: s.cfg.Self,
		Header: http.Header{"Location": {"/api/v1/operations/" + string(id)}}}
}

// names lists sites for people.
func (s *Site) names(ids []SiteID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(s.name(id))
	}
	return strings.Join(names, ", ")
}

// keep puts a request into the outbox, durable and encrypted, since it holds its caller's credentials.
func (s *Site) keep(ctx context.Context, r Request, sites []SiteID, sent SiteID, k keeper) error {
	return s.keepAs(ctx, kept{Request: r, Service: r.Kind.Service, Kind: r.Kind.Name, Placement: sites, Sent: sent}, k)
}

func (s *Site) keepAs(ctx context.Context, e kept, k keeper) (err error) {
	r := e.Request
	spool, err := s.spool(r)
	if err != nil {
		return err
	}
	if spool != nil {
		if e.Spool, e.Size, err = spool.Keep(); err != nil {
			return bodyError(err)
		}
		defer func() {
			if err != nil {
				s.dropSpool(&e)
			}
		}()
	}
	sealed, err := s.sealKept(e)
	if err != nil {
		return err
	}
	at := s.cfg.Now()
	if row, _, err := s.keptAs(ctx, r.Operation); err == nil { // it keeps its place
		at = row.KeptAt
	}
	reply := Reply{Status: http.StatusAccepted, Header: s.keptAnswer(r.Operation).Header}
	row := s.keptRow(r, e.Placement, OperationStatus{State: StatePending})
	row.Blob = e.blob()
	b := &Batch{
		Outbox:     []Kept{{Operation: r.Operation, Data: sealed, KeptAt: at}},
		Operations: []OperationRow{row},
		Answers:    s.answers(k, r.Kind, reply, r.Operation, ""),
		Events: []Event{s.event("operation.accepted", string(r.Operation), map[string]any{
			"operation": r.Operation, "service": r.Kind.Service, "kind": r.Kind.Name, "type": r.Type, "origin": s.name(s.cfg.Self)})},
	}
	if err := s.commit(ctx, b); err != nil {
		return fmt.Errorf("keep operation %s: %w", r.Operation, err)
	}
	s.lines.join(queueKeyOf(r.Kind, r), r.Operation)
	delay := s.cfg.RetryMin
	if e.Deferred {
		delay = 0
	}
	s.queue.add(job{kept: r.Operation}, delay)
	return nil
}

func (s *Site) sealKept(e kept) ([]byte, error) {
	e.Request.Kind = nil
	return s.seal(e.Request.Operation, e)
}

func (s *Site) keptRow(r Request, sites []SiteID, st OperationStatus) OperationRow {
	row := OperationRow{
		ID: r.Operation, Resource: ResourceID(r.Target), Type: r.Type, Service: r.Kind.Service, Kind: r.Kind.Name, Method: r.Method,
		Path: shownPath(r.Path, r.Kind.shownAs(r.Target, r.Within)), Scope: r.Scope, Origin: s.cfg.Self, User: r.User, IssuedAt: s.cfg.Now(),
		State: st.State, Sites: make(map[SiteID]OperationStatus, len(sites)),
	}
	row.Body, _ = hide(r.Kind, &Operation{ID: r.Operation, Body: r.Body})
	for _, id := range sites {
		row.Sites[id] = st
	}
	return row
}

// handOver tries to hand a kept request to a site that is involved. It reports whether to try again later. The caller holds the
// turn of its line.
func (s *Site) handOver(ctx context.Context, id OperationID) (bool, error) {
	row, e, err := s.keptAs(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if e.Spool != "" {
		e.Request.Large = s.cfg.Spools.Open(e.Spool, e.Size)
	}
	if e.Deferred {
		return s.runDeferred(ctx, e)
	}
	switch known, err := s.cfg.Store.Operation(ctx, id); {
	case err == nil && known.Document != "": // it has run somewhere, and come back in its document
		return false, s.ended(ctx, e, Answer{}, OperationStatus{State: StateApplied, At: s.cfg.Now()}, []SiteID{known.Origin})
	case err != nil && !errors.Is(err, ErrNotFound):
		return false, fmt.Errorf("look whether operation %s has come back: %w", id, err)
	}
	r := e.Request
	earlier := e.Sent
	status := s.network.Status()
	var last Answer
	var by SiteID
	later := false   // a site may take it that cannot now
	refused := false // it is certain that it did not happen where it was sent
	for _, t := range s.targets(e) {
		to := t.site
		if r.Placement, r.Parts, r.ExactlyOne = t.as.Placement, t.as.Parts, t.as.ExactlyOne; !status[to].Reachable {
			later = true
			continue
		}
		if e.Sent != to { // on disk before it goes out, or an agent that dies with it would ask another site as well
			if err := s.redirect(ctx, e, row, to); err != nil {
				return true, err
			}
		}
		bounded, cancel := context.WithCancel(ctx)
		if r.Large == nil { // otherwise it takes what it takes
			bounded, cancel = context.WithTimeout(ctx, s.cfg.CallTimeout+5*time.Second)
		}
		passed := r
		passed.Alternatives, passed.Again = nil, earlier == to
		a, err := s.forwarder.Forward(bounded, to, passed)
		cancel()
		ctx := context.WithoutCancel(ctx) // what came of it is recorded
		heard := hear(a, err)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			a = Answer{Status: refusal.Status, Body: []byte(refusal.Detail), Site: to}
		}
		switch {
		case heard == heardNothing, errors.Is(err, ErrUnreachable) && earlier == to:
			return true, nil // this try, or an earlier one, may have reached it: only this site is asked again
		case heard == heardAnswer && (refusal != nil && refusal.Type == forgottenType || problemType(a) == forgottenType):
			return false, s.ended(ctx, e, Answer{}, s.nowhereKnown(ctx, id, to), []SiteID{to})
		case heard == heardAnswer:
			return false, s.delivered(ctx, e, a, to)
		case heard == heardLater:
			later, refused = true, true
		default:
			last, by, refused = a, to, true
		}
	}
	if by != "" && !later && earlier == "" { // all have said that it is not theirs
		return false, s.delivered(ctx, e, last, by)
	}
	if !refused {
		return true, nil
	}
	return true, s.redirect(context.WithoutCancel(ctx), e, row, "") // all may be asked again
}

// redirect remembers which site alone may be asked for a kept request; empty: all of its placement.
func (s *Site) redirect(ctx context.Context, e *kept, row Kept, to SiteID) error {
	e.Sent = to
	sealed, err := s.sealKept(*e)
	if err != nil {
		return err
	}
	row.Data = sealed
	return s.commit(ctx, &Batch{Outbox: []Kept{row}})
}

// delivered records what a site answered to a request from the outbox.
func (s *Site) delivered(ctx context.Context, e *kept, a Answer, by SiteID) error {
	st := OperationStatus{State: StateApplied, Status: a.Status, At: s.cfg.Now()}
	if a.Status >= 300 {
		st.State, st.Error = StateRejected, tell(Reply{Status: a.Status, Body: a.Body}, nil)
	}
	return s.ended(ctx, e, a, st, []SiteID{by})
}

// ended takes a request out of the outbox and records what has become of it at sites. The caller holds the turn of its line.
func (s *Site) ended(ctx context.Context, e *kept, a Answer, st OperationStatus, sites []SiteID) error {
	r := e.Request
	row := s.keptRow(r, sites, st)
	row.Blob = e.blob()
	if res := s.sharedHere(ctx, r, a); res != nil { // so that its operation does not come back between look and commit
		defer s.registry.release(res)
		res.mu.Lock()
		defer res.mu.Unlock()
	}
	before, err := s.cfg.Store.Operation(ctx, r.Operation)
	switch {
	case err == nil:
		row.IssuedAt = before.IssuedAt
	case !errors.Is(err, ErrNotFound):
		return fmt.Errorf("record what became of operation %s: %w", r.Operation, err)
	}
	switch {
	case a.Resource != "":
		row.Resource = a.Resource
	case r.Type == TypeCreate && r.Target == "" && st.State == StateApplied: // nobody else tells its caller what was made
		if tree, err := parseJSON(a.Body); err == nil {
			if made, ok := idAt(tree, r.Kind.ID.At); ok {
				row.Resource = ResourceID(r.Kind.inside(r.Within, made))
			}
		}
	}
	b := &Batch{
		Delivered: []OperationID{r.Operation}, Operations: []OperationRow{row},
		Events: []Event{s.event("operation."+string(st.State), string(r.Operation), map[string]any{
			"operation": r.Operation, "resource": row.Resource, "service": row.Service, "kind": row.Kind, "type": row.Type,
			"site": s.names(sites), "state": st.State, "status": st.Status, "error": st.Error})},
	}
	if before.Document != "" { // it has come back in its document already: that tells more
		b.Operations = nil
	}
	if err := s.commit(ctx, b); err != nil {
		return err
	}
	s.dropSpool(e)
	if next := s.lines.leave(queueKeyOf(r.Kind, r), r.Operation); next != "" {
		s.queue.add(job{kept: next}, 0)
	}
	return nil
}

// dropSpool removes the body of a request that is kept no more.
func (s *Site) dropSpool(e *kept) {
	if e.Spool == "" {
		return
	}
	if err := s.cfg.Spools.Remove(e.Spool); err != nil { // it goes with the next start
		s.cfg.Log.Error("drop the body of a request that is kept no more", "operation", string(e.Request.Operation), "err", err)
	}
}

// sharedHere acquires the resource that another site's answer names, nil when this site has heard of none.
func (s *Site) sharedHere(ctx context.Context, q Request, a Answer) *resource {
	if a.Resource == "" {
		return nil
	}
	row, err := s.cfg.Store.ResourceByID(ctx, q.Kind.Service, q.Kind.Name, a.Resource)
	if err != nil {
		return nil
	}
	return s.registry.acquire(row.Document)
}
