package front

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// keyTTL is how long the answer to a request with an Idempotency-Key is kept.
const keyTTL = 24 * time.Hour

// Keys remembers what was asked under an Idempotency-Key, or under the identifier that another site gave, and what was answered.
type Keys struct {
	*around
	mu      sync.Mutex
	running map[[32]byte]bool // requests that have no answer yet
}

func newKeys(a *around) *Keys { return &Keys{around: a, running: map[[32]byte]bool{}} }

// keeper remembers the answer of a request in the batch that makes its operation durable.
type keeper struct {
	replica.Keys
	client bool          // it has a key of its client's, and not only an identifier
	sent   engine.SiteID // that may have got the request under its key before
}

func digest(parts ...string) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return [32]byte(h.Sum(nil))
}

func operationKey(id engine.OperationID) [32]byte { return digest("operation", string(id)) }

// keeperOf returns what the answer of a request is remembered under; target is what its client asked for.
func keeperOf(r engine.Request, target string) keeper {
	var k keeper
	k.BodyHash = sha256.Sum256(r.Body)
	if ref := blobOf(r); ref != nil {
		k.BodyHash = hashOf(*ref)
	}
	if k.client = r.Key != ""; k.client {
		k.Keys.Keys = append(k.Keys.Keys, digest("key", r.Caller, string(r.Kind.Service), r.Method, r.Path, r.Within, target, r.Key))
	}
	if r.Operation != "" {
		k.Keys.Keys = append(k.Keys.Keys, operationKey(r.Operation))
	}
	return k
}

// start takes a key for a request; false: the same request runs.
func (k *Keys) start(key [32]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[key] {
		return false
	}
	k.running[key] = true
	return true
}

func (k *Keys) end(key [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, key)
}

// errInProgress refuses what runs already.
var errInProgress = &engine.Refusal{Status: http.StatusConflict, Type: "in-progress",
	Detail: "the same request is still running; ask again when it has been answered"}

// answered looks up what was answered under a key: with status zero before there is an answer, ErrNotFound when nothing was asked or
// it is too long ago.
func (k *Keys) answered(ctx context.Context, key [32]byte) (kept engine.KeyedAnswer, a replica.Remembered, err error) {
	kept, err = k.Store.Answer(ctx, key)
	if err == nil && k.Now().Sub(kept.At) > keyTTL {
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

// asked remembers that a request with a key goes out, before there is an answer: its status is zero, and the same key means the same
// operation from here on. To is the site that it goes to; empty: this one's application.
func (k *Keys) asked(keep keeper, kind *engine.Kind, op engine.OperationID, to engine.SiteID) []engine.KeyedAnswer {
	return k.remember(keep, replica.Remembered{Service: kind.Service, Kind: kind.Name, Operation: op, Sent: to})
}

// given remembers an answer.
func (k *Keys) given(keep keeper, kind *engine.Kind, a engine.Answer) []engine.KeyedAnswer {
	return replica.Remember(keep.Keys, kind, engine.Reply{Status: a.Status, Header: a.Header, Body: a.Body}, a.Operation, a.Resource, k.Now())
}

func (k *Keys) remember(keep keeper, a replica.Remembered) []engine.KeyedAnswer {
	list := make([]engine.KeyedAnswer, 0, len(keep.Keys.Keys))
	for _, key := range keep.Keys.Keys {
		list = append(list, engine.KeyedAnswer{Key: key, BodyHash: keep.BodyHash, Answer: engine.Encode(&a), At: k.Now()})
	}
	return list
}

// keep makes an answer durable that was given already: should that fail, the same key may be answered otherwise.
func (k *Keys) keep(ctx context.Context, keep keeper, kind *engine.Kind, a engine.Answer) {
	answers := k.given(keep, kind, a)
	if len(answers) == 0 {
		return
	}
	if err := k.Site.Commit(context.WithoutCancel(ctx), &engine.Batch{Answers: answers}); err != nil {
		k.Log.Error("keep the answer to a request with a key", "operation", string(a.Operation), "err", err)
	}
}

// repeated is what is known of a request that may have come before: its answer, or the operation that it was and the site that may
// have got it.
type repeated struct {
	answer *replica.Remembered
	as     engine.OperationID
	sent   engine.SiteID
}

// known finds out whether a request came before under one of its keys. Open reports whether nobody knows yet what came of an
// operation of this site's own application.
func (k *Keys) known(ctx context.Context, r engine.Request, keep keeper, open func(engine.OperationID) bool) (was repeated, err error) {
	for _, key := range keep.Keys.Keys {
		kept, a, err := k.answered(ctx, key)
		if err == nil && a.Status == 0 {
			if open(a.Operation) {
				return was, &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: a.Operation,
					Detail: fmt.Sprintf("the same request has had no certain answer yet (operation %s); it will be settled", a.Operation)}
			}
			kept, a, err = k.answered(ctx, key) // it may have been settled since the answer was read
		}
		switch {
		case errors.Is(err, engine.ErrNotFound):
		case err != nil:
			return was, err
		case a.Status == 0:
			if kept.BodyHash == keep.BodyHash && len(r.Via) == 0 { // another site may have got it under this identifier
				was.as, was.sent = a.Operation, a.Sent
			}
		case kept.BodyHash != keep.BodyHash:
			return was, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "in-progress",
				Detail: "this Idempotency-Key came with another body before; use a new key for a new request"}
		default:
			was.answer = &a
			return was, nil
		}
	}
	return was, nil
}
