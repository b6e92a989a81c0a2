package shape

import (
	"encoding/json"
	"time"

	"github.com/skerry/skerry/engine"
)

// Compacted is what the answering site has folded away of a resource's history.
type Compacted struct {
	Operations int       `json:"operations"` // how many they are
	Until      time.Time `json:"until"`      // when the newest of them was issued
}

// Superseded is a value that a concurrent, later operation took the place of. Restore sets it again.
type Superseded struct {
	Path string `json:"path"` // a JSON pointer
	// Value is null where a field had been removed.
	Value json.RawMessage `json:"value"`
	By    Author          `json:"by"`   // who had set it
	Over  Author          `json:"over"` // who took its place
	Rule  string          `json:"rule"` // which rule decided, in words
}

// Author is an operation with who asked for it, where and when; empty but for the identifier where it is not listed any more.
type Author struct {
	Operation string    `json:"operation"`
	User      string    `json:"user"`
	Site      string    `json:"site"`
	At        time.Time `json:"at,omitzero"`
}

// CompactedOf tells of what was folded away; nil: nothing was.
func CompactedOf(c engine.Compacted) *Compacted {
	if c.Operations == 0 {
		return nil
	}
	return &Compacted{c.Operations, c.Until}
}

// SupersededOf tells of a lost value, with who had set it and who took its place.
func SupersededOf(s engine.Superseded, by, over Author) Superseded {
	return Superseded{Path: string(s.Path), Value: s.Value, By: by, Over: over, Rule: s.Rule}
}

// Author tells who asked for an operation.
func (n Names) Author(r engine.OperationRow) Author {
	return Author{Operation: string(r.ID), User: r.User, Site: n.Of(r.Origin), At: r.IssuedAt}
}
