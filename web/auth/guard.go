package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Cookie is the name of the cookie that holds a session. Browsers take one of this prefix over TLS only, for this host only.
const Cookie = "__Host-skerry"

// KnownCookie is the name of the cookie of a browser in which somebody has logged in before: it proves nothing, but guesses of others
// do not keep them out of their account there.
const KnownCookie = "__Host-skerry-known"

// knownTime is for how long a browser stays known.
const knownTime = 365 * 24 * time.Hour

// Config is what a Guard is handed.
type Config struct {
	// Accounts is the file of accounts, read anew for each use; empty: nobody needs to log in.
	Accounts string
	// Own lets only processes of this one's user, and of root, in over loopback where nobody needs to log in; others need a token. Connections
	// come with WithOwner.
	Own   bool
	Store Store
	// Secret is a key of the data directory, for what is handed out and not kept.
	Secret []byte
	Now    func() time.Time
}

// Guard tells who makes a request. It is safe for concurrent use.
type Guard struct {
	accounts string
	own      bool
	store    Store
	secret   []byte
	now      func() time.Time
	attempts *attempts
	once     once
	hashing  chan struct{} // a slot for each password that is being checked: each takes 19 MiB
}

// New returns a guard; it fails when the accounts cannot be read or let nobody in.
func New(c Config) (*Guard, error) {
	if c.Store == nil || c.Now == nil || len(c.Secret) == 0 {
		return nil, errors.New("a guard needs a store, a secret and a clock")
	}
	if c.Accounts != "" {
		accounts, err := ReadAccounts(c.Accounts)
		if err != nil {
			return nil, err
		}
		if len(accounts) == 0 {
			return nil, fmt.Errorf("%s has no account: add one with \"skerry accounts add\"", c.Accounts)
		}
	}
	return &Guard{accounts: c.Accounts, own: c.Own, store: c.Store, secret: c.Secret, now: c.Now, attempts: newAttempts(), hashing: make(chan struct{}, 2)}, nil
}

// NeedsLogin reports whether people have to log in.
func (g *Guard) NeedsLogin() bool { return g.accounts != "" }

// Identify tells who makes a request, and takes what proves it out of r's header, so that it goes no further. A token that does
// not count is a *engine.Refusal; a session that does not is as none.
func (g *Guard) Identify(r *http.Request) (Principal, error) {
	if p, ok, err := g.Token(r); ok || err != nil {
		return p, err
	}
	secret, known, local := takeCookies(r)
	if !g.NeedsLogin() {
		p, err := g.session(r, local)
		if !g.own || isOwn(r) { // who may do everything already; the session tells its browser from what else is on the machine
			return Principal{Role: Admin, By: ByLoopback, Key: p.Key}, nil
		}
		return p, err
	}
	if secret == "" {
		return Principal{known: known}, nil
	}
	p, err := g.find(r.Context(), secret, BySession)
	if errors.Is(err, errKey) {
		p, err = Principal{}, nil
	}
	p.known = known
	return p, err
}

// session is the session of somebody who was let in by a link, where nobody has an account; anyone's where there is none.
func (g *Guard) session(r *http.Request, secret string) (Principal, error) {
	if secret == "" {
		return Principal{}, nil
	}
	p, err := g.find(r.Context(), secret, BySession)
	if errors.Is(err, errKey) || err == nil && p.Account != "" { // of before, when there were accounts
		return Principal{}, nil
	}
	return p, err
}

// Token tells whose token a request shows, and takes it out of r's header; ok is false where it shows none of ours. A token that does not
// count is a *engine.Refusal.
func (g *Guard) Token(r *http.Request) (p Principal, ok bool, err error) {
	token, ours := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "+tokenPrefix)
	if !ours {
		return Principal{}, false, nil
	}
	r.Header.Del("Authorization")
	p, err = g.find(r.Context(), tokenPrefix+token, ByToken)
	if errors.Is(err, errKey) {
		return Principal{}, false, &engine.Refusal{Status: http.StatusUnauthorized, Type: "unauthenticated",
			Detail: "the token is not known here, or no longer counts: make one with \"skerry tokens add\""}
	}
	return p, err == nil, err
}

// Still is nil as long as who made the request of ctx may read: it is for answers that go on after that was looked at, which
// end when a session or token does.
func (g *Guard) Still(ctx context.Context) error {
	p := From(ctx)
	if p.place == "" {
		return nil
	}
	now, err := g.look(ctx, p.place, p.By)
	if errors.Is(err, errKey) || err == nil && now.Role < Viewer {
		return &engine.Refusal{Status: http.StatusUnauthorized, Type: "unauthenticated", Detail: "the session or token has ended"}
	}
	return err
}

