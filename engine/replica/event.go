package replica

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
)

// NewEvent makes an entry of the event log. Data holds what a reader needs to know without asking again.
func NewEvent(kind, subject string, at time.Time, data any) engine.Event {
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err)) // data are words, numbers and times
	}
	return engine.Event{Type: kind, Subject: subject, Time: at, Data: b}
}
