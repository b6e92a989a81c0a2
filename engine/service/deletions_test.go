package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestDeletions(t *testing.T) {
	d := NewDeletions(engine.DeletionLimits{Number: 20})
	late := func(i int) engine.OperationID { return engine.OperationID(fmt.Sprint("late", i)) }
	for i := range 1000 { // heard of in time they all run
		o := engine.OperationID(fmt.Sprint("now", i))
		d.Heard(o, time.Minute, start)
		if !d.Admit(o, 10, start) {
			t.Fatalf("deletion %d, heard of in time, is held", i)
		}
	}
	d.Heard(late(0), time.Minute+1, start)
	for i := range 15 {
		if !d.Admit(late(i), 75, second(float64(i))) {
			t.Fatalf("late deletion %d of a fifth of 75 is held", i)
		}
	}
	if d.Admit(late(15), 75, second(20)) {
		t.Fatal("one more than a fifth runs")
	}
	if !d.Admit(late(3), 75, second(20)) {
		t.Error("one that was let pass is held when it comes again")
	}
	if !d.Hold("x") || d.Hold("y") || d.Hold("x") {
		t.Error("which one is the first that is held?")
	}
	if got, ran := d.Held(); !slices.Equal(got, []engine.DocumentID{"x", "y"}) || len(ran) != 15 || ran[14] != late(14) {
		t.Errorf("held are %v, after %v ran", got, ran)
	}
	if d.Admit(late(16), 75, second(4000)) {
		t.Error("while some are held others run, since time has passed")
	}
	d.Release("x")
	d.Release("z")
	if d.Admit(late(16), 75, second(4000)) {
		t.Error("while one is held others run")
	}
	d.Release("y")
	if !d.Admit(late(16), 75, second(21)) {
		t.Error("once all were confirmed, the count does not begin anew")
	}
	if got, ran := d.Held(); len(got) != 0 || ran != nil {
		t.Errorf("held are %v still, after %v ran", got, ran)
	}
}

func TestBoundOfDeletions(t *testing.T) {
	for _, c := range []struct{ resources, want int }{{0, 10}, {49, 10}, {75, 15}, {500, 100}, {10_000, 100}} {
		d, n := NewDeletions(engine.DeletionLimits{}), 0
		for d.Admit(engine.OperationID(fmt.Sprint(n)), c.resources, start) {
			n++
		}
		if n != c.want {
			t.Errorf("of %d resources %d late deletions run, want %d", c.resources, n, c.want)
		}
		if !d.Admit("later", c.resources, start.Add(time.Hour+1)) {
			t.Error("the window does not move")
		}
	}
}

// What may run is remembered for a day, and not for ever.
func TestDeletionsForget(t *testing.T) {
	d := NewDeletions(engine.DeletionLimits{})
	d.Hold("x") // so that nothing else runs
	for hour := range 2400 {
		now := start.Add(time.Duration(hour) * time.Hour)
		d.Heard(engine.OperationID(fmt.Sprint(hour)), 0, now)
		if ago := hour - 24; ago >= 0 && !d.Admit(engine.OperationID(fmt.Sprint(ago)), 10, now) {
			t.Fatalf("what was heard of a day ago, at hour %d, is forgotten", ago)
		}
		if n := len(d.let) + len(d.before); n > 60 {
			t.Fatalf("after %d hours %d are remembered", hour, n)
		}
	}
}
