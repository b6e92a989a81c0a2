package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/waiting"
)

// Outbox keeps requests for which no site could be reached, or the one that was reached gave no answer, or whose caller did not want
// to wait. Each goes out with its caller's own credentials, in the order in which this site's clients have asked. It is safe for
// concurrent use. Attach must be called before anything else is, but TakeUp.
type Outbox struct {
	Config
	self      engine.SiteID
	network   Network
	forwarder engine.Forwarder
	lines     *waiting.Lines[lineKey, engine.OperationID]
	turns     *waiting.Turns[lineKey] // held by whoever hands a request of a line over, or drops one
	awaited   waiting.Callers[engine.OperationID, result]
	room      *waiting.Room // what is in it
}

// New returns an outbox in which nothing is kept; TakeUp fills it.
func New(cfg Config) *Outbox {
	return &Outbox{Config: cfg, self: cfg.Site.Self(), lines: waiting.NewLines[lineKey, engine.OperationID](), turns: waiting.NewTurns[lineKey](cfg.Await),
		room: waiting.NewRoom(cfg.Kept)}
}

// Attach gives the outbox its ways to other sites. They are made after it, because they call it.
func (o *Outbox) Attach(n Network, to engine.Forwarder) { o.network, o.forwarder = n, to }

// kept is a request in the outbox, as it is stored.
type kept struct {
	Request   engine.Request     `json:"request"` // its Kind is left out
	Service   engine.ServiceName `json:"service"`
	Kind      engine.KindName    `json:"kind"`
	Placement []engine.SiteID    `json:"placement"`
	// Spool is the name of a large body, Size its length.
	Spool string `json:"spool,omitempty"`
	Size  int64  `json:"size,omitempty"`
	// Sent is the site that may have got it already; only that one may be asked again.
	Sent engine.SiteID `json:"sent,omitempty"`
	// Deferred says that this site is to run it as if it came now.
	Deferred bool `json:"deferred,omitempty"`
}

// blob tells of a large body in the list of operations; nil when it is not large. Its hash is nobody's business.
func (e *kept) blob() *engine.BlobRef {
	if e.Size == 0 {
		return nil
	}
	return &engine.BlobRef{Size: e.Size}
}

// takes is for whom a kept request takes room, and how much.
func (e *kept) takes() (who string, bytes int64) {
	if !e.Request.Anonymous {
		who = e.Request.Caller
	}
	return who, int64(len(e.Request.Body)) + e.Size + 1<<10
}

// lane is where a kept request waits for its turn: with others for the same service of this site, or for other sites.
func (e *kept) lane() waiting.Lane {
	if e.Deferred {
		return waiting.Lane(e.Service)
	}
	return ToOthers
}

// encoded returns what is stored of a kept request. The store seals it: it holds its caller's credentials.
func (e kept) encoded() ([]byte, error) {
	e.Request.Kind, e.Request.Large = nil, nil
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode operation %s: %w", e.Request.Operation, err)
	}
	return b, nil
}

// open reads what was stored of a kept request.
func (o *Outbox) open(row engine.Kept) (*kept, error) {
	var e kept
	if err := json.Unmarshal(row.Data, &e); err != nil {
		return nil, fmt.Errorf("read kept operation %s: %w", row.Operation, err)
	}
	if e.Request.Kind = o.Site.Kind(e.Service, e.Kind); e.Request.Kind == nil {
		return nil, fmt.Errorf("read kept operation %s: the catalog has no kind %s.%s", row.Operation, e.Service, e.Kind)
	}
	if e.Request.Credentials == nil { // never the agent's own
		e.Request.Credentials = &engine.Credentials{}
	}
	return &e, nil
}

// read reads a request from the outbox. ErrNotFound: it is not there any more.
func (o *Outbox) read(ctx context.Context, id engine.OperationID) (engine.Kept, *kept, error) {
	row, err := o.Store.Kept(ctx, id)
	if err != nil {
		return engine.Kept{}, nil, fmt.Errorf("read the outbox: %w", err)
	}
	e, err := o.open(row)
	return row, e, err
}

// spoolOf makes the large body of a request, if it has one, readable more than once.
func (o *Outbox) spoolOf(r engine.Request) (engine.Spool, error) {
	l, ok := r.Large.(Large)
	if !ok {
		return nil, nil
	}
	return l.Spool(o.Spools)
}

