package glue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// Impersonator is for an application that tells who asks, and does something for another user when somebody asks it to who may. It is safe for
// concurrent use.
type Impersonator interface {
	// Tells reports whether a field of a header says who asks. Asker asks who the application takes a caller for, by those.
	Tells(name string) bool
	Asker(ctx context.Context, base *url.URL, via http.RoundTripper, credentials http.Header) (*engine.Asker, error)
	// Impersonate says in a header for whom something is done, beside the credentials of who may have it done, or in their place. A *NoRights:
	// the agent may not act for that user.
	Impersonate(ctx context.Context, h http.Header, who *engine.Asker) error
	// Refused tells that the application knows nobody by what Impersonate has said. It reports whether that is the user's matter, and not that of the
	// agent's own account.
	Refused(who *engine.Asker) bool
}

// NoRights is why the agent may not act for a user.
type NoRights struct{ Why string }

func (n *NoRights) Error() string { return n.Why }

// UserHeader is an Asserter for an application that takes the word of whoever stands in front of it for who asks, in one header, by the name
// of that.
type UserHeader string

// Presented implements Asserter.
func (UserHeader) Presented(c *x509.Certificate) (Identity, bool) {
	return Identity{User: c.Subject.CommonName}, c.Subject.CommonName != ""
}

// Assert implements Asserter.
func (n UserHeader) Assert(h http.Header, who Identity) error {
	if err := (&engine.Asker{User: who.User}).Validate(); err != nil {
		return err
	}
	n.Silence(h)
	h.Set(string(n), who.User)
	return nil
}

// Asserted implements Asserter.
func (n UserHeader) Asserted(h http.Header) string { return h.Get(string(n)) }

// Silences implements Asserter. What many servers take for the same name is the same.
func (n UserHeader) Silences(name string) bool {
	return strings.EqualFold(strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(string(n), "_", "-"))
}

// Silence implements Asserter.
func (n UserHeader) Silence(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return n.Silences(name) })
}

// Asserter is what the application of a service believes who makes a request by; nil: it does not.
func (c *Client) Asserter(s engine.ServiceName) Asserter {
	if u := c.upstreams[s]; u != nil {
		return u.asserter
	}
	return nil
}

// Asker finds out who makes a request with these headers: as the service's application says, or as the agent itself says to it. Nil: nobody
// knows. An error says why the application could not be asked.
func (c *Client) Asker(ctx context.Context, s engine.ServiceName, credentials http.Header) (*engine.Asker, error) {
	u := c.upstreams[s]
	if u == nil {
		return nil, nil
	}
	if u.UserHeader != "" {
		who := &engine.Asker{User: u.UserHeader.Asserted(credentials)}
		if who.User == "" || who.Validate() != nil {
			return nil, nil
		}
		return who, nil
	}
	dialect := u.impersonator()
	if dialect == nil {
		return nil, nil
	}
	of, shown := sha256.New(), http.Header{}
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		if dialect.Tells(name) {
			shown[name] = credentials[name]
			fmt.Fprintf(of, "%q%q", name, credentials[name])
		}
	}
	key := [32]byte(of.Sum(nil))
	if who := u.askers.get(key, time.Now()); who != nil {
		return who, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialing)
	defer cancel()
	who, err := dialect.Asker(ctx, u.URL, u, shown)
	if err == nil {
		err = who.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s who asks: %w", s, err)
	}
	u.askers.put(key, who, time.Now())
	return who, nil
}

// askers remembers who asks for a few seconds, by a hash of what callers show. It is safe for concurrent use.
type askers struct {
	mu sync.Mutex
	by map[[32]byte]asked
}

type asked struct {
	who *engine.Asker
	at  time.Time
}

const (
	askedFor  = 10 * time.Second
	maxAskers = 1024
)

func (a *askers) get(key [32]byte, now time.Time) *engine.Asker {
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.by[key]; now.Sub(of.at) < askedFor {
		return of.who
	}
	return nil
}

func (a *askers) put(key [32]byte, who *engine.Asker, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.by) >= maxAskers {
		maps.DeleteFunc(a.by, func(_ [32]byte, of asked) bool { return now.Sub(of.at) >= askedFor })
	}
	if a.by == nil || len(a.by) >= maxAskers {
		a.by = map[[32]byte]asked{}
	}
	a.by[key] = asked{who, now}
}

// impersonator is that of the service or of its dialect; nil: it has none.
func (u *upstream) impersonator() Impersonator {
	if u.Impersonator != nil {
		return u.Impersonator
	}
	d, _ := u.Dialect.(Impersonator)
	return d
}

// actFor says in a header for whom something is done.
func (u *upstream) actFor(ctx context.Context, h http.Header, who *engine.Asker) error {
	switch d := u.impersonator(); {
	case d != nil:
		return d.Impersonate(ctx, h, who)
	case u.UserHeader != "":
		return u.UserHeader.Assert(h, Identity{User: who.User})
	}
	return fmt.Errorf("%w: service %s cannot be asked to do it for %s", engine.ErrUnsendable, cmp.Or(u.Service, "?"), who.User)
}
