package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Submit runs a request that changes something replicated, or that a scope sends elsewhere. It answers once the
// operation is durable and one involved site has applied it, or once it is kept for sites that cannot be
// reached. The error is a *Refusal where the client is to be told.
func (s *Site) Submit(ctx context.Context, r Request) (Answer, error) {
	if slices.Contains(r.Via, s.cfg.Self) {
		return Answer{}, &Refusal{Status: http.StatusLoopDetected, Type: "loop", Detail: "the request has come back to this site; a scope sends it in a circle"}
	}
	if len(r.Body) > MaxInlineBody {
		return Answer{}, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large",
			Detail: fmt.Sprintf("an operation carries at most %d bytes of body", MaxInlineBody)}
	}
	if !plainID(r.Operation) {
		return Answer{}, &Refusal{Status: http.StatusBadRequest, Type: "operation", Detail: "the operation's identifier is none"}
	}
	if r.Type == TypeContent {
		return s.content(ctx, r)
	}
	return s.once(ctx, r, func(r Request, k keeper) (Answer, error) {
		row, err := s.Lookup(ctx, r.Kind, r.Target)
		here := slices.Contains(r.Placement, s.cfg.Self)
		switch {
		case err == nil && row.Sites[s.cfg.Self].State == StateLeaving && len(r.Via) == 0:
			return s.passOn(ctx, r, others(row, s.cfg.Self), k) // it has been removed here, and takes nothing new
		case err == nil && row.Sites[s.cfg.Self].State == StateLeaving:
			return Answer{}, notHere(s.name(s.cfg.Self), r)
		case err == nil && row.Local != "" && !(r.Type == TypeCreate && r.Target == ""):
			if paused := s.pausedHere(row); paused != nil && len(r.Via) > 0 {
				return Answer{}, paused
			}
			return s.change(ctx, row, r, k)
		case err == nil && len(r.Via) > 0:
			return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
				Detail: fmt.Sprintf("%s has no replica of %s %q yet; nothing has happened here", s.name(s.cfg.Self), r.Kind.Name, r.Target)}
		case err == nil: // replicated, and not made here yet
			return s.passOn(ctx, r, others(row, s.cfg.Self), k)
		case !errors.Is(err, ErrNotFound):
			return Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
		case len(r.Placement) == 0: // it was replicated when the request came, or where it came from
			return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %q was deleted", r.Kind.Name, r.Target)}
		case !here && len(r.Via) > 0:
			return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "not-replicated",
				Detail: fmt.Sprintf("%s has no part in %s %q; nothing has happened here", s.name(s.cfg.Self), r.Kind.Name, r.Target)}
		case !here:
			return s.passOn(ctx, r, r.Placement, k)
		case len(r.Placement) == 1:
			return s.runPlain(ctx, r, k)
		case r.Type == TypeCreate || r.Kind.Natural() && r.Method == http.MethodPut && (r.Type == TypeReplace || r.Type == TypeAbsolute):
			return s.create(ctx, r, k)
		}
		rest := slices.DeleteFunc(slices.Clone(r.Placement), func(id SiteID) bool { return id == s.cfg.Self || slices.Contains(r.Via, id) })
		if len(rest) == 0 || len(r.Via) > 0 {
			return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "not-replicated",
				Detail: fmt.Sprintf("%s %q is not a replicated resource; leave out the scope to change it at one site", r.Kind.Name, r.Target)}
		}
		return s.passOn(ctx, r, rest, k) // made elsewhere, and not heard of here yet
	})
}

