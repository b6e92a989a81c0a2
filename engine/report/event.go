package report

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
)

// Event makes an entry of the event log. Data holds what a reader needs to know without asking again.
func Event(kind, subject string, at time.Time, data any) engine.Event {
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err)) // data are words, numbers and times
	}
	return engine.Event{Type: kind, Subject: subject, Time: at, Data: b}
}
