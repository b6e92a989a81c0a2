package agent

import (
	"cmp"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept"
)

// believes says whose word counts for who makes a request to a service.
func (a *Agent) believes(name engine.ServiceName) intercept.Believes {
	s := a.cfg.Services[name]
	switch {
	case s.FrontProxy != nil:
		return intercept.Believes{Certificates: true, Token: a.tokenOf, Sites: s.FrontProxy.Sites}
	case s.UserHeader != nil:
		return intercept.Believes{Certificates: s.TLS != nil && s.TLS.ClientCA != "", Token: a.tokenOf, Proxies: len(s.TrustedProxies) > 0, Sites: s.UserHeader.Sites}
	}
	return intercept.Believes{}
}

// ownPrefix is before the names of accounts and roles of the agent, so that none is by chance one of the application's.
const ownPrefix = "skerry:"

// tokenOf tells whose a token of the agent's own is.
func (a *Agent) tokenOf(r *http.Request) (glue.Identity, bool, error) {
	p, ok, err := a.guard.Token(r)
	if !ok || err != nil {
		return glue.Identity{}, false, err
	}
	return glue.Identity{User: ownPrefix + cmp.Or(p.Account, "token:"+p.Token), Groups: []string{ownPrefix + p.Role.String()}}, true, nil
}
