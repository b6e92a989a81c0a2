package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/plan"
)

// Acceptance is what this site says to something that another would do here.
type Acceptance struct {
	Accepted bool   `json:"accepted"`
	Rule     int    `json:"rule"` // of accept in the configuration, from 1; 0: none is for it
	As       string `json:"as"`   // with whose rights the application would be asked for an operation: agent or user
	Reason   string `json:"reason"`
}

// getAcceptance changes nothing, and asks no application: a site may ask for another, which the plan of a request has to.
func (a *API) getAcceptance(c echo.Context) error {
	q, err := params(c, "from", "service", "kind", "operation", "scope")
	if err != nil {
		return err
	}
	w := engine.Wish{From: a.asker(c), Service: engine.ServiceName(q.Get("service")), Kind: engine.KindName(q.Get("kind")), Scope: engine.Collaboration(q.Get("scope"))}
	if from := q.Get("from"); from != "" {
		if w.From, err = a.names().ID(from); err != nil {
			return err
		}
	}
	var acts []engine.Act
	for text := range strings.SplitSeq(q.Get("operation"), ",") {
		if acts = append(acts, engine.Act(text)); !slices.Contains(engine.Acts, engine.Act(text)) {
			return badRequest("operation is %q: give some of %v, separated by commas", q.Get("operation"), engine.Acts)
		}
	}
	if !slices.Contains(engine.Collaborations, w.Scope) {
		return badRequest("scope is %q: give one of %v", w.Scope, engine.Collaborations)
	}
	return answer(c, http.StatusOK, a.acceptance(w, acts))
}

func (a *API) acceptance(w engine.Wish, acts []engine.Act) Acceptance {
	v := glue.Everything(acts, func(act engine.Act) engine.Acceptance {
		w.Act = act
		return a.Accepts(w)
	})
	return Acceptance{v.Accepted, v.Rule, string(v.As), v.Reason}
}

// acceptanceWait is how long a plan waits for what other sites say.
const acceptanceWait = 3 * time.Second

// tellAcceptance asks the sites of a plan whether they would accept what it has them do, all at once. A request that is passed on is this
// site's; what comes after it at other sites is from where it runs first.
func (a *API) tellAcceptance(ctx context.Context, m glue.Match, method string, row *engine.ResourceRow, mode string, steps []plan.Step) (warnings []string) {
	w := engine.Wish{Service: m.Kind.Service, Kind: m.Kind.Name, Scope: engine.Sharing}
	switch {
	case row != nil:
		w.Scope = row.Collaboration
	case mode == scope.ExactlyOne:
		w.Scope = engine.ExactlyOne
	case glue.Safe(method):
	case mode == scope.Cross:
		w.Scope = engine.Cross
	case len(steps) > 1:
		w.Scope = engine.Replication
	}
	n, self := a.names(), a.Mesh.Self()
	first := slices.IndexFunc(steps, func(s plan.Step) bool { return len(s.WaitsFor) == 0 })
	ctx, cancel := context.WithTimeout(ctx, acceptanceWait)
	defer cancel()
	var asked sync.WaitGroup
	for i := range steps {
		st, wish, acts := &steps[i], w, m.Acts(method, "", row != nil)
		wish.From, st.As = self, "caller"
		if len(st.WaitsFor) > 0 && first >= 0 {
			wish.From, st.As = n.ByName[steps[first].Site], "agent"
			if !holds(row, n.ByName[st.Site]) {
				acts = []engine.Act{engine.ActCreate}
			}
		}
		asked.Go(func() { a.askAcceptance(ctx, n.ByName[st.Site], wish, acts, st) })
	}
	asked.Wait()
	for _, st := range steps {
		if st.Accepts == "no" {
			what := "the request would be refused there (403)"
			if st.As != "caller" {
				what = "it would be held there until a person at that site lets it in"
			}
			warnings = append(warnings, st.Why+": "+what)
		}
	}
	return warnings
}

// holds reports whether a site has a part in a resource; of none, nobody has.
func holds(row *engine.ResourceRow, id engine.SiteID) bool {
	if row == nil {
		return false
	}
	_, has := row.Sites[id]
	return has
}

// askAcceptance asks one site.
func (a *API) askAcceptance(ctx context.Context, site engine.SiteID, w engine.Wish, acts []engine.Act, st *plan.Step) {
	v := a.acceptance(w, acts)
	if site != a.Mesh.Self() {
		texts := make([]string, len(acts))
		for i, act := range acts {
			texts[i] = string(act)
		}
		q := url.Values{"from": {string(w.From)}, "service": {string(w.Service)}, "kind": {string(w.Kind)}, "operation": {strings.Join(texts, ",")}, "scope": {string(w.Scope)}}
		if err := a.askSite(ctx, site, http.MethodGet, "/acceptance?"+q.Encode(), nil, &v); err != nil {
			st.Accepts, st.Why = "unknown", AsRefusal(err).Detail
			return
		}
	}
	if st.Accepts, st.Why = "no", v.Reason; v.Accepted {
		st.Accepts = "yes"
	}
	if st.As == string(engine.AsAgent) && v.As == string(engine.AsUser) {
		st.As = v.As
	}
}
