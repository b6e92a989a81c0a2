package page

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// sitesNamed is how many sites a sentence names at most.
const sitesNamed = 5

const (
	// decisionsShown is how many decisions the inbox shows, the newest, and how many may be taken at once.
	decisionsShown = 500
	// causeLeast is how many of each cause it shows in any case.
	causeLeast = 20
)

// cause is what several decisions have in common, as the inbox shows it.
type cause struct{ api.Cause }

// Reason is why, where that is the same for all; empty where each has its own.
func (g cause) Reason() string {
	for _, c := range g.Items[1:] {
		if c.Reason != g.Items[0].Reason {
			return ""
		}
	}
	return g.Items[0].Reason
}

// causeShown is how many decisions of a cause stand open: of more, the others are folded, so that the next cause is on the screen.
const causeShown = 8

// Split parts the decisions of a cause into those that stand open and those that are folded. The one that is looked at stands open with those
// before it.
func (g cause) Split(chosen *conflictModel) (first, more []shape.Conflict) {
	n := causeShown
	if len(g.Items) <= n+1 { // one alone is not folded
		n = len(g.Items)
	}
	if chosen != nil {
		n = max(n, 1+slices.IndexFunc(g.Items, func(c shape.Conflict) bool { return c.ID == chosen.ID }))
	}
	return g.Items[:n], g.Items[n:]
}

// Keeps are the sites of which any can be kept for all of them: none where they have not the same.
func (g cause) Keeps() []string {
	for _, c := range g.Items {
		if !slices.Contains(c.Actions, string(engine.ActionKeep)) || !slices.Equal(sidesOf(c), sidesOf(g.Items[0])) {
			return nil
		}
	}
	return sidesOf(g.Items[0])
}

// keepButtons is how many sites that can be kept have a button each: of more, one is chosen from a list.
const keepButtons = 2

// keepFirst is the site that is offered first: one that the trouble is not at, which most likely shows what is wanted.
func (g cause) keepFirst(sites []string) string {
	for _, site := range sites {
		if site != g.Site {
			return site
		}
	}
	return g.Site
}

// sidesOf lists the sites of a conflict that can be kept, sorted.
func sidesOf(c shape.Conflict) []string {
	sides := slices.Clone(c.Sites)
	if c.Holder != "" {
		sides = []string{c.Holder, c.Site}
	}
	slices.Sort(sides)
	return sides
}

// Actions are those that every one of them takes, what is most likely wanted first. What needs to be told more than the action is decided one by
// one.
func (g cause) Actions() (all []string) {
	for _, action := range g.Items[0].Actions {
		if action == string(engine.ActionKeep) || action == string(engine.ActionAdopt) {
			continue
		}
		if !slices.ContainsFunc(g.Items, func(c shape.Conflict) bool { return !slices.Contains(c.Actions, action) }) {
			all = append(all, action)
		}
	}
	return all
}

// keepWords says what comes of keeping a site, for all of a cause.
func keepWords(g cause, site string) string {
	if g.Items[0].Holder != "" {
		return site + " keeps the names"
	}
	return "Everyone shows what " + site + " shows"
}

// inboxModel is what the inbox shows.
type inboxModel struct {
	Causes []cause
	Chosen *conflictModel    // nil: none is looked at
	Sides  *shape.Comparison // what the sites of the chosen one show; nil: NotSides says why
	// NotSides says why the sides are not told.
	NotSides string
	// Unknown says why what was to be looked at is not shown; empty: it is, or nothing was.
	Unknown string
	// Others are sites that have told that something is wrong there of which this one does not know more.
	Others []otherSite
	Wrong  []string // what was refused of a decision about several
	Done   int      // how many of them were decided
	Held   []holding
	Failed []failing
	// Undo is what may be taken back of what was decided just now.
	Undo []shape.Conflict
}

// otherSite is a site at which decisions wait, and the address of its own inbox; empty: it has not told that.
type otherSite struct {
	api.Worry
	Inbox string
}

// holding is what a site holds of deletions, with the newest of them.
type holding struct {
	shape.Holding
	Items []shape.Operation
}

// withDeletions adds to what sites hold the deletions that are in a list.
func withDeletions(all []shape.Holding, list []shape.Operation) []holding {
	var held []holding
	for _, h := range all {
		at := holding{Holding: h}
		for _, o := range list {
			if o.Origin == h.Origin && o.Sites[h.Site].State == string(engine.StateHeld) {
				at.Items = append(at.Items, o)
			}
		}
		held = append(held, at)
	}
	return held
}

// failing is a service of a site that does not get on.
type failing struct {
	Site, Service string
	shape.Queue
}

