package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Submit runs a request that changes something replicated, or that a scope sends elsewhere. It answers once the
// operation is durable and one involved site has applied it, or once it is kept for sites that cannot be
// reached. The error is a *Refusal where the client is to be told.
func (s *Site) Submit(ctx context.Context, r Request) (Answer, error) {
	if slices.Contains(r.Via, s.cfg.Self) {
		return Answer{}, &Refusal{Status: http.StatusLoopDetected, Type: "loop", Detail: "the request has come back to this site; a scope sends it in a circle"}
	}
	return s.once(ctx, r, func(k keeper) (Answer, error) {
		row, err := s.Lookup(ctx, r.Kind, r.Target)
		here := slices.Contains(r.Placement, s.cfg.Self)
		switch {
		case err == nil && row.Local != "" && !(r.Type == TypeCreate && r.Target == ""):
			return s.change(ctx, row, r, k)
		case err == nil: // replicated, and not made here yet
			return s.passOn(ctx, r, others(row, s.cfg.Self), k)
		case !errors.Is(err, ErrNotFound):
			return Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
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

func others(row ResourceRow, self SiteID) []SiteID {
	var ids []SiteID
	for id := range row.Sites {
		if id != self {
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
	// Plain says that the request makes no operation of a document: it is another site's, for this one alone.
	Plain       bool        `json:"plain,omitempty"`
	Target      string      `json:"target,omitempty"`
	Credentials http.Header `json:"credentials,omitempty"`
	Keys        [][32]byte  `json:"keys,omitempty"`
	BodyHash    [32]byte    `json:"body_hash"`
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
	return &crossing{
		Operation: Operation{
			ID: id, Type: r.Type, Method: r.Method, Path: r.Path, Query: r.Query, Header: r.Header, Body: r.Body,
			Origin: s.cfg.Self, User: r.User, Scope: r.Scope,
		},
		Service: r.Kind.Service, Kind: r.Kind.Name, Target: r.Target, Credentials: r.Credentials, Keys: k.keys, BodyHash: k.bodyHash,
	}
}

// declare makes the intent durable before the request goes out.
func (s *Site) declare(ctx context.Context, c *crossing) error {
	sealed, err := s.seal(c.Operation.ID, c)
	if err != nil {
		return err
	}
	i := Intent{Operation: c.Operation.ID, Document: c.Document, Data: sealed, OpenedAt: s.cfg.Now()}
	if err := s.commit(ctx, &Batch{Intents: []Intent{i}}); err != nil {
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
	for _, id := range r.Placement {
		if _, ok := row.Sites[id]; !ok && len(r.Placement) > 1 && (r.Method == http.MethodPut || r.Method == http.MethodPatch) {
			return Answer{}, &Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
				"%s %s has no replica at %s; this version cannot add one to an existing resource", row.Kind, row.ID, s.name(id))}
		}
	}
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
	before, local, err := s.standsAt(ctx, res)
	if err != nil {
		return Answer{}, err
	}
	if local == "" {
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", row.Kind, row.ID)}
	}
	c.Operation.Body = s.inMeta(ctx, r.Kind, c.Operation.Body)
	if err := s.declare(ctx, c); err != nil {
		return Answer{}, err
	}
	return s.cross(ctx, res, r.Kind, c, before, local)
}

// standsAt returns the fold that the application shows and its identifier of the resource; empty when it is not there.
func (s *Site) standsAt(ctx context.Context, res *resource) (Fold, LocalID, error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		return Fold{}, "", err
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

// cross sends a declared request to the application and records what came of it. The caller holds the turn of res, if
// the document exists already; res is nil for a create.
func (s *Site) cross(ctx context.Context, res *resource, k *Kind, c *crossing, before Fold, local LocalID) (Answer, error) {
	o := &c.Operation
	change, changeErr := ChangeOf(k, o.Type, o.Body, before, func() ([]byte, error) { return s.representation(ctx, k, local) })
	reply, err := s.call(ctx, k, o, local, c.Credentials)
	switch judge(o.Type, reply, err) {
	case verdictUnsent:
		if err := s.close(ctx, o.ID); err != nil {
			return Answer{}, err
		}
		return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
			Detail: fmt.Sprintf("the application's service %s at this site cannot be reached; nothing has happened", k.Service)}
	case verdictUnknown:
		s.queue.add(job{intent: o.ID}, s.cfg.RetryMin)
		return Answer{}, &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: o.ID, Err: err,
			Detail: fmt.Sprintf("the application's service %s gave no certain answer (%s); the operation will be settled", k.Service, tell(reply, err))}
	case verdictRefused, verdictLater, verdictConflict:
		if err := s.close(ctx, o.ID); err != nil {
			return Answer{}, err
		}
		return s.present(ctx, k, reply, "", ""), nil
	}
	if changeErr != nil { // the application understands what we do not: its effect is opaque to us
		o.Type = map[Type]Type{TypeReplace: TypeAbsolute}[o.Type]
		if o.Type == "" {
			o.Type = TypeAction
		}
	}
	o.Change = change
	id, err := s.publish(ctx, res, k, c, reply)
	if err != nil {
		s.queue.add(job{intent: o.ID}, s.cfg.RetryMin)
		return Answer{}, &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: o.ID, Err: err,
			Detail: "the application has done it, and this site could not record that; the operation will be settled"}
	}
	return s.present(ctx, k, reply, o.ID, id), nil
}

// publish makes an operation that the application has done durable and tells the other sites. The caller holds the turn of res
// unless it is nil.
func (s *Site) publish(ctx context.Context, res *resource, k *Kind, c *crossing, reply Reply) (ResourceID, error) {
	o := &c.Operation
	if c.Plain {
		return "", s.commit(ctx, &Batch{Settled: []OperationID{o.ID}, Answers: s.answers(c.keeper(), k, reply, o.ID, "")})
	}
	local := LocalID("")
	if c.About != nil {
		if local = reply.Local; k.ID.From == IDFromPath {
			local = LocalID(c.Target)
		}
		if local == "" {
			return "", fmt.Errorf("the answer to %s does not tell the new %s's identifier at %q; check the catalog", o.Method, k.Name, k.ID.At)
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
		return v.about.Key, s.commit(ctx, &Batch{Settled: []OperationID{o.ID}})
	}
	s.stamp(v, o)
	encoded, err := o.Encode()
	if err != nil {
		return "", err
	}
	v.attempts[o.ID] = &attempt{count: 1, status: reply.Status, at: s.cfg.Now()}
	if o.Type == TypeDelete {
		local = ""
	}
	key := v.about.Key
	return key, s.write(ctx, res, []Entry{
		{Map: MapOperations, Key: o.Key(), Value: encoded},
		s.replicaEntry(v, local, o),
	}, &Batch{Settled: []OperationID{o.ID}, Answers: s.answers(c.keeper(), k, reply, o.ID, key)})
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
	if about.Key != "" {
		old, err := s.cfg.Store.ResourceByID(ctx, r.Kind.Service, r.Kind.Name, about.Key)
		if err == nil && old.State == StateDeleted {
			if about.Incarnation, err = s.incarnation(ctx, old.Document); err != nil {
				return Answer{}, err
			}
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return Answer{}, fmt.Errorf("look up %s: %w", about.Key, err)
		}
	}
	c.About = about
	if err := s.declare(ctx, c); err != nil {
		return Answer{}, err
	}
	return s.cross(ctx, nil, r.Kind, c, Fold{}, LocalID(r.Target))
}

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
	if earlier, ok := s.openIntent(ctx, c.Operation.ID); ok && !(resendable(r.Kind, &c.Operation) || earlier.Again) {
		return Answer{}, &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: c.Operation.ID,
			Detail: "it is not known whether the request ran at this site; look, and settle the operation there"}
	}
	if err := s.declare(ctx, c); err != nil {
		return Answer{}, err
	}
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
func (s *Site) call(ctx context.Context, k *Kind, o *Operation, local LocalID, credentials http.Header) (Reply, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.App.Do(ctx, Call{
		Kind: k, Method: o.Method, Path: o.Path, Local: local, Query: o.Query, Header: o.Header, Body: o.Body,
		Key: string(o.ID) + "." + string(s.name(s.cfg.Self)), Credentials: credentials,
	})
}

func tell(r Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	const most = 200
	text := string(r.Body[:min(len(r.Body), most)])
	return fmt.Sprintf("status %d %s", r.Status, text)
}