// plainID reports whether an identifier that another site gave can be one.
func plainID(id OperationID) bool {
	return len(id) <= 64 && !strings.ContainsFunc(string(id), func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

func others(row ResourceRow, self SiteID) []SiteID {
	var ids []SiteID
	for id, st := range row.Sites {
		if id != self && st.State != StateLeaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// crossing is what an intent of this site holds: enough to send the request again, or to publish it.
type crossing struct {
	Operation Operation   `json:"operation"`
	Service   ServiceName `json:"service"`
	Kind      KindName    `json:"kind"`
	About     *About      `json:"about,omitempty"` // of the resource that it creates
	Document  DocumentID  `json:"document,omitempty"`
	// Received says that the operation came from another site in its document.
	Received bool `json:"received,omitempty"`
	// Shown is what the application showed before, where the operation's effect is to be seen from that.
	Shown []byte `json:"shown,omitempty"`
	// Plain says that the request makes no operation of a document: it is another site's, for this one alone.
	Plain       bool        `json:"plain,omitempty"`
	Target      string      `json:"target,omitempty"`
	Credentials http.Header `json:"credentials,omitempty"`
	Keys        [][32]byte  `json:"keys,omitempty"`
	BodyHash    [32]byte    `json:"body_hash"`
	// Grows are sites that the request's scope has added, by an operation called Placing, Forced as the caller said.
	Grows   []SiteID    `json:"grows,omitempty"`
	Placing OperationID `json:"placing,omitempty"`
	Forced  bool        `json:"forced,omitempty"`
	// Asked says that a person has to decide, Why says why.
	Asked bool   `json:"asked,omitempty"`
	Why   string `json:"why,omitempty"`
	// Again says that a person asked for it to be sent again.
	Again bool `json:"again,omitempty"`
}

func (c *crossing) keeper() keeper { return keeper{keys: c.Keys, bodyHash: c.BodyHash} }

func (s *Site) crossingOf(r Request, k keeper) *crossing {
	id := r.Operation
	if id == "" {
		id = OperationID(s.cfg.NewID())
	}
	c := &crossing{
		Operation: Operation{
			ID: id, Type: r.Type, Method: r.Method, Path: r.Path, Query: r.Query, Header: r.Header, Body: r.Body,
			Origin: s.cfg.Self, User: r.User, Scope: r.Scope,
		},
		Service: r.Kind.Service, Kind: r.Kind.Name, Target: r.Target, Credentials: r.Credentials, Keys: k.keys, BodyHash: k.bodyHash,
	}
	if n := r.Kind.named(r.Method, r.Path); n != nil {
		c.Operation.Name = n.Name
	}
	return c
}

// declare makes the intent durable before the request goes out.
func (s *Site) declare(ctx context.Context, c *crossing) error {
	sealed, err := s.seal(c.Operation.ID, c)
	if err != nil {
		return err
	}
	b := &Batch{Intents: []Intent{{Operation: c.Operation.ID, Document: c.Document, Data: sealed, OpenedAt: s.cfg.Now()}}}
	if !c.Received {
		b.Answers = s.asked(c.keeper(), s.kinds[kindKey{c.Service, c.Kind}], c.Operation.ID, "")
	}
	if err := s.commit(ctx, b); err != nil {
		return fmt.Errorf("declare operation %s: %w", c.Operation.ID, err)
	}
	return nil
}

func (s *Site) seal(id OperationID, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode what is kept of operation %s: %w", id, err)
	}
	return s.cfg.Vault.Seal(id, b), nil
}

func (s *Site) unseal(id OperationID, b []byte, v any) error {
	opened, err := s.cfg.Vault.Unseal(id, b)
	if err != nil {
		return fmt.Errorf("decrypt what is kept of operation %s: %w", id, err)
	}
	if err := json.Unmarshal(opened, v); err != nil {
		return fmt.Errorf("decode what is kept of operation %s: %w", id, err)
	}
	return nil
}

// close ends an intent of which nothing came.
func (s *Site) close(ctx context.Context, id OperationID) error {
	return s.commit(ctx, &Batch{Settled: []OperationID{id}})
}

// change runs a request at this site's replica and makes an operation of it.
func (s *Site) change(ctx context.Context, row ResourceRow, r Request, k keeper) (Answer, error) {
	c := s.crossingOf(r, k)
	c.Document, c.Target = row.Document, ""
	res := s.registry.acquire(row.Document)
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", row.ID, err)
	}
	defer res.pass()
	if err := s.settleEarlier(ctx, res); err != nil {
		return Answer{}, err
	}
	if _, err := s.drain(ctx, res); err != nil {
		return Answer{}, err
	}
	if a, here, err := s.arrived(ctx, res, r.Operation); here || err != nil {
		return a, err
	}
	before, local, err := s.standsAt(ctx, res)
	if err != nil {
		return Answer{}, err
	}
	if local == "" {
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", row.Kind, row.ID)}
	}
	if c.Grows, err = s.growth(ctx, res, r); err != nil {
		return Answer{}, err
	}
	if len(c.Grows) > 0 {
		c.Placing, c.Forced = OperationID(s.cfg.NewID()), r.Forced
	}
	c.Operation.Body = s.inMeta(ctx, r.Kind, c.Operation.Body)
	return s.cross(ctx, res, r.Kind, c, before, local)
}

// arrived answers a request whose operation has come here in its document already, which sees to it that it runs here.
func (s *Site) arrived(ctx context.Context, res *resource, id OperationID) (a Answer, here bool, err error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		return Answer{}, false, err
	}
	o := v.history.Get(id)
	if o == nil {
		return Answer{}, false, nil
	}
	a = Answer{Status: http.StatusAccepted, Operation: id, Resource: v.about.Key, Site: s.cfg.Self}
	if v.settled(s.cfg.Self, o) {
		a.Status = cmp.Or(v.status(s.cfg.Self, o).Status, http.StatusOK)
	}
	return a, true, nil
}

// standsAt returns the fold that the application shows and its identifier of the resource; empty when it is not there.
func (s *Site) standsAt(ctx context.Context, res *resource) (Fold, LocalID, error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if errors.Is(err, ErrNotFound) { // what is to be created
		return Fold{}, "", nil
	}
	if err != nil {
		return Fold{}, "", err
	}
	if v.history.Len() >= maxOperations {
		s.cfg.Log.Error("a resource has too many operations: no more are accepted", "resource", string(v.about.Key),
			"operations", v.history.Len())
		return Fold{}, "", &Refusal{Status: http.StatusInsufficientStorage, Type: "storage", Detail: fmt.Sprintf(
			"%s %s has had %d operations, more than this version keeps; nothing has happened", v.about.Kind, v.about.Key, maxOperations)}
	}
	before := v.shown()
	if !before.Exists {
		return before, "", nil
	}
	return before, v.local(), nil
}

// inMeta returns a body with this site's own identifiers replaced by meta-identifiers: that is how it travels.
func (s *Site) inMeta(ctx context.Context, k *Kind, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	p, err := s.cfg.App.Present(ctx, k, Reply{Status: http.StatusOK, Body: body})
	if err != nil {
		return body
	}
	return p.Body
}

// fix computes what an operation sets. An application may understand what we do not: its effect is opaque to us then.
func (s *Site) fix(k *Kind, o *Operation, before Fold, representation func() ([]byte, error)) {
	change, err := ChangeOf(k, o.Type, o.Body, before, representation)
	switch {
	case err != nil && o.Type == TypeReplace:
		o.Type = TypeAbsolute
	case err != nil:
		o.Type = TypeAction
	}
	o.Change = change
}

// entryReserve is what an operation may grow by between its check and its publication: its place in time and what it has
// seen.
const entryReserve = 64 << 10

// cross declares a request, sends it to the application and records what came of it. The caller holds the turn of res,
// if the document exists already; res is nil for a create and for a request that makes no operation.
func (s *Site) cross(ctx context.Context, res *resource, k *Kind, c *crossing, before Fold, local LocalID) (Answer, error) {
	o := &c.Operation
	if !c.Plain {
		s.fix(k, o, before, func() ([]byte, error) { return s.representation(ctx, k, local) })
		b, err := o.Encode()
		if err == nil && o.Change != nil {
			err = o.Change.Validate()
		}
		if err != nil || len(b) > MaxEntry-entryReserve || len(o.Body) > MaxInlineBody {
			return Answer{}, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
				Detail: "the request sets more than an operation can carry to other sites; nothing has happened"}
		}
	}
	if res != nil && !c.Plain && c.About == nil && k.needsBefore(o) {
		shown, err := s.representation(ctx, k, local)
		if err != nil {
			return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
				"the application's service %s does not show what %s is to change; nothing has happened", k.Service, o.Path)}
		}
		c.Shown = shown
	}
	if err := s.declare(ctx, c); err != nil {
		return Answer{}, err
	}
	defer res.crossing()()
	reply, err := s.call(ctx, k, o, local, c.Credentials, s.firstKey(o))
	ctx = context.WithoutCancel(ctx) // what came of it is recorded, whether or not the client still waits
	switch judge(o.Type, reply, err) {
	case verdictDone:
		s.works(ctx, k.Service, c.Document, reply)
	case verdictUnknown:
		st := OperationStatus{State: StatePending, Status: reply.Status, At: s.cfg.Now(), Attempts: 1, Error: tell(reply, err)}
		if err := s.commit(ctx, &Batch{Operations: []OperationRow{s.originRow(c, st)}}); err != nil {
			s.cfg.Log.Error("list an operation without a certain answer", "operation", string(o.ID), "err", err)
		}
		return Answer{}, s.unsettled(o, err, fmt.Sprintf("the application's service %s gave no certain answer (%s)", k.Service, tell(reply, err)))
	default: // nothing has happened
		if res != nil && isGone(reply, err) {
			s.queue.add(job{look: res.id}, 0)
		}
		if err := s.close(ctx, o.ID); err != nil {
			return Answer{}, s.unsettled(o, err, "this site could not record that the application has not done it")
		}
		if err != nil {
			return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
				Detail: fmt.Sprintf("the application's service %s at this site cannot be reached; nothing has happened", k.Service)}
		}
		return s.present(ctx, k, reply, "", ""), nil
	}
	id, err := s.publish(ctx, res, k, c, reply)
	if err != nil {
		s.opened.Store(o.ID, &reply)
		return Answer{}, s.unsettled(o, err, "the application has done it, and this site could not record that")
	}
	return s.present(ctx, k, reply, o.ID, id), nil
}

