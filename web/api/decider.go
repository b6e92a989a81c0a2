package api

import (
	"context"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
)

// headerUser is how an agent says to another one which of its users has decided something. It is that site's word, and gives no rights.
const headerUser = "Skerry-User"

type userKey struct{}

// withUser returns a context of a call that another site's agent has passed on for one of its users.
func withUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// decider is who has decided what a call of the site from carries out.
func (a *API) decider(ctx context.Context, from engine.SiteID) engine.Decider {
	if from == a.Mesh.Self() {
		return engine.Decider{User: auth.From(ctx).Account, Site: from}
	}
	user, _ := ctx.Value(userKey{}).(string)
	return engine.Decider{User: user, Site: from}
}

// note has the audit trail tell what was decided.
func (a *API) note(ctx context.Context, choice string, by engine.Decider) {
	if by.Site != a.Mesh.Self() && by.User != "" {
		choice += ", said by " + by.User + " of " + a.names().Of(by.Site)
	}
	audit.Note(ctx, choice)
}
