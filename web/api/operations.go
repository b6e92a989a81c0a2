package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/skerry/skerry/engine"
)

// Operation is one request that changes a resource at every site that has it.
type Operation struct {
	ID       string             `json:"id"`
	Resource string             `json:"resource"`
	Type     string             `json:"type"`
	Service  string             `json:"service"`
	Kind     string             `json:"kind"`
	Method   string             `json:"method"`
	Path     string             `json:"path"`
	Scope    string             `json:"scope"`
	Origin   string             `json:"origin"` // site name
	User     string             `json:"user"`
	IssuedAt time.Time          `json:"issued_at"`
	Parents  []string           `json:"parents"`
	State    string             `json:"state"` // at the site that is farthest from applied
	Sites    map[string]Outcome `json:"sites"` // by site name
	// Body is JSON where the body is JSON, else a string as BodyEncoding tells: json, text, base64; null and empty
	// when there is none or when it may not be shown. Sensitive fields are hidden in Body and Change.
	Body         any    `json:"body"`
	BodyEncoding string `json:"body_encoding"`
	// Blob tells of a body that is too large to be shown; null for others.
	Blob *Blob `json:"blob"`
	// Change is what it sets: {"set": {pointer: value}, "unset": [pointer]}; null for actions and deletes.
	Change any `json:"change"`
}

// Blob is a large body, which travels beside its operation. Hash is empty while it waits for a site that can be reached.
type Blob struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

// Outcome is what is known here of an operation at one site.
type Outcome struct {
	State    string    `json:"state"`
	Status   int       `json:"status"` // of the application's answer; 0: none
	At       time.Time `json:"at,omitzero"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`
}

// OperationList is one page of operations, newest first. Next is empty on the last one.
type OperationList struct {
	Items []Operation `json:"items"`
	Next  string      `json:"next"`
}

// OperationQuery selects operations; the site is a name. Service and Kind help Resource to be one.
type OperationQuery struct {
	Resource, Service, Kind, State, Site, Cursor string
	Limit                                        int
}

// OperationStates are the states that a list can be filtered by.
var OperationStates = []engine.State{
	engine.StatePending, engine.StateApplied, engine.StateRejected, engine.StateSuperseded, engine.StateUncertain,
	engine.StatePaused, engine.StateHeld,
}

// Operations lists operations.
func (a *API) Operations(ctx context.Context, q OperationQuery) (OperationList, error) {
	n := a.names()
	site, err := n.id(q.Site)
	if err != nil {
		return OperationList{}, err
	}
	state, err := parseState(q.State, OperationStates...)
	if err != nil {
		return OperationList{}, err
	}
	f := engine.OperationFilter{State: state, Site: site, Limit: q.Limit, Cursor: q.Cursor}
	switch {
	case q.Resource != "":
		row, err := a.row(ctx, ResourceRef{q.Resource, q.Service, q.Kind})
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
	list := OperationList{Items: make([]Operation, 0, len(rows)), Next: next}
	for _, r := range rows {
		list.Items = append(list.Items, a.operation(r, n))
	}
	return list, nil
}

// Operation finds one operation.
func (a *API) Operation(ctx context.Context, id string) (Operation, error) {
	row, err := a.operationFor(ctx, id, a.Mesh.Self())
	if err != nil {
		return Operation{}, err
	}
	return a.operation(row, a.names()), nil
}

// Verbs settle a rejected or uncertain operation: run it again, take it as done, give it up.
var Verbs = []string{"retry", "done", "drop"}

// Settle applies one of Verbs at a site, this one when it is empty, for the site from. It returns the operation as that
// site shows it then.
func (a *API) Settle(ctx context.Context, id string, from engine.SiteID, verb, site string) (Operation, error) {
	o, err := a.operationFor(ctx, id, from)
	if err != nil {
		return Operation{}, err
	}
	at, err := a.names().id(cmp.Or(site, string(a.Mesh.Self())))
	if err != nil {
		return Operation{}, err
	}
	here, err := a.here(from, at)
	if err != nil {
		return Operation{}, err
	}
	if _, ok := o.Sites[at]; !here && !ok {
		return Operation{}, refuse(http.StatusUnprocessableEntity, "scope-type", "operation %s does not concern %s", id, a.names().of(at))
	}
	if !here {
		var v Operation
		err := a.askSite(ctx, at, http.MethodPost, "/operations/"+url.PathEscape(id)+"/"+verb+"?site="+url.QueryEscape(string(at)), nil, &v)
		return v, err
	}
	var do func(context.Context, engine.OperationID) error
	switch verb {
	case "retry":
		do = a.Operator.Retry
	case "done":
		do = a.Operator.Done
	case "drop":
		do = a.Operator.Drop
	default:
		return Operation{}, refuse(404, "not-found", "an operation can be settled with retry, done or drop")
	}
	if err := do(ctx, engine.OperationID(id)); err != nil {
		return Operation{}, fmt.Errorf("%s operation %s: %w", verb, id, err)
	}
	return a.Operation(ctx, id)
}

// operationFor finds an operation that concerns the site from, or any when that is this one.
func (a *API) operationFor(ctx context.Context, id string, from engine.SiteID) (engine.OperationRow, error) {
	row, err := a.Store.Operation(ctx, engine.OperationID(id))
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return row, fmt.Errorf("look up operation %s: %w", id, err)
	}
	if _, ok := row.Sites[from]; err != nil || !ok && from != a.Mesh.Self() {
		return row, refuse(http.StatusNotFound, "not-found", "this site knows no operation %q", id)
	}
	return row, nil
}

func (a *API) operation(r engine.OperationRow, n names) Operation {
	v := Operation{
		ID: string(r.ID), Resource: string(r.Resource), Type: string(r.Type), Service: string(r.Service),
		Kind: string(r.Kind), Method: r.Method, Path: r.Path, Scope: r.Scope, Origin: n.of(r.Origin), User: r.User,
		IssuedAt: r.IssuedAt, Parents: []string{}, State: string(r.State), Sites: make(map[string]Outcome, len(r.Sites)),
	}
	for _, p := range r.Parents {
		v.Parents = append(v.Parents, string(p))
	}
	for id, s := range r.Sites {
		v.Sites[n.of(id)] = Outcome{string(s.State), s.Status, s.At, s.Attempts, s.Error}
	}
	if r.Blob != nil {
		v.Blob = &Blob{string(r.Blob.Hash), r.Blob.Size}
	}
	k := a.kind(r.Service, r.Kind)
	if k == nil { // nobody here knows which of its fields are sensitive
		return v
	}
	v.Body, v.BodyEncoding = showBody(k, r.Body)
	var change engine.Change
	if len(r.Change) > 0 && json.Unmarshal(r.Change, &change) == nil {
		hideInChange(k, &change)
		v.Change = change
	}
	return v
}
