package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// follow calls each for every event from now on, or from the one after the event called after, until ctx ends
// (then it returns nil) or each fails. opened is called whenever the stream is open: the first time and after each
// time it broke, which follow mends by itself. Only an agent that cannot be reached at first is an error.
func (p *program) follow(ctx context.Context, after string, opened func() error, each func(id string, event json.RawMessage) error) error {
	for first := true; ; first = false {
		last, err := p.stream(ctx, after, opened, each)
		after = last
		broken := errors.Is(err, errBroken)
		var mine *handlerError
		var gone *unreachableError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &mine):
			return mine.error
		case !broken && (first || !errors.As(err, &gone)):
			return err
		}
		if broken {
			fmt.Fprintf(p.errs, "skerry: lost the agent at %s; trying again until it is back\n", p.api.base)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.retry):
		}
	}
}

// errBroken: a stream that was open has ended.
var errBroken = errors.New("stream ended")

// handlerError is an error of the caller's own functions.
type handlerError struct{ error }

// stream reads one stream of Server-Sent Events (HTML Living Standard, section 9.2) to its end and returns the id of the
// last event.
func (p *program) stream(ctx context.Context, after string, opened func() error, each func(string, json.RawMessage) error) (string, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	res, err := p.api.send(ctx, http.MethodGet, "/events", nil, header)
	if err != nil {
		return after, err
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return after, p.api.stranger(res)
	}
	if err := opened(); err != nil {
		return after, &handlerError{err}
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	id, data := after, []string(nil)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "": // the event is complete
			if len(data) > 0 {
				event := json.RawMessage(strings.Join(data, "\n"))
				if !json.Valid(event) {
					return after, p.api.stranger(res)
				}
				after, data = id, nil
				if err := each(id, event); err != nil {
					return after, &handlerError{err}
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