// unsettled has the intent of o settled later and says so.
func (s *Site) unsettled(o *Operation, err error, why string) *Refusal {
	s.queue.add(job{intent: o.ID}, s.cfg.RetryMin)
	if errors.Is(err, errUntold) {
		why = "the application has done it, and " + errUntold.Error()
	}
	return &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: o.ID, Err: err, Detail: why + "; the operation will be settled"}
}

// errUntold: the application has made something and its answer does not tell the identifier.
var errUntold = errors.New("the answer does not tell the new resource's identifier; check the catalog")

// publish makes an operation that the application has done durable and tells the other sites. The caller holds the turn of res
// unless it is nil.
func (s *Site) publish(ctx context.Context, res *resource, k *Kind, c *crossing, reply Reply) (ResourceID, error) {
	o := &c.Operation
	done := &Batch{Settled: []OperationID{o.ID}}
	if c.Asked {
		if err := s.askedNoMore(ctx, o.ID, done); err != nil {
			return "", err
		}
	}
	if c.Plain {
		done.Answers = s.answers(c.keeper(), k, reply, o.ID, "")
		return "", s.commit(ctx, done)
	}
	if c.About == nil {
		if err := s.watch(ctx, res, k, c); err != nil {
			return "", err
		}
	}
	local := LocalID("")
	if c.About != nil {
		if local = reply.Local; local == "" && k.Natural() {
			local = LocalID(c.About.Key)
		}
		if local == "" {
			return "", fmt.Errorf("publish operation %s: %w: no %q", o.ID, errUntold, k.ID.At)
		}
		if c.About.Key == "" {
			c.About.Key = ResourceID(local)
		}
		raw, id, err := s.cfg.Documents.Encode(*c.About)
		if err != nil {
			return "", fmt.Errorf("make the document of %s: %w", c.About.Key, err)
		}
		res = s.registry.acquire(id)
		defer s.registry.release(res)
		res.mu.Lock()
		defer res.mu.Unlock()
		_, err = s.open(ctx, res)
		if errors.Is(err, ErrNotFound) {
			_, err = s.begin(res, Envelope{Document: id, About: raw})
		}
		if err != nil {
			return "", err
		}
	} else {
		res.mu.Lock()
		defer res.mu.Unlock()
		v, err := s.open(ctx, res)
		if err != nil {
			return "", err
		}
		local = v.local()
	}
	v := res.view
	if v.history.Get(o.ID) != nil { // it was published, and only the intent was left open
		return v.about.Key, s.commit(ctx, done)
	}
	s.stamp(v, o)
	var entries []Entry
	settled := []*Operation{o}
	if p := s.grow(v, c); p != nil {
		encoded, err := p.Encode()
		if err != nil {
			s.forget(res)
			return "", err
		}
		entries, settled = append(entries, Entry{Map: MapOperations, Key: p.Key(), Value: encoded}), append(settled, p)
	}
	encoded, err := o.Encode()
	if err != nil {
		s.forget(res)
		return "", err
	}
	v.attempts[o.ID] = &attempt{count: 1, status: reply.Status, at: s.cfg.Now()}
	if o.Type == TypeDelete {
		local = ""
	}
	key := v.about.Key
	done.Answers = s.answers(c.keeper(), k, reply, o.ID, key)
	entries = append(entries, Entry{Map: MapOperations, Key: o.Key(), Value: encoded}, s.replicaEntry(v, local, settled...))
	err = s.write(ctx, res, entries, done)
	if err == nil {
		s.opened.Delete(o.ID)
	}
	return key, err
}

