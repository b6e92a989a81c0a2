package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// ConflictDetail is a conflict with what its site's application shows.
type ConflictDetail struct {
	shape.Conflict
	Author shape.Author `json:"author"` // of the operation that the conflict is about
	// Differences lists the fields that are not what they are to be, nil when that cannot be told; NotCompared says why then.
	Differences []shape.FieldConflict `json:"differences"`
	NotCompared string                `json:"not_compared"`
	// Evidence says in words what speaks for the first of the actions; empty: nothing does.
	Evidence string `json:"evidence"`
	// Candidates are objects of its site that may be what the create has made, or that may be adopted for it, the likeliest first.
	Candidates []PossibleObject `json:"candidates"`
	// Choices say in words what each of the actions comes to, in their order.
	Choices []shape.Choice `json:"choices"`
}

// PossibleObject is an object of an application that may be what a create has made.
type PossibleObject struct {
	LocalID string `json:"local_id"`
	Label   string `json:"label"` // what people call it; empty where nothing says so
	// Agrees is how many of the fields that the create sets have that value there, Of how many can be compared.
	Agrees int `json:"agrees"`
	Of     int `json:"of"`
}

// ConflictList is one page of conflicts, newest first. Next is empty on the last one.
type ConflictList struct {
	Items []shape.Conflict `json:"items"`
	Next  string           `json:"next"`
}

// ConflictQuery selects conflicts; the site is a name. Service and Kind help Resource to be one. Accepted asks for those that
// were decided so that a site differs.
type ConflictQuery struct {
	Resource, Service, Kind, About, Site, Cursor string
	Accepted                                     bool
	Limit                                        int
}

// ResolveRequest is what a person has decided about a conflict.
type ResolveRequest struct {
	Action string `json:"action"`
	// LocalID is the object to adopt, where its site assigns the identifiers.
	LocalID string `json:"local_id,omitempty"`
	// Site is the one that is kept.
	Site string `json:"site,omitempty"`
}

// Conflicts lists what waits for a person.
func (a *API) Conflicts(ctx context.Context, q ConflictQuery) (ConflictList, error) {
	n := a.names()
	site, err := n.ID(q.Site)
	if err != nil {
		return ConflictList{}, err
	}
	if _, ok := shape.ConflictRules[engine.ConflictKind(q.About)]; !ok && q.About != "" {
		return ConflictList{}, badRequest("unknown kind of conflict %q: give one of %s", q.About, strings.Join(shape.Texts(shape.ConflictKinds), ", "))
	}
	f := engine.ConflictFilter{
		Service: engine.ServiceName(q.Service), Kind: engine.ConflictKind(q.About), Site: site, Accepted: q.Accepted, Limit: q.Limit, Cursor: q.Cursor,
	}
	switch {
	case q.Resource != "":
		row, err := a.rowToRead(ctx, ResourceRef{q.Resource, q.Service, q.Kind})
		if err != nil {
			return ConflictList{}, err
		}
		f.Document = row.Document
	case q.Kind != "":
		return ConflictList{}, badRequest("kind tells which resource is meant: give resource as well")
	}
	rows, next, err := a.Store.Conflicts(ctx, f)
	if err != nil {
		return ConflictList{}, fmt.Errorf("list conflicts: %w", err)
	}
	list := ConflictList{Items: make([]shape.Conflict, 0, len(rows)), Next: next}
	t := a.teller()
	for _, c := range rows {
		list.Items = append(list.Items, a.conflict(ctx, t, c))
	}
	return list, nil
}

// conflict writes down a conflict with what people call what it is about.
func (a *API) conflict(ctx context.Context, t teller, c engine.Conflict) shape.Conflict {
	v := t.Conflict(c)
	v.Label = a.label(ctx, t, c.Document)
	return v
}

// conflictFor finds a conflict that concerns the site from, or any when that is this one.
func (a *API) conflictFor(ctx context.Context, id string, from engine.SiteID) (engine.Conflict, error) {
	c, err := a.Store.Conflict(ctx, engine.ConflictID(id))
	if errors.Is(err, engine.ErrNotFound) && from == a.Mesh.Self() {
		c, err = a.conflictByPrefix(ctx, id)
	}
	if err == nil && from != a.Mesh.Self() && !slices.Contains(c.Sites, from) {
		if c.Operation != "" {
			_, err = a.operationFor(ctx, string(c.Operation), from)
		} else if row, lost := a.Store.ResourceByDocument(ctx, c.Document); lost != nil {
			err = lost
		} else if _, shares := row.Sites[from]; !shares {
			err = engine.ErrNotFound
		}
	}
	var refusal *engine.Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusConflict {
		return c, err
	}
	if errors.Is(err, engine.ErrNotFound) || errors.As(err, &refusal) {
		unknown := refuse(http.StatusNotFound, "not-found", "this site knows no conflict %q: it may have been resolved, or be about something of other sites, which tell of it", id)
		if from != a.Mesh.Self() {
			return c, unknown
		}
		return c, a.toldElsewhere(ctx, unknown)
	}
	if err != nil {
		return c, fmt.Errorf("look up conflict %s: %w", id, err)
	}
	return c, nil
}

