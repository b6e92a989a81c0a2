package gather

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// ReadAgreed answers a read with what as many sites as the scope asks for agree on: all of them are asked at once, and their
// answers compared without identifiers and ignored fields.
func (h *Lists) ReadAgreed(q *request.Request) {
	need := q.Agreement.Of(len(q.Sites))
	if !h.enough(q, need) {
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), h.Limits.List)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel()
	answers := make(chan *passage.Trial, len(q.Sites))
	for _, id := range q.Sites {
		try := *q
		try.Choice, try.Request = request.Choice{Sites: []engine.SiteID{id}}, q.WithContext(ctx)
		t := passage.NewTrial(q.W, func(*passage.Trial) bool { return false })
		t.Limit = int(h.Limits.Reply)
		try.W = t
		asked.Go(func() {
			if broken := passage.Guarded(func() { h.Run(&try) }); broken != nil {
				t.Cut = true
			}
			answers <- t
		})
	}
	said := map[string]int{}
	answered, long := 0, false
	for range q.Sites {
		t := <-answers
		if long = long || t.Cut; t.Tells() < passage.TellsAbsent {
			continue
		}
		answered++
		form := h.compared(q, t)
		if said[form]++; said[form] == need {
			t.Replay()
			return
		}
	}
	switch {
	case long:
		h.Refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"an answer is over %d bytes, too long to be compared\nhelp: leave out %s, or read from one site", h.Limits.Reply, q.Agreement)
	case answered >= need:
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable",
			"%d of %d sites have to agree on the answer, and they do not: what was changed may still be on its way; try again", need, len(q.Sites))
	default:
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to agree on the answer, and %d gave one; try again later", need, len(q.Sites), answered)
	}
}

// enough refuses a read that fewer sites can answer than have to agree.
func (h *Lists) enough(q *request.Request, need int) bool {
	reachable := h.Nearest(q.Sites)
	have := len(reachable)
	for _, id := range q.Sites {
		if id == h.Membership.Self() {
			have++
		}
	}
	if have < need {
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to agree on the answer, and %d can be reached now; try again later",
			need, len(q.Sites), have)
	}
	return have >= need
}

// compared is what two sites must say alike: the status; of what was found also the body.
func (h *Lists) compared(q *request.Request, t *passage.Trial) string {
	status := strconv.Itoa(t.Status)
	if t.Status >= 300 {
		return status
	}
	if q.Match.Kind != nil && !q.Match.Below {
		if form, ok := tree.Comparable(q.Match.Kind, t.Held.Bytes()); ok {
			return status + string(form)
		}
	}
	return status + t.Held.String()
}
