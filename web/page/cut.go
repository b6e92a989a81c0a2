package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

func (p *Page) past(c echo.Context) error {
	ctx := c.Request().Context()
	h, err := p.api.History(ctx, c.QueryParam("span"))
	if err != nil {
		return p.Fail(c, err)
	}
	cuts, err := p.api.Cuts(ctx)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "History", "history", "/api/v1/history?span="+h.Span)
	return render(c, 200, pastView(f, pastOf(h), cuts[:min(len(cuts), 200)]))
}

func (p *Page) cut(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	r, err := p.api.Cut(c.Request().Context(), id)
	if err != nil {
		return p.Fail(c, err)
	}
	title := "Cut off from " + shape.List(r.AwayNames())
	return render(c, 200, cutView(p.frame(c, title, "history", "/api/v1"+cutURL(id)), r))
}

// recentCuts are those that go on, and one that ended within the last hour, at most three.
func recentCuts(cuts []shape.Cut, now time.Time) (list []shape.Cut) {
	ended := false
	for _, c := range cuts {
		switch {
		case len(list) == 3:
			return list
		case c.Ended == nil:
			list = append(list, c)
		case !ended && now.Sub(*c.Ended) < time.Hour:
			list, ended = append(list, c), true
		}
	}
	return list
}

func cutWord(c shape.Cut) string {
	if c.Ended == nil {
		return "unreachable"
	}
	return "reachable"
}

// cutSentence says when a cut was.
func cutSentence(c api.CutReport, now time.Time) string {
	from := "It began at " + c.Began.UTC().Format("15:04:05 UTC on 2 January 2006")
	if c.Ended == nil {
		return from + " and goes on, " + lasting(c.Cut, now) + "."
	}
	return from + " and lasted " + strings.TrimPrefix(lasting(c.Cut, now), "for ") + ", until all sites had told each other what they had missed."
}

// figure is one number of a report, and where on its page the rest of it stands.
type figure struct {
	N         int
	Words, At string
	Tone      string
}

func figures(c api.CutReport) []figure {
	list := []figure{{N: c.Ours.Operations, Words: plural(c.Ours.Operations, "operation of ours", "operations of ours")}}
	if c.Ended == nil && c.Theirs.Operations == 0 {
		return append(list, figure{Words: "known of theirs, so far", Tone: "quiet"})
	}
	list = append(list, figure{N: c.Theirs.Operations, Words: plural(c.Theirs.Operations, "operation of theirs", "operations of theirs")})
	for _, x := range []struct {
		n              int
		one, more, at  string
		tone           string
		evenWhenNobody bool
	}{
		{len(c.Overwritten), "field overwritten", "fields overwritten", "#overwritten", "warn", true},
		{len(c.Lost), "change lost to a deletion", "changes lost to a deletion", "#lost", "warn", true},
		{len(c.Deletions), "deletion ran", "deletions ran", "#deletions", "quiet", true},
		{c.Held, "deletion is held until somebody confirms it", "deletions are held until somebody confirms them", "/decisions", "warn", false},
		{clashing(c.Conflicts), "name clashes", "names clash", "#conflicts", "bad", true},
		{len(c.Conflicts) - clashing(c.Conflicts), "other thing waits for a person", "other things wait for a person", "#conflicts", "bad", false},
	} {
		if x.n > 0 {
			list = append(list, figure{x.n, plural(x.n, x.one, x.more), x.at, x.tone})
		} else if x.evenWhenNobody {
			list = append(list, figure{Words: x.more, Tone: "quiet"})
		}
	}
	return list
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// clashing counts the names that both sides gave.
func clashing(list []shape.Conflict) (n int) {
	for _, c := range list {
		switch engine.ConflictKind(c.About) {
		case engine.ConflictName, engine.ConflictRival, engine.ConflictNameTaken, engine.ConflictExists:
			n++
		}
	}
	return n
}

// typesSentence says what a side did by type, the most frequent first.
func typesSentence(s api.CutSide) string {
	types := slices.Sorted(maps.Keys(s.Types))
	slices.SortStableFunc(types, func(a, b string) int { return s.Types[b] - s.Types[a] })
	words := map[engine.Type][2]string{
		engine.TypeCreate: {"creation", "creations"}, engine.TypeReplace: {"replacement", "replacements"}, engine.TypeMerge: {"change", "changes"},
		engine.TypePatch: {"patch", "patches"}, engine.TypeAbsolute: {"upload", "uploads"}, engine.TypeAction: {"action", "actions"},
		engine.TypeDelete: {"deletion", "deletions"}, engine.TypePlace: {"change of placement", "changes of placement"},
	}
	var parts []string
	for _, t := range types {
		w, known := words[engine.Type(t)]
		if !known {
			w = [2]string{t, t}
		}
		parts = append(parts, fmt.Sprintf("%d %s", s.Types[t], plural(s.Types[t], w[0], w[1])))
	}
	return strings.Join(parts, ", ")
}

// didTo says in words what an operation does, and to what.
func didTo(o shape.Operation) string {
	what := did(o)
	if said, it := strings.CutSuffix(what, " it"); it {
		return said + " " + nameOf(o)
	}
	return what + " of " + nameOf(o)
}

func overwrittenName(o api.Overwritten) string { return cmp.Or(o.Label, shape.Short(o.Resource)) }

// lostValue is a lost value in a cell: null stands where the field had been removed.
func lostValue(v json.RawMessage) string {
	if v == nil {
		return "(removed)"
	}
	return clip(string(v), 80)
}