// takeCookies takes the agent's own cookies out of r's header.
func takeCookies(r *http.Request) (secret, known, local string) {
	cookies, name := r.Cookies(), localName(r.Host)
	r.Header.Del("Cookie")
	for _, c := range cookies {
		switch c.Name {
		case Cookie:
			secret = c.Value
		case KnownCookie:
			known = c.Value
		case name:
			local = c.Value
		default:
			if !isLocal(c.Name) {
				r.AddCookie(c)
			}
		}
	}
	return secret, known, local
}

// TooSoon is the error of who has tried too often; they may try again after Wait.
type TooSoon struct{ Wait time.Duration }

func (e *TooSoon) Error() string {
	return fmt.Sprintf("too many attempts to log in have failed: try again in %s", (e.Wait + time.Second).Truncate(time.Second))
}

// ErrLogin: the name or the password is wrong, and nobody is told which.
var ErrLogin = errors.New("the name or the password is wrong")

// Login opens a session for who has that password, and returns its cookies. The error is ErrLogin or a *TooSoon when they are
// not let in. Address is the client's; the principal of ctx says whether its browser is known.
func (g *Guard) Login(ctx context.Context, address, name, password string) ([]*http.Cookie, Principal, error) {
	if !g.NeedsLogin() {
		return nil, Principal{}, &engine.Refusal{Status: http.StatusConflict, Type: "no-accounts", Detail: "nobody needs to log in here: this site has no accounts"}
	}
	now := g.now()
	counted := []attempt{{"from " + network(address), addressPace}, {"at " + name, accountPace}}
	id, known := g.knows(From(ctx).known, name)
	switch {
	case known:
		counted = counted[:1]
		counted[0] = attempt{"known " + id, accountPace}
	case !accountName.MatchString(name): // no account has it, and nobody is to fill the memory with names
		counted = counted[:1]
	}
	for _, c := range counted { // who has to wait counts at no account: nobody is kept out by what was not even tried
		if wait := g.attempts.begin(c.who, c.pace, now); wait > 0 {
			return nil, Principal{}, &TooSoon{wait}
		}
	}
	if !accountName.MatchString(name) {
		return nil, Principal{}, ErrLogin
	}
	a, err := g.check(ctx, name, password)
	if err != nil {
		return nil, Principal{}, err
	}
	for _, c := range counted {
		g.attempts.forget(c.who)
	}
	if !known {
		id = newID()
	}
	k, secret, err := g.makeKey(ctx, Key{By: BySession, Account: a.Name, Role: Admin, Password: place(a.Hash), Expires: now.Add(sessionTime)})
	if err != nil {
		return nil, Principal{}, err
	}
	return []*http.Cookie{cookie(Cookie, secret, sessionTime), cookie(KnownCookie, id+"."+g.sealed(id, a.Name), knownTime)},
		Principal{Account: a.Name, Role: a.Role, By: BySession, Key: k.ID, Expires: k.Expires}, nil
}

// knows reports whether a cookie says that somebody has logged in to an account in this browser before, and under which identifier.
func (g *Guard) knows(cookie, account string) (id string, ok bool) {
	id, seal, _ := strings.Cut(cookie, ".")
	return id, len(id) == 16 && hmac.Equal([]byte(seal), []byte(g.sealed(id, account)))
}

func (g *Guard) sealed(id, account string) string {
	h := hmac.New(sha256.New, g.secret)
	fmt.Fprintf(h, "known %s %s", id, account)
	return hex.EncodeToString(h.Sum(nil))
}

// check returns the account of that name and password.
func (g *Guard) check(ctx context.Context, name, password string) (Account, error) {
	accounts, err := ReadAccounts(g.accounts)
	if err != nil {
		return Account{}, err
	}
	select {
	case g.hashing <- struct{}{}:
		defer func() { <-g.hashing }()
	case <-ctx.Done():
		return Account{}, ctx.Err()
	}
	a, known := accounts.Find(name)
	h := nobodys
	if known {
		if h, err = parseHash(a.Hash); err != nil {
			return Account{}, err
		}
	}
	if len(password) > maxPassword {
		password = password[:maxPassword+1] // too long for any
	}
	if matches := h.matches(password); !matches || !known {
		return Account{}, ErrLogin
	}
	return a, nil
}

// Logout ends the session of a request and returns the cookie that makes a browser forget it.
func (g *Guard) Logout(ctx context.Context, p Principal, host string) (*http.Cookie, error) {
	if p.By != BySession {
		return cookie(Cookie, "", -1), nil
	}
	gone := cookie(Cookie, "", -1)
	if !g.NeedsLogin() {
		gone = localCookie(host, "", -1)
	}
	return gone, g.each(ctx, func(at string, k Key) error {
		if k.By != BySession || k.ID != p.Key {
			return nil
		}
		return g.store.DropRecord(ctx, shelf, at)
	})
}

// cookie is one that lasts for a time; less than zero ends it.
func cookie(name, value string, lasts time.Duration) *http.Cookie {
	age := int(lasts / time.Second)
	if lasts < 0 {
		age = -1
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// network is what an address counts as: one person has all of an IPv6 network of 64 bits.
func network(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}
