package intercept

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
)

// afterWait is how long a request waits for what it is to come after, unless its client says so (Prefer: wait).
const afterWait = 10 * time.Second

// comesAfter has a request wait for the writes that its client has seen answered, as far as this site has part in them: what it is answered from
// then has them, and what it changes comes after them. Another site that the request goes on to waits for its own. It returns false when it
// has refused the request.
func (h *Handler) comesAfter(q *request.Request) bool {
	values := q.Header.Values(engine.HeaderAfter)
	if len(values) == 0 {
		return true
	}
	var err error
	if q.After, err = engine.ParseAfters(values); err != nil {
		h.Refuse(q, http.StatusBadRequest, "after", "Skerry-After is not what an answer to a write has said: %v", err)
		return false
	}
	ctx, cancel := context.WithTimeout(q.Context(), cmp.Or(wait(q.Header), afterWait))
	defer cancel()
	var missing []string
	var refusal *engine.Refusal
	for _, a := range q.After {
		var behind *engine.Refusal
		switch err := h.Site.Reached(ctx, a); {
		case errors.As(err, &behind):
			missing, refusal = append(missing, a.String()), cmp.Or(refusal, behind)
		case err != nil:
			h.RefuseError(q, err)
			return false
		}
	}
	if refusal == nil {
		return true
	}
	h.Answered(q)
	q.W.Header().Set("Retry-After", "1")
	problem.Write(q.W, refusal.Status, refusal.Type, refusal.Detail, map[string]any{"missing": missing})
	return false
}