// create runs a request that makes a new replicated resource.
func (s *Site) create(ctx context.Context, r Request, k keeper) (Answer, error) {
	c := s.crossingOf(r, k)
	c.Operation.Type = TypeCreate
	c.Operation.Body = s.inMeta(ctx, r.Kind, r.Body)
	placement := slices.Clone(r.Placement)
	slices.Sort(placement)
	about := &About{Schema: SchemaResource, Service: r.Kind.Service, Kind: r.Kind.Name, Collaboration: "replication", Placement: placement}
	switch {
	case r.Target != "":
		about.Key = ResourceID(r.Target)
	case r.Kind.Natural():
		about.Key = ResourceID(chosenID(r.Kind, r.Body))
	default:
		about.Key = ResourceID(s.cfg.NewID())
	}
	c.About = about
	if about.Key == "" {
		return s.cross(ctx, nil, r.Kind, c, Fold{}, "")
	}
	old, err := s.cfg.Store.ResourceByID(ctx, r.Kind.Service, r.Kind.Name, about.Key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return Answer{}, fmt.Errorf("look up %s: %w", about.Key, err)
	case old.State.Past() || old.GoneAt(s.cfg.Self):
		if about.Incarnation, err = s.incarnation(ctx, old.Document); err != nil {
			return Answer{}, err
		}
		c.Operation.Time = old.CreatedAt.UnixMicro() + 1 // the newest incarnation is the one created last
	}
	if !r.Kind.Natural() {
		return s.cross(ctx, nil, r.Kind, c, Fold{}, LocalID(r.Target))
	}
	// What others sent of the same document runs before this or after, never beside it.
	if _, c.Document, err = s.cfg.Documents.Encode(*about); err != nil {
		return Answer{}, fmt.Errorf("make the document of %s: %w", about.Key, err)
	}
	res := s.registry.acquire(c.Document)
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", about.Key, err)
	}
	defer res.pass()
	if err := s.settleEarlier(ctx, res); err != nil {
		return Answer{}, err
	}
	before, local, err := s.standsAt(ctx, res)
	if err != nil {
		return Answer{}, err
	}
	if local != "" && r.Type != TypeCreate { // an earlier request has made it meanwhile
		c.About, c.Target, c.Operation.Type = nil, "", r.Type
		return s.cross(ctx, res, r.Kind, c, before, local)
	}
	return s.cross(ctx, res, r.Kind, c, before, LocalID(r.Target))
}

