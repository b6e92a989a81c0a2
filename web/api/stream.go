package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Heartbeat is the time between two comments on a stream that has nothing to tell, so that both ends notice a
// dead connection.
const Heartbeat = 15 * time.Second

// streamEvents serves the log from where the client is as Server-Sent Events, until the client leaves or the site
// stops.
func (a *API) streamEvents(c echo.Context) error {
	q, err := params(c, "after")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	after, resumed, err := a.resumePoint(ctx, c.Request().Header.Get("Last-Event-ID"), q.Get("after"))
	if err != nil {
		return err
	}
	leave, err := a.EnterStream(ctx)
	if err != nil {
		return err
	}
	defer leave()
	w := c.Response()
	StartStream(w)
	fmt.Fprintf(w, "retry: 1000\n: stream of %s from event %d\n\n", a.source(), after)
	w.Flush()
	first := resumed
	return a.Follow(ctx, after, Heartbeat, func(events []engine.Event) error {
		if len(events) == 0 {
			_, err := io.WriteString(w, ": alive\n\n")
			w.Flush()
			return err
		}
		source := a.source()
		if first && events[0].Seq > after+1 {
			if err := writeEvent(w, trimmed(source, after, events[0].Seq, a.Now())); err != nil {
				return err
			}
		}
		first = false
		for _, e := range events {
			if err := writeEvent(w, shape.EventOf(e, source)); err != nil {
				return err
			}
		}
		w.Flush()
		return nil
	})
}

// resumePoint tells after which entry a stream begins, and whether the client said so.
func (a *API) resumePoint(ctx context.Context, last, query string) (after uint64, resumed bool, err error) {
	s := last
	if s == "" {
		s = query
	}
	newest, err := a.newest(ctx)
	if err != nil || s == "" {
		return newest, false, err
	}
	after, err = strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, false, badRequest("%q is no event's id: give the id of the last event seen, or 0 for all", s)
	}
	if after > newest { // another log than this one's: nothing that the client saw is known here
		return 0, true, nil
	}
	return after, after > 0, nil
}

func trimmed(source string, after, next uint64, now time.Time) shape.Event {
	data, _ := json.Marshal(map[string]uint64{"after": after, "next": next})
	return shape.Event{
		SpecVersion: "1.0", ID: strconv.FormatUint(next-1, 10), Source: source, Type: TypeTrimmed, Time: now,
		DataContentType: "application/json", Data: data,
	}
}

// StartStream writes the head of an answer that is a stream of Server-Sent Events.
func StartStream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Follow hands on what the log gets after an entry, in order, and an empty slice whenever it was quiet for the given
// time. It ends without an error when ctx does or the site stops, else with what take returned, why the log
// cannot be read, or that who made the request of ctx may read no more.
func (a *API) Follow(ctx context.Context, after uint64, quiet time.Duration, take func([]engine.Event) error) error {
	return a.follow(ctx, after, quiet, func(events []engine.Event) (uint64, error) {
		if n := len(events); n > 0 {
			after = events[n-1].Seq
		}
		return after, take(events)
	})
}

// FollowNewest hands on the number of the newest entry whenever the log has got more, and the same again whenever it was quiet for the given
// time. However much has come meanwhile, it is one call. It ends as Follow does.
func (a *API) FollowNewest(ctx context.Context, after uint64, quiet time.Duration, take func(newest uint64) error) error {
	return a.follow(ctx, after, quiet, func(events []engine.Event) (uint64, error) {
		if len(events) > 0 {
			newest, err := a.newest(ctx)
			if err != nil {
				return after, err
			}
			after = max(newest, events[len(events)-1].Seq)
		}
		return after, take(after)
	})
}

// follow hands on what the log gets after an entry; take says after which it goes on.
func (a *API) follow(ctx context.Context, after uint64, quiet time.Duration, take func([]engine.Event) (uint64, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-a.stopping:
			cancel()
		case <-ctx.Done():
		}
	})
	for {
		wait, done := context.WithTimeout(ctx, quiet)
		events, err := a.Waiter.WaitEvents(wait, after)
		over := wait.Err()
		done()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && over == nil:
			return fmt.Errorf("follow the event log: %w", err)
		}
		if len(events) == 0 && over == nil {
			continue
		}
		if err := a.Auth.Still(ctx); err != nil {
			return err
		}
		if after, err = take(events); err != nil {
			return fmt.Errorf("write to the stream: %w", err)
		}
	}
}

func writeEvent(w io.Writer, e shape.Event) error {
	b, err := encode(e) // ends the line
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	_, err = fmt.Fprintf(w, "id: %s\ndata: %s\n", e.ID, b)
	return err
}
