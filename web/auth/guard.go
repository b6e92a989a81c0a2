package auth

import (
	"context"
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

// Config is what a Guard is handed.
type Config struct {
	// Accounts is the file of accounts, read anew for each use; empty: nobody needs to log in.
	Accounts string
	Store    Store
	Now      func() time.Time
}

// Guard tells who makes a request. It is safe for concurrent use.
type Guard struct {
	accounts string
	store    Store
	now      func() time.Time
	attempts *attempts
	hashing  chan struct{} // a slot for each password that is being checked: each takes 19 MiB
}

// New returns a guard; it fails when the accounts cannot be read or let nobody in.
func New(c Config) (*Guard, error) {
	if c.Store == nil || c.Now == nil {
		return nil, errors.New("a guard needs a store and a clock")
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
	return &Guard{accounts: c.Accounts, store: c.Store, now: c.Now, attempts: newAttempts(), hashing: make(chan struct{}, 2)}, nil
}

// NeedsLogin reports whether people have to log in.
func (g *Guard) NeedsLogin() bool { return g.accounts != "" }

// Identify tells who makes a request, and takes what proves it out of r's header, so that it goes no further. A token that does
// not count is a *engine.Refusal; a session that does not is as none.
func (g *Guard) Identify(r *http.Request) (Principal, error) {
	if p, ok, err := g.Token(r); ok || err != nil {
		return p, err
	}
	secret := takeCookie(r)
	if !g.NeedsLogin() {
		return Principal{Role: Admin, By: ByLoopback}, nil
	}
	if secret == "" {
		return Principal{}, nil
	}
	p, err := g.find(r.Context(), secret, BySession)
	if errors.Is(err, errKey) {
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

// takeCookie takes the session's cookie out of r's header.
func takeCookie(r *http.Request) (secret string) {
	cookies := r.Cookies()
	r.Header.Del("Cookie")
	for _, c := range cookies {
		if c.Name == Cookie {
			secret = c.Value
		} else {
			r.AddCookie(c)
		}
	}
	return secret
}

// TooSoon is the error of who has tried too often; they may try again after Wait.
type TooSoon struct{ Wait time.Duration }

func (e *TooSoon) Error() string {
	return fmt.Sprintf("too many attempts to log in have failed: try again in %s", (e.Wait + time.Second).Truncate(time.Second))
}

// ErrLogin: the name or the password is wrong, and nobody is told which.
var ErrLogin = errors.New("the name or the password is wrong")

// Login opens a session for who has that password, and returns its cookie. The error is ErrLogin or a *TooSoon when they are
// not let in. Address is the client's.
func (g *Guard) Login(ctx context.Context, address, name, password string) (*http.Cookie, Principal, error) {
	if !g.NeedsLogin() {
		return nil, Principal{}, &engine.Refusal{Status: http.StatusConflict, Type: "no-accounts", Detail: "nobody needs to log in here: this site has no accounts"}
	}
	from, whose := "from "+network(address), "at "+name
	now := g.now()
	if wait := max(g.attempts.begin(from, addressPace, now), g.attempts.begin(whose, accountPace, now)); wait > 0 {
		return nil, Principal{}, &TooSoon{wait}
	}
	a, err := g.check(ctx, name, password)
	if err != nil {
		return nil, Principal{}, err
	}
	g.attempts.forget(from)
	g.attempts.forget(whose)
	k, secret, err := g.makeKey(ctx, Key{By: BySession, Account: a.Name, Role: Admin, Password: place(a.Hash), Expires: now.Add(sessionTime)})
	if err != nil {
		return nil, Principal{}, err
	}
	return cookie(secret, int(sessionTime/time.Second)), Principal{Account: a.Name, Role: a.Role, By: BySession, Key: k.ID, Expires: k.Expires}, nil
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
func (g *Guard) Logout(ctx context.Context, p Principal) (*http.Cookie, error) {
	if p.By != BySession {
		return cookie("", -1), nil
	}
	return cookie("", -1), g.each(ctx, func(at string, k Key) error {
		if k.By != BySession || k.ID != p.Key {
			return nil
		}
		return g.store.DropRecord(ctx, shelf, at)
	})
}

func cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: Cookie, Value: value, Path: "/", MaxAge: maxAge, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
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
