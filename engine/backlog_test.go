package engine

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// BenchmarkBacklog does at one site what n operations of another leave to be done there, while a third one is away and nothing
// can be folded away. What an operation costs is to grow with n as little as possible.
func BenchmarkBacklog(b *testing.B) {
	labelled, ruled := *lab, *lab
	labelled.Label, ruled.Label = "/name", "/name"
	ruled.Resolutions = []Resolution{{"merge", "merge", TakeOne}}
	for _, n := range []int{300, 600, 1200, 2400} {
		b.Run(fmt.Sprintf("operations=%d", n), func(b *testing.B) { backlog(b, &labelled, n) })
	}
	b.Run("rules/operations=600", func(b *testing.B) { backlog(b, &ruled, 600) })
}

func backlog(b *testing.B, k *Kind, n int) {
	for b.Loop() {
		v := newView("b", func(s SiteID) SiteName { return SiteName(s) }, "d", About{Key: "web", Placement: []SiteID{"a", "b", "c"}}, nil, k)
		for i := range n {
			change := &Change{Set: map[Pointer]json.RawMessage{}}
			for f := range 5 {
				change.Set[Pointer(fmt.Sprintf("/group/f%d", (i+f)%20))] = json.RawMessage(fmt.Sprint(i))
			}
			o := &Operation{ID: OperationID(fmt.Sprintf("o%05d", i)), Type: TypeMerge, Path: lab.Item, Origin: "a", Run: "1", Seq: uint64(i + 1),
				Time: int64(i + 1), Change: change}
			if i == 0 {
				o.Type = TypeCreate
			}
			o.line = lineOf(o.Origin, o.Run, 0)
			if len(v.history.Add(o)) != 1 {
				b.Fatal("left out")
			}
		}
		v.placed = nil
		for i := 0; ; i++ {
			v.shown() // what the next request is computed from
			step := Next(v.history, v.standing())
			if step.Kind == StepNothing && i == n {
				break
			}
			if step.Kind != StepRun || len(step.Operations) != 1 {
				b.Fatal(i, step.Kind)
			}
			if err := v.take(v.replicaAs(v.withSettled("1", time.UnixMicro(1), step.Operations...)), nil); err != nil {
				b.Fatal(err)
			}
			v.row(time.UnixMicro(2), v.conflicts())
			for id := range v.touched {
				v.operationRow(v.history.Get(id))
			}
			clear(v.touched)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/operation")
}
