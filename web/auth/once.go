package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// LocalCookie begins the name of the cookie that holds a session where nobody has an account; the port follows, since a browser gives the cookies
// of an address to all of its ports. There is no TLS, so it cannot be a Cookie.
const LocalCookie = "skerry-local-"

// OncePath is where a link leads, before its secret.
const OncePath = "/login?once="

// onceTime is how long a link counts that nobody has used, maxOnce how many such links there are: of more the oldest goes.
const (
	onceTime = 10 * time.Minute
	maxOnce  = 16
)

// once are the secrets of links that let one browser in each, by their digest, oldest first. They are in memory alone: a link of an agent
// that has ended counts no more.
type once struct {
	mu   sync.Mutex
	left []onceLink
}

type onceLink struct {
	at      string
	expires time.Time
}

// ErrOnce: the link was used, or its time is over.
var ErrOnce = errors.New("this link was used before, or its time is over: \"skerry open\" prints another one")

// Link makes the secret of a link that lets one browser in, once and soon, as whoever is on this machine.
func (g *Guard) Link() (secret string, expires time.Time, err error) {
	if g.NeedsLogin() {
		return "", time.Time{}, &engine.Refusal{Status: http.StatusConflict, Type: "accounts", Detail: "people log in here with their accounts, at /login"}
	}
	random := make([]byte, 32)
	rand.Read(random) // never fails (crypto/rand)
	secret, expires = base64.RawURLEncoding.EncodeToString(random), g.now().Add(onceTime)
	g.once.mu.Lock()
	defer g.once.mu.Unlock()
	g.once.left = append(g.once.left, onceLink{place(secret), expires})
	g.once.left = g.once.left[max(0, len(g.once.left)-maxOnce):]
	return secret, expires, nil
}

// Open takes the secret of a link, which counts no more, and returns the cookie of a session. The error is ErrOnce when there is no such link.
func (g *Guard) Open(ctx context.Context, secret, host string) (*http.Cookie, error) {
	if !g.once.take(place(secret), g.now()) || g.NeedsLogin() {
		return nil, ErrOnce
	}
	_, key, err := g.makeKey(ctx, Key{By: BySession, Role: Admin, Expires: g.now().Add(sessionTime)})
	if err != nil {
		return nil, err
	}
	return localCookie(host, key, sessionTime), nil
}

func (o *once) take(at string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, l := range o.left {
		if l.at == at {
			o.left = append(o.left[:i], o.left[i+1:]...)
			return now.Before(l.expires)
		}
	}
	return false
}

// localCookie is the cookie of a session where nobody has an account. It goes out of no page but this site's own.
func localCookie(host, value string, lasts time.Duration) *http.Cookie {
	c := cookie(localName(host), value, lasts)
	c.Secure, c.SameSite = false, http.SameSiteStrictMode
	return c
}

// localName is what that cookie is called under a host name.
func localName(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = "80"
	}
	return LocalCookie + port
}

// isLocal reports whether a cookie is one of those, of whichever agent.
func isLocal(name string) bool { return strings.HasPrefix(name, LocalCookie) }
