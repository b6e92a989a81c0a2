package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// OperationList is one page of operations, newest first. Next is empty on the last one.
type OperationList struct {
	Items []shape.Operation `json:"items"`
	Next  string            `json:"next"`
	// ForgottenUntil is by when those were settled at every site that are not listed any more; nil: all are.
	ForgottenUntil *time.Time `json:"forgotten_until"`
	// Facets are there where they were asked for.
	Facets *OperationFacets `json:"facets,omitempty"`
}

// OperationFacets are how many operations a list has, and how many it would have with another state.
type OperationFacets struct {
	Total int            `json:"total"`
	State map[string]int `json:"state"`
}

// OperationQuery selects operations; the site is a name. Service and Kind help Resource to be one.
type OperationQuery struct {
	Resource, Service, Kind, State, Site, Cursor string
	Text                                         string // words, all of which are to be found
	From, Before                                 string // when they were issued, as RFC 3339 writes times
	Order                                        string // newest, which is the default, or oldest
	Limit                                        int
	Count                                        bool // count all that the filters leave
}

const (
	maxWords     = 8
	maxWordText  = 200
	maxWordSites = 16
)

// searchWords reads what is looked for, and which sites each word may mean.
func searchWords(n shape.Names, text string) ([]engine.SearchWord, error) {
	fields := strings.Fields(text)
	if len(fields) > maxWords || len(text) > maxWordText {
		return nil, badRequest("q is %d words of %d bytes: give at most %d of %d", len(fields), len(text), maxWords, maxWordText)
	}
	var words []engine.SearchWord
	for _, f := range fields {
		w := engine.SearchWord{Text: f}
		for id, name := range n.ByID {
			if strings.Contains(strings.ToLower(name), strings.ToLower(f)) {
				w.Sites = append(w.Sites, id)
			}
		}
		if len(w.Sites) > maxWordSites { // it is in many names: it means a site only as its whole name
			w.Sites = nil
			if id, ok := n.ByName[f]; ok {
				w.Sites = []engine.SiteID{id}
			}
		}
		slices.Sort(w.Sites)
		words = append(words, w)
	}
	return words, nil
}

// instantParam reads a time; empty is the zero time.
func instantParam(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, badRequest("%s is %q: give a time such as 2026-01-02T15:04:05Z", name, text)
	}
	return t, nil
}

// OperationStates are the states that a list can be filtered by.
var OperationStates = []engine.State{
	engine.StatePending, engine.StateApplied, engine.StateRejected, engine.StateSuperseded, engine.StateUncertain,
	engine.StatePaused, engine.StateHeld,
}

// Operations lists operations.
func (a *API) Operations(ctx context.Context, q OperationQuery) (OperationList, error) {
	n := a.names()
	site, err := n.ID(q.Site)
	if err != nil {
		return OperationList{}, err
	}
	state, err := parseState(q.State, OperationStates...)
	if err != nil {
		return OperationList{}, err
	}
	words, err := searchWords(n, q.Text)
	if err != nil {
		return OperationList{}, err
	}
	f := engine.OperationFilter{State: state, Site: site, Words: words, Limit: q.Limit, Cursor: q.Cursor}
	switch q.Order {
	case "", "newest":
	case "oldest":
		f.Oldest = true
	default:
		return OperationList{}, badRequest("order is %q: give newest or oldest", q.Order)
	}
	if f.From, err = instantParam("from", q.From); err == nil {
		f.Before, err = instantParam("before", q.Before)
	}
	if err != nil {
		return OperationList{}, err
	}
	switch {
	case q.Resource != "":
		row, err := a.rowToRead(ctx, ResourceRef{q.Resource, q.Service, q.Kind})
		if err != nil {
			return OperationList{}, err
		}
		f.Document = row.Document
	case q.Service != "" || q.Kind != "":
		return OperationList{}, badRequest("service and kind tell which resource is meant: give resource as well")
	}
	rows, next, err := a.Store.Operations(ctx, f)
	if err != nil {
		return OperationList{}, fmt.Errorf("list operations: %w", err)
	}
	until, err := a.Store.ForgottenUntil(ctx)
	if err != nil {
		return OperationList{}, fmt.Errorf("list operations: %w", err)
	}
	list := OperationList{Items: make([]shape.Operation, 0, len(rows)), Next: next, ForgottenUntil: shape.Moment(until)}
	t := a.teller()
	for _, r := range rows {
		list.Items = append(list.Items, a.operation(ctx, r, t))
	}
	if q.Count {
		list.Facets, err = a.operationFacets(ctx, f)
	}
	return list, err
}

