package auth

import (
	"context"
	"time"
)

// The ways in which somebody has shown who they are.
const (
	ByLoopback = "loopback" // they are on the machine, and nobody has to log in
	BySession  = "session"
	ByToken    = "token"
)

// Principal is who makes a request. The zero value is anyone.
type Principal struct {
	// Account is the name of who has logged in or made the token; empty on loopback without accounts.
	Account string
	Role    Role
	By      string // empty for anyone
	// Key is the id of the session or token, on loopback empty without one, Token the token's name, Expires its end.
	Key, Token string
	Expires    time.Time
	place      string // where the key is kept; empty on loopback and for anyone
	depth      int    // of how many tokens it was made, one with the other
	known      string // the KnownCookie of who logs in
}

// String is the principal as an audit trail names it.
func (p Principal) String() string {
	name := p.Account
	if name == "" {
		name = "anyone on this machine"
	}
	switch p.By {
	case "":
		return "not logged in"
	case ByToken:
		return name + ", token " + p.Token
	}
	return name
}

type contextKey struct{}

// With returns a context of a request of p's.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns who made the request of a context.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