// Headline says what has happened in one sentence.
func (q failing) Headline(now time.Time) string {
	words := map[string]string{"failing": "does not answer as it should", "paused": "does not let the agent in"}
	text := fmt.Sprintf("The service %s of %s %s", q.Service, q.Site, cmp.Or(words[q.State], "is "+q.State))
	if q.Since != nil {
		text += ", for " + span(now.Sub(*q.Since).Seconds())
	}
	return text
}

// failings lists the services of all sites that do not get on.
func failings(sites []shape.Site) (all []failing) {
	for _, s := range sites {
		for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
			if q := s.Queues[name]; q.State != string(engine.QueueRunning) {
				all = append(all, failing{s.Name, name, q})
			}
		}
	}
	return all
}

// decisions is the inbox: what waits for a person, by cause, and beside it what one of them is about.
func (p *Page) decisions(c echo.Context) error { return p.showDecisions(c, http.StatusOK, nil, 0) }

func (p *Page) showDecisions(c echo.Context, status int, wrong []string, done int) error {
	ctx := c.Request().Context()
	list, err := p.api.Decisions(ctx, decisionsShown, causeLeast)
	if err != nil {
		return p.Fail(c, err)
	}
	summary, sites, err := p.api.Overview(ctx)
	if err != nil {
		return p.Fail(c, err)
	}
	m := inboxModel{Wrong: wrong, Done: done}
	for _, c := range list {
		m.Causes = append(m.Causes, cause{c})
	}
	held, err := p.api.Operations(ctx, api.OperationQuery{State: string(engine.StateHeld), Limit: decisionsShown})
	if err != nil {
		return p.Fail(c, err)
	}
	m.Held, m.Failed = withDeletions(summary.Held, held.Items), failings(sites)
	for _, w := range summary.Worries {
		if w.About == "site" && w.State == "decide" {
			other := otherSite{Worry: w}
			if i := slices.IndexFunc(sites, func(s shape.Site) bool { return s.Name == w.ID && s.State != nil }); i >= 0 {
				other.Inbox = viewAt(sites[i].State.Dashboard, "/decisions")
			}
			m.Others = append(m.Others, other)
		}
	}
	for _, id := range c.QueryParams()["decided"] {
		d, err := p.api.Conflict(ctx, id, p.api.Mesh.Self(), "")
		if _, told := refusalOf(err); err != nil && !told {
			return p.Fail(c, err)
		}
		if err == nil && undoes(d.Conflict) != "" {
			m.Undo = append(m.Undo, d.Conflict)
		}
	}
	if id := c.QueryParam("at"); id != "" {
		if m.Chosen, err = p.conflictModelOf(ctx, id, c.QueryParam("local_id")); err != nil {
			r, told := refusalOf(err)
			if !told || r.Status != http.StatusNotFound {
				return p.Fail(c, err)
			}
			m.Unknown = r.Detail
		}
	}
	if m.Chosen != nil {
		sides, err := p.api.ConflictSides(ctx, m.Chosen.ID, http.Header{}, c.Request().RemoteAddr)
		if r, told := refusalOf(err); err != nil && !told {
			return p.Fail(c, err)
		} else if err != nil {
			m.NotSides = r.Detail
		} else {
			m.Sides = &sides
		}
	}
	f := p.frame(c, "Decisions", "conflicts", "/api/v1/conflicts")
	if m.Chosen != nil || status != http.StatusOK {
		f.Reload = "" // asking the applications again with each event would be a burden, and what is being written must stay
	}
	return render(c, status, decisionsView(f, m))
}

// decideAll decides the same about all that were chosen, one by one: what one site refuses holds up no other.
func (p *Page) decideAll(c echo.Context) error {
	ctx := c.Request().Context()
	ids, action := c.Request().PostForm["id"], c.FormValue("action")
	action, site, _ := strings.Cut(action, " ") // "keep SITE"
	var wrong []string
	for _, id := range ids[:min(len(ids), decisionsShown)] {
		if _, err := p.api.Resolve(ctx, id, p.api.Mesh.Self(), api.ResolveRequest{Action: action, Site: site}, ""); err != nil {
			r, told := refusalOf(err)
			if !told || ctx.Err() != nil {
				return p.Fail(c, err)
			}
			wrong = append(wrong, r.Detail)
		}
	}
	if len(ids) == 0 {
		wrong = append(wrong, "nothing was chosen: nothing has happened")
	}
	if len(wrong) > 0 {
		return p.showDecisions(c, http.StatusConflict, wrong, len(ids)-len(wrong))
	}
	return c.Redirect(http.StatusSeeOther, decidedURL(ids...))
}

// undoable is how many decisions are offered to be taken back at once.
const undoable = 20

// decidedURL is the inbox, which offers to take back what was just decided.
func decidedURL(ids ...string) string {
	if len(ids) == 0 || len(ids) > undoable {
		return "/decisions"
	}
	return "/decisions?" + url.Values{"decided": ids}.Encode()
}

