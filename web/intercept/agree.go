package intercept

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// readAgreed answers a read with what as many sites as the scope asks for agree on: all of them are asked at once, and their
// answers compared without identifiers and ignored fields.
func (h *lists) readAgreed(q *request) {
	need := q.agreement.Of(len(q.sites))
	if !h.enough(q, need) {
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), h.Limits.List)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel()
	answers := make(chan *trial, len(q.sites))
	for _, id := range q.sites {
		try := *q
		try.choice, try.Request = choice{sites: []engine.SiteID{id}}, q.WithContext(ctx)
		t := newTrial(q.w, func(*trial) bool { return false })
		t.limit = int(h.Limits.Reply)
		try.w = t
		asked.Go(func() {
			if broken := guarded(func() { h.run(&try) }); broken != nil {
				t.cut = true
			}
			answers <- t
		})
	}
	said := map[string]int{}
	answered, long := 0, false
	for range q.sites {
		t := <-answers
		if long = long || t.cut; t.tells() < tellsAbsent {
			continue
		}
		answered++
		form := h.compared(q, t)
		if said[form]++; said[form] == need {
			t.replay()
			return
		}
	}
	switch {
	case long:
		h.refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"an answer is over %d bytes, too long to be compared\nhelp: leave out %s, or read from one site", h.Limits.Reply, q.agreement)
	case answered >= need:
		h.refuse(q, http.StatusServiceUnavailable, "unreachable",
			"%d of %d sites have to agree on the answer, and they do not: what was changed may still be on its way; try again", need, len(q.sites))
	default:
		h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to agree on the answer, and %d gave one; try again later", need, len(q.sites), answered)
	}
}

// enough refuses a read that fewer sites can answer than have to agree.
func (h *lists) enough(q *request, need int) bool {
	reachable := h.nearest(q.sites)
	have := len(reachable)
	for _, id := range q.sites {
		if id == h.Membership.Self() {
			have++
		}
	}
	if have < need {
		h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%d of %d sites have to agree on the answer, and %d can be reached now; try again later",
			need, len(q.sites), have)
	}
	return have >= need
}

// compared is what two sites must say alike: the status; of what was found also the body.
func (h *lists) compared(q *request, t *trial) string {
	status := strconv.Itoa(t.status)
	if t.status >= 300 {
		return status
	}
	if q.match.Kind != nil && !q.match.Below {
		if form, ok := tree.Comparable(q.match.Kind, t.held.Bytes()); ok {
			return status + string(form)
		}
	}
	return status + t.held.String()
}