// keep puts a request into the outbox.
func (o *Outbox) keep(ctx context.Context, e kept, k keys.Keeper) (err error) {
	if e.Request.Since.IsZero() && !o.followsCreate(ctx, e.Request) {
		e.Request.Since = o.Clock()
	}
	r := e.Request
	e.Service, e.Kind = r.Kind.Service, r.Kind.Name
	spool, err := o.spoolOf(r)
	if err != nil {
		return err
	}
	if spool != nil {
		if e.Spool, e.Size, err = spool.Keep(); err != nil {
			return engine.Incomplete(err)
		}
		defer func() {
			if err != nil {
				o.dropSpool(&e)
			}
		}()
	}
	data, err := e.encoded()
	if err != nil {
		return err
	}
	at := o.Now()
	before, none := o.Store.Kept(ctx, r.Operation)
	switch who, bytes := e.takes(); {
	case none == nil: // it keeps its place
		at = before.KeptAt
	case !o.room.Take(who, bytes, e.Sent != ""): // what may have run is not refused
		return &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable",
			Detail: "this site keeps as much for " + report.Names(o.Members.Name, e.Placement) + " and others as it may for one caller, or in all; nothing has happened"}
	}
	row := o.row(&e, e.Placement, engine.OperationStatus{State: engine.StatePending})
	err = o.Site.Commit(ctx, &engine.Batch{
		Outbox:     []engine.Kept{{Operation: r.Operation, Data: data, KeptAt: at}},
		Operations: []engine.OperationRow{row},
		Answers:    o.Keys.Given(k, r.Kind, Accepted(r.Operation, o.self)),
		Events: []engine.Event{report.Event("operation.accepted", string(r.Operation), at, map[string]any{
			"operation": r.Operation, "service": e.Service, "kind": e.Kind, "type": r.Type, "origin": o.Members.Name(o.self)})},
	})
	if err != nil {
		if none != nil {
			o.room.Give(e.takes())
		}
		return fmt.Errorf("keep operation %s: %w", r.Operation, err)
	}
	delay := o.RetryMin
	if e.Deferred {
		delay = 0
	}
	if o.join(lineOf(r), r.Operation) {
		o.Queue(r.Operation, e.lane(), delay)
	}
	return nil
}

// row describes a kept request for the list of operations.
func (o *Outbox) row(e *kept, sites []engine.SiteID, st engine.OperationStatus) engine.OperationRow {
	r := e.Request
	row := engine.OperationRow{
		ID: r.Operation, Resource: engine.ResourceID(r.Target), Type: r.Type, Service: e.Service, Kind: e.Kind, Method: r.Method,
		Path: report.ShownPath(r.Path, report.ShownAs(r)), Scope: r.Scope, Origin: o.self, User: r.User, IssuedAt: o.Now(),
		State: st.State, Sites: make(map[engine.SiteID]engine.OperationStatus, len(sites)), Blob: e.blob(),
	}
	row.Body, _ = report.Hide(r.Kind, &engine.Operation{ID: r.Operation, Body: r.Body})
	for _, id := range sites {
		row.Sites[id] = st
	}
	return row
}

// target is a site that may be handed a request, and how the request runs then.
type target struct {
	site engine.SiteID
	as   engine.Alternative
}

// targets lists where a kept request may go, the sites of each alternative by distance.
func (o *Outbox) targets(e *kept) []target {
	var list []target
	if len(e.Request.Alternatives) == 0 {
		as := engine.Alternative{Placement: e.Request.Placement, Parts: e.Request.Parts, ExactlyOne: e.Request.ExactlyOne}
		for _, id := range o.nearest(e.Placement) {
			list = append(list, target{id, as})
		}
	}
	for _, a := range e.Request.Alternatives {
		for _, id := range o.nearest(a.Placement) {
			if id != o.self {
				list = append(list, target{id, a})
			}
		}
	}
	if e.Sent != "" {
		list = slices.DeleteFunc(list, func(t target) bool { return t.site != e.Sent })
	}
	return list
}