func (a *API) operationFacets(ctx context.Context, f engine.OperationFilter) (*OperationFacets, error) {
	counts, err := a.Counter.TallyOperations(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("count what is listed: %w", err)
	}
	v := &OperationFacets{State: map[string]int{}}
	for state, n := range counts {
		v.State[string(state)] = n
		if f.State == "" || f.State == state {
			v.Total += n
		}
	}
	return v, nil
}

// Operation finds one operation.
func (a *API) Operation(ctx context.Context, id string) (shape.Operation, error) {
	row, err := a.operationFor(ctx, id, a.Mesh.Self())
	if err != nil {
		return shape.Operation{}, err
	}
	return a.operation(ctx, row, a.teller()), nil
}

// OperationDetail is one operation with what came after it, as one site knows it.
type OperationDetail struct {
	shape.Operation
	// Children are the operations that build on it, of the newest hundred on its resource, newest first.
	Children []string `json:"children"`
	// NextTry is when that site goes on with it, where it waits there for the application or for another site; nil: it does not.
	NextTry *time.Time `json:"next_try"`
	// Actions are those of Verbs that can be taken at that site now, what is most likely wanted first.
	Actions []engine.Action `json:"actions"`
	// WaitsAt are the sites at which it waits for a person, as far as is known here. Any site takes the decision for each.
	WaitsAt []string `json:"waits_at"`
}

// waitsAt are the sites at which an operation waits for a person.
func (a *API) waitsAt(ctx context.Context, row engine.OperationRow) ([]string, error) {
	sites := []string{}
	if row.Document == "" { // a request of this site's, of which no other knows
		return sites, nil
	}
	list, _, err := a.Store.Conflicts(ctx, engine.ConflictFilter{Document: row.Document, Limit: 1000})
	if err != nil {
		return nil, fmt.Errorf("find where operation %s waits: %w", row.ID, err)
	}
	n := a.names()
	for _, c := range list {
		if c.Operation == row.ID {
			sites = append(sites, n.Of(c.Site))
		}
	}
	slices.Sort(sites)
	return slices.Compact(sites), nil
}

// OperationDetail finds one operation and what builds on it, as a site shows it, this one when site is empty: each site knows
// its own attempts only. From is the site that asks.
func (a *API) OperationDetail(ctx context.Context, id string, from engine.SiteID, site string) (OperationDetail, error) {
	row, err := a.operationFor(ctx, id, from)
	if at, there := a.knownThere(err, from, site); there {
		var d OperationDetail
		return d, a.askSite(ctx, at, http.MethodGet, "/operations/"+url.PathEscape(id)+"?site="+url.QueryEscape(string(at)), nil, &d)
	}
	if err != nil {
		return OperationDetail{}, err
	}
	id = string(row.ID)
	n := a.names()
	at, err := n.ID(cmp.Or(site, string(a.Mesh.Self())))
	if err != nil {
		return OperationDetail{}, err
	}
	here, err := a.here(from, at)
	if err != nil {
		return OperationDetail{}, err
	}
	if _, ok := row.Sites[at]; !here && !ok {
		return OperationDetail{}, refuse(http.StatusUnprocessableEntity, "scope-type", "operation %s does not concern %s", id, n.Of(at))
	}
	d := OperationDetail{Children: []string{}, Actions: []engine.Action{}, WaitsAt: []string{}}
	if !here {
		err := a.askSite(ctx, at, http.MethodGet, "/operations/"+url.PathEscape(id)+"?site="+url.QueryEscape(string(at)), nil, &d)
		return d, err
	}
	d.Operation = a.operation(ctx, row, a.teller())
	if d.WaitsAt, err = a.waitsAt(ctx, row); err != nil {
		return OperationDetail{}, err
	}
	if s := row.Sites[at].State; s == engine.StatePending || s == engine.StatePaused || row.Document == "" {
		d.NextTry = shape.Moment(a.Operator.NextTry(row))
	}
	if actions, err := a.Operator.Decisions(ctx, row.ID); err != nil {
		return OperationDetail{}, err
	} else if actions != nil {
		d.Actions = actions
	}
	if row.Document == "" {
		return d, nil
	}
	rows, _, err := a.Store.Operations(ctx, engine.OperationFilter{Document: row.Document})
	if err != nil {
		return OperationDetail{}, fmt.Errorf("find what builds on operation %s: %w", id, err)
	}
	for _, o := range rows {
		if slices.Contains(o.Parents, row.ID) {
			d.Children = append(d.Children, string(o.ID))
		}
	}
	return d, nil
}

