package beside

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// clock is virtual time.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// seconds is a backoff of one second more each time.
func seconds(tries int) time.Duration { return time.Duration(tries) * time.Second }

// run takes every step that is due by now.
func (c *clock) run(step func(context.Context, time.Time) time.Time) {
	for {
		now := c.now()
		if next := step(context.Background(), now); next.IsZero() || next.After(now) {
			return
		}
	}
}

func TestAnAgendaKeepsTimeAndOrder(t *testing.T) {
	c := newClock()
	a := newAgenda[string](c.now, seconds, 1)
	var did []string
	do := func(k string) bool { did = append(did, k); return false }
	a.add("later", 2*time.Second)
	a.add("b", 0)
	a.add("a", 0)
	a.add("b", time.Second) // it is due earlier already
	for !a.step(c.now(), do).After(c.now()) {
	}
	if !slices.Equal(did, []string{"b", "a"}) || a.next() != c.now().Add(2*time.Second) {
		t.Errorf("did %v, the next is due in %s", did, a.next().Sub(c.now()))
	}
	a.hurry(func(k string) bool { return k == "later" })
	if next := a.step(c.now(), do); !next.IsZero() || did[2] != "later" {
		t.Errorf("did %v, the next is due at %s", did, next)
	}
}

func TestAnAgendaTriesAgain(t *testing.T) {
	c := newClock()
	a := newAgenda[string](c.now, seconds, 1)
	tries := 0
	fails := func(string) bool { tries++; return true }
	a.add("a", 0)
	for _, wait := range []time.Duration{time.Second, 2 * time.Second} {
		if next := a.step(c.now(), fails); next.Sub(c.now()) != wait {
			t.Fatalf("after %d tries it waits %s, want %s", tries, next.Sub(c.now()), wait)
		}
		c.pass(wait)
	}
	a.hurry(func(string) bool { return true })
	if next := a.step(c.now(), fails); next.Sub(c.now()) != time.Second {
		t.Errorf("hurried, it waits %s as if tried before", next.Sub(c.now()))
	}
}

// TestAnAgendaDoesOnceMoreWhatIsAddedMeanwhile, and no more than so many things at once.
func TestAnAgendaDoesOnceMoreWhatIsAddedMeanwhile(t *testing.T) {
	c := newClock()
	a := newAgenda[string](c.now, seconds, 2)
	inner := 0
	a.add("a", 0)
	a.add("b", 0)
	a.add("c", 0)
	a.step(c.now(), func(string) bool {
		a.add("a", 0)
		a.step(c.now(), func(k string) bool {
			inner++
			if next := a.step(c.now(), func(string) bool { inner++; return false }); !next.IsZero() {
				t.Errorf("two are being done, and the next is due at %s", next)
			}
			return false
		})
		return false
	})
	if inner != 1 {
		t.Errorf("%d were done beside one", inner)
	}
	var rest []string
	c.run(func(_ context.Context, now time.Time) time.Time {
		return a.step(now, func(k string) bool { rest = append(rest, k); return false })
	})
	if !slices.Equal(rest, []string{"c", "a"}) {
		t.Errorf("then did %v", rest)
	}
}

func TestAnAgendaIsDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgenda[int](time.Now, seconds, 1)
		var did []int
		ctx, cancel := context.WithCancel(t.Context())
		var w sync.WaitGroup
		w.Go(func() {
			a.drive(ctx, func(_ context.Context, now time.Time) time.Time {
				return a.step(now, func(k int) bool { did = append(did, k); return false })
			})
		})
		synctest.Wait()
		a.add(2, time.Minute)
		a.add(1, 0)
		time.Sleep(2 * time.Minute) // virtual
		cancel()
		w.Wait()
		if !slices.Equal(did, []int{1, 2}) {
			t.Errorf("did %v", did)
		}
	})
}
