package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// eachKind is how many conflicts of a kind are shown where all kinds are.
const eachKind = 20

// conflictGroup is the conflicts of one kind.
type conflictGroup struct {
	About string
	api.ConflictList
}

// conflicts lists what waits for a person: kind after kind, the worst first, or page after page of one kind.
func (p *Page) conflicts(c echo.Context) error {
	q := c.QueryParams()
	query := api.ConflictQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), About: q.Get("about"), Site: q.Get("site"),
		Accepted: q.Get("accepted") == "true", Limit: pageSize, Cursor: q.Get("cursor"),
	}
	kinds := []engine.ConflictKind{engine.ConflictKind(query.About)}
	if query.About == "" {
		kinds, query.Limit, query.Cursor = shape.ConflictKinds, eachKind, ""
	}
	var groups []conflictGroup
	for _, k := range kinds {
		query.About = string(k)
		list, err := p.api.Conflicts(c.Request().Context(), query)
		if err != nil {
			return p.Fail(c, err)
		}
		if len(list.Items) > 0 {
			groups = append(groups, conflictGroup{string(k), list})
		}
	}
	f := p.frame(c, "Conflicts", "conflicts", with("/api/v1/conflicts", pick(q, "resource", "service", "kind", "about", "site", "accepted", "cursor")))
	services, _ := p.services()
	return render(c, http.StatusOK, conflictsView(f, groups, listModel{Query: q, Services: services, Sites: p.siteOptions()}))
}

// conflictModel is one conflict with what a person needs to decide.
type conflictModel struct {
	api.ConflictDetail
	// Holders are the sites that can be kept.
	Holders []string
	// Lost are the values of the resource that can be restored.
	Lost []shape.Superseded
	// AsksLocal says that an object can be adopted whose identifier its site alone knows; Local is that identifier.
	AsksLocal bool
	Local     string
	Wrong     string // why a decision was refused
}

// AsksWhich reports whether somebody has to say first which object is meant, before anybody can tell what adopting it would overwrite.
func (m conflictModel) AsksWhich() bool {
	return m.AsksLocal && (m.Local == "" || m.Differences == nil)
}

// Unborn reports whether the request is in no document: then nothing tells what it would overwrite, since it has made the object itself.
func (m conflictModel) Unborn() bool {
	return m.About == string(engine.ConflictUncertain) && len(m.Sites) == 0
}

// Likely reports whether one of the actions is most likely wanted. Of what is uncertain that is so where something speaks for it, and what deletes
// or gives up something is never put forward.
func (m conflictModel) Likely(i int) bool {
	switch engine.ConflictKind(m.About) {
	case engine.ConflictUncertain:
		return i == 0 && m.Evidence != ""
	case engine.ConflictRival, engine.ConflictUnseen, engine.ConflictName:
		return false
	}
	return i == 0
}

// overwrites says how much of an object is lost when it is adopted.
func overwrites(fields int) string {
	if fields == 1 {
		return "It changes 1 field of the object:"
	}
	return fmt.Sprintf("It changes %d fields of the object:", fields)
}

func (p *Page) conflict(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showConflict(c, http.StatusOK, id, c.QueryParam("local_id"), "")
}

func (p *Page) showConflict(c echo.Context, status int, id, local, wrong string) error {
	ctx := c.Request().Context()
	d, err := p.api.Conflict(ctx, id, p.api.Mesh.Self(), local)
	if err != nil {
		return p.Fail(c, err)
	}
	m := conflictModel{ConflictDetail: d, Local: local, Wrong: wrong}
	m.AsksLocal = slices.Contains(d.Actions, string(engine.ActionAdopt)) && !p.natural(d.Service, d.Kind)
	if d.Resource != "" {
		r, err := p.api.ResourceDetail(ctx, api.ResourceRef{ID: d.Resource, Service: d.Service, Kind: d.Kind})
		if refusal, told := refusalOf(err); err != nil && (!told || refusal.Status != http.StatusNotFound) {
			return p.Fail(c, err)
		}
		m.Holders, m.Lost = siteNames(r.Sites), r.Superseded
	}
	about := d.Resource
	if about == "" {
		about = an(d.Kind)
	}
	f := p.frame(c, "Conflict: "+about+" at "+d.Site, "conflicts", with("/api/v1"+conflictURL(d.ID), nil, "local_id", local))
	f.Reload = "" // asking the application again with each event would be a burden, and what is being written must stay
	return render(c, status, conflictView(f, m))
}

