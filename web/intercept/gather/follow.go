package gather

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

const (
	// followAgain is how long to wait before a site whose application does not give a watch is asked again, connectAgain likewise where
	// nobody has answered.
	followAgain  = 2 * time.Second
	connectAgain = 500 * time.Millisecond
	// maxEvent bounds the bytes of one event; an object of Kubernetes has at most 1.5 MiB.
	maxEvent = 16 << 20
)

// followed is what is told of one site.
type followed struct {
	site int
	// One of these: it gives its events from now on; it does so no more, or could not be asked; what its application answered instead.
	opened, lost bool
	status       int
	header       http.Header
	body         []byte
	// Or an event.
	event *gatheredPart
	// Or what is there, before what happens from then on; more says that this is not all, known that the client has been told of it.
	there       *part
	more, known bool
	// Or what it shows of those items that it is the one to tell of now, and another site was before.
	shown   *part
	instead int
}

// follow tells what happens at one site from a version on, empty for what is there first, until ctx ends.
func (g *gathering) follow(ctx context.Context, i int, version string, told, events chan<- followed) {
	say := func(to chan<- followed, f followed) bool {
		f.site = i
		select {
		case to <- f:
			return true
		case <-ctx.Done():
			return false
		}
	}
	begin := g.asking.Begin || version == ""
	known := !begin && g.divides() // what the parts show is to be seen all the same
	for {
		opened, refused := false, followed{}
		for next := ""; begin || known; {
			ask, p := g.lists(), &part{site: g.order[i]}
			if !known {
				ask.at[i] = version
			}
			if err := ask.askList(ctx, p, next); err != nil {
				refused = followed{status: p.status, header: p.header, body: p.body}
				break
			}
			if !opened && !say(told, followed{opened: true}) {
				return
			}
			opened, next = true, p.gathered.Next
			if !say(events, followed{there: p, more: next != "", known: known}) {
				return
			}
			switch {
			case next != "":
			case known:
				known = false
			default:
				begin, version = false, p.gathered.Version
			}
		}
		if !begin && !known {
			var gave bool
			version, gave, refused = g.events(ctx, i, version, func(f followed) bool {
				to := events
				if f.opened {
					if opened {
						return true
					}
					to = told
				}
				return say(to, f)
			})
			opened = opened || gave
		}
		// A version that the application has not come to yet is one of another life of it.
		if refused.status == http.StatusGatewayTimeout && version != "" {
			refused.status = http.StatusGone
		}
		refused.lost = true
		if !say(told, refused) || !g.reachableAgain(ctx, i, opened, refused.status != 0) {
			return
		}
	}
}

// events passes on what happens at a site from a version on, until that ends. It returns the version that it came to, whether the site has
// given anything, and what its application answered instead.
func (g *gathering) events(ctx context.Context, i int, version string, pass func(followed) bool) (at string, opened bool, refused followed) {
	resp, err := g.open(ctx, g.order[i], g.h.Gatherer.WatchQuery(g.asking, version))
	if err != nil {
		return version, false, refused
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if !peer.AgentFailed(resp) {
			refused.status, refused.header = resp.StatusCode, resp.Header
			refused.body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what came of it
		}
		return version, false, refused
	}
	if !pass(followed{opened: true}) {
		return version, true, refused
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		var p gatheredPart
		if json.Unmarshal(lines.Bytes(), &p) != nil || p.Event == nil {
			return version, true, refused
		}
		e, err := g.h.Gatherer.TakeEvent(p.Event)
		if err != nil {
			continue
		}
		if e.Failed != 0 {
			if e.Failed == http.StatusGone { // it has said that it cannot go on
				refused.status = e.Failed
			}
			return version, true, refused
		}
		if !pass(followed{event: &p}) {
			return version, true, refused
		}
		version = e.Version
	}
	return version, true, refused
}

// reachableAgain waits until a site is to be asked again: when it can be reached, and a while later where it has given nothing. It returns
// false at the end of ctx.
func (g *gathering) reachableAgain(ctx context.Context, i int, opened, refused bool) bool {
	wait := request.LookEvery
	switch {
	case refused:
		wait = followAgain
	case !opened:
		wait = connectAgain
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return false
	}
	site := g.order[i]
	look := time.NewTicker(request.LookEvery)
	defer look.Stop()
	for site != g.h.Membership.Self() && !g.h.Network.Status()[site].Reachable {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
	}
	return true
}

// placing returns a watch of this site's application with the place of what each event is about.
func (h *Lists) placing(ctx context.Context, k *engine.Kind, body io.ReadCloser, order []engine.SiteID) io.ReadCloser {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)
	return &placed{body: body, next: func() ([]byte, error) {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		if !json.Valid(lines.Bytes()) {
			return nil, errors.New("the application's watch has a line that is no JSON")
		}
		p := gatheredPart{Event: slices.Clone(lines.Bytes())}
		if e, err := h.Gatherer.TakeEvent(p.Event); err == nil && e.Name != "" {
			where := h.placeOf
			if e.Gone {
				where = h.placeOfGone
			}
			p.Place = where(ctx, k, e.GatheredItem, order)
		}
		b, err := json.Marshal(p)
		return append(b, '\n'), err
	}}
}

// placed reads what next returns, piece by piece.
type placed struct {
	body io.Closer
	next func() ([]byte, error)
	rest []byte
}

func (p *placed) Read(b []byte) (n int, err error) {
	if len(p.rest) == 0 {
		if p.rest, err = p.next(); err != nil {
			return 0, err
		}
	}
	n = copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *placed) Close() error { return p.body.Close() }
