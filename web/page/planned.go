package page

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

const (
	plannedShown = 20 // of how many decisions it is looked up what they would do
	plannedWidth = 8  // how many of them at once
)

// planned is what one answer to many decisions would do.
type planned struct {
	Action, Site string // Site is the one that is kept
	IDs          []string
	Items        []plannedItem
	Wrong        []string
}

// plannedItem is what it would do about one of them.
type plannedItem struct {
	Conflict shape.Conflict
	Changes  []siteChange
	Why      string // why that cannot be told
}

// siteChange is what happens at one site: to fields, or else in words.
type siteChange struct {
	Site, Says string
	Fields     []fieldChange
}

type fieldChange struct{ Path, Is, Becomes string }

// plan shows what an answer to all that were chosen would do, site by site, before anything happens.
func (p *Page) plan(c echo.Context) error {
	ctx := c.Request().Context()
	m := planned{IDs: c.Request().PostForm["id"]}
	m.Action, m.Site, _ = strings.Cut(c.FormValue("action"), " ")
	if m.Action == string(engine.ActionKeep) && m.Site == "" {
		m.Site = c.FormValue("keep")
	}
	if len(m.IDs) == 0 {
		return p.showDecisions(c, http.StatusBadRequest, []string{"nothing was chosen: nothing has happened"}, 0)
	}
	m.IDs = m.IDs[:min(len(m.IDs), decisionsShown)]
	m.Items = make([]plannedItem, min(len(m.IDs), plannedShown))
	var g errgroup.Group
	g.SetLimit(plannedWidth)
	for i := range m.Items {
		g.Go(func() (err error) {
			m.Items[i], err = p.planOne(ctx, m, m.IDs[i], c.Request().RemoteAddr)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return p.Fail(c, err)
	}
	m.Items = slices.DeleteFunc(m.Items, func(i plannedItem) bool { return i.Conflict.ID == "" }) // decided meanwhile
	f := p.frame(c, "Before it is done", "conflicts", "")
	return render(c, http.StatusOK, plannedView(f, m))
}

// planOne finds out what an answer would do about one conflict; the zero value: it waits for nobody any more.
func (p *Page) planOne(ctx context.Context, m planned, id, remote string) (plannedItem, error) {
	d, err := p.api.Conflict(ctx, id, p.api.Mesh.Self(), "")
	if r, told := refusalOf(err); err != nil && told && r.Status == http.StatusNotFound {
		return plannedItem{}, nil
	} else if err != nil {
		return plannedItem{}, err
	}
	item := plannedItem{Conflict: d.Conflict}
	switch {
	case m.Action != string(engine.ActionKeep):
		item.Changes = []siteChange{answered(d, m.Action)}
	case d.Holder != "":
		for _, site := range sidesOf(d.Conflict) {
			if site != m.Site {
				item.Changes = []siteChange{{Site: site, Says: "its object of that name is deleted"}}
			}
		}
	default:
		sides, err := p.api.ConflictSides(ctx, id, http.Header{}, remote)
		if r, told := refusalOf(err); err != nil && told {
			item.Why = r.Detail
		} else if err != nil {
			return item, err
		}
		item.Changes = kept(sides, m.Site)
		if v, asked := sides.Sites[m.Site]; asked && v.Error != "" {
			item.Why = m.Site + " does not show it: " + v.Error
		}
	}
	return item, nil
}

// answered is what happens at the site of a conflict.
func answered(d api.ConflictDetail, action string) siteChange {
	c := siteChange{Site: d.Site, Says: d.Conflict.Choice(action).Follows}
	if action == string(engine.ActionRetry) {
		for _, f := range d.Differences {
			c.Fields = append(c.Fields, fieldChange{f.Path, valueOr(f.Here), valueOr(f.Wanted)})
		}
	}
	return c
}

// valueOr is a value, or that there is none.
func valueOr(v json.RawMessage) string {
	if v == nil {
		return "absent"
	}
	return string(v)
}

// kept is what changes at each other site when one is kept.
func kept(sides shape.Comparison, site string) (all []siteChange) {
	value := func(d shape.Difference, site string) string {
		if v, there := d.Values[site]; there {
			return compact(v)
		}
		return "absent"
	}
	for _, other := range slices.Sorted(maps.Keys(sides.Sites)) {
		c := siteChange{Site: other}
		if other == site || sides.Sites[other].Error != "" {
			if other != site {
				all = append(all, siteChange{Site: other, Says: "does not answer now; it changes when it does"})
			}
			continue
		}
		for _, d := range sides.Differences {
			if is, becomes := value(d, other), value(d, site); is != becomes {
				c.Fields = append(c.Fields, fieldChange{d.Path, is, becomes})
			}
		}
		if len(c.Fields) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Headline says what it comes to, in one sentence.
func (m planned) Headline() string {
	if len(m.Items) == 0 {
		return "None of them waits for a decision any more."
	}
	if m.Action != string(engine.ActionKeep) {
		return m.Items[0].Conflict.Choice(m.Action).Follows
	}
	sites, values := map[string]bool{}, map[string]bool{}
	for _, i := range m.Items {
		for _, c := range i.Changes {
			sites[c.Site] = true
			for _, f := range c.Fields {
				values[f.Becomes] = true
			}
		}
	}
	changes := fmt.Sprintf("%d sites change", len(sites))
	switch len(sites) {
	case 0:
		changes = "nobody changes"
	case 1:
		changes = slices.Collect(maps.Keys(sites))[0] + " changes"
	}
	if len(values) == 1 && !values[`""`] { // all get one value, and it says something
		return fmt.Sprintf("Everyone goes back to %s: %s.", slices.Collect(maps.Keys(values))[0], changes)
	}
	return fmt.Sprintf("Everyone shows what %s shows: %s.", m.Site, changes)
}

// Answer is the action as the form of the inbox says it.
func (m planned) Answer() string { return strings.TrimSpace(m.Action + " " + m.Site) }

// Button is what is pressed to do it.
func (m planned) Button() string {
	if len(m.IDs) == 1 {
		return "Do it"
	}
	return fmt.Sprintf("Do it for all %d", len(m.IDs))
}
