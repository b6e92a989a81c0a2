package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// toldNamed is how many sites a refusal names that can tell more.
const toldNamed = 5

// elsewhere is the refusal of what this site has no part in, with the sites that may tell of it.
type elsewhere struct {
	refusal *engine.Refusal
	sites   []shape.Site
}

func (e *elsewhere) Error() string { return e.refusal.Error() }
func (e *elsewhere) Unwrap() error { return e.refusal }

// Elsewhere returns the sites that may tell of what an error says this one knows nothing of: those at which decisions wait. None: there are none, or
// it is another error.
func Elsewhere(err error) []shape.Site {
	var e *elsewhere
	if errors.As(err, &e) {
		return e.sites
	}
	return nil
}

// toldElsewhere adds to the refusal of a conflict the other sites at which decisions wait, as they have told all members. What a resource has in it
// goes to sites that have a part in it, so whoever wants to compare has to ask there.
func (a *API) toldElsewhere(ctx context.Context, unknown *engine.Refusal) error {
	all, err := a.SiteStates(ctx)
	if err != nil {
		return err
	}
	var sites []shape.Site
	var names []string
	for _, s := range all {
		if s.Self || s.State == nil || s.State.Decisions == 0 {
			continue
		}
		sites = append(sites, s)
		name := s.Name
		if s.State.Dashboard != "" {
			name = fmt.Sprintf("%s (%s)", s.Name, s.State.Dashboard)
		}
		names = append(names, name)
	}
	if len(sites) == 0 {
		return unknown
	}
	if more := len(names) - toldNamed; more > 0 {
		names = append(slices.Clip(names[:toldNamed]), fmt.Sprintf("%d more", more))
	}
	told := *unknown
	told.Detail += "; decisions wait at " + strings.Join(names, ", ") + ": ask there"
	return &elsewhere{&told, sites}
}