// undoes is the action that takes back what was decided about a conflict; empty: none does.
func undoes(c shape.Conflict) string {
	if c.Accepted == nil {
		return ""
	}
	inverse := map[string]engine.Action{string(engine.ActionDismiss): engine.ActionReopen, string(engine.ActionDrop): engine.ActionRetry}[c.Accepted.Action]
	if slices.Contains(c.Actions, string(inverse)) {
		return string(inverse)
	}
	return ""
}

// conflictModelOf finds a conflict and what a person needs to decide about it.
func (p *Page) conflictModelOf(ctx context.Context, id, local string) (*conflictModel, error) {
	d, err := p.api.Conflict(ctx, id, p.api.Mesh.Self(), local)
	if err != nil {
		return nil, err
	}
	m := &conflictModel{ConflictDetail: d, Local: local}
	m.AsksLocal = slices.Contains(d.Actions, string(engine.ActionAdopt)) && !p.natural(d.Service, d.Kind)
	m.Holders = sidesOf(d.Conflict)
	if d.Resource != "" {
		r, err := p.api.ResourceDetail(ctx, api.ResourceRef{ID: d.Resource, Service: d.Service, Kind: d.Kind})
		if refusal, told := refusalOf(err); err != nil && (!told || refusal.Status != http.StatusNotFound) {
			return nil, err
		}
		m.Lost = r.Superseded
	}
	return m, nil
}

// side is one site, or several that show the same, that can be kept.
type side struct {
	Sites   []string
	Follows string
	Likely  bool
}

// keeping lists what can be kept, and what that does to the other sites. What most sites show is likely meant; of two names nobody can tell.
func keeping(m *conflictModel, sides *shape.Comparison) []side {
	if m.Holder != "" || sides == nil {
		var all []side
		for _, site := range m.Holders {
			c := side{Sites: []string{site}, Follows: "Everyone shows what " + site + " shows"}
			if m.Holder != "" {
				other := m.Holders[0]
				if other == site {
					other = m.Holders[1]
				}
				c.Follows = fmt.Sprintf("%s keeps the name, and the object of %s is deleted", site, other)
				if m.Inside != nil {
					c.Follows = fmt.Sprintf("%s keeps its %s %s, and that of %s is deleted", site, m.Inside.Kind, m.Inside.Name, other)
				}
			}
			all = append(all, c)
		}
		return all
	}
	var all []side
	for _, sites := range alike(*sides) {
		sites = slices.DeleteFunc(sites, func(site string) bool { return sides.Sites[site].Error != "" || !slices.Contains(m.Holders, site) })
		if len(sites) > 0 {
			all = append(all, side{Sites: sites})
		}
	}
	most := 0
	for i, c := range all {
		if len(c.Sites) > len(all[most].Sites) {
			most = i
		}
		var change, silent []string
		for _, site := range m.Holders {
			switch {
			case slices.Contains(c.Sites, site):
			case sides.Sites[site].Error != "":
				silent = append(silent, site)
			default:
				change = append(change, site)
			}
		}
		all[i].Follows = fmt.Sprintf("Everyone shows what %s, and %s", these(c.Sites, "shows", "show"), these(change, "changes", "change"))
		if len(silent) > 0 {
			all[i].Follows += "; " + these(silent, "does not answer now, and changes when it does", "do not answer now, and change when they do")
		}
	}
	if len(all) > 0 {
		all[most].Likely = len(all[most].Sites) > 1
	}
	return all
}

// alike groups the sites of a comparison by what they show of the fields that differ, those that do not answer last.
func alike(c shape.Comparison) (groups [][]string) {
	at := map[string]int{}
	sites := siteNames(c.Sites)
	slices.SortStableFunc(sites, func(a, b string) int {
		return cmp.Compare(min(len(c.Sites[a].Error), 1), min(len(c.Sites[b].Error), 1))
	})
	for _, site := range sites {
		var shows strings.Builder
		if c.Sites[site].Error != "" {
			shows.WriteString("nothing")
		}
		for _, d := range c.Differences {
			v, there := d.Values[site]
			fmt.Fprintf(&shows, "%s=%t%s;", d.Path, there, compact(v))
		}
		i, known := at[shows.String()]
		if !known {
			i = len(groups)
			at[shows.String()], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], site)
	}
	return groups
}

// these are sites, and what they do: by name where they are few.
func these(sites []string, one, more string) string {
	switch n := len(sites); {
	case n == 0:
		return "nobody " + one
	case n == 1:
		return sites[0] + " " + one
	case n > sitesNamed:
		return fmt.Sprintf("%s and %d others %s", strings.Join(sites[:sitesNamed-1], ", "), n-sitesNamed+1, more)
	default:
		return fmt.Sprintf("%s and %s %s", strings.Join(sites[:n-1], ", "), sites[n-1], more)
	}
}

// capital makes a sentence begin as one.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