// natural reports whether clients choose the identifiers of a kind, so that all sites have the same.
func (p *Page) natural(service, kind string) bool {
	for _, s := range p.api.Services {
		for _, k := range s.Kinds() {
			if string(s.Name) == service && string(k.Name) == kind {
				return k.Natural()
			}
		}
	}
	return false
}

// resolve does what a person has decided, and goes on to what it is about.
func (p *Page) resolve(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	ctx, self, local := c.Request().Context(), p.api.Mesh.Self(), c.FormValue("local_id")
	before, err := p.api.Conflict(ctx, id, self, local)
	if err != nil {
		return p.Fail(c, err)
	}
	_, err = p.api.Resolve(ctx, id, self, api.ResolveRequest{Action: c.FormValue("action"), LocalID: local, Site: c.FormValue("site")}, "")
	if err != nil {
		r, told := refusalOf(err)
		if !told || r.Status == http.StatusNotFound {
			return p.Fail(c, err)
		}
		return p.showConflict(c, r.Status, id, local, r.Detail)
	}
	if action := c.FormValue("action"); action == string(engine.ActionDismiss) || action == string(engine.ActionDrop) {
		return c.Redirect(http.StatusSeeOther, decidedURL(id))
	}
	if before.Resource != "" {
		return c.Redirect(http.StatusSeeOther, resourceURL(before.Resource, before.Service, before.Kind))
	}
	return c.Redirect(http.StatusSeeOther, "/conflicts")
}

// decision is something that a person can decide about a conflict: the button, and what follows.
type decision struct{ Action, Button, Follows string }

// decisionOf says in words what comes of an action. The first of a conflict's actions is what is most likely wanted.
func decisionOf(c shape.Conflict, action string) decision {
	words := map[engine.Action]decision{
		engine.ActionRetry:   {"", "Send it again", fmt.Sprintf("The agent of %s sends it again, or what is left of it to do. Use it once the cause is gone.", c.Site)},
		engine.ActionAccept:  {"", "Let it in", fmt.Sprintf("%s takes this one though its rules do not accept it. It can only be let in there, and what comes later is judged anew.", c.Site)},
		engine.ActionDone:    {"", "It is there already", fmt.Sprintf("The application of %s has it already: nothing is sent, and it counts as applied there.", c.Site)},
		engine.ActionDrop:    {"", "Leave " + c.Site + " without it", fmt.Sprintf("It is given up at %s alone, which differs from the others then. The other sites keep what they have.", c.Site)},
		engine.ActionAdopt:   {"", "Take that object", fmt.Sprintf("The object that is there becomes the replica of %s, and is changed to what is wanted.", c.Site)},
		engine.ActionKeep:    {"", "Keep", "What the application of the chosen site shows now becomes what all sites show, by an operation that corrects the others."},
		engine.ActionDismiss: {"", "Let " + c.Site + " differ", fmt.Sprintf("%s may differ: nothing is sent anywhere, and nobody is asked again unless it happens once more.", c.Site)},
		engine.ActionReopen:  {"", "Ask again", fmt.Sprintf("That %s may differ is taken back: it waits for somebody to decide, as before.", c.Site)},
	}
	maps.Copy(words, decisionsOn(c))
	d, known := words[engine.Action(action)]
	if !known {
		d.Button = action
	}
	d.Action = action
	return d
}

