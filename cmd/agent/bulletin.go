package agent

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"reflect"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/members"
	"github.com/skerry/skerry/web/api"
)

// herald tells all members how this site is, whenever that has changed and it is time: what waits for people soon, counts later.
type herald struct {
	api  *api.API
	mesh *members.Members
	log  *slog.Logger
	now  func() time.Time
}

// run does so until ctx ends.
func (h *herald) run(ctx context.Context) error {
	var told time.Time // last time by this run
	for {
		sites := len(h.mesh.Members())
		due, err := h.due(ctx, told, sites)
		if due && err == nil {
			if err = h.publish(ctx); err == nil {
				told = h.now()
			}
		}
		if err != nil && ctx.Err() == nil { // such as a disk that is full: the next try is soon
			h.log.Debug("tell the others how this site is", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(engine.Bulletin{}.Soon(sites)):
		}
	}
}

// due reports whether there may be something to tell: what waits for people is not as told, or it is long ago.
func (h *herald) due(ctx context.Context, told time.Time, sites int) (bool, error) {
	if h.now().Sub(told) >= (engine.Bulletin{}).Every(sites) {
		return true, nil
	}
	last := cmp.Or(h.mesh.Bulletin(), &engine.Bulletin{})
	now, err := h.api.Urgent(ctx)
	return now.Decisions != last.Decisions || !reflect.DeepEqual(now.Failing, last.Failing), err
}

// publish tells it, unless it is what was told last.
func (h *herald) publish(ctx context.Context) error {
	b, err := h.api.Bulletin(ctx)
	if err != nil {
		return err
	}
	if last := h.mesh.Bulletin(); last != nil {
		same := b
		same.At = last.At
		if string(engine.Encode(same)) == string(engine.Encode(*last)) {
			return nil
		}
	}
	return h.mesh.Publish(ctx, b)
}

// dashboard is where people find this site's page, as others are told: by the name that its configuration gives, else by its address.
func (a *Agent) dashboard() string {
	address := a.cfg.API.URL()
	if len(a.cfg.API.Hosts) == 0 {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.Host = a.cfg.API.Hosts[0]
	return u.String()
}
