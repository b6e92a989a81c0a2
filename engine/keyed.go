package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// keyTTL is how long the answer to a request with an Idempotency-Key is kept.
const keyTTL = 24 * time.Hour

// keyedRequests are the requests with a key that run now.
type keyedRequests struct {
	mu      sync.Mutex
	running map[[32]byte]bool
}

// keeper remembers the answer of a request in the batch that makes its operation durable.
type keeper struct {
	keys     [][32]byte
	bodyHash [32]byte
	sent     SiteID // that may have got the request under its key before
}

// answered is what a KeyedAnswer holds: the application's reply, and whose it is.
type answered struct {
	Service   ServiceName `json:"service"`
	Kind      KindName    `json:"kind"`
	Status    int         `json:"status"`
	Header    http.Header `json:"header,omitempty"`
	Body      []byte      `json:"body,omitempty"`
	Operation OperationID `json:"operation,omitempty"`
	Resource  ResourceID  `json:"resource,omitempty"`
	// Sent is the site that may have got the request, while its status is zero.
	Sent SiteID `json:"sent,omitempty"`
}

func digest(parts ...string) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return [32]byte(h.Sum(nil))
}

// once runs do unless the request was answered before under its Idempotency-Key, or under the identifier that another
// site gave it. The first answer is given again then, and nothing runs. Target is what the client asked for.
func (s *Site) once(ctx context.Context, r Request, target string, do func(Request, keeper) (Answer, error)) (Answer, error) {
	var k keeper
	k.bodyHash = sha256.Sum256(r.Body)
	if ref := r.blob(); ref != nil {
		k.bodyHash = hashOf(*ref)
	}
	if r.Key != "" {
		k.keys = append(k.keys, digest("key", r.Caller, string(r.Kind.Service), r.Method, r.Path, r.Within, target, r.Key))
	}
	if r.Operation != "" {
		k.keys = append(k.keys, digest("operation", string(r.Operation)))
	}
	for _, key := range k.keys {
		if !s.keyed.start(key) {
			return Answer{}, &Refusal{Status: http.StatusConflict, Type: "in-progress",
				Detail: "the same request is still running; ask again when it has been answered"}
		}
		defer s.keyed.end(key)
		kept, a, err := s.answered(ctx, key)
		if err == nil && a.Status == 0 {
			if _, open := s.openIntent(ctx, a.Operation); open {
				return Answer{}, &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: a.Operation,
					Detail: fmt.Sprintf("the same request has had no certain answer yet (operation %s); it will be settled", a.Operation)}
			}
			kept, a, err = s.answered(ctx, key) // it may have been settled since the answer was read
		}
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return Answer{}, err
		}
		if a.Status == 0 {
			if kept.BodyHash == k.bodyHash && len(r.Via) == 0 {
				r.Operation, k.sent = a.Operation, a.Sent // another site may have got it under this identifier
			}
			continue
		}
		if kept.BodyHash != k.bodyHash {
			return Answer{}, &Refusal{Status: http.StatusUnprocessableEntity, Type: "in-progress",
				Detail: "this Idempotency-Key came with another body before; use a new key for a new request"}
		}
		kind := s.known.Load().by[kindKey{a.Service, a.Kind}]
		return s.present(ctx, kind, Reply{Status: a.Status, Header: a.Header, Body: a.Body, Within: r.Within}, a.Operation, a.Resource), nil
	}
	if r.Operation != "" { // the answer is kept for a day, the operation for longer
		row, err := s.cfg.Store.Operation(ctx, r.Operation)
		if errors.Is(err, ErrNotFound) {
			if err := s.mayHaveRun(ctx, r); err != nil {
				return Answer{}, err
			}
		}
		here := row.Sites[s.cfg.Self]
		if err == nil && row.Document != "" && (here.State == StateApplied || here.State == StateRejected || here.State == StateSuperseded) {
			return Answer{Status: cmp.Or(here.Status, http.StatusOK), Operation: r.Operation, Resource: row.Resource, Site: s.cfg.Self}, nil
		}
	}
	return do(r, k)
}

// answered looks up what was answered under a key: with status zero before there is an answer, ErrNotFound when nothing was
// asked or it is too long ago.
func (s *Site) answered(ctx context.Context, key [32]byte) (kept KeyedAnswer, a answered, err error) {
	kept, err = s.cfg.Store.Answer(ctx, key)
	if err == nil && s.cfg.Now().Sub(kept.At) > keyTTL {
		err = ErrNotFound
	}
	if err != nil {
		return kept, a, fmt.Errorf("look up the answer to a repeated request: %w", err)
	}
	if err := json.Unmarshal(kept.Answer, &a); err != nil {
		return kept, a, fmt.Errorf("decode the answer to a repeated request: %w", err)
	}
	return kept, a, nil
}

// asked remembers that a request with a key goes out, before there is an answer: its status is zero.
// To is the site that it goes to; empty: this one's application.
func (s *Site) asked(k keeper, kind *Kind, op OperationID, to SiteID) []KeyedAnswer {
	return s.remember(k, answered{Service: kind.Service, Kind: kind.Name, Operation: op, Sent: to})
}

func (k *keyedRequests) start(key [32]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[key] {
		return false
	}
	k.running[key] = true
	return true
}

func (k *keyedRequests) end(key [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, key)
}

// answers returns what remembers the reply.
func (s *Site) answers(k keeper, kind *Kind, r Reply, op OperationID, res ResourceID) []KeyedAnswer {
	return s.remember(k, answered{Service: kind.Service, Kind: kind.Name, Status: r.Status, Header: r.Header, Body: r.Body, Operation: op, Resource: res})
}

func (s *Site) remember(k keeper, a answered) []KeyedAnswer {
	if len(k.keys) == 0 {
		return nil
	}
	b := compactStruct(a)
	list := make([]KeyedAnswer, 0, len(k.keys))
	for _, key := range k.keys {
		list = append(list, KeyedAnswer{Key: key, BodyHash: k.bodyHash, Answer: b, At: s.cfg.Now()})
	}
	return list
}

// present turns the application's reply into what the client gets.
func (s *Site) present(ctx context.Context, k *Kind, r Reply, op OperationID, res ResourceID) Answer {
	if k != nil {
		p, err := s.cfg.App.Present(ctx, k, r)
		if err != nil { // the operation has happened; its answer is passed on as it is
			s.cfg.Log.Warn("answer not translated", "operation", string(op), "resource", string(res), "err", err)
		} else {
			r = p
		}
	}
	return Answer{Status: r.Status, Header: r.Header, Body: r.Body, Operation: op, Resource: res, Site: s.cfg.Self}
}