// decisionsOn says what comes of actions where the kind of conflict makes it another thing than it is for most.
func decisionsOn(c shape.Conflict) map[engine.Action]decision {
	at := c.Site
	switch engine.ConflictKind(c.About) {
	case engine.ConflictUncertain:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Send it again", fmt.Sprintf("The agent of %s sends it once more. If it has run, it happens twice.", at)},
			engine.ActionDone:  {"", "It ran", fmt.Sprintf("The application of %s has done it: nothing is sent, and it counts as applied there.", at)},
			engine.ActionDrop:  {"", "It did not run: forget it", fmt.Sprintf("It counts as not done at %s, and is not sent there again. Other sites that know of it go on with it.", at)},
			engine.ActionAdopt: {"", "It made this one", fmt.Sprintf("The object of %s that is chosen is what the request has made: it is the resource from now on, and nothing is sent again.", at)},
		}
	case engine.ConflictExists:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Try to create it again", fmt.Sprintf("Use it once the object that was in the way at %s is renamed or gone: another one is made beside it.", at)},
		}
	case engine.ConflictRival:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Delete that object", fmt.Sprintf("The object of the later resource is deleted at %s, and the name is this one's there. What is in it is lost.", at)},
			engine.ActionDrop:  {"", "Let that object live", fmt.Sprintf("The object stays at %s as it is, and this resource has no copy there.", at)},
		}
	case engine.ConflictUnseen:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Delete it with all that is in it", fmt.Sprintf("The deletion runs at %s, and what nobody who asked for it had seen is lost with it.", at)},
			engine.ActionDrop:  {"", "Keep it at " + at, fmt.Sprintf("It is not deleted at %s: the object stays there with what is in it, and belongs to that site alone.", at)},
		}
	case engine.ConflictName:
		return map[engine.Action]decision{
			engine.ActionDrop: {"", "Give up the later one", fmt.Sprintf("The resource that came later is no more at %s: the object there stays the earlier one's.", at)},
		}
	case engine.ConflictNameTaken:
		return map[engine.Action]decision{
			engine.ActionDismiss: {"", "Let both have it", "Both keep the name, each at its site: nothing is sent anywhere, and nobody is asked again."},
		}
	case engine.ConflictOrder:
		return map[engine.Action]decision{
			engine.ActionDismiss: {"", "Keep the later order", "All sites have the later order, and keep it. The other one stays among the values that lost, from where it can be restored."},
		}
	case engine.ConflictForked:
		return map[engine.Action]decision{
			engine.ActionDismiss: {"", "Take note", fmt.Sprintf("Nothing is changed: what %s has written since then counts nowhere, and nobody is asked again. "+
				"Whoever has its key may write in its name: revoke it on the page of %s, and let the site in anew.", at, at)},
			engine.ActionReopen: {"", "Ask again", "That somebody has taken note of it is taken back."},
		}
	case engine.ConflictAside:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Go on with it", fmt.Sprintf("%s takes this resource up again where it stopped. If the defect strikes once more, it is set aside again; report it.", at)},
		}
	case engine.ConflictDenied:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Try now", fmt.Sprintf("It is tried by itself every few minutes. Use it once the account of the agent may do this at %s, so as not to wait.", at)},
		}
	case engine.ConflictUndeclared:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Try again", fmt.Sprintf("Use it once the object is back at %s, or the catalog says what is needed to make it anew.", at)},
		}
	case engine.ConflictContention:
		return map[engine.Action]decision{
			engine.ActionDismiss: {"", "Let " + at + " differ", fmt.Sprintf("%s is repaired no more and may differ. Find out what changes it there: repairs did not last.", at)},
		}
	case engine.ConflictRejoined:
		return map[engine.Action]decision{
			engine.ActionRetry: {"", "Do it again", fmt.Sprintf("The agent of %s does it once more. If its lost run had done it, it happens twice.", at)},
			engine.ActionDone:  {"", "It was done", fmt.Sprintf("The lost run of %s had done it: nothing is sent, and it counts as applied there.", at)},
		}
	}
	return nil
}

// same reports whether a field has one value on two sides, or is absent on both.
func same(a, b json.RawMessage) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func conflictNames() []string {
	names := make([]string, len(shape.ConflictKinds))
	for i, k := range shape.ConflictKinds {
		names[i] = string(k)
	}
	return names
}

// wrote says who asked for an operation and where, up to when.
func wrote(a shape.Author) string {
	if a.User == "" {
		return "at " + a.Site + ", "
	}
	return "by " + a.User + " at " + a.Site + ", "
}
