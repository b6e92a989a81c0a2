package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Event is one entry of the event log, as CloudEvents write it in JSON.
type Event struct {
	ID      string          `json:"id"`
	Source  string          `json:"source"`
	Type    string          `json:"type"`
	Subject string          `json:"subject"`
	Time    time.Time       `json:"time"`
	Data    json.RawMessage `json:"data"`
}

// Watcher says what is done with events.
type Watcher struct {
	// After is the event after which the watch begins; "0": all that the agent still has; empty: those from now on.
	After string
	// Event is called with each one, as the agent wrote it; Decode makes an Event of it. An error of it ends the watch.
	Event func(id string, event json.RawMessage) error
	// Opened, unless it is nil, is called whenever the stream is open: the first time, and after each time it broke. An error of it ends the watch.
	Opened func() error
	// Lost, unless it is nil, is called when a stream that was open has broken.
	Lost func()
	// Pause is before a stream that broke is opened again. Default one second.
	Pause time.Duration
}

// Watch follows the agent's events until ctx ends, and then returns nil, or until a function of the watcher fails. A stream that breaks it opens again,
// and goes on after the last event. Only an agent that cannot be reached at first is an error.
func (c *Client) Watch(ctx context.Context, w Watcher) error {
	if w.Pause == 0 {
		w.Pause = time.Second
	}
	for first := true; ; first = false {
		last, err := c.stream(ctx, w)
		w.After = last
		broken := errors.Is(err, errBroken)
		var theirs *watcherError
		var gone *Unreachable
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &theirs):
			return theirs.error
		case !broken && (first || !errors.As(err, &gone)):
			return err
		}
		if broken && w.Lost != nil {
			w.Lost()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.Pause):
		}
	}
}

// errBroken: a stream that was open has ended.
var errBroken = errors.New("stream ended")

// watcherError is an error of the watcher's own functions.
type watcherError struct{ error }

// stream reads one stream of Server-Sent Events (HTML Living Standard, section 9.2) to its end and returns the id of the last event.
func (c *Client) stream(ctx context.Context, w Watcher) (string, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if w.After != "" {
		header.Set("Last-Event-ID", w.After)
	}
	res, err := c.request(ctx, http.MethodGet, below("/events"), nil, header)
	if err != nil {
		return w.After, err
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return w.After, c.stranger(res)
	}
	if w.Opened != nil {
		if err := w.Opened(); err != nil {
			return w.After, &watcherError{err}
		}
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	after, id, data := w.After, w.After, []string(nil)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "": // the event is complete
			if len(data) > 0 {
				event := json.RawMessage(strings.Join(data, "\n"))
				if !json.Valid(event) {
					return after, c.stranger(res)
				}
				after, data = id, nil
				if err := w.Event(id, event); err != nil {
					return after, &watcherError{err}
				}
			}
		case field == "id":
			id = value
		case field == "data":
			data = append(data, value)
		}
	}
	return after, errBroken
}
