package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// folding measures the engine without anything around it, on one core: how many operations of one resource it folds in a second, and about
// how many it decides one after the other what its site is to do.
func folding(ctx context.Context, b *bench) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n = 250 // what an epoch takes
	all := concurrent(n)
	b.report.table(fmt.Sprintf("The engine on one core: a resource of 20 fields, %d operations of four sites, each concurrent with three others", n), "what", "operations")
	for _, m := range []struct {
		what string
		do   func() error
	}{
		{"folded from the start", func() error {
			h := history()
			for _, o := range all {
				h.Add(o)
			}
			if got := len(h.Whole(merge.Any).Cells); got < 20 {
				return fmt.Errorf("a fold of %d fields", got)
			}
			return nil
		}},
		{"heard and done one after the other", func() error { return decide(all) }},
	} {
		begin, done := time.Now(), 0
		for ; time.Since(begin) < b.For && ctx.Err() == nil; done += n {
			if err := m.do(); err != nil {
				return err
			}
		}
		b.report.row(m.what, perSecond(float64(done)/time.Since(begin).Seconds()))
	}
	return ctx.Err()
}

// history is an empty one of a resource of four sites, at the first of them.
func history() *merge.History {
	return merge.New(&engine.Kind{}, engine.About{Collaboration: engine.Replication, Placement: []engine.SiteID{"a", "b", "c", "d"}}, "a")
}

// decide takes operations in one by one and does what Next says, with an application that takes everything.
func decide(all []*engine.Operation) error {
	h, settled, void := history(), map[*engine.Operation]bool{}, map[*engine.Operation]bool{}
	standing := plan.Standing{
		Settled: func(o *engine.Operation) bool { return settled[o] },
		Void:    func(o *engine.Operation) bool { return void[o] },
		Blocked: func(*engine.Operation) bool { return false },
	}
	for i, o := range all {
		h.Add(o)
		for step := plan.Next(h, standing); step.Kind != plan.StepNothing; step = plan.Next(h, standing) {
			if len(step.Operations) == 0 {
				return fmt.Errorf("%s settles nothing", step.Kind)
			}
			for _, o := range step.Operations {
				settled[o], void[o] = true, step.Kind == plan.StepSkip
			}
		}
		if len(settled) != i+1 {
			return fmt.Errorf("%d of %d operations are settled", len(settled), i+1)
		}
	}
	return nil
}

// concurrent are operations of four sites in turns: each has seen all turns before its own.
func concurrent(n int) []*engine.Operation {
	var all []*engine.Operation
	seen, turn := engine.Vector{}, engine.Vector{}
	for i := range n {
		if i%4 == 1 { // the create is a turn by itself
			maps.Copy(seen, turn)
		}
		o := &engine.Operation{ID: engine.OperationID(fmt.Sprintf("%06d", i)), Type: engine.TypeMerge, Line: engine.Line(rune('a' + i%4)), Origin: engine.SiteID(rune('a' + i%4)),
			Number: uint64(i/4 + 1), Time: int64(i), Seen: maps.Clone(seen), Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{
				engine.Pointer(fmt.Sprintf("/f%d", i%20)): json.RawMessage(fmt.Sprint(i))}}}
		if i == 0 {
			o.Type = engine.TypeCreate
		}
		delete(o.Seen, o.Line)
		turn[o.Line] = o.Number
		all = append(all, o)
	}
	return all
}
