package front

import (
	"context"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
)

// choose runs a request that concerns nothing replicated here at the first of its alternatives that takes it. The next one is tried
// only while it is certain that nothing has happened at those before. When no site of any can be reached, the request is kept for
// all of them.
func (f *Front) choose(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if len(r.Alternatives) == 0 {
		return f.at(ctx, r, k)
	}
	r.Operation = f.operationOf(r) // one and the same wherever it is tried
	all := r.Alternatives
	// A site that may have had it under the same key before is asked alone.
	if i := slices.IndexFunc(all, func(a engine.Alternative) bool { return slices.Contains(a.Placement, k.Sent) }); i >= 0 {
		all = all[i : i+1]
	}
	var last func() (engine.Answer, error)
	told := false // an agent has said why it does not take it
	open := r     // what is kept when nobody could be asked
	open.Alternatives = nil
	var sites []engine.SiteID
	for _, a := range all {
		r.Placement, r.Parts, r.Agreement, r.ExactlyOne = a.Placement, a.Parts, a.Agreement, a.ExactlyOne
		answer, err := f.at(ctx, r, k)
		if !plan.Untouched(answer, err) {
			return answer, err
		}
		last, told = func() (engine.Answer, error) { return answer, err }, told || !plan.Unreachable(err)
		if a.Agreement != engine.AgreeOne { // it is for now or not at all
			continue
		}
		open.Alternatives = append(open.Alternatives, a)
		for _, id := range a.Placement {
			if !slices.Contains(sites, id) && id != f.self {
				sites = append(sites, id)
			}
		}
	}
	if told || len(sites) == 0 {
		return last()
	}
	first := open.Alternatives[0]
	open.Placement, open.Parts, open.ExactlyOne = first.Placement, first.Parts, first.ExactlyOne
	return f.outbox.KeepFor(ctx, open, sites, k)
}
