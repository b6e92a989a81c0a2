package hooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// Store keeps hooks. What a method has written is durable when it returns.
type Store interface {
	PutRecord(ctx context.Context, shelf, key string, value []byte) error
	DropRecord(ctx context.Context, shelf, key string) error
	DropRecords(ctx context.Context, shelf, from, before string) error
	// Record returns engine.ErrNotFound when there is nothing under the key.
	Record(ctx context.Context, shelf, key string) ([]byte, error)
	// Records tells of the keys from one up to, and without, another, in order or the last first.
	Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error
}

// Vault encrypts what may not lie on the disk in clear, and binds it to a name.
type Vault interface {
	Seal(name engine.OperationID, data []byte) []byte
	Unseal(name engine.OperationID, sealed []byte) ([]byte, error)
}

// Config is what a Desk is handed. Every field is needed.
type Config struct {
	Store Store
	Vault Vault
	Now   func() time.Time
	Log   *slog.Logger
	// HTTP makes the deliveries; see NewClient.
	HTTP *http.Client
	// Pauses are between one attempt and the next of one event; after the last it is given up. Nil: DefaultPauses.
	Pauses []time.Duration
}

// DefaultPauses are a little over a day together.
var DefaultPauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	4 * time.Hour, 8 * time.Hour, 10 * time.Hour}

const (
	hookShelf     = "hooks"
	positionShelf = "hook-positions"
	deliveryShelf = "hook-deliveries"
	end           = "~" // after every key

	maxHooks       = 32
	maxURL         = 2048
	maxEventTypes  = 64
	secretPrefix   = "whsec_" // as Standard Webhooks has it
	secretBytes    = 32
	keepDeliveries = 500 // of each hook
	trimDeliveries = 50  // at a time
)

// Desk keeps the hooks and runs them. It is safe for concurrent use.
type Desk struct {
	Config

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a hook comes or goes; guarded by mu
}

// New returns a desk; nothing is delivered before Run.
func New(c Config) (*Desk, error) {
	if c.Store == nil || c.Vault == nil || c.Now == nil || c.Log == nil || c.HTTP == nil {
		return nil, errors.New("a desk of hooks needs a store, a vault, a clock, a log and a client")
	}
	if c.Pauses == nil {
		c.Pauses = DefaultPauses
	}
	return &Desk{Config: c, changed: make(chan struct{})}, nil
}

func bad(format string, args ...any) error {
	return &engine.Refusal{Status: http.StatusBadRequest, Type: "bad-request", Detail: fmt.Sprintf(format, args...)}
}

// check refuses what could not be delivered to.
func check(target string, events []string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(target) > maxURL:
		return bad("url is %q: give an address with http or https", target)
	case u.User != nil:
		return bad("url holds a user and a password: deliveries are signed instead")
	case u.Fragment != "":
		return bad("url has a fragment, which receivers are never sent")
	case len(events) > maxEventTypes:
		return bad("events has %d types: give at most %d", len(events), maxEventTypes)
	}
	for _, e := range events {
		family, _ := strings.CutSuffix(e, "*")
		if e == "" || len(e) > 64 || strings.Trim(family, "abcdefghijklmnopqrstuvwxyz.-") != "" {
			return bad("events has %q: give types such as operation.applied, or operation.* for all of a family", e)
		}
	}
	return nil
}