// Verbs settle a rejected or uncertain operation: run it again, take it as done, give it up.
var Verbs = []string{"retry", "done", "drop"}

// Settle applies one of Verbs at a site, this one when it is empty, for the site from. It returns the operation as that
// site shows it then.
func (a *API) Settle(ctx context.Context, id string, from engine.SiteID, verb, site string) (shape.Operation, error) {
	o, err := a.operationFor(ctx, id, from)
	if at, there := a.knownThere(err, from, site); there {
		return a.settleAt(ctx, id, from, verb, at)
	}
	if err != nil {
		return shape.Operation{}, err
	}
	id = string(o.ID)
	at, err := a.names().ID(cmp.Or(site, string(a.Mesh.Self())))
	if err != nil {
		return shape.Operation{}, err
	}
	here, err := a.here(from, at)
	if err != nil {
		return shape.Operation{}, err
	}
	if _, ok := o.Sites[at]; !here && !ok {
		return shape.Operation{}, refuse(http.StatusUnprocessableEntity, "scope-type", "operation %s does not concern %s", id, a.names().Of(at))
	}
	if !here {
		return a.settleAt(ctx, id, from, verb, at)
	}
	by := a.decider(ctx, from)
	a.note(ctx, verb, by)
	var do func(context.Context, engine.OperationID, engine.Decider) error
	switch verb {
	case "retry":
		do = a.Operator.Retry
	case "done":
		do = a.Operator.Done
	case "drop":
		do = a.Operator.Drop
	default:
		return shape.Operation{}, refuse(404, "not-found", "an operation can be settled with retry, done or drop")
	}
	if err := do(ctx, engine.OperationID(id), by); err != nil {
		return shape.Operation{}, a.settledElsewhere(ctx, o, verb, fmt.Errorf("%s operation %s: %w", verb, id, err))
	}
	return a.Operation(ctx, id)
}

// settleAt has another site settle an operation.
func (a *API) settleAt(ctx context.Context, id string, from engine.SiteID, verb string, at engine.SiteID) (v shape.Operation, err error) {
	a.note(ctx, verb+" at "+a.names().Of(at), a.decider(ctx, from))
	err = a.askSite(ctx, at, http.MethodPost, "/operations/"+url.PathEscape(id)+"/"+verb+"?site="+url.QueryEscape(string(at)), nil, &v)
	return v, err
}

// knownThere returns the other site that a person here names for an operation which is not known here: a client's request that has had no
// certain answer is known at the site where it runs, and nowhere else.
func (a *API) knownThere(err error, from engine.SiteID, site string) (at engine.SiteID, there bool) {
	if err == nil || AsRefusal(err).Status != http.StatusNotFound || from != a.Mesh.Self() || site == "" {
		return "", false
	}
	at, unknown := a.names().ID(site)
	return at, unknown == nil && at != from
}