// incarnation is the one after that of a document.
func (s *Site) incarnation(ctx context.Context, old DocumentID) (uint64, error) {
	row, err := s.cfg.Store.Document(ctx, old)
	if err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	var about About
	if err := json.Unmarshal(row.About, &about); err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	return about.Incarnation + 1, nil
}

// chosenID is the identifier that a client put into the body of a create, empty without one.
func chosenID(k *Kind, body []byte) string {
	v, err := parseJSON(body)
	if err != nil {
		return ""
	}
	switch id, _ := valueAt(v, k.ID.At); id := id.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	}
	return ""
}

// runPlain runs a request that another site sent for this site alone, once.
func (s *Site) runPlain(ctx context.Context, r Request, k keeper) (Answer, error) {
	c := s.crossingOf(r, k)
	c.Plain = true
	return s.cross(ctx, nil, r.Kind, c, Fold{}, LocalID(r.Target))
}

// representation reads what the application shows of a resource, in terms of meta-identifiers.
func (s *Site) representation(ctx context.Context, k *Kind, local LocalID) ([]byte, error) {
	reply, err := s.read(ctx, k, local)
	if err != nil {
		return nil, err
	}
	if reply.Status != http.StatusOK {
		return nil, fmt.Errorf("read %s: status %d", local, reply.Status)
	}
	p, err := s.cfg.App.Present(ctx, k, reply)
	return p.Body, err
}

func (s *Site) read(ctx context.Context, k *Kind, local LocalID) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.App.Do(ctx, Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local,
		Header: map[string]string{"Accept": "application/json"}})
}

// call sends an operation to the application. It is not given up because a client has gone.
func (s *Site) call(ctx context.Context, k *Kind, o *Operation, local LocalID, credentials http.Header, key string) (Reply, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.App.Do(ctx, Call{
		Kind: k, Method: o.Method, Path: o.Path, Local: local, Query: o.Query, Header: o.Header, Body: o.Body,
		Key: key, Credentials: credentials,
	})
}

// firstKey is the Idempotency-Key of an operation that runs at this site, however often it is sent.
func (s *Site) firstKey(o *Operation) string { return string(o.ID) + "." + string(s.name(s.cfg.Self)) }

func tell(r Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	const most = 200
	text := string(r.Body[:min(len(r.Body), most)])
	return fmt.Sprintf("status %d %s", r.Status, text)
}