// handOver tries to hand a kept request to a site that is involved. It reports whether to try again later. The caller holds the turn
// of its line.
func (o *Outbox) handOver(ctx context.Context, id engine.OperationID) (again bool, err error) {
	row, e, err := o.read(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	if e.Spool != "" {
		e.Request.Large = o.Spools.Open(e.Spool, e.Size)
	}
	if e.Deferred {
		return o.runDeferred(ctx, e)
	}
	switch known, err := o.Store.Operation(ctx, id); {
	case err == nil && known.Document != "": // it has run somewhere, and come back in its document
		return false, o.ended(ctx, e, engine.Answer{}, engine.OperationStatus{State: engine.StateApplied, At: o.Now()}, []engine.SiteID{known.Origin})
	case err != nil && !errors.Is(err, engine.ErrNotFound):
		return false, fmt.Errorf("look whether operation %s has come back: %w", id, err)
	}
	earlier := e.Sent
	status := o.network.Status()
	var last engine.Answer
	var by engine.SiteID
	later := false   // a site may take it that cannot now
	refused := false // it is certain that it did not happen where it was sent
	for _, t := range o.targets(e) {
		if !status[t.site].Reachable {
			later = true
			continue
		}
		if e.Sent != t.site { // on disk before it goes out, or an agent that dies with it would ask another site as well
			if err := o.redirect(ctx, e, row, t.site); err != nil {
				return true, err
			}
		}
		a, err := o.send(ctx, e, t, earlier)
		ctx := context.WithoutCancel(ctx) // what came of it is recorded
		heard := plan.Hear(a, err)
		_, kind := plan.Says(a, err)
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			a = engine.Answer{Status: refusal.Status, Body: []byte(refusal.Detail), Site: t.site}
		}
		switch {
		case heard == plan.HeardNothing, errors.Is(err, engine.ErrUnreachable) && earlier == t.site:
			return true, nil // this try, or an earlier one, may have reached it: only this site is asked again
		case heard == plan.HeardAnswer && kind == keys.Forgotten:
			return false, o.ended(ctx, e, engine.Answer{}, o.nowhereKnown(ctx, id, t.site), []engine.SiteID{t.site})
		case heard == plan.HeardAnswer:
			return false, o.delivered(ctx, e, a, t.site)
		case heard == plan.HeardLater:
			later, refused = true, true
		default:
			last, by, refused = a, t.site, true
		}
	}
	if by != "" && !later && earlier == "" { // all have said that it is not theirs
		return false, o.delivered(ctx, e, last, by)
	}
	if !refused {
		return true, nil
	}
	return true, o.redirect(context.WithoutCancel(ctx), e, row, "") // all may be asked again
}

// send hands a kept request to one site. Earlier is the one that may have got it before.
func (o *Outbox) send(ctx context.Context, e *kept, t target, earlier engine.SiteID) (engine.Answer, error) {
	r := e.Request
	if r.Large == nil { // otherwise it takes what it takes
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.CallTimeout+5*time.Second)
		defer cancel()
	}
	r.Placement, r.Parts, r.ExactlyOne = t.as.Placement, t.as.Parts, t.as.ExactlyOne
	r.Alternatives, r.Again = nil, earlier == t.site
	return o.forwarder.Forward(ctx, t.site, r)
}

// redirect remembers which site alone may be asked for a kept request; empty: all of its placement.
func (o *Outbox) redirect(ctx context.Context, e *kept, row engine.Kept, to engine.SiteID) error {
	e.Sent = to
	data, err := e.encoded()
	if err != nil {
		return err
	}
	row.Data = data
	return o.Site.Commit(ctx, &engine.Batch{Outbox: []engine.Kept{row}})
}

// delivered records what a site answered to a request from the outbox.
func (o *Outbox) delivered(ctx context.Context, e *kept, a engine.Answer, by engine.SiteID) error {
	st := engine.OperationStatus{State: engine.StateApplied, Status: a.Status, At: o.Now()}
	if a.Status >= 300 {
		st.State, st.Error = engine.StateRejected, plan.Tell(engine.Reply{Status: a.Status, Header: a.Header, Body: a.Body}, nil)
	}
	return o.ended(ctx, e, a, st, []engine.SiteID{by})
}

