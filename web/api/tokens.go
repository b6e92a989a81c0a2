package api

import (
	"context"
	"time"

	"github.com/skerry/skerry/web/auth"
)

// Token lets a program in. Its text is told once, to whoever made it.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Account   string    `json:"account"` // of who made it; empty: on loopback without accounts
	Token     string    `json:"token,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Expires string `json:"expires"` // a Go duration; empty: 720h
}

// Link lets one browser in where nobody has an account, once. Path is where, on this agent's address.
type Link struct {
	Path      string    `json:"path"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LinkRequest asks for a link. It has nothing to say.
type LinkRequest struct{}

// MakeLink makes a link.
func (a *API) MakeLink(context.Context, LinkRequest) (Link, error) {
	secret, expires, err := a.Auth.Link()
	return Link{auth.OncePath + secret, expires}, err
}

// MakeToken makes a token for the principal of ctx.
func (a *API) MakeToken(ctx context.Context, r TokenRequest) (Token, error) {
	role, err := auth.ParseRole(r.Role)
	if err != nil {
		return Token{}, badRequest("%v", err)
	}
	var lasts time.Duration
	if r.Expires != "" {
		if lasts, err = time.ParseDuration(r.Expires); err != nil || lasts <= 0 {
			return Token{}, badRequest("expires is %q: give a duration such as 720h", r.Expires)
		}
	}
	k, secret, err := a.Auth.NewToken(ctx, auth.From(ctx), r.Name, role, lasts)
	if err != nil {
		return Token{}, err
	}
	t := token(k)
	t.Token = secret
	return t, nil
}

// Tokens lists the tokens that the principal of ctx may revoke, without their texts.
func (a *API) Tokens(ctx context.Context) ([]Token, error) {
	keys, err := a.Auth.Tokens(ctx, auth.From(ctx))
	if err != nil {
		return nil, err
	}
	list := []Token{}
	for _, k := range keys {
		list = append(list, token(k))
	}
	return list, nil
}

func token(k auth.Key) Token {
	return Token{ID: k.ID, Name: k.Name, Role: k.Role.String(), Account: k.Account, CreatedAt: k.Created, ExpiresAt: k.Expires}
}

func (a *API) revokeToken(ctx context.Context, id string) error {
	return a.Auth.Revoke(ctx, auth.From(ctx), id)
}
