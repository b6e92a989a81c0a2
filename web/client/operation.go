package client

import (
	"encoding/json"
	"time"
)

// Operation is one request that changes a resource, with what became of it at each site.
type Operation struct {
	ID       string             `json:"id"`
	Resource string             `json:"resource"`
	Label    string             `json:"label"`
	Type     string             `json:"type"`
	Service  string             `json:"service"`
	Kind     string             `json:"kind"`
	Method   string             `json:"method"`
	Path     string             `json:"path"`
	Scope    string             `json:"scope"`
	Origin   string             `json:"origin"`
	User     string             `json:"user"`
	IssuedAt time.Time          `json:"issued_at"`
	State    string             `json:"state"`
	Parents  []string           `json:"parents"`
	Sites    map[string]Outcome `json:"sites"`
	Body     json.RawMessage    `json:"body,omitempty"`
	Blob     *struct {
		Size int64 `json:"size"`
	} `json:"blob"`
	NextTry *time.Time `json:"next_try"`
	Actions []string   `json:"actions"`
	WaitsAt []string   `json:"waits_at"` // the sites at which a person has to decide
}

// Outcome is what became of an operation at one site.
type Outcome struct {
	State    string    `json:"state"`
	Status   int       `json:"status"`
	At       time.Time `json:"at"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`
	Fetched  int64     `json:"fetched"`
	As       string    `json:"as"`
	Tries    []struct {
		At     time.Time `json:"at"`
		Status int       `json:"status"`
		Error  string    `json:"error"`
	} `json:"tries"`
}
