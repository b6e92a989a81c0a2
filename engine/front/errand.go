package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
)

// Errands are requests at this site's application that belong to no resource: they concern this site alone, or make a resource whose
// identifier the application chooses. Each is on disk before it goes out, until it is certain what came of it.
type Errands struct {
	*around
	keys       *keys.Keys
	names      *Names
	containers *Containers
	turns      turns
	queue      *queue

	mu   sync.Mutex
	open map[engine.OperationID]*errand // all that are on disk; each is changed by who runs or settles it alone, with its turn
}

func newErrands(a *around, known *keys.Keys, names *Names, containers *Containers, t turns, q *queue) *Errands {
	return &Errands{around: a, keys: known, names: names, containers: containers, turns: t, queue: q, open: map[engine.OperationID]*errand{}}
}

// errand is one of them, as it is stored.
type errand struct {
	Request engine.Request     `json:"request"` // its Kind is left out; Operation is set
	Service engine.ServiceName `json:"service"`
	Kind    engine.KindName    `json:"kind"`
	Blob    *engine.BlobRef    `json:"blob,omitempty"`
	Keys    flight.Keys        `json:"keys"`
	// Makes is what the document of the resource that it makes begins with, but its key; nil: it makes none.
	Makes *engine.About `json:"makes,omitempty"`
	// Choice is the document of the name that it gives, where that is to be at exactly one site.
	Choice *engine.About `json:"choice,omitempty"`
	// Inside is the container whose part at this site it changes something in.
	Inside engine.DocumentID `json:"inside,omitempty"`
	// Sent is the body that the application gets where that is this part's share.
	Sent  []byte       `json:"sent,omitempty"`
	Stage flight.Stage `json:"stage"`
	// Why says why its fate is not known, Since when it was sent last, Tries what came of that so far, Stumbles how many more had no answer.
	Why      string           `json:"why,omitempty"`
	Since    time.Time        `json:"since"`
	Tries    []engine.Attempt `json:"tries,omitempty"`
	Stumbles int              `json:"stumbles,omitempty"`

	left bool          // an earlier process has left it
	done *engine.Reply // it has happened, and that could not be recorded
	// runs says that its first answer is still to come, open that it could not be settled, asked that a person is; guarded by Errands.mu.
	runs, open, asked bool
}

// maxTries is how many of its attempts an errand keeps.
const maxTries = 10

// operation is the request as its application gets it.
func (e *errand) operation(self engine.SiteID) *engine.Operation {
	r := e.Request
	o := &engine.Operation{ID: r.Operation, Type: r.Type, Method: r.Method, Path: r.Path, Query: r.Query, Header: r.Header, Body: r.Body,
		Blob: e.Blob, User: r.User, Asker: r.Asker, Scope: r.Scope, Origin: self}
	if e.Makes != nil {
		o.Type = engine.TypeCreate
	}
	switch {
	case e.Sent != nil:
		o.Body, o.Blob = e.Sent, nil
	case e.Blob != nil:
		o.Body = nil
	}
	return o
}

// question says what a person is asked about it.
func (e *errand) question() string {
	return fmt.Sprintf("nobody knows whether %s ran: %s", plan.Told(e.Request.Type, e.Request.Path), e.Why)
}

// errandOf is the errand that a request is at this site.
func (q *Errands) errandOf(r engine.Request, k keys.Keeper) *errand {
	r.Operation = q.operationOf(r)
	return &errand{Request: r, Service: r.Kind.Service, Kind: r.Kind.Name, Blob: blobOf(r), Keys: k.Keys}
}

// stored is the errand for the store, which seals it: it holds its caller's credentials.
func (e *errand) stored(at time.Time) (engine.Errand, error) {
	s := *e
	s.Request.Kind, s.Request.Large = nil, nil
	b, err := json.Marshal(&s)
	if err != nil {
		return engine.Errand{}, fmt.Errorf("encode errand %s: %w", e.Request.Operation, err)
	}
	row := engine.Errand{Operation: e.Request.Operation, Data: b, At: at}
	if e.Blob != nil {
		row.Blob = e.Blob.Hash
	}
	return row, nil
}

// has reports whether nobody knows yet what came of an errand.
func (q *Errands) has(id engine.OperationID) bool { return q.get(id) != nil }

func (q *Errands) get(id engine.OperationID) *errand {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[id]
}

// running reports whether an errand's first answer is still to come.
func (q *Errands) running(e *errand) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return e.runs
}

// all lists the errands that are open for a kind.
func (q *Errands) all(k *engine.Kind) []*errand {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*errand
	for _, e := range q.open {
		if e.Service == k.Service && e.Kind == k.Name {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *errand) int { return a.Since.Compare(b.Since) })
	return list
}

// declare makes an errand durable, with what goes with that, before its request goes out.
func (q *Errands) declare(ctx context.Context, e *errand, with *engine.Batch) error {
	row, err := e.stored(q.Now())
	if err != nil {
		return err
	}
	with.Errands = append(with.Errands, row)
	if err := q.Site.Commit(ctx, with); err != nil {
		return fmt.Errorf("declare operation %s: %w", e.Request.Operation, err)
	}
	return nil
}

