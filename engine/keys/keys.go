package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
)

// TTL is how long the answer to a request with an Idempotency-Key is kept.
const TTL = 24 * time.Hour

// Config hands Keys what they work with. All fields must be set.
type Config struct {
	// Answer reads from the store, Commit makes a batch durable; see engine.Store.
	Answer func(ctx context.Context, key [32]byte) (engine.KeyedAnswer, error)
	Commit func(ctx context.Context, b *engine.Batch) error
	Log    *slog.Logger
	Now    func() time.Time
}

// Keys remembers what was asked under an Idempotency-Key, or under the identifier that another site gave, and what was answered. It is
// safe for concurrent use.
type Keys struct {
	cfg     Config
	mu      sync.Mutex
	running map[[32]byte]bool // requests that have no answer yet
}

// New returns keys of which none is in use.
func New(cfg Config) *Keys { return &Keys{cfg: cfg, running: map[[32]byte]bool{}} }

// Keeper remembers the answer of a request in the batch that makes its operation durable.
type Keeper struct {
	flight.Keys
	// Client says that it has a key of its client's, and not only an identifier.
	Client bool
	// Sent is the site that may have got the request under its key before.
	Sent engine.SiteID
}

func digest(parts ...string) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return [32]byte(h.Sum(nil))
}

// Operation is the key of what another site has given an identifier.
func Operation(id engine.OperationID) [32]byte { return digest("operation", string(id)) }

// KeeperOf returns what the answer of a request is remembered under; target is what its client asked for, blob what has been made of
// a large body, else nil.
func KeeperOf(r engine.Request, target string, blob *engine.BlobRef) Keeper {
	k := Keeper{Keys: flight.Keys{From: r.From()}}
	if k.BodyHash = sha256.Sum256(r.Body); blob != nil {
		_, _ = hex.Decode(k.BodyHash[:], []byte(blob.Hash)) // this site has made it
	}
	if k.Client = r.Key != ""; k.Client {
		k.Keys.Keys = append(k.Keys.Keys, digest("key", r.Caller, string(r.Kind.Service), r.Method, r.Path, r.Within, target, r.Key))
	}
	if r.Operation != "" {
		k.Keys.Keys = append(k.Keys.Keys, Operation(r.Operation))
	}
	return k
}

// Start takes a key for a request; false: the same request runs.
func (k *Keys) Start(key [32]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[key] {
		return false
	}
	k.running[key] = true
	return true
}

// End gives a key back.
func (k *Keys) End(key [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, key)
}

// Forgotten is the type of refusal of a site that may have run a request and does not know it any more, or not as that.
const Forgotten = "forgotten"

// ErrInProgress refuses what runs already.
var ErrInProgress = &engine.Refusal{Status: http.StatusConflict, Type: "in-progress",
	Detail: "the same request is still running; ask again when it has been answered"}

// answered looks up what was answered under a key: with status zero before there is an answer, ErrNotFound when nothing was asked or
// it is too long ago.
func (k *Keys) answered(ctx context.Context, key [32]byte) (kept engine.KeyedAnswer, a flight.Remembered, err error) {
	kept, err = k.cfg.Answer(ctx, key)
	if err == nil && k.cfg.Now().Sub(kept.At) > TTL {
		err = engine.ErrNotFound
	}
	if err == nil {
		err = engine.Decode(kept.Answer, &a)
	}
	if err != nil {
		return kept, a, fmt.Errorf("look up the answer to a repeated request: %w", err)
	}
	return kept, a, nil
}

// Asked remembers that a request with a key goes out, before there is an answer: its status is zero, and the same key means the same
// operation from here on. To is the site that it goes to; empty: this one's application.
func (k *Keys) Asked(keep Keeper, kind *engine.Kind, op engine.OperationID, to engine.SiteID) []engine.KeyedAnswer {
	return k.remember(keep, flight.Remembered{Service: kind.Service, Kind: kind.Name, Operation: op, Sent: to, From: keep.From})
}

