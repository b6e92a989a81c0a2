package shape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// SiteState is how a site is, as it has told all members.
type SiteState struct {
	// Resources and Operations count by state, those of which there are none left out.
	Resources  map[string]int `json:"resources"`
	Operations map[string]int `json:"operations"`
	// Backlog is how many operations that it knows are not applied everywhere, Oldest when the first of them was issued; nil: none.
	Backlog   int               `json:"backlog"`
	Oldest    *time.Time        `json:"oldest"`
	Decisions int               `json:"decisions"` // that wait for a person there
	Failing   map[string]string `json:"failing"`   // services that do not answer it, each with the state of its queue
	Version   string            `json:"version"`   // of its agent
	Dashboard string            `json:"dashboard"` // where its own page is; empty: not told
	At        time.Time         `json:"at"`        // when it was told; it is told again when it changes
}

// StateOf tells how a site is; nil: it has told nothing.
func StateOf(b *engine.Bulletin) *SiteState {
	if b == nil {
		return nil
	}
	s := &SiteState{Resources: map[string]int{}, Operations: map[string]int{}, Backlog: b.Operations[engine.StatePending], Oldest: Instant(b.Oldest),
		Decisions: b.Decisions, Failing: map[string]string{}, Version: b.Version, Dashboard: b.Dashboard, At: engine.Time(b.At)}
	for state, n := range b.Resources {
		s.Resources[string(state)] = n
	}
	for state, n := range b.Operations {
		s.Operations[string(state)] = n
	}
	for _, f := range b.Failing {
		s.Failing[string(f.Service)] = string(f.State)
	}
	return s
}

// Word is how a site is in one word: what is worst.
func (s *Site) Word() string {
	switch {
	case s.Revoked:
		return "revoked"
	case s.Cloned:
		return "cloned"
	case !s.Reachable && !s.Self:
		return "unreachable"
	case s.State == nil:
		return "unknown"
	case s.State.Decisions > 0:
		return "decide"
	case len(s.State.Failing) > 0:
		return "failing"
	case s.State.Resources["conflict"]+s.State.Resources["degraded"] > 0:
		return "degraded"
	case s.State.Backlog > 0 || s.State.Resources["converging"]+s.State.Resources["deleting"] > 0:
		return "converging"
	}
	return "converged"
}

// Needs says in words what is wrong at a site that somebody has to look at; empty: nothing.
func (s *SiteState) Needs() string {
	if s == nil {
		return ""
	}
	var parts []string
	if s.Decisions == 1 {
		parts = append(parts, "1 decision waits for a person there")
	} else if s.Decisions > 1 {
		parts = append(parts, fmt.Sprintf("%d decisions wait for a person there", s.Decisions))
	}
	for _, service := range slices.Sorted(maps.Keys(s.Failing)) {
		why := "does not answer as it should"
		if s.Failing[service] == string(engine.QueuePaused) {
			why = "does not let the agent in"
		}
		parts = append(parts, "its service "+service+" "+why)
	}
	return strings.Join(parts, "; ")
}
