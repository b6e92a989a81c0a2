package failpoint

import _ "embed"

// Catalog describes the application of mortal to an agent: one service, "app", that honours no Idempotency-Key.
//
//go:embed mortal/catalog.yaml
var Catalog []byte

// State is what the application of mortal holds and has done, at GET /-/state.
type State struct {
	Objects map[string]map[string]any `json:"objects"` // by path
	Done    map[string]int            `json:"done"`    // how often each tag was created, or acted with
}
