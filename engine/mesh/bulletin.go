package mesh

import (
	"fmt"

	"github.com/skerry/skerry/engine"
)

// maxStates is how many states a bulletin counts by.
const maxStates = 32

// Bulletin is what a site has told last of its state; nil: nothing.
func (s *State) Bulletin(id engine.SiteID) *engine.Bulletin {
	r := s.records[id][engine.RecordKey{Kind: engine.RecordBulletin}]
	if r == nil {
		return nil
	}
	b := r.said.(engine.Bulletin)
	return &b
}

// Publish returns the record in which this site tells how it is. The error says why others would refuse it.
func (a Author) Publish(b engine.Bulletin) (engine.MeshRecord, error) {
	if err := CheckBulletin(b); err != nil {
		return engine.MeshRecord{}, fmt.Errorf("tell how this site is: %w", err)
	}
	return a.Next(engine.RecordKey{Kind: engine.RecordBulletin}, b), nil
}

// CheckBulletin says why a bulletin is none that an honest site tells.
func CheckBulletin(b engine.Bulletin) error {
	if len(b.Resources) > maxStates || len(b.Operations) > maxStates || len(b.Failing) > maxServices || b.Decisions < 0 {
		return fmt.Errorf("a bulletin of %d and %d states and %d services", len(b.Resources), len(b.Operations), len(b.Failing))
	}
	for _, counts := range []map[engine.State]int{b.Resources, b.Operations} {
		for state, n := range counts {
			if err := checkText("state", string(state), 1, maxText); err != nil || n < 0 {
				return fmt.Errorf("%d in the state %.20q", n, state)
			}
		}
	}
	for _, f := range b.Failing {
		if err := first(checkText("service", string(f.Service), 1, maxText), checkText("state", string(f.State), 1, maxText), checkTime(f.Since)); err != nil {
			return err
		}
	}
	return first(checkText("version", b.Version, 0, maxText), checkText("dashboard", b.Dashboard, 0, maxAddress), checkTime(b.Oldest), checkTime(b.At))
}
