package page

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// The stream speaks at least every pulse, so that a page knows that it is live, and tells news at most once in
// settle, so that a burst of events reloads a page a few times and not a thousand; less often where many look (pace.go).
const (
	pulse  = 10 * time.Second
	settle = 400 * time.Millisecond
)

// live tells the browser that something has happened and the view may be another: an event called news, whose id is the
// newest entry of the event log. What has happened the view itself tells.
func (p *Page) live(c echo.Context) error {
	ctx := c.Request().Context()
	newest, err := p.api.Events(ctx, 0, 1)
	if err != nil {
		return err
	}
	var after uint64
	if len(newest.Items) > 0 {
		if after, err = strconv.ParseUint(newest.Items[0].ID, 10, 64); err != nil {
			return fmt.Errorf("read the newest event's id: %w", err)
		}
	}
	missed := false // while it was away
	if last := c.Request().Header.Get("Last-Event-ID"); last != "" && last != strconv.FormatUint(after, 10) {
		missed = true
	}
	leave, err := p.api.EnterStream(c.Request().Context())
	if err != nil {
		return err
	}
	defer leave()
	p.pace.streams.Add(1)
	defer p.pace.streams.Add(-1)
	w := c.Response()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(200)
	say := func(event string, id uint64) error {
		_, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %d\n\n", id, event, id)
		w.Flush()
		return err
	}
	first := "hello"
	if missed {
		first = "news"
	}
	if _, err := io.WriteString(w, "retry: 1000\n"); err != nil {
		return err
	}
	if err := say(first, after); err != nil {
		return err
	}
	return p.api.FollowNewest(ctx, after, pulse, func(newest uint64) error {
		if newest == after {
			return say("alive", after)
		}
		after = newest
		if err := say("news", after); err != nil {
			return err
		}
		rest := time.NewTimer(p.pace.rest())
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-ctx.Done():
		case <-p.api.Stopping():
		}
		return nil
	})
}