// run declares an errand, sends its request and records what came of it.
func (q *Errands) run(ctx context.Context, k *engine.Kind, e *errand) (engine.Answer, error) {
	id := e.Request.Operation
	e.Stage, e.Since, e.runs = flight.Declared, q.Now(), true
	q.mu.Lock()
	_, open := q.open[id]
	if !open {
		q.open[id] = e
	}
	q.mu.Unlock()
	if open { // the same request, of which nobody knows yet what came
		return engine.Answer{}, q.later(e, nil, "an earlier try of it has had no certain answer")
	}
	asked := q.keys.Asked(keys.Keeper{Keys: e.Keys}, k, id, "")
	if err := q.declare(ctx, e, &engine.Batch{Answers: asked}); err != nil {
		q.forget(id)
		return engine.Answer{}, err
	}
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		e.runs = false
	}()
	reply, err := q.send(ctx, k, e)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded, whether or not the client still waits
	switch plan.Judge(e.Request.Type, reply, err) {
	case plan.Done:
		return q.happened(ctx, k, e, reply)
	case plan.Unknown:
		e.Stage, e.Why = flight.Unknown, plan.Tell(reply, err)
		st := q.status(e, engine.StatePending)
		st.Status = reply.Status
		if err := q.declare(ctx, e, &engine.Batch{Operations: []engine.OperationRow{q.row(k, e, st)}, Settles: true}); err != nil {
			q.Log.Error("list an operation without a certain answer", "operation", string(id), "err", err)
		}
		return engine.Answer{}, q.later(e, err, fmt.Sprintf("the application's service %s gave no certain answer (%s)", k.Service, e.Why))
	}
	if ended := q.end(ctx, e, &engine.Batch{}); ended != nil {
		e.Stage, e.Why = flight.Unknown, "this site could not record that the application has not done it"
		return engine.Answer{}, q.later(e, ended, e.Why)
	}
	if err != nil {
		return engine.Answer{}, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
			Detail: fmt.Sprintf("the application's service %s at %s cannot be reached; nothing has happened", k.Service, q.name(q.self))}
	}
	return q.present(ctx, k, e, reply, ""), nil
}

// happened records that an errand has happened, and answers it.
func (q *Errands) happened(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply) (engine.Answer, error) {
	resource, err := q.publish(ctx, k, e, reply)
	switch {
	case errors.Is(err, errUntold):
		e.Stage, e.Why, e.done = flight.Unknown, err.Error(), &reply
		return engine.Answer{}, q.later(e, err, "the application has done it, and "+err.Error())
	case err != nil:
		e.Stage, e.Why, e.done = flight.Unknown, "this site could not record that it has been done", &reply
		return engine.Answer{}, q.later(e, err, "the application has done it, and this site could not record that")
	}
	return q.present(ctx, k, e, reply, resource), nil
}

// present is what the client gets of the application's answer.
func (q *Errands) present(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply, resource engine.ResourceID) engine.Answer {
	g := replica.Given{Answer: engine.Answer{Status: reply.Status, Header: reply.Header, Body: reply.Body, Resource: resource, Site: q.self}}
	if plan.Judge(e.Request.Type, reply, nil) == plan.Done {
		g.Answer.Operation = e.Request.Operation
		g.Finish = e.finish(k, q.self)
	}
	return q.presented(ctx, k, containerOf(e.Request), g)
}

// later has an errand settled later and says so.
func (q *Errands) later(e *errand, err error, why string) *engine.Refusal {
	id := e.Request.Operation
	q.queue.Add(job{errand: id}, ours, q.RetryMin)
	return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: id, Err: err, Detail: why + "; the operation will be settled"}
}

// end takes an errand off the disk, with what becomes durable beside that.
func (q *Errands) end(ctx context.Context, e *errand, b *engine.Batch) error {
	id := e.Request.Operation
	b.Ended, b.Settles = append(b.Ended, id), true
	if err := q.Site.Commit(ctx, b); err != nil {
		return fmt.Errorf("end operation %s: %w", id, err)
	}
	q.forget(id)
	if e.Blob != nil { // where it has just come in, whoever has brought it holds it
		q.dropBlob(ctx, e.Blob.Hash)
	}
	return nil
}

