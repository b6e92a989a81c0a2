package intercept

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
)

// absent answers a request for something that is not replicated, and that no site of its scope has, as the application does without a scope: that
// it is not there. It reports false where a site has an object of that name: of that the refusal says more.
func (h *Handler) absent(q *request.Request, a engine.Answer, err error) bool {
	if q.From != "" || q.Match.Target == "" {
		return false
	}
	typ := absence(a, err)
	refused := typ == "not-replicated" || typ == "gone"
	if gone := err == nil && a.Status == http.StatusNotFound; (gone || refused) && h.goesAlong(q) {
		return true
	}
	if !refused {
		return false
	}
	path, ok := glue.ExpandPath(q.Match.Kind.Item, q.Match.Target)
	if !ok {
		return false
	}
	look := *q
	look.Request = q.WithContext(q.Context())
	look.Header = maps.Clone(q.Header)
	look.Method, look.Path, look.LocalPath, look.Query, look.Agreement = http.MethodGet, path, "", "", engine.AgreeOne
	look.SetBody(nil)
	for _, name := range []string{"Content-Type", "Content-Length", "If-Match", "If-None-Match", "Idempotency-Key"} {
		look.Header.Del(name)
	}
	if look.Match, look.Known = h.Router().Match(look.Method, path, look.Header); !look.Known {
		return false
	}
	t := passage.NewTrial(q.W, func(*passage.Trial) bool { return false })
	look.W = t
	h.read(&look)
	return t.Tells() == passage.TellsAbsent && t.Replay()
}

// absence is the type of a refusal, of this agent or of another one, that says that nothing is there; empty for every other answer.
func absence(a engine.Answer, err error) string {
	var r *engine.Refusal
	switch {
	case errors.As(err, &r) && r.Status == http.StatusNotFound:
		return r.Type
	case err == nil && a.Status == http.StatusNotFound && strings.HasPrefix(a.Header.Get("Content-Type"), problem.MediaType):
		var said struct{ Type string }
		_ = json.Unmarshal(a.Body, &said) // what is no problem has no type
		return strings.TrimPrefix(said.Type, problem.Prefix)
	}
	return ""
}

// goesAlong answers the deletion of what was deleted along with its container, as long as that is being deleted itself: it goes, as its client
// asks for. Who deletes a container and then what lies in it gets no other answers than past the agents.
func (h *Handler) goesAlong(q *request.Request) bool {
	k := q.Match.Kind
	if h.Dialect == nil || q.Match.Type != engine.TypeDelete || q.Match.Below || k.Within == "" {
		return false
	}
	row, err := h.Site.Known(q.Context(), k, q.Match.Target)
	if err != nil || row.Local != "" {
		return false
	}
	c := h.Client.Container(k)
	if c == nil || !h.Dialect.TakesAlong(c) {
		return false
	}
	container, err := h.Site.Known(q.Context(), c, c.FromContainer(q.Match.Within))
	if err != nil || container.State.Past() || container.Local != "" {
		return false
	}
	media, body := h.Dialect.Accepted(engine.TypeDelete, nil)
	h.Answer(q, engine.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {media}}, Body: body, Site: h.Membership.Self()})
	return true
}
