package passage

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

const (
	// hedgeSites is how many sites may work on one answer at once: the last of them is asked within a second, and a slow
	// application is not kept busy at all the sites of a large scope.
	hedgeSites = 4
)

// race gets one answer from several sites. They are asked in order: the next one when one fails or, where that is
// harmless, when it is silent. The first good answer wins and the others are given up. When connections broke and no
// site is left, one is asked once more, as soon as there is a new connection. (Dean and Barroso, The Tail at Scale, 2013, call asking
// beside a silent one hedged requests.)
//
// Run and end belong to one goroutine.
type race struct {
	p     *passage
	r     *http.Request
	asked []*attempt
	ended chan *attempt // has room for all that are asked at once
	wait  sync.WaitGroup
	// hedged says that a silent site is not waited for.
	hedged bool
}

// attempt is one site that is asked. Resp and err belong to its goroutine until that sends it to the channel.
type attempt struct {
	site   engine.SiteID
	cancel context.CancelFunc
	resp   *http.Response
	err    error
}

// repeatable reports whether a request may be sent more than once: it changes nothing, and there is no body that would
// be gone.
func repeatable(r *http.Request) bool {
	return glue.Safe(r.Method) && (r.Body == nil || r.Body == http.NoBody)
}

func newRace(p *passage, r *http.Request) *race {
	return &race{
		p: p, r: r, ended: make(chan *attempt, hedgeSites),
		hedged: len(p.sites) > 1 && (r.Method == http.MethodGet || r.Method == http.MethodHead) && !Upgrades(r),
	}
}

// Upgrades reports whether a request asks for another protocol: then it opens something, though it is a GET.
func Upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// run returns the first good answer, else what tells most about why there is none.
func (c *race) run() (*http.Response, error) {
	sites, next, running := c.p.sites, 0, 0
	again, begin, until := !Upgrades(c.r), time.Now(), time.Time{}
	timer := time.NewTimer(c.p.h.Limits.Hedge)
	defer timer.Stop()
	ask := func(site engine.SiteID) {
		c.ask(site)
		running++
		timer.Reset(c.p.h.Limits.Hedge)
	}
	ask(sites[next])
	next++
	var failed *attempt
	for running > 0 {
		var silent <-chan time.Time
		if c.hedged && next < len(sites) && running < hedgeSites {
			silent = timer.C
		}
		var a *attempt
		select {
		case <-silent:
			c.p.h.Log.Debug("another site is asked as well", "peer", sites[next], "path", c.p.path)
			ask(sites[next])
			next++
			continue
		case a = <-c.ended:
			running--
		}
		if a.good() && !(peer.Absent(a.resp) && (next < len(sites) || running > 0)) { // another site may have it
			c.giveUpAllBut(a)
			return c.take(a)
		}
		if failed == nil || a.tells() > failed.tells() {
			failed = a
		}
		switch {
		case c.r.Context().Err() != nil: // the client has gone
		case next < len(sites):
			c.p.h.Log.Debug("another site is asked", "peer", sites[next], "path", c.p.path, "err", a.err)
			ask(sites[next])
			next++
		case running > 0 || !again || failed.err == nil || !failed.broke() && time.Since(begin) >= request.Patience:
		case !until.IsZero() && a.broke(): // the new connection too
		default:
			if until.IsZero() {
				until = time.Now().Add(request.Patience)
			}
			if back := c.p.h.Await(c.r.Context(), c.p.candidates, until); len(back) > 0 {
				c.p.h.Log.Debug("a site is asked again", "peer", back[0], "path", c.p.path, "err", a.err)
				ask(back[0])
			}
		}
	}
	return c.take(failed)
}

// take hands what came of an attempt to the caller, who closes its body.
func (c *race) take(a *attempt) (*http.Response, error) {
	resp := a.resp
	a.resp, c.p.served = nil, a.site
	return resp, a.err
}

// ask sends the request to a site.
func (c *race) ask(site engine.SiteID) {
	ctx := c.r.Context()
	if c.hedged {
		ctx = untraced{ctx}
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{site: site, cancel: cancel}
	c.asked = append(c.asked, a)
	c.wait.Go(func() {
		a.resp, a.err = peer.Ask(c.p.h.Peer, peer.Addressed(c.r.WithContext(ctx), site))
		c.ended <- a
	})
}

func (c *race) giveUpAllBut(winner *attempt) {
	for _, a := range c.asked {
		if a != winner {
			a.cancel()
		}
	}
}

// end gives up what is still under way, the answer that won included, and waits for it.
func (c *race) end() {
	c.giveUpAllBut(nil)
	c.wait.Wait()
	for _, a := range c.asked {
		if a.resp != nil {
			a.resp.Body.Close()
		}
	}
}

// good reports whether an application answered.
func (a *attempt) good() bool { return a.err == nil && !peer.AgentFailed(a.resp) }

// broke reports whether the connection ended before an answer.
func (a *attempt) broke() bool { return a.err != nil && !errors.Is(a.err, engine.ErrUnreachable) }

// tells ranks failures by how much a client learns from them: what an application does not have, what another agent
// says, a connection that broke, a site that cannot be reached.
func (a *attempt) tells() int {
	switch {
	case a.good():
		return 3
	case a.err == nil:
		return 2
	case a.broke():
		return 1
	}
	return 0
}

// untraced is a context without the trace through which informational answers (1xx) get to the client at once: it
// would get those of sites that do not win.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }
