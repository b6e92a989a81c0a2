package hooks

import (
	"encoding/json"
	"strings"
	"time"
)

// Hook is a receiver of events, as it is kept.
type Hook struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Events  []string  `json:"events"` // types, or operation.* and the like; empty: all
	Sealed  []byte    `json:"sealed"` // the secret, encrypted
	Created time.Time `json:"created"`
	By      string    `json:"by"` // who made it
}

// Position is how far a hook has come, kept apart from it because it changes all the time.
type Position struct {
	// After is the number of the last entry of the event log that is settled: delivered, given up or not asked for.
	After uint64 `json:"after"`
	// Delivered and GivenUp count since the hook was made.
	Delivered uint64 `json:"delivered"`
	GivenUp   uint64 `json:"given_up"`
	// Failing is since when the event that is next is tried in vain, zero when it is not; Attempts how often, Next when again.
	Failing  time.Time `json:"failing"`
	Attempts int       `json:"attempts"`
	Next     time.Time `json:"next"`
	// Deliveries numbers the attempts, for the delivery log.
	Deliveries uint64 `json:"deliveries"`
}

// Delivery is one attempt, as the delivery log has it.
type Delivery struct {
	N       uint64    `json:"n"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"` // number in the event log
	Type    string    `json:"type"`
	Attempt int       `json:"attempt"`
	Status  int       `json:"status"` // 0: no answer
	Took    int64     `json:"took_ms"`
	Error   string    `json:"error"`
	// Result is delivered, failed (it is tried again) or given-up.
	Result string `json:"result"`
}

// The results of a delivery.
const (
	Delivered = "delivered"
	Failed    = "failed"
	GivenUp   = "given-up"
)

// wants reports whether a hook asks for events of a type.
func (h Hook) wants(typ string) bool {
	for _, p := range h.Events {
		if family, all := strings.CutSuffix(p, "*"); p == typ || all && strings.HasPrefix(typ, family) {
			return true
		}
	}
	return len(h.Events) == 0
}

// Event is one entry of the log as it is pushed.
type Event struct {
	Seq  uint64
	Type string
	// Body is the CloudEvent; ID is unique among all sites.
	ID   string
	Body json.RawMessage
}
