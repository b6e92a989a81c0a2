package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/waiting"
)

// around is what the parts of front share: the site that they belong to and the ways out of it.
type around struct {
	Config
	self    engine.SiteID
	network Network
	moved   waiting.Bell  // struck when another site has come into reach or gone out of it
	learned waiting.Bell  // struck when this site has been compared with another one
	closing chan struct{} // closed when Run ends: nobody answers any more
	closed  sync.Once
}

// lasting is a context for what is not given up because a client has gone. It ends with front.
func (a *around) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-a.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// metWait is how long a request waits for a comparison with sites that can be reached: it takes a moment from the one to the other.
const metWait = 5 * time.Second

// met reports whether this site has been compared with all of some others, or need not be. It waits for those that can be reached.
func (a *around) met(ctx context.Context, sites []engine.SiteID) bool {
	ctx, cancel := context.WithTimeout(ctx, metWait)
	defer cancel()
	for {
		learned := a.learned.Wait() // before the look, so that nothing between the two is missed
		if a.Site.Met(sites) {
			return true
		}
		status := a.network.Status()
		away := func(id engine.SiteID) bool {
			return id != a.self && !status[id].Reachable && !a.Site.Met([]engine.SiteID{id})
		}
		if slices.ContainsFunc(sites, away) {
			return false
		}
		if a.Await != nil {
			a.Await(func() bool { return ctx.Err() != nil || a.learned.Wait() != learned }) // another one: it was struck
		}
		select {
		case <-learned:
		case <-ctx.Done():
			return false
		}
	}
}

func (a *around) name(id engine.SiteID) engine.SiteName { return a.Members.Name(id) }

// operationOf is the identifier of a request's operation.
func (a *around) operationOf(r engine.Request) engine.OperationID {
	if given := cmp.Or(r.Operation, r.Proposed); given != "" {
		return given
	}
	return engine.OperationID(a.NewID())
}

func (a *around) event(kind, subject string, data map[string]any) engine.Event {
	return report.Event(kind, subject, a.Now(), data)
}

// notHere refuses a request for something that this site has no part in: whoever has passed it on asks the others.
func (a *around) notHere(r engine.Request) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated",
		Detail: fmt.Sprintf("%s has no part in %s %q; nothing has happened here", a.name(a.self), r.Kind.Name, r.Target)}
}

// shown reads what the application shows of an object, with the agent's own account.
func (a *around) shown(ctx context.Context, k *engine.Kind, at engine.LocalID) (engine.Reply, error) {
	return a.shownTo(ctx, k, at, nil)
}

// shownTo is shown for a caller's credentials. The reply is as clients see it.
func (a *around) shownTo(ctx context.Context, k *engine.Kind, at engine.LocalID, as *engine.Credentials) (engine.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, a.CallTimeout)
	defer cancel()
	reply, err := a.App.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: at,
		Header: map[string]string{"Accept": "application/json"}, Credentials: as})
	if err != nil {
		return reply, err
	}
	return a.App.Present(ctx, k, reply)
}

// hasAlone reports whether the application of this site has what a request names, which is no resource here. Who reads with the scope of the
// request is shown that.
func (a *around) hasAlone(ctx context.Context, r engine.Request) bool {
	if r.Target == "" {
		return false
	}
	shown, err := a.shownTo(ctx, r.Kind, a.Site.Here(ctx, r.Kind, r.Target), r.Credentials)
	return err == nil && shown.Status == http.StatusOK
}

// inMeta returns the body of a request with this site's own identifiers replaced by meta-identifiers, where whoever has read it
// from the client has left any: that is how it travels.
func (a *around) inMeta(ctx context.Context, r engine.Request) []byte {
	if len(r.Body) == 0 {
		return r.Body
	}
	p, err := a.App.Present(ctx, r.Kind, engine.Reply{Status: http.StatusOK, Body: r.Body, Within: r.Within})
	if err != nil {
		return r.Body
	}
	return p.Body
}

// presented turns what the application has answered into what the client gets; within is the container of what it represents.
func (a *around) presented(ctx context.Context, k *engine.Kind, within string, g replica.Given) engine.Answer {
	answer := g.Answer
	if !g.Presented && k != nil {
		p, err := a.App.Present(ctx, k, engine.Reply{Status: answer.Status, Header: answer.Header, Body: answer.Body, Within: within})
		if err != nil { // it has happened; its answer is passed on as it is
			a.Log.Warn("answer not translated", "operation", string(answer.Operation), "resource", string(answer.Resource), "err", err)
		} else {
			answer.Status, answer.Header, answer.Body = p.Status, p.Header, p.Body
		}
	}
	if g.Finish != nil {
		answer = g.Finish(answer)
	}
	return answer
}

// dropBlob removes a blob that nothing here needs any more.
func (a *around) dropBlob(ctx context.Context, h engine.BlobHash) {
	err := a.Blobs.Drop(h, func() (bool, error) { return a.Store.NeedsBlob(ctx, h) })
	if err != nil { // it goes with the next start
		a.Log.Error("drop a body that nothing needs", "blob", string(h), "err", err)
	}
}

// others lists the other sites that have a resource and stay.
func (a *around) others(row engine.ResourceRow) []engine.SiteID {
	var ids []engine.SiteID
	for id, st := range row.Sites {
		if id != a.self && st.State != engine.StateLeaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// found tells that there is no such thing from that it could not be looked up.
func found(err error) (bool, error) {
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