// Add makes a hook for the events after the entry after of the log. The secret is told here only.
func (d *Desk) Add(ctx context.Context, target string, events []string, after uint64, by string) (h Hook, secret string, err error) {
	if err := check(target, events); err != nil {
		return h, "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.list(ctx)
	if err != nil {
		return h, "", err
	}
	if len(all) >= maxHooks {
		return h, "", &engine.Refusal{Status: http.StatusConflict, Type: "too-many-hooks", Detail: fmt.Sprintf("there are %d hooks already: take one away", len(all))}
	}
	random := make([]byte, 8+secretBytes)
	rand.Read(random) // never fails (crypto/rand)
	h = Hook{ID: hex.EncodeToString(random[:8]), URL: target, Events: slices.Clone(events), Created: d.Now().UTC(), By: by}
	h.Sealed = d.Vault.Seal(sealedAs(h.ID), random[8:])
	if err := d.put(ctx, positionShelf, h.ID, Position{After: after}); err != nil {
		return h, "", err
	}
	if err := d.put(ctx, hookShelf, h.ID, h); err != nil {
		return h, "", err
	}
	d.tell()
	return h, secretPrefix + base64.StdEncoding.EncodeToString(random[8:]), nil
}

// Remove takes a hook away with its delivery log; engine.ErrNotFound when there is none of that id.
func (d *Desk) Remove(ctx context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.Store.Record(ctx, hookShelf, id); err != nil {
		return fmt.Errorf("hook %s: %w", id, err)
	}
	if err := d.Store.DropRecord(ctx, hookShelf, id); err != nil {
		return err
	}
	d.tell() // its runner stops; what that still writes Run drops
	return errors.Join(d.Store.DropRecord(ctx, positionShelf, id), d.Store.DropRecords(ctx, deliveryShelf, id+"/", id+"0"))
}

// tell wakes Run. The caller holds mu.
func (d *Desk) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// List returns all hooks with how far they have come, the oldest first.
func (d *Desk) List(ctx context.Context) ([]Hook, map[string]Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]Position{}
	for _, h := range all {
		p, err := d.position(ctx, h.ID)
		if err != nil {
			return nil, nil, err
		}
		at[h.ID] = p
	}
	return all, at, nil
}

// Get returns one hook, or engine.ErrNotFound.
func (d *Desk) Get(ctx context.Context, id string) (Hook, Position, error) {
	all, at, err := d.List(ctx)
	if err != nil {
		return Hook{}, Position{}, err
	}
	for _, h := range all {
		if h.ID == id {
			return h, at[id], nil
		}
	}
	return Hook{}, Position{}, fmt.Errorf("hook %s: %w", id, engine.ErrNotFound)
}

func (d *Desk) list(ctx context.Context) ([]Hook, error) {
	all := []Hook{}
	err := d.Store.Records(ctx, hookShelf, "", end, maxHooks, false, func(_ string, value []byte) error {
		var h Hook
		if err := json.Unmarshal(value, &h); err != nil {
			return fmt.Errorf("read a hook: %w", err)
		}
		all = append(all, h)
		return nil
	})
	slices.SortStableFunc(all, func(a, b Hook) int { return a.Created.Compare(b.Created) })
	return all, err
}

// Deliveries returns the attempts of a hook, the newest first, those before a number when that is not 0.
func (d *Desk) Deliveries(ctx context.Context, id string, before uint64, limit int) ([]Delivery, error) {
	if _, _, err := d.Get(ctx, id); err != nil {
		return nil, err
	}
	to := id + "0"
	if before > 0 {
		to = deliveryKey(id, before)
	}
	list := []Delivery{}
	err := d.Store.Records(ctx, deliveryShelf, id+"/", to, limit, true, func(_ string, value []byte) error {
		var v Delivery
		if err := json.Unmarshal(value, &v); err != nil {
			return fmt.Errorf("read a delivery: %w", err)
		}
		list = append(list, v)
		return nil
	})
	return list, err
}

func deliveryKey(id string, n uint64) string { return fmt.Sprintf("%s/%020d", id, n) }

func sealedAs(id string) engine.OperationID { return engine.OperationID("hook/" + id) }

func (d *Desk) position(ctx context.Context, id string) (p Position, err error) {
	b, err := d.Store.Record(ctx, positionShelf, id)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read how far hook %s has come: %w", id, err)
	}
	return p, nil
}

func (d *Desk) put(ctx context.Context, shelf, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.Store.PutRecord(ctx, shelf, key, b)
}
