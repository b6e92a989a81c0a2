package shape

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
)

// Event is one entry of the event log as CloudEvents 1.0 write it in JSON. Its id is the entry's number at this site.
type Event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"` // /sites/ and the name of the site whose log it is
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
}

// EventOf tells of an entry of the log of a site, which source names.
func EventOf(e engine.Event, source string) Event {
	v := Event{
		SpecVersion: "1.0", ID: strconv.FormatUint(e.Seq, 10), Source: source,
		Type: e.Type, Subject: e.Subject, Time: e.Time,
	}
	if json.Valid(e.Data) {
		v.DataContentType, v.Data = "application/json", e.Data
	}
	return v
}
