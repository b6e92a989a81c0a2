package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// crossing is what an intent of this site holds: enough to send the request again, or to publish it.
type crossing struct {
	Operation Operation   `json:"operation"`
	Service   ServiceName `json:"service"`
	Kind      KindName    `json:"kind"`
	About     *About      `json:"about,omitempty"` // of the resource that it creates
	Document  DocumentID  `json:"document,omitempty"`
	// Resource is what it changes, unless About tells.
	Resource ResourceID `json:"resource,omitempty"`
	// Received says that the operation came from another site in its document.
	Received bool `json:"received,omitempty"`
	// Key is what such a request went out under.
	Key string `json:"key,omitempty"`
	// Making is what the request settles when it is one that makes the object anew.
	Making *making `json:"making,omitempty"`
	// Sent is the body that this site's application gets where that is another one than the operation's: its share.
	Sent []byte `json:"sent,omitempty"`
	// Shown is what the application showed before, where the operation's effect, or what it sets, is to be seen from that.
	Shown []byte `json:"shown,omitempty"`
	// Plain says that the request makes no operation of a document: it is another site's, for this one alone.
	Plain bool `json:"plain,omitempty"`
	// Choice is the document of the name that a plain request gives, where it is to be at exactly one site.
	Choice *About `json:"choice,omitempty"`
	Target string `json:"target,omitempty"`
	Within string `json:"within,omitempty"`
	// Credentials are the caller's own headers, empty for a caller who has shown none; only with Own it goes out with those of the
	// configuration.
	Credentials http.Header `json:"credentials,omitempty"`
	Own         bool        `json:"own,omitempty"`
	Keys        [][32]byte  `json:"keys,omitempty"`
	BodyHash    [32]byte    `json:"body_hash"`
	// Grows are sites that the request's scope has added, by an operation called Placing, Forced as the caller said.
	Grows   []SiteID    `json:"grows,omitempty"`
	Placing OperationID `json:"placing,omitempty"`
	Forced  bool        `json:"forced,omitempty"`
	// Bound are the sites that the scope binds other services to.
	Bound map[ServiceName][]SiteID `json:"bound,omitempty"`
	// Inside is the container whose part at this site it changes something in; then it is Plain.
	Inside DocumentID `json:"inside,omitempty"`
	// Asked says that a person has to decide, Why says why.
	Asked bool   `json:"asked,omitempty"`
	Why   string `json:"why,omitempty"`
	// Again says that a person asked for it to be sent again.
	Again bool `json:"again,omitempty"`
	// Resent says that another site has asked for it before, perhaps.
	Resent bool `json:"resent,omitempty"`
}

// resource is what the request makes or changes, as far as that is known; empty for what is no resource.
func (c *crossing) resource() ResourceID {
	if c.About != nil {
		return c.About.Key
	}
	return c.Resource
}

// question says what a person is asked about it.
func (c *crossing) question() string {
	return fmt.Sprintf("it is not known whether %s %s ran: %s", c.Operation.Type, c.Operation.ID, c.Why)
}

// unanswered says that nobody is asked about it yet.
func (c *crossing) unanswered(why string) string {
	return fmt.Sprintf("%s %s has had no certain answer yet: %s", c.Operation.Type, c.Operation.ID, why)
}

// sent is the operation as this site's application gets it.
func (c *crossing) sent() *Operation {
	o := c.Operation
	if c.Sent != nil {
		o.Body, o.Blob = c.Sent, nil
	}
	return &o
}

// credentials are what the request goes out with, as often as it does; nil: those of the configuration. One that has been read back from disk
// without any was its caller's, who had shown none.
func (c *crossing) credentials() http.Header {
	switch {
	case c.Own:
		return nil
	case c.Credentials == nil:
		return http.Header{}
	}
	return c.Credentials
}

// shown is what the application showed before the operation, as far as it was read: else what before folds.
func (c *crossing) shown(before Fold) func() ([]byte, error) {
	return func() ([]byte, error) {
		if c.Shown != nil {
			return c.Shown, nil
		}
		return before.Representation(), nil
	}
}

// isOf reports whether it is a client's request for something of a kind.
func (c *crossing) isOf(k *Kind) bool {
	return c.Service == k.Service && c.Kind == k.Name && !c.Received
}

// concerns reports whether c is a client's request that names an object of this site's application which was no resource's when it
// came.
func (s *Site) concerns(ctx context.Context, c *crossing, k *Kind, id LocalID) bool {
	return c.isOf(k) && (c.About != nil && s.here(ctx, k, string(c.About.Key)) == id || s.here(ctx, k, c.Target) == id)
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
			Blob: r.blob(), Origin: s.cfg.Self, User: r.User, Scope: r.Scope,
		},
		Service: r.Kind.Service, Kind: r.Kind.Name, Target: r.Target, Within: r.Within, Credentials: r.Credentials, Own: r.Credentials == nil, Keys: k.keys, BodyHash: k.bodyHash, Bound: r.Bound, Resent: r.Again,
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
	b := &Batch{Intents: []Intent{{Operation: c.Operation.ID, Document: c.Document, Data: sealed, OpenedAt: s.cfg.Now(), Blob: c.Operation.blobHash()}}}
	if !c.Received {
		b.Answers = s.asked(c.keeper(), s.known.Load().by[kindKey{c.Service, c.Kind}], c.Operation.ID, "")
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
