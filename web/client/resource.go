package client

import (
	"encoding/json"
	"time"
)

// Resource is one replicated or cross resource.
type Resource struct {
	ID            string             `json:"id"`
	Service       string             `json:"service"`
	Kind          string             `json:"kind"`
	Label         string             `json:"label"`
	Collaboration string             `json:"collaboration"`
	Sites         map[string]Replica `json:"sites"`
	State         string             `json:"state"`
	Reason        string             `json:"reason"`
	CreatedAt     time.Time          `json:"created_at"`
	Superseded    []Superseded       `json:"superseded,omitempty"`
	Compacted     *Compacted         `json:"compacted"`
}

// Replica is what is known of a resource at one site.
type Replica struct {
	LocalID string `json:"local_id"`
	State   string `json:"state"`
	Applied int    `json:"applied"`
	Pending int    `json:"pending"`
	Reason  string `json:"reason"`
	// Part and Share are of a cross resource: the number of the part, and the values of what is divided.
	Part   int                        `json:"part"`
	Share  map[string]json.RawMessage `json:"share"`
	Paused *struct {
		By string `json:"by"`
	} `json:"paused"`
}

// Compacted is what the site that was asked has folded away of the history.
type Compacted struct {
	Operations int       `json:"operations"`
	Until      time.Time `json:"until"`
}

// Superseded is a value that a concurrent, later operation took the place of.
type Superseded struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
	By    Author          `json:"by"`
	Over  Author          `json:"over"`
	Rule  string          `json:"rule"`
}

// Author is who has set a value, by which operation.
type Author struct {
	Operation string    `json:"operation"`
	User      string    `json:"user"`
	Site      string    `json:"site"`
	At        time.Time `json:"at,omitzero"`
}

// Conflict is something at one site that waits for a person.
type Conflict struct {
	ID          string       `json:"id"`
	About       string       `json:"about"`
	Resource    string       `json:"resource"`
	Label       string       `json:"label"` // what people call the resource; empty where that is not known
	Service     string       `json:"service"`
	Kind        string       `json:"kind"`
	Site        string       `json:"site"`
	Operation   string       `json:"operation"`
	Type        string       `json:"type"`
	Status      int          `json:"status"`
	Since       time.Time    `json:"since"`
	Reason      string       `json:"reason"`
	Rule        string       `json:"rule"`
	Blocks      bool         `json:"blocks"`
	Actions     []string     `json:"actions"`
	Accepted    *Acceptance  `json:"accepted"`
	Differences []Difference `json:"differences"`
	NotCompared string       `json:"not_compared"`
	Evidence    string       `json:"evidence"` // what speaks for the first of the actions; empty: nothing does
	Choices     []Choice     `json:"choices"`
}

// Choice says what an action about a conflict comes to.
type Choice struct {
	Action  string `json:"action"`
	Title   string `json:"title"`
	Follows string `json:"follows"`
}

// Acceptance is what somebody has decided about a conflict.
type Acceptance struct {
	Action string    `json:"action"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// Difference is a place at which a site shows something else than is wanted.
type Difference struct {
	Path   string          `json:"path"`
	Base   json.RawMessage `json:"base"`
	Here   json.RawMessage `json:"here"`
	Wanted json.RawMessage `json:"wanted"`
}
