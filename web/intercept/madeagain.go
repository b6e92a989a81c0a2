package intercept

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// soonAfter a deletion a create of the same name without a scope is likely to be meant for the same sites.
const soonAfter = 10 * time.Minute

// madeAgain warns of a create without a scope under a name that was deleted at several sites a moment ago: clients replace what they cannot change
// by deleting and creating it (kubectl replace --force), and it is at this site alone then. Likewise of one that comes after another that several sites
// have, such as what Helm keeps of a release when that is upgraded. It gives the scope that makes it where the other is, or was.
func (h *Handler) madeAgain(q *request.Request) {
	m := q.Match
	if m.Below || m.Type != engine.TypeCreate && m.Type != engine.TypeReplace || q.Sites != nil || !m.Kind.Natural() || !h.Site.Replicates(m.Kind) {
		return
	}
	name := m.Target
	if name == "" {
		body, whole, err := q.ReadInline(passage.MaxTranslated)
		if err != nil || !whole { // who reads on meets the same error
			return
		}
		q.SetBody(body)
		if h.Dialect != nil {
			body = h.Dialect.Naming(q.Header, body)
		}
		name = tree.ChosenName(engine.Request{Kind: m.Kind, Type: m.Type, Within: m.Within, Body: body})
	}
	row, why := h.meant(q, name)
	if why == "" {
		return
	}
	between := " & "
	if row.Collaboration == engine.Cross {
		between = " % "
	}
	sites := strings.Split(h.Names(slices.Sorted(maps.Keys(row.Sites))), ", ")
	slices.Sort(sites)
	h.warns(q, "made at "+h.Name(h.Membership.Self())+" alone: "+why+" the scope {"+string(h.Service)+": "+strings.Join(sites, between)+"}")
}

// meant finds what several sites have, or had until a moment ago, and who makes something of this name is likely to mean; why is empty where there is none.
func (h *Handler) meant(q *request.Request, name string) (row engine.ResourceRow, why string) {
	known := func(name string) bool {
		var err error
		row, err = h.Site.Known(q.Context(), q.Match.Kind, name)
		return err == nil && len(row.Sites) > 1
	}
	if known(name) && (row.State.Past() || row.GoneAt(h.Membership.Self())) && time.Since(row.UpdatedAt) <= soonAfter {
		return row, "what had this name until a moment ago was deleted at all its sites; to have it there again, create it with"
	}
	if h.Dialect == nil {
		return row, ""
	}
	if former := h.Dialect.Former(name); former != "" && known(former) && !row.State.Past() {
		return row, former + ", which it comes after, is at several; to have it there too, ask with"
	}
	return row, ""
}
