package waiting

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is the time that a test has.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func TestQueue(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	q := NewQueue[string](c.time, 1)
	take := func() string {
		j, wait := q.Due()
		if wait > 0 {
			return ""
		}
		return j
	}
	wants := func(want string) {
		t.Helper()
		if got := take(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	second := func(int) time.Duration { return time.Second }
	wants("")
	q.Add("b", "x", time.Second)
	q.Add("a", "x", 0)
	q.Add("a", "x", time.Second) // it is due earlier already
	q.Add("c", "y", 0)
	wants("a")
	wants("c") // of another lane: b is not due
	c.now = c.now.Add(time.Second)
	wants("") // its lane is full
	q.Done("a", true, second)
	wants("b")
	q.Add("b", "y", 0) // once more, in another lane
	q.Done("b", false, second)
	if at := q.At("a"); !at.Equal(c.now.Add(time.Second)) || !q.At("c").IsZero() || !q.At("nothing").IsZero() {
		t.Errorf("a is due at %s", at)
	}
	wants("") // b waits for c
	q.Done("c", false, second)
	wants("b")
	q.Hurry("x")
	if due, ok := q.Next(); !ok || due.After(c.now) {
		t.Errorf("next at %s, %v", due, ok)
	}
	wants("a")
	q.Done("a", false, second)
	q.Done("b", false, second)
	if _, ok := q.Next(); ok {
		t.Error("something is left")
	}
}

func TestQueueWakes(t *testing.T) {
	q := NewQueue[int](time.Now, 1)
	got := make(chan int)
	go func() {
		for {
			j, err := q.Take(t.Context())
			if err != nil {
				return
			}
			q.Done(j, false, nil)
			got <- j
		}
	}()
	for i := range 3 {
		q.Add(i, "x", 0)
		if j := <-got; j != i {
			t.Errorf("took %d, want %d", j, i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewQueue[int](time.Now, 1).Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("took from nothing: %v", err)
	}
}

// Whatever is added comes out, no lane runs more than its width, and nothing runs beside itself.
func TestQueueLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &clock{time.Unix(0, 0)}
		q := NewQueue[int](c.time, 2)
		owed, runs, lanes := map[int]bool{}, map[int]bool{}, map[int]Lane{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				j := rapid.IntRange(0, 5).Draw(t, "job")
				lane := Lane(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "lane"))
				if !owed[j] && !runs[j] || runs[j] {
					lanes[j] = lane
				}
				owed[j] = true
				q.Add(j, lane, time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")))
			},
			"take": func(t *rapid.T) {
				j, wait := q.Due()
				if wait > 0 {
					return
				}
				if runs[j] || !owed[j] {
					t.Fatalf("%d is taken", j)
				}
				owed[j], runs[j] = false, true
			},
			"done": func(t *rapid.T) {
				for j := range 6 {
					if runs[j] {
						again := rapid.Bool().Draw(t, "again")
						q.Done(j, again, func(int) time.Duration { return 2 })
						owed[j], runs[j] = owed[j] || again, false
						return
					}
				}
			},
			"time": func(*rapid.T) { c.now = c.now.Add(1) },
			"": func(t *rapid.T) {
				n := 0
				for _, r := range runs {
					if r {
						n++
					}
				}
				if n > 4 {
					t.Fatalf("%d run", n)
				}
			},
		})
		c.now = c.now.Add(time.Hour)
		for j := range 6 {
			if runs[j] {
				q.Done(j, false, nil)
			}
		}
		for {
			j, wait := q.Due()
			if wait > 0 {
				break
			}
			delete(owed, j)
			q.Done(j, false, nil)
		}
		for j, left := range owed {
			if left {
				t.Fatalf("%d does not come", j)
			}
		}
	})
}

func TestTurns(t *testing.T) {
	turns := NewTurns[string](nil)
	release, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, wait := turns.Try("a"); again != nil || wait == nil {
		t.Error("it is taken twice")
	}
	if other, _ := turns.Try("b"); other == nil {
		t.Error("another thing is not free")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.Take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("waited: %v", err)
	}
	awaited := NewTurns[string](func(ready func() bool) {
		if ready() {
			t.Error("it is free before it was given back")
		}
		release()
	})
	awaited.taken = turns.taken
	if _, err := awaited.Take(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	l := NewLines[string, int]()
	if !l.Empty() || !l.Join("a", 1) || l.Join("a", 2) || !l.Join("a", 1) || !l.Join("b", 3) || l.Empty() {
		t.Error("who is first is not told")
	}
	if got := l.Before("a", 2); !slices.Equal(got, []int{1}) || len(l.Before("a", 1)) != 0 || len(l.Before("c", 9)) != 0 {
		t.Errorf("before the second: %v", got)
	}
	if got := l.Before("a", 9); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("before who is not in it: %v", got)
	}
	if first, ok := l.Leave("a", 1); first != 2 || !ok {
		t.Errorf("then %d is first, %v", first, ok)
	}
	if _, ok := l.Leave("a", 2); ok {
		t.Error("somebody is left")
	}
	if _, ok := l.Leave("b", 3); ok || !l.Empty() {
		t.Error("somebody is left")
	}
}
