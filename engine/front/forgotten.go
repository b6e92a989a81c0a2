package front

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
)

// clocksApart is how far the clocks of two sites may be apart for one to judge by the identifier that the other has made.
const clocksApart = time.Hour

// mayHaveRun refuses a request of another site that may have come before where nobody here would know: so long ago that it is forgotten,
// or to a run of this agent that is lost, of which no other site has told yet.
func (f *Front) mayHaveRun(ctx context.Context, r engine.Request) error {
	if !r.Again {
		return nil
	}
	row, err := f.Site.Lookup(ctx, r.Kind, r.Target)
	if _, err := found(err); err != nil {
		return fmt.Errorf("look up %s: %w", r.Target, err)
	}
	until, err := f.Store.ForgottenUntil(ctx)
	if err != nil {
		return fmt.Errorf("look which operations are forgotten: %w", err)
	}
	besides := slices.DeleteFunc(append(f.others(row), r.Placement...), func(id engine.SiteID) bool { return slices.Contains(r.Via, id) })
	switch made := r.Operation.Made(); {
	case !until.IsZero() && !made.Add(-clocksApart).After(until):
		return &engine.Refusal{Status: http.StatusConflict, Type: keys.Forgotten, Operation: r.Operation, Detail: fmt.Sprintf(
			"it may have run at %s before, so long ago that nothing is known of it there any more", f.name(f.self))}
	case !f.Site.Met(besides):
		return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: r.Operation, Detail: fmt.Sprintf(
			"it may have run at %s before, which has been compared with no other site since it was started", f.name(f.self))}
	}
	return nil
}