// settledElsewhere says at which other sites an operation waits that has nothing left to decide here; any other error stays what it is.
func (a *API) settledElsewhere(ctx context.Context, row engine.OperationRow, verb string, err error) error {
	if AsRefusal(err).Type != engine.ErrSettled.Type {
		return err
	}
	self := a.names().Of(a.Mesh.Self())
	others, failed := a.waitsAt(ctx, row)
	if failed != nil {
		return failed
	}
	others = slices.DeleteFunc(others, func(name string) bool { return name == self })
	if len(others) == 0 {
		return err
	}
	return refuse(http.StatusConflict, "settled", "nothing is left to decide about it at %s; it waits at %s: decide there from here with site=%s (skerry operations %s %s --site %s)",
		self, shape.List(others), others[0], verb, row.ID, others[0])
}

// operationFor finds an operation that concerns the site from, or any when that is this one.
func (a *API) operationFor(ctx context.Context, id string, from engine.SiteID) (engine.OperationRow, error) {
	row, err := a.Store.Operation(ctx, engine.OperationID(id))
	if errors.Is(err, engine.ErrNotFound) && from == a.Mesh.Self() {
		row, err = a.operationByPrefix(ctx, id)
	}
	var several *engine.Refusal
	if errors.As(err, &several) {
		return row, err
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return row, fmt.Errorf("look up operation %s: %w", id, err)
	}
	if err != nil || from != a.Mesh.Self() && !a.concerns(ctx, &row, from) {
		old := ""
		if until, err := a.Store.ForgottenUntil(ctx); err == nil && !until.IsZero() {
			old = "; of those that were settled at every site by " + until.UTC().Format(time.RFC3339) + " some are forgotten"
		}
		return row, refuse(http.StatusNotFound, "not-found", "this site knows no operation %q%s; a request without a certain answer is known where it runs alone: name that site (site=SITE, --site)", id, old)
	}
	return row, nil
}

// concerns reports whether an operation is a site's to know of: it is to have it, or shares the resource that a client's request here, which nobody
// else has yet, is about.
func (a *API) concerns(ctx context.Context, row *engine.OperationRow, site engine.SiteID) bool {
	if _, has := row.Sites[site]; has || row.Document == "" {
		return has
	}
	about, err := a.Store.ResourceByDocument(ctx, row.Document)
	_, shares := about.Sites[site]
	return err == nil && shares
}

// teller has what operations are told with, so that one list asks for it once.
type teller struct {
	shape.Names
	ways   map[engine.SiteID]engine.SiteStatus
	labels map[engine.DocumentID]string
}

func (a *API) teller() teller {
	return teller{a.names(), a.Network.Status(), map[engine.DocumentID]string{}}
}

// label is what people call the resource of a document, empty where that is not known.
func (a *API) label(ctx context.Context, t teller, id engine.DocumentID) string {
	label, known := t.labels[id]
	if !known && id != "" {
		if row, err := a.Store.ResourceByDocument(ctx, id); err == nil {
			if label = row.Label; label == "" {
				label = a.lastName(ctx, row)
			}
		}
		t.labels[id] = label
	}
	return label
}

func (a *API) operation(ctx context.Context, r engine.OperationRow, n teller) shape.Operation {
	return n.Operation(r, a.kind(r.Service, r.Kind), a.label(ctx, n, r.Document), a.Mesh.Self(), n.ways)
}

// lastName is what people called a resource last that is deleted, or about to be; empty where that is not known.
func (a *API) lastName(ctx context.Context, r engine.ResourceRow) string {
	k := a.kind(r.Service, r.Kind)
	if k == nil || k.Label == "" || k.Hides(k.Label) {
		return ""
	}
	rows, _, err := a.Store.Operations(ctx, engine.OperationFilter{Document: r.Document, Limit: 100})
	if err != nil {
		return ""
	}
	for _, o := range rows { // newest first
		var change engine.Edit
		var name string
		if len(o.Change) > 0 && json.Unmarshal(o.Change, &change) == nil && json.Unmarshal(change.Set[k.Label], &name) == nil {
			return name
		}
	}
	return ""
}
