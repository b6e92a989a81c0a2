package site

import (
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInboxKeepsTheOrder, and hands out a bounded part at once.
func TestInboxKeepsTheOrder(t *testing.T) {
	b := newInbox()
	for n := range most + 3 {
		b.put(item{document: engine.DocumentID(fmt.Sprint(n))})
	}
	n := 0
	for _, want := range []struct {
		items int
		more  bool
	}{{most, true}, {3, false}, {0, false}} {
		items, _, more := b.take(began)
		if len(items) != want.items || more != want.more {
			t.Fatalf("taken are %d, more %t; want %d, %t", len(items), more, want.items, want.more)
		}
		for _, i := range items {
			if i.document != engine.DocumentID(fmt.Sprint(n)) {
				t.Fatalf("number %d is %s", n, i.document)
			}
			n++
		}
		b.back(items)
	}
}

// TestWhatMayWaitIsGathered until the first of it may wait no longer, and what may not wakes the loop at once.
func TestWhatMayWaitIsGathered(t *testing.T) {
	b := newInbox()
	b.put(item{until: began.Add(2 * gather)})
	b.put(item{until: began.Add(gather)})
	if at, ok := b.next(began); !ok || !at.Equal(began.Add(gather)) {
		t.Errorf("what may wait is due %v, %t", at.Sub(began), ok)
	}
	b.put(item{})
	if at, ok := b.next(began); !ok || at.After(began) {
		t.Errorf("what may not wait is due %v, %t", at.Sub(began), ok)
	}
	for _, turn := range []struct {
		at   time.Time
		want int
	}{{began, 1}, {began, 0}, {began.Add(gather), 2}, {began.Add(gather), 0}} {
		if items, _, _ := b.take(turn.at); len(items) != turn.want {
			t.Errorf("after %v %d are taken, want %d", turn.at.Sub(began), len(items), turn.want)
		}
	}
	b.put(item{until: began.Add(2 * gather)})
	b.hurry(began)
	if items, _, _ := b.take(began); len(items) != 1 {
		t.Error("somebody waits for it, and it waits")
	}
	if _, ok := b.next(began); ok {
		t.Error("there is still something")
	}
}

// TestTimersWakeOnce, at the earliest time that was asked for.
func TestTimersWakeOnce(t *testing.T) {
	b := newInbox()
	b.wakeAt("late", began.Add(2*time.Second))
	b.wakeAt("early", began.Add(time.Second))
	b.wakeAt("late", began.Add(3*time.Second))
	if at, ok := b.next(began); !ok || !at.Equal(began.Add(time.Second)) {
		t.Errorf("the first is due %v, %t", at.Sub(began), ok)
	}
	for second, want := range []string{"[]", "[early]", "[late]", "[]"} {
		if _, due, _ := b.take(began.Add(time.Duration(second) * time.Second)); fmt.Sprint(due) != want {
			t.Errorf("second %d: due are %v, want %s", second, due, want)
		}
	}
}