// ended takes a request out of the outbox and records what has become of it at sites. The caller holds the turn of its line.
func (o *Outbox) ended(ctx context.Context, e *kept, a engine.Answer, st engine.OperationStatus, sites []engine.SiteID) error {
	r := e.Request
	row := o.row(e, sites, st)
	switch before, err := o.Store.Operation(ctx, r.Operation); {
	case err == nil:
		row.IssuedAt = before.IssuedAt
	case !errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("record what became of operation %s: %w", r.Operation, err)
	}
	switch {
	case a.Resource != "":
		row.Resource = a.Resource
	case r.Type == engine.TypeCreate && r.Target == "" && st.State == engine.StateApplied: // nobody else tells its caller what was made
		if t, err := tree.ParseJSON(a.Body); err == nil {
			if made, ok := tree.IDAt(t, r.Kind.ID.At); ok {
				row.Resource = engine.ResourceID(r.Kind.Inside(r.Within, made))
			}
		}
	}
	b := &engine.Batch{
		Delivered: []engine.OperationID{r.Operation}, Operations: []engine.OperationRow{row}, Settles: true,
		Events: []engine.Event{report.Event("operation."+string(st.State), string(r.Operation), o.Now(), map[string]any{
			"operation": r.Operation, "resource": row.Resource, "service": row.Service, "kind": row.Kind, "type": row.Type,
			"site": report.Names(o.Members.Name, sites), "state": st.State, "status": st.Status, "error": st.Error})},
	}
	if err := o.Site.Commit(ctx, b); err != nil {
		return err
	}
	o.room.Give(e.takes())
	o.dropSpool(e)
	if next, ok := o.lines.Leave(lineOf(r), r.Operation); ok {
		lane := ToOthers
		if _, n, err := o.read(ctx, next); err == nil {
			lane = n.lane()
		}
		o.Queue(next, lane, 0)
	}
	return nil
}

// dropSpool removes the body of a request that is kept no more.
func (o *Outbox) dropSpool(e *kept) {
	if e.Spool == "" {
		return
	}
	if err := o.Spools.Remove(e.Spool); err != nil { // it goes with the next start
		o.Log.Error("drop the body of a request that is kept no more", "operation", string(e.Request.Operation), "err", err)
	}
}

// TakeUp puts what an earlier process has kept into lines, and has the first of each line handed over.
func (o *Outbox) TakeUp(ctx context.Context) error {
	all, err := o.Store.Outbox(ctx)
	if err != nil {
		return fmt.Errorf("list kept requests: %w", err)
	}
	slices.SortStableFunc(all, byAge)
	spools := map[string]bool{}
	for _, row := range all {
		var named struct {
			Spool string `json:"spool"`
		}
		if err := json.Unmarshal(row.Data, &named); err != nil {
			return fmt.Errorf("read kept operation %s: %w", row.Operation, err)
		}
		spools[named.Spool] = true
		e, err := o.open(row)
		if err != nil { // it cannot be handed over before its kind is back
			o.Log.Error("a kept request waits for its kind", "operation", string(row.Operation), "err", err)
			o.Queue(row.Operation, ToOthers, 0)
			continue
		}
		who, bytes := e.takes()
		o.room.Take(who, bytes, true)
		if o.join(lineOf(e.Request), row.Operation) {
			o.Queue(row.Operation, e.lane(), 0)
		}
	}
	delete(spools, "")
	if err := o.Spools.Sweep(spools); err != nil {
		return fmt.Errorf("remove bodies of requests that are kept no more: %w", err)
	}
	return nil
}

// Drop gives up a request that this site keeps. ErrNotFound: there is none. engine.ErrSettled: it has been handed over meanwhile, or
// runs now.
func (o *Outbox) Drop(ctx context.Context, id engine.OperationID) error {
	_, e, err := o.read(ctx, id)
	if err != nil {
		return err
	}
	return o.inTurn(ctx, lineOf(e.Request), func() error {
		_, e, err := o.read(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			return engine.ErrSettled
		}
		if err != nil {
			return err
		}
		if e.Deferred {
			if !o.Keys.Start(keys.Operation(id)) {
				return engine.ErrSettled
			}
			defer o.Keys.End(keys.Operation(id))
		}
		st := engine.OperationStatus{State: engine.StateRejected, At: o.Now(), Error: engine.GivenUp}
		if e.Sent != "" {
			st.Error += fmt.Sprintf("; %s may have got it before", o.Members.Name(e.Sent))
		}
		return o.ended(ctx, e, engine.Answer{}, st, e.Placement)
	})
}

// nowhereKnown is what becomes of a request of this site that another one may have run and does not know any more: only a person can
// find out, unless it has come back in its document.
func (o *Outbox) nowhereKnown(ctx context.Context, id engine.OperationID, at engine.SiteID) engine.OperationStatus {
	if row, err := o.Store.Operation(ctx, id); err == nil && row.Document != "" {
		return engine.OperationStatus{State: engine.StateApplied, At: o.Now()}
	}
	return engine.OperationStatus{State: engine.StateUncertain, Status: http.StatusConflict, At: o.Now(),
		Error: fmt.Sprintf("it may have run at %s, which it was handed to long ago: nothing is known of it there any more", o.Members.Name(at))}
}