func (q *Errands) forget(id engine.OperationID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// send sends the request of an errand with its caller's own credentials. It is not given up because its client has gone.
func (q *Errands) send(ctx context.Context, k *engine.Kind, e *errand) (reply engine.Reply, err error) {
	ctx, cancel := q.lasting(ctx)
	defer cancel()
	o := e.operation(q.self)
	at := q.Site.Addressed(ctx, k, e.Request.Target, e.Request.Within)
	c := engine.Call{Kind: k, Method: o.Method, Path: o.Path, Local: at, Query: o.Query, Header: o.Header, Body: o.Body,
		Key: q.key(e), Credentials: e.Request.Credentials}
	if marked, ok := issue.Marked(k, o, c.Key); ok {
		c.Body = marked
	}
	if o.Blob != nil {
		content, err := q.Blobs.Open(*o.Blob, 0)
		if err != nil { // it has certainly not gone out
			return reply, fmt.Errorf("read the body of operation %s: %w: %w", o.ID, engine.ErrUnreachable, err)
		}
		defer content.Close()
		c.Content, c.Length = content, o.Blob.Size
	} else {
		bounded, end := context.WithTimeout(ctx, q.CallTimeout)
		defer end()
		ctx = bounded
	}
	reply, err = q.App.Do(ctx, c)
	q.Site.Served(k, reply, err)
	t := engine.Attempt{At: q.Now(), Status: reply.Status}
	if err != nil || reply.Status >= 300 {
		t.Error = plan.Tell(reply, err)
	}
	e.Tries = append(e.Tries, t)
	e.Tries = e.Tries[max(0, len(e.Tries)-maxTries):]
	return reply, err
}

// key is the Idempotency-Key of an errand, however often it is sent. Two sites that pass on one identifier mean two requests.
func (q *Errands) key(e *errand) string {
	key := string(e.Request.Operation) + "." + string(q.name(q.self))
	if from := e.Request.From(); from != "" {
		key += "." + string(from)
	}
	return key
}

// status is what is known of an errand here.
func (q *Errands) status(e *errand, state engine.State) engine.OperationStatus {
	return engine.OperationStatus{State: state, At: q.Now(), Attempts: len(e.Tries), Tries: slices.Clone(e.Tries), Error: e.Why}
}

// row describes an errand for the list of operations: it is in no document.
func (q *Errands) row(k *engine.Kind, e *errand, st engine.OperationStatus) engine.OperationRow {
	r, o := e.Request, e.operation(q.self)
	r.Kind = k
	row := engine.OperationRow{ID: o.ID, Type: o.Type, Service: e.Service, Kind: e.Kind, Method: o.Method, Path: report.ShownPath(o.Path, report.ShownAs(r)),
		Scope: o.Scope, Origin: q.self, User: o.User, IssuedAt: q.Now(), State: st.State, Sites: map[engine.SiteID]engine.OperationStatus{q.self: st}, Blob: o.Blob}
	if !e.Since.IsZero() {
		row.IssuedAt = e.Since
	}
	row.Body, row.Change = report.Hide(k, o)
	return row
}

// statusEvent tells what has become of an errand.
func (q *Errands) statusEvent(e *errand, st engine.OperationStatus) engine.Event {
	return q.event("operation."+string(st.State), string(e.Request.Operation), map[string]any{
		"operation": e.Request.Operation, "service": e.Service, "kind": e.Kind, "type": e.Request.Type, "site": q.name(q.self),
		"state": st.State, "status": st.Status, "error": st.Error})
}

// named is what an errand changes or makes at this site, empty where the application gives the identifier.
func named(k *engine.Kind, e *errand) string {
	r := e.Request
	r.Kind = k
	return tree.ChosenName(r)
}

// takeUp reads what an earlier process has left without an answer, lists it unless that has, and has it settled.
func (q *Errands) takeUp(ctx context.Context) error {
	rows, err := q.Store.Errands(ctx)
	if err != nil {
		return fmt.Errorf("list errands: %w", err)
	}
	for _, row := range rows {
		e := &errand{left: true}
		if err := json.Unmarshal(row.Data, e); err != nil {
			return fmt.Errorf("read errand %s: %w", row.Operation, err)
		}
		if e.Request.Credentials == nil { // never the agent's own
			e.Request.Credentials = &engine.Credentials{}
		}
		if e.Stage == flight.Declared {
			e.Stage, e.Why = flight.Unknown, "the agent stopped before the answer came"
		}
		q.open[row.Operation] = e
		if e.asked = e.Stage == flight.Asked; e.asked {
			continue
		}
		q.queue.Add(job{errand: row.Operation}, ours, 0)
		if k := q.Site.Kind(e.Service, e.Kind); k != nil {
			q.list(ctx, k, e)
		}
	}
	return nil
}

// list lists an errand that was left without an answer, unless it is: until it is settled nothing else would tell of it.
func (q *Errands) list(ctx context.Context, k *engine.Kind, e *errand) {
	_, err := q.Store.Operation(ctx, e.Request.Operation)
	if errors.Is(err, engine.ErrNotFound) {
		err = q.Site.Commit(ctx, &engine.Batch{Operations: []engine.OperationRow{q.row(k, e, q.status(e, engine.StatePending))}})
	}
	if err != nil {
		q.Log.Error("list an operation without an answer", "operation", string(e.Request.Operation), "err", err)
	}
}

// shows reports whether a representation is that of what an identifier names.
func shows(k *engine.Kind, representation []byte, id string) bool {
	t, err := tree.ParseJSON(representation)
	if err != nil {
		return false
	}
	shown, ok := tree.IDAt(t, k.ID.At)
	return ok && shown == id
}
