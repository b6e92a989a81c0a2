package shape

import (
	"encoding/json"
	"time"

	"github.com/skerry/skerry/engine"
)

// Operation is one request that changes a resource at every site that has it.
type Operation struct {
	ID       string             `json:"id"`
	Resource string             `json:"resource"`
	Label    string             `json:"label"` // what people call the resource; empty where that is not known
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
	// Change is what it sets: {"set": {pointer: value}, "unset": [pointer]}; of what divides a resource it is Divided. Null for actions and deletes.
	Change any `json:"change"`
}

// Divided are the sites of each part from an operation on; one part: it is replicated from then on.
type Divided struct {
	Parts [][]string `json:"parts"`
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
	// Tries are the last ten attempts, oldest first, where one was not enough; Fetched is how many bytes of a large body are
	// there while it waits for the rest. Each site knows its own only.
	Tries   []Attempt `json:"tries,omitempty"`
	Fetched int64     `json:"fetched,omitempty"`
	// As says with whose rights the application is asked for it, where another site is its origin: agent or user. Likewise.
	As string `json:"as,omitempty"`
}

// Attempt is one request to a site's application, and what came of it.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"` // of the answer; 0: none came
	Error  string    `json:"error"`
}

// Operation tells of r with the rules of its kind, nil where nobody here knows them, and what people call its resource, as self knows
// it: ways are how the other sites are reached.
func (n Names) Operation(r engine.OperationRow, k *engine.Kind, label string, self engine.SiteID, ways map[engine.SiteID]engine.SiteStatus) Operation {
	v := Operation{
		ID: string(r.ID), Resource: string(r.Resource), Label: label, Type: string(r.Type), Service: string(r.Service),
		Kind: string(r.Kind), Method: r.Method, Path: r.Path, Scope: r.Scope, Origin: n.Of(r.Origin), User: r.User,
		IssuedAt: r.IssuedAt, Parents: Texts(r.Parents), State: string(r.State), Sites: make(map[string]Outcome, len(r.Sites)),
	}
	if r.Type == engine.TypePlace {
		v.Method = "" // that of one that divides is a sign for agents: there is no request
	}
	for id, s := range r.Sites {
		at := Outcome{State: string(s.State), Status: s.Status, At: s.At, Attempts: s.Attempts, Error: s.Error, Fetched: s.Fetched, As: string(s.As)}
		for _, t := range s.Tries {
			at.Tries = append(at.Tries, Attempt(t))
		}
		if at.Error == "" && s.State == engine.StatePending && id != self && !ways[id].Reachable {
			at.Error = "cannot be reached from " + n.Of(self)
		}
		v.Sites[n.Of(id)] = at
	}
	if r.Blob != nil {
		v.Blob = &Blob{string(r.Blob.Hash), r.Blob.Size}
	}
	if k == nil { // nobody here knows which of its fields are sensitive
		return v
	}
	v.Body, v.BodyEncoding = ShowBody(k, r.Body)
	if r.Type == engine.TypePlace {
		var c engine.PlacementChange
		if json.Unmarshal(r.Change, &c) == nil && c.Parts != nil {
			v.Change = n.divided(c.Parts)
		}
		return v
	}
	var change engine.Edit
	if len(r.Change) > 0 && json.Unmarshal(r.Change, &change) == nil {
		hideInChange(k, &change)
		v.Change = change
	}
	return v
}

func (n Names) divided(parts engine.Parts) Divided {
	d := Divided{Parts: make([][]string, len(parts))}
	for i, part := range parts {
		for _, id := range part {
			d.Parts[i] = append(d.Parts[i], n.Of(id))
		}
	}
	return d
}
