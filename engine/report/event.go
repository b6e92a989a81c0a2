package report

import (
	"encoding/json"
	"fmt"
	"strings"
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

// Names lists sites for people.
func Names(name func(engine.SiteID) engine.SiteName, ids []engine.SiteID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(name(id))
	}
	return strings.Join(names, ", ")
}
