package api

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Invitation lets sites in. Token is told once, to whoever made it.
type Invitation struct {
	ID      string `json:"id"`
	Token   string `json:"token,omitempty"`
	Issuer  string `json:"issuer"`
	Uses    int    `json:"uses"` // left
	Revoked bool   `json:"revoked"`
	Open    bool   `json:"open"` // it lets a site in now
	// ValidFor is how long the certificates are good that it gives, a Go duration; empty: without an end.
	ValidFor  string    `json:"valid_for,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// InvitationRequest asks for an invitation.
type InvitationRequest struct {
	Expires string `json:"expires"` // a Go duration; empty: 1h
	Uses    *int   `json:"uses"`    // nil: 1
	// Certified asks for what a site joins by that has a certificate: any site gives it, and it is no secret.
	Certified bool `json:"certified"`
	// ValidFor is how long the certificates are good that it gives, a Go duration; empty: without an end.
	ValidFor string `json:"valid_for"`
}

// The bounds of an invitation.
const (
	maxExpires = 30 * 24 * time.Hour
	maxUses    = 1000
)

// Invite makes an invitation.
func (a *API) Invite(ctx context.Context, r InvitationRequest) (Invitation, error) {
	if r.Certified {
		return Invitation{Issuer: a.names().Of(a.Mesh.Self()), Token: a.Token(engine.Invitation{ExpiresAt: a.Now()}, nil), CreatedAt: a.Now(), ExpiresAt: a.Now()}, nil
	}
	expires, uses := time.Hour, 1
	if r.Expires != "" {
		d, err := time.ParseDuration(r.Expires)
		if err != nil || d < time.Second || d > maxExpires {
			return Invitation{}, badRequest("expires is %q: give a duration from 1s to 720h, such as 1h", r.Expires)
		}
		expires = d
	}
	if r.Uses != nil {
		uses = *r.Uses
	}
	if uses < 1 || uses > maxUses {
		return Invitation{}, badRequest("uses is %d: give a number from 1 to %d", uses, maxUses)
	}
	term, err := validFor(r.ValidFor)
	if err != nil {
		return Invitation{}, err
	}
	inv, secret, err := a.Mesh.Invite(ctx, expires, uses, term)
	if err != nil {
		return Invitation{}, err
	}
	v := a.invitation(inv, a.names())
	v.Token = a.Token(inv, secret)
	return v, nil
}

// Invitations lists the invitations of the mesh, without their tokens.
func (a *API) Invitations() []Invitation {
	n, list := a.names(), []Invitation{}
	for _, i := range a.Mesh.Invitations() {
		list = append(list, a.invitation(i, n))
	}
	return list
}

// validFor reads how long a certificate is to be good; zero: without an end.
func validFor(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute {
		return 0, badRequest("valid_for is %q: give a duration of a minute or more, such as 8760h, or none for a certificate without an end", text)
	}
	return d, nil
}

func (a *API) invitation(i engine.Invitation, n shape.Names) Invitation {
	v := Invitation{
		ID: i.ID, Issuer: n.Of(i.Issuer), Uses: i.Uses, Revoked: i.Revoked,
		Open:      !i.Revoked && i.Uses > 0 && a.Now().Before(i.ExpiresAt),
		CreatedAt: i.CreatedAt, ExpiresAt: i.ExpiresAt,
	}
	if i.Term > 0 {
		v.ValidFor = (time.Duration(i.Term) * time.Second).String()
	}
	return v
}
