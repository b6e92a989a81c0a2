package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Store keeps keys. What a method has written is durable when it returns.
type Store interface {
	PutRecord(ctx context.Context, shelf, key string, value []byte) error
	DropRecord(ctx context.Context, shelf, key string) error
	// Record returns engine.ErrNotFound when there is nothing under the key.
	Record(ctx context.Context, shelf, key string) ([]byte, error)
	// Records tells of the keys from one up to, and without, another, in order or the last first.
	Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error
}

const (
	shelf       = "keys"
	end         = "~" // after every key, which are hexadecimal
	tokenPrefix = "skt_"
	maxKeys     = 10_000 // sessions and tokens together
	// maxOwn is how many of either one account has: of more sessions the oldest ends. So nobody fills the room of the others, whom nothing would
	// let in then.
	maxOwn = 500
	// sessionTime is how long somebody who has logged in stays so.
	sessionTime = 12 * time.Hour
)

// Key is a session or a token, as it is kept: under the SHA-256 of its secret, which nobody keeps. The secret is random, so
// that a fast hash will do.
type Key struct {
	ID      string `json:"id"`
	By      string `json:"by"`      // BySession or ByToken
	Name    string `json:"name"`    // of a token
	Account string `json:"account"` // of who logged in or made the token; empty: made on loopback without accounts
	Role    Role   `json:"role"`    // the most that it gives
	// Password is the digest of the account's hash when the session began or the token was made: with another password it ends.
	Password string `json:"password,omitempty"`
	// Maker is where the token is kept that this one was made with, empty for another way: it ends with that one.
	Maker   string    `json:"maker,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

func place(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// makeKey keeps k under a new secret, which it returns. Expired keys go.
func (g *Guard) makeKey(ctx context.Context, k Key) (Key, string, error) {
	random := make([]byte, 32)
	rand.Read(random) // never fails (crypto/rand)
	secret := base64.RawURLEncoding.EncodeToString(random)
	if k.By == ByToken {
		secret = tokenPrefix + secret
	}
	k.ID, k.Created = newID(), g.now()
	n, own, oldest, first := 0, 0, "", time.Time{}
	err := g.each(ctx, func(at string, old Key) error {
		if g.now().After(old.Expires) {
			return g.store.DropRecord(ctx, shelf, at)
		}
		n++
		if old.Account == k.Account && old.By == k.By {
			if own++; oldest == "" || old.Created.Before(first) {
				oldest, first = at, old.Created
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return Key{}, "", err
	case own >= maxOwn && k.By == BySession:
		err = g.store.DropRecord(ctx, shelf, oldest)
	case own >= maxOwn:
		err = &engine.Refusal{Status: 409, Type: "too-many-keys", Detail: fmt.Sprintf("you have %d tokens already: revoke some", own)}
	case n >= maxKeys:
		err = &engine.Refusal{Status: 409, Type: "too-many-keys", Detail: fmt.Sprintf("there are %d sessions and tokens already: revoke some", n)}
	}
	if err != nil {
		return Key{}, "", err
	}
	b, err := json.Marshal(k)
	if err != nil {
		return Key{}, "", err
	}
	return k, secret, g.store.PutRecord(ctx, shelf, place(secret), b)
}

func newID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// each calls do for all keys, when they have been read.
func (g *Guard) each(ctx context.Context, do func(at string, k Key) error) error {
	var places []string
	var keys []Key
	err := g.store.Records(ctx, shelf, "", end, 2*maxKeys, false, func(at string, value []byte) error {
		var k Key
		if err := json.Unmarshal(value, &k); err != nil {
			return fmt.Errorf("read a key: %w", err)
		}
		places, keys = append(places, at), append(keys, k)
		return nil
	})
	if err != nil {
		return err
	}
	for i, k := range keys {
		if err := do(places[i], k); err != nil {
			return err
		}
	}
	return nil
}

// errKey: there is no such key (any more).
var errKey = errors.New("no such key")

// find returns the principal of a secret, or errKey. What an account may do now bounds it.
func (g *Guard) find(ctx context.Context, secret, by string) (Principal, error) {
	return g.look(ctx, place(secret), by)
}

// look is find for a key by its place.
func (g *Guard) look(ctx context.Context, at, by string) (Principal, error) {
	b, err := g.store.Record(ctx, shelf, at)
	if errors.Is(err, engine.ErrNotFound) {
		return Principal{}, errKey
	}
	if err != nil {
		return Principal{}, err
	}
	var k Key
	if err := json.Unmarshal(b, &k); err != nil {
		return Principal{}, fmt.Errorf("read a key: %w", err)
	}
	if k.By != by || !g.now().Before(k.Expires) {
		return Principal{}, errKey
	}
	p := Principal{Account: k.Account, Role: k.Role, By: by, Key: k.ID, Token: k.Name, Expires: k.Expires, place: at}
	if g.NeedsLogin() {
		accounts, err := ReadAccounts(g.accounts)
		if err != nil {
			return Principal{}, err
		}
		a, ok := accounts.Find(k.Account)
		if !ok || k.Password != place(a.Hash) {
			return Principal{}, errKey
		}
		p.Role = min(p.Role, a.Role)
	}
	if k.Maker != "" {
		maker, err := g.look(ctx, k.Maker, ByToken)
		if err != nil {
			return Principal{}, err
		}
		p.Role, p.depth = min(p.Role, maker.Role), maker.depth+1
	}
	return p, nil
}

// The bounds of tokens.
const (
	defaultTokenTime = 30 * 24 * time.Hour
	maxTokenTime     = 366 * 24 * time.Hour
	maxTokenName     = 64
)

// NewToken makes a token that gives a role for a time; 0 is 30 days, or less when who makes it has less left. It gives no
// more than who makes it has, and no longer. The secret is told here only. Errors may be *engine.Refusal.
func (g *Guard) NewToken(ctx context.Context, by Principal, name string, role Role, lasts time.Duration) (Key, string, error) {
	wrong := func(format string, args ...any) (Key, string, error) {
		return Key{}, "", &engine.Refusal{Status: 400, Type: "bad-request", Detail: fmt.Sprintf(format, args...)}
	}
	now, left := g.now(), maxTokenTime
	if by.By == ByToken { // a session may make what outlasts it: the person can log in again
		left = by.Expires.Sub(now)
	}
	switch {
	case by.depth >= maxDepth:
		return wrong("this token was made with a token that was made with another, and so on: make one by a shorter way")
	case name == "" || len(name) > maxTokenName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrong("name is %q: give up to %d printable bytes that say what the token is for", name, maxTokenName)
	case role > by.Role:
		return Key{}, "", &engine.Refusal{Status: 403, Type: "forbidden", Detail: fmt.Sprintf("you are %s here and cannot give the role %s", by.Role, role)}
	case lasts == 0:
		lasts = min(defaultTokenTime, left)
	case lasts < time.Second || lasts > left:
		return wrong("expires is %s: give a duration from 1s to %s", lasts, left.Round(time.Second))
	}
	k := Key{By: ByToken, Name: name, Account: by.Account, Role: role, Expires: now.Add(lasts)}
	if by.By == ByToken {
		k.Maker = by.place
	}
	if g.NeedsLogin() {
		accounts, err := ReadAccounts(g.accounts)
		if err != nil {
			return Key{}, "", err
		}
		a, ok := accounts.Find(by.Account)
		if !ok {
			return Key{}, "", &engine.Refusal{Status: 403, Type: "forbidden", Detail: "your account is no more"}
		}
		k.Password = place(a.Hash)
	}
	return g.makeKey(ctx, k)
}

// maxDepth is how many tokens may have been made one with the other.
const maxDepth = 8

// Tokens lists the tokens that p may revoke: an admin all, others their own. Expired ones are not among them.
func (g *Guard) Tokens(ctx context.Context, p Principal) ([]Key, error) {
	list := []Key{}
	err := g.each(ctx, func(_ string, k Key) error {
		if k.By == ByToken && g.now().Before(k.Expires) && (p.Role >= Admin || k.Account == p.Account) {
			list = append(list, k)
		}
		return nil
	})
	return list, err
}

// Revoke ends a token that Tokens lists; engine.ErrNotFound for any other.
func (g *Guard) Revoke(ctx context.Context, p Principal, id string) error {
	found := false
	err := g.each(ctx, func(at string, k Key) error {
		if k.ID != id || k.By != ByToken || p.Role < Admin && k.Account != p.Account {
			return nil
		}
		found = true
		return g.store.DropRecord(ctx, shelf, at)
	})
	if err == nil && !found {
		err = fmt.Errorf("token %s: %w", id, engine.ErrNotFound)
	}
	return err
}