// Conflict finds one conflict for the site from, and has its site's application asked what it shows. Local is the object to
// look at, for one that might be adopted.
func (a *API) Conflict(ctx context.Context, id string, from engine.SiteID, local string) (ConflictDetail, error) {
	v, err := a.conflictDetail(ctx, id, from, local)
	v.Choices = v.Conflict.Choices()
	return v, err
}

func (a *API) conflictDetail(ctx context.Context, id string, from engine.SiteID, local string) (ConflictDetail, error) {
	c, err := a.conflictFor(ctx, id, from)
	if err != nil {
		return ConflictDetail{}, err
	}
	v := ConflictDetail{Conflict: a.names().Conflict(c), Candidates: []PossibleObject{}}
	v.Label = a.label(ctx, a.teller(), c.Document)
	if c.Holder != "" {
		v.NotCompared = "two objects have one name: what each of the sites shows of it is compared with the replicas"
		return v, a.tellAuthors(ctx, c, &v)
	}
	here, err := a.here(from, c.Site)
	if err != nil {
		return v, err
	}
	var r *engine.Refusal
	if !here {
		var there ConflictDetail
		err := a.askSite(ctx, c.Site, http.MethodGet, "/conflicts/"+url.PathEscape(string(c.ID))+"?"+url.Values{"local_id": {local}}.Encode(), nil, &there)
		switch {
		case err == nil:
			v.Differences, v.NotCompared, v.Evidence = there.Differences, there.NotCompared, there.Evidence
			v.Candidates = append(v.Candidates, there.Candidates...)
			if there.Evidence != "" {
				v.Actions = there.Actions
			}
		case errors.As(err, &r):
			v.NotCompared = r.Detail
		default:
			return v, err
		}
		return v, a.tellAuthors(ctx, c, &v)
	}
	fields, err := a.Operator.PreviewConflict(ctx, c.ID, engine.LocalID(local))
	switch {
	case errors.As(err, &r):
		v.NotCompared = r.Detail
	case err != nil:
		return v, fmt.Errorf("compare for conflict %s: %w", id, err)
	default:
		v.Differences = shape.FieldConflicts(fields)
	}
	if err := a.tellCandidates(ctx, c.ID, &v); err != nil {
		return v, err
	}
	v.recommend()
	return v, a.tellAuthors(ctx, c, &v)
}

// recommend puts first what the evidence speaks for: what shows all that an uncertain request would have set has run, as far as anybody can
// tell, and sending it again could only do it twice.
func (v *ConflictDetail) recommend() {
	at := slices.Index(v.Actions, string(engine.ActionDone))
	if v.About == string(engine.ConflictUncertain) && len(v.Candidates) > 0 && v.Candidates[0].Agrees == v.Candidates[0].Of {
		v.prefer(engine.ActionAdopt)
		v.Evidence = "The application of " + v.Site + " has an object of no resource that shows all that the request sets: the request seems to have run, and to have made that one."
		return
	}
	if v.About != string(engine.ConflictUncertain) || at < 0 || v.NotCompared != "" || v.Differences == nil || len(v.Differences) > 0 || v.Type == string(engine.TypeAction) {
		return
	}
	v.prefer(engine.ActionDone)
	v.Evidence = "The application of " + v.Site + " shows all that the request would have set: it seems to have run."
}

// prefer puts an action first.
func (v *ConflictDetail) prefer(action engine.Action) {
	if at := slices.Index(v.Actions, string(action)); at > 0 {
		v.Actions = slices.Insert(slices.Delete(v.Actions, at, at+1), 0, string(action))
	}
}

// tellCandidates fills in which objects may be meant, as far as the application tells.
func (a *API) tellCandidates(ctx context.Context, id engine.ConflictID, v *ConflictDetail) error {
	list, err := a.Operator.Candidates(ctx, id)
	var refusal *engine.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return fmt.Errorf("find what conflict %s may be about: %w", id, err)
	}
	for _, c := range list {
		v.Candidates = append(v.Candidates, PossibleObject{string(c.Local), c.Label, c.Agrees, c.Of})
	}
	return nil
}

// tellAuthors fills in who asked for the conflict's operation, and whose operation set each wanted value: of those that are
// listed last, the newest that touches the field.
func (a *API) tellAuthors(ctx context.Context, c engine.Conflict, v *ConflictDetail) error {
	n := a.names()
	var err error
	if v.Author, err = a.author(ctx, n, c.Operation); err != nil || c.Document == "" || len(v.Differences) == 0 {
		return err
	}
	rows, _, err := a.Store.Operations(ctx, engine.OperationFilter{Document: c.Document})
	if err != nil {
		return fmt.Errorf("list the operations that conflict %s is about: %w", c.ID, err)
	}
	for i := range v.Differences {
		d := &v.Differences[i]
		for _, o := range rows {
			if touches(o.Change, engine.Pointer(d.Path)) {
				by := n.Author(o)
				d.By = &by
				break
			}
		}
	}
	return nil
}

