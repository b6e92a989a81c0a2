package intercept

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// choose runs a request whose scope has several alternatives. A read goes to the next one when one fails; a write only while it is
// certain that nothing has happened.
func (h *Handler) choose(q *request.Request) {
	if glue.Safe(q.Method) {
		h.chooseRead(q)
		return
	}
	q.Choices = h.byDistance(q.Choices)
	m := q.Match
	replicated, err := h.replicated(q, &m)
	switch {
	case err != nil:
		h.RefuseError(q, err)
	case replicated: // the scope does not say where its replicas are
		q.Choice, q.Choices = q.Choices[0], nil
		h.run(q)
	case !q.Known || !m.Canonical || m.Verb == glue.VerbOther:
		h.chooseStream(q)
	default:
		h.write(q) // the engine tries the alternatives
	}
}

// alternatives returns the choices as the engine takes them.
func alternatives(q *request.Request) []engine.Alternative {
	var all []engine.Alternative
	for _, c := range q.Choices {
		all = append(all, engine.Alternative{Placement: c.Sites, Parts: c.Parts, Agreement: c.Agreement, ExactlyOne: c.ExactlyOne})
	}
	return all
}

// groups splits choices into those that are equals.
func groups(choices []request.Choice) [][]request.Choice {
	var all [][]request.Choice
	for _, c := range choices {
		if c.Either && len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], c)
			continue
		}
		all = append(all, []request.Choice{c})
	}
	return all
}

// byDistance puts equals in the order of their distance, those that cannot be reached last.
func (h *Handler) byDistance(choices []request.Choice) []request.Choice {
	var sorted []request.Choice
	for _, equals := range groups(choices) {
		equals = slices.Clone(equals)
		slices.SortStableFunc(equals, func(a, b request.Choice) int { return int(h.distance(a.Sites) - h.distance(b.Sites)) })
		sorted = append(sorted, equals...)
	}
	return sorted
}

// away is the distance of what cannot be reached.
const away = 24 * time.Hour

// distance is the round trip to the nearest of the sites.
func (h *Handler) distance(sites []engine.SiteID) time.Duration {
	if slices.Contains(sites, h.Membership.Self()) {
		return 0
	}
	status := h.Network.Status()
	least := away
	for _, id := range sites {
		switch st := status[id]; {
		case !st.Reachable:
		case st.RTT == 0:
			least = min(least, time.Hour) // not measured yet: after those that are
		default:
			least = min(least, st.RTT)
		}
	}
	return least
}

// chooseStream runs a write that is not held in memory at the first alternative that can be reached. It goes to the next one
// while nothing of its body has been sent.
func (h *Handler) chooseStream(q *request.Request) {
	body := &untouchedBody{Reader: q.Body}
	if q.Body != nil && q.Body != http.NoBody {
		q.Body = body
	}
	for i, c := range q.Choices {
		last := i == len(q.Choices)-1
		if !last && h.distance(c.Sites) == away {
			continue
		}
		try := *q
		try.Choice, try.Choices = c, nil
		if last {
			h.run(&try)
			return
		}
		t := passage.NewTrial(q.W, func(*passage.Trial) bool { return !try.Certain || body.touched })
		try.W = t
		if h.run(&try); t.Passes || t.Status == 0 {
			return
		}
	}
}

// untouchedBody tells whether anything has been read of a body.
type untouchedBody struct {
	io.Reader
	touched bool
}

// Close does nothing: whoever gives up a request closes its body, and the next one still needs it. The server closes it.
func (b *untouchedBody) Close() error { return nil }

func (b *untouchedBody) Read(p []byte) (int, error) {
	b.touched = true
	return b.Reader.Read(p)
}

// chooseRead answers a read from the first alternative that gives a good answer; equals are asked at once. When none does, the client
// gets the failure that tells most.
func (h *Handler) chooseRead(q *request.Request) {
	body, whole, err := q.ReadInline(engine.MaxInlineBody)
	switch {
	case err != nil:
		h.RefuseBody(q, err)
		return
	case !whole: // it is sent once
		q.Choice, q.Choices = h.byDistance(q.Choices)[0], nil
		h.run(q)
		return
	}
	rounds := groups(q.Choices)
	if passage.Upgrades(q.Request) { // that opens something, and is done once
		rounds = nil
		for _, c := range h.byDistance(q.Choices) {
			rounds = append(rounds, []request.Choice{c})
		}
	}
	var failed *passage.Trial
	for i, equals := range rounds {
		t := h.askEquals(q, equals, body, failed, i == len(rounds)-1)
		if t.Passes {
			return
		}
		if failed == nil || t.Tells() >= failed.Tells() {
			failed = t
		}
	}
	if !failed.Replay() {
		h.Refuse(q, http.StatusBadGateway, "upstream", "none of the sites of the scope gave an answer that could be passed on")
	}
}

// askEquals asks alternatives at once. The first good answer goes to the client and the others are given up. Before is what failed
// until now; the final round has nothing to wait for.
func (h *Handler) askEquals(q *request.Request, equals []request.Choice, body []byte, before *passage.Trial, final bool) *passage.Trial {
	var mu sync.Mutex // guards won
	var won *passage.Trial
	var broken any
	trials := make([]*passage.Trial, len(equals))
	contexts, cancels := make([]context.Context, len(equals)), make([]context.CancelFunc, len(equals))
	for i := range equals {
		contexts[i], cancels[i] = context.WithCancel(q.Context())
		defer cancels[i]()
	}
	var wg sync.WaitGroup
	for i := range equals {
		try := *q
		try.Choice, try.Choices, try.Request = equals[i], nil, q.WithContext(contexts[i])
		if len(body) > 0 {
			try.SetBody(body)
		}
		var silent *time.Timer
		if !final {
			silent = time.AfterFunc(h.Limits.Silence, cancels[i])
			defer silent.Stop()
		}
		t := passage.NewTrial(q.W, func(t *passage.Trial) bool {
			last := final && len(equals) == 1 && (before == nil || t.Tells() >= before.Tells())
			if !last && !t.Good() && (len(equals) > 1 || t.Tells() < passage.TellsAbsent) {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			if won != nil {
				return false
			}
			if won = t; silent != nil {
				silent.Stop()
			}
			for j, cancel := range cancels {
				if j != i {
					cancel()
				}
			}
			return true
		})
		trials[i], try.W = t, t
		wg.Go(func() {
			if p := passage.Guarded(func() { h.run(&try) }); p != nil && t.Passes {
				mu.Lock()
				broken = p
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if broken != nil { // the answer broke off on its way to the client
		panic(broken)
	}
	if won != nil {
		return won
	}
	// That one does not have it tells nothing of those that have not answered.
	var best, absent *passage.Trial
	for _, t := range trials {
		switch {
		case t.Tells() == passage.TellsAbsent:
			absent = cmp.Or(absent, t)
		case best == nil || t.Tells() > best.Tells():
			best = t
		}
	}
	if best == nil { // all have answered, and none has it
		absent.Replay()
		return absent
	}
	return best
}