// Given remembers an answer.
func (k *Keys) Given(keep Keeper, kind *engine.Kind, a engine.Answer) []engine.KeyedAnswer {
	return flight.Remember(keep.Keys, kind, engine.Reply{Status: a.Status, Header: a.Header, Body: a.Body}, a.Operation, a.Resource, k.cfg.Now())
}

func (k *Keys) remember(keep Keeper, a flight.Remembered) []engine.KeyedAnswer {
	list := make([]engine.KeyedAnswer, 0, len(keep.Keys.Keys))
	for _, key := range keep.Keys.Keys {
		list = append(list, engine.KeyedAnswer{Key: key, BodyHash: keep.BodyHash, Answer: engine.Encode(&a), At: k.cfg.Now()})
	}
	return list
}

// Forget makes it so that nothing was asked under the keys of a request.
func (k *Keys) Forget(ctx context.Context, keep Keeper) {
	var list []engine.KeyedAnswer
	for _, key := range keep.Keys.Keys {
		list = append(list, engine.KeyedAnswer{Key: key})
	}
	if len(list) == 0 {
		return
	}
	if err := k.cfg.Commit(context.WithoutCancel(ctx), &engine.Batch{Answers: list}); err != nil {
		k.cfg.Log.Error("forget a request with a key whose caller was not let in", "err", err)
	}
}

// Keep makes an answer durable that was given already: should that fail, the same key may be answered otherwise.
func (k *Keys) Keep(ctx context.Context, keep Keeper, kind *engine.Kind, a engine.Answer) {
	answers := k.Given(keep, kind, a)
	if len(answers) == 0 {
		return
	}
	if err := k.cfg.Commit(context.WithoutCancel(ctx), &engine.Batch{Answers: answers}); err != nil {
		k.cfg.Log.Error("keep the answer to a request with a key", "operation", string(a.Operation), "err", err)
	}
}

// NotBound refuses a request whose identifier stands for something else here.
func NotBound(r engine.Request) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusConflict, Type: Forgotten, Detail: fmt.Sprintf(
		"operation %s is something else here than what was passed on under it; nothing has happened", r.Operation)}
}

// Repeated is what is known of a request that may have come before: its answer, or the operation that it was and the site that may
// have got it. Came says that something is known.
type Repeated struct {
	Answer *flight.Remembered
	As     engine.OperationID
	Sent   engine.SiteID
	Came   bool
}

// Known finds out whether a request came before under one of its keys. Open reports whether nobody knows yet what came of an
// operation of this site's own application.
func (k *Keys) Known(ctx context.Context, r engine.Request, keep Keeper, open func(engine.OperationID) bool) (was Repeated, err error) {
	for _, key := range keep.Keys.Keys {
		kept, a, err := k.answered(ctx, key)
		if err == nil && a.From != keep.From && key == Operation(r.Operation) { // who has only heard of an identifier gets no answer under it
			return was, NotBound(r)
		}
		if err == nil && a.Status == 0 {
			if open(a.Operation) {
				return was, &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: a.Operation,
					Detail: fmt.Sprintf("the same request has had no certain answer yet (operation %s); it will be settled", a.Operation)}
			}
			kept, a, err = k.answered(ctx, key) // it may have been settled since the answer was read
		}
		was.Came = was.Came || err == nil
		switch {
		case errors.Is(err, engine.ErrNotFound):
		case err != nil:
			return was, err
		case a.Status == 0:
			if kept.BodyHash == keep.BodyHash && len(r.Via) == 0 { // another site may have got it under this identifier
				was.As, was.Sent = a.Operation, a.Sent
			}
		case kept.BodyHash != keep.BodyHash:
			return was, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "in-progress",
				Detail: "this Idempotency-Key came with another body before; use a new key for a new request"}
		default:
			was.Answer = &a
			return was, nil
		}
	}
	return was, nil
}