// touches reports whether a change, as the index has it, sets or removes something at p, around it or in it.
func touches(change json.RawMessage, p engine.Pointer) bool {
	var c engine.Edit
	if len(change) == 0 || json.Unmarshal(change, &c) != nil {
		return false
	}
	near := func(q engine.Pointer) bool { return q.Covers(p) || p.Covers(q) }
	for q := range c.Set {
		if near(q) {
			return true
		}
	}
	return slices.ContainsFunc(c.Unset, near)
}

// Resolve does what a person has decided about a conflict, for the site from: at the conflict's site, whose agent is asked,
// or, to dismiss it, here. Authorization goes to the application, where a request of its clients is what carries it out.
func (a *API) Resolve(ctx context.Context, id string, from engine.SiteID, r ResolveRequest, authorization string) (Resolution, error) {
	c, err := a.conflictFor(ctx, id, from)
	if err != nil {
		return Resolution{}, err
	}
	if r.Action == "" {
		return Resolution{}, badRequest("action is missing: this conflict takes %v", c.Actions)
	}
	if !slices.Contains(c.Actions, engine.Action(r.Action)) {
		return Resolution{}, refuse(http.StatusUnprocessableEntity, "settle",
			"%q is nothing that can be decided about this conflict now; it takes %v", r.Action, c.Actions)
	}
	if r.Action == string(engine.ActionAccept) && from != a.Mesh.Self() {
		return Resolution{}, refuse(http.StatusForbidden, "not-accepted", "only a person at %s lets in what its rules do not accept; nothing has happened", a.SelfName())
	}
	by := a.decider(ctx, from)
	a.note(ctx, strings.TrimSpace(r.Action+" "+r.Site+r.LocalID), by)
	if c.Holder != "" && r.Action == string(engine.ActionKeep) {
		return a.keepName(ctx, c, from, r, authorization)
	}
	if r.Action == string(engine.ActionKeep) {
		ref := ResourceRef{string(c.Resource), string(c.Service), string(c.KindName)}
		kept, err := a.Keep(ctx, ref, from, KeepRequest{Site: r.Site, Force: true})
		return Resolution{Conflict: string(c.ID), Action: r.Action, Site: r.Site, Operation: shape.Operation{ID: kept.Operation}}, err
	}
	here := r.Action == string(engine.ActionDismiss) || r.Action == string(engine.ActionReopen)
	if !here {
		if here, err = a.here(from, c.Site); err != nil {
			return Resolution{}, err
		}
	}
	if !here {
		var v Resolution
		err := a.askSite(ctx, c.Site, http.MethodPost, "/conflicts/"+url.PathEscape(string(c.ID))+"/resolve", r, &v)
		return v, err
	}
	if err := a.Operator.Resolve(ctx, c.ID, engine.Action(r.Action), engine.LocalID(r.LocalID), by); err != nil {
		return Resolution{}, fmt.Errorf("resolve conflict %s: %w", id, err)
	}
	if c.Operation == "" { // what was accepted is no operation's doing
		return Resolution{Conflict: string(c.ID), Action: r.Action, Site: a.SelfName()}, nil
	}
	o, err := a.Operation(ctx, string(c.Operation))
	return Resolution{string(c.ID), r.Action, a.SelfName(), o}, err
}

// Resolution tells what came of a decision: the operation as the site where it was carried out shows it then.
type Resolution struct {
	Conflict  string          `json:"conflict"`
	Action    string          `json:"action"`
	Site      string          `json:"site"`
	Operation shape.Operation `json:"operation"`
}

func (a *API) getConflicts(c echo.Context) error {
	q, err := params(c, "resource", "service", "kind", "about", "site", "accepted", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	accepted := q.Get("accepted")
	if accepted != "" && accepted != "true" && accepted != "false" {
		return badRequest("accepted is %q: give true or false", accepted)
	}
	v, err := a.Conflicts(c.Request().Context(), ConflictQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), About: q.Get("about"), Site: q.Get("site"), Accepted: accepted == "true", Cursor: q.Get("cursor"), Limit: n,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getConflict(c echo.Context) error {
	q, err := params(c, "local_id")
	if err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.Conflict(c.Request().Context(), id, a.asker(c), q.Get("local_id"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) postResolve(c echo.Context) error {
	var r ResolveRequest
	if _, err := params(c); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Resolve(c.Request().Context(), id, a.asker(c), r, c.Request().Header.Get("Authorization"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
