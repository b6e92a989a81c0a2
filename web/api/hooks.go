package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/hooks"
	"github.com/skerry/skerry/web/shape"
)

// Hook is an address that events are pushed to. Its secret is told once, to whoever made it.
type Hook struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Events    []string  `json:"events"` // empty: all
	Secret    string    `json:"secret,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	// State is waiting (all that it asks for is delivered or given up) or failing (the next event is tried again).
	State     string     `json:"state"`
	After     string     `json:"after"` // the event up to which all is settled
	Delivered uint64     `json:"delivered"`
	GivenUp   uint64     `json:"given_up"`
	Attempts  int        `json:"attempts"` // at the next event
	Since     *time.Time `json:"failing_since"`
	NextTry   *time.Time `json:"next_try"`
}

// HookRequest asks for a hook.
type HookRequest struct {
	URL    string   `json:"url"`
	Events []string `json:"events"`
}

// DeliveryList is one page of a hook's delivery log, newest first. Next is empty on the last one.
type DeliveryList struct {
	Items []hooks.Delivery `json:"items"`
	Next  string           `json:"next"`
}

// AddHook makes a hook for events from now on.
func (a *API) AddHook(ctx context.Context, r HookRequest) (Hook, error) {
	after, err := a.newest(ctx)
	if err != nil {
		return Hook{}, err
	}
	h, secret, err := a.Hooks.Add(ctx, r.URL, r.Events, after, auth.From(ctx).Account)
	if err != nil {
		return Hook{}, err
	}
	v := hook(h, hooks.Position{After: after})
	v.Secret = secret
	return v, nil
}

// ListHooks lists the hooks, without their secrets.
func (a *API) ListHooks(ctx context.Context) ([]Hook, error) {
	all, at, err := a.Hooks.List(ctx)
	if err != nil {
		return nil, err
	}
	list := []Hook{}
	for _, h := range all {
		list = append(list, hook(h, at[h.ID]))
	}
	return list, nil
}

func hook(h hooks.Hook, at hooks.Position) Hook {
	v := Hook{ID: h.ID, URL: h.URL, Events: h.Events, CreatedAt: h.Created, CreatedBy: h.By, State: "waiting", After: strconv.FormatUint(at.After, 10),
		Delivered: at.Delivered, GivenUp: at.GivenUp, Attempts: at.Attempts, Since: shape.Moment(at.Failing), NextTry: shape.Moment(at.Next)}
	if v.Events == nil {
		v.Events = []string{}
	}
	if at.Attempts > 0 {
		v.State = "failing"
	}
	return v
}

// Deliveries returns the newest attempts of a hook, those before a number when that is not 0.
func (a *API) Deliveries(ctx context.Context, id string, before uint64, limit int) (DeliveryList, error) {
	if limit == 0 {
		limit = 100
	}
	items, err := a.Hooks.Deliveries(ctx, id, before, limit)
	if err != nil {
		return DeliveryList{}, err
	}
	list := DeliveryList{Items: items}
	if n := len(items); n == limit && items[n-1].N > 1 {
		list.Next = strconv.FormatUint(items[n-1].N, 10)
	}
	return list, nil
}

// eventSource is the event log as hooks read it.
type eventSource struct{ a *API }

// Wait implements hooks.Source.
func (s eventSource) Wait(ctx context.Context, after uint64) ([]hooks.Event, error) {
	got, err := s.a.Waiter.WaitEvents(ctx, after)
	if err != nil {
		return nil, err
	}
	source := s.a.source()
	events := make([]hooks.Event, 0, len(got))
	for _, e := range got {
		h, err := pushed(shape.EventOf(e, source), s.a.SelfName(), e.Seq)
		if err != nil {
			return nil, err
		}
		events = append(events, h)
	}
	return events, nil
}

// Trimmed implements hooks.Source.
func (s eventSource) Trimmed(after, next uint64) hooks.Event {
	e, err := pushed(trimmed(s.a.source(), after, next, s.a.Now()), s.a.SelfName(), next-1)
	if err != nil {
		s.a.Log.Error("encode an event", "err", err) // it has numbers only
	}
	return e
}

// pushed names an event so that no other has its name, not even one that a site gives the same number after it was restored from
// a backup.
func pushed(e shape.Event, site string, seq uint64) (hooks.Event, error) {
	b, err := encode(e)
	if err != nil {
		return hooks.Event{}, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return hooks.Event{Seq: seq, Type: e.Type, Body: b, ID: fmt.Sprintf("%s-%d-%s", site, seq, strconv.FormatInt(e.Time.UnixNano(), 36))}, nil
}

func (a *API) getDeliveries(c echo.Context) error {
	before, n, err := logPage(c)
	if err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.Deliveries(c.Request().Context(), id, before, n)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
