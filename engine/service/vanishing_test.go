package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// TestAnApplicationThatShowsNothing: where none of several objects is found, none is made anew; where others are shown, those that are gone are.
func TestAnApplicationThatShowsNothing(t *testing.T) {
	var v Vanishing
	for n := range 40 {
		v.Looked(engine.DocumentID(fmt.Sprint(n)), false, morning)
	}
	if why := v.Remake("0", "images", morning.Add(time.Minute)); !strings.Contains(why, "none of 40 objects") {
		t.Errorf("all are gone: %q", why)
	}
	v.Looked("other", true, morning.Add(2*time.Minute))
	if why := v.Remake("0", "images", morning.Add(3*time.Minute)); why != "" {
		t.Errorf("another is shown: %q", why)
	}
	v.Looked("1", true, morning.Add(3*time.Minute))
	if n := len(v.gone); n != 38 {
		t.Errorf("%d are gone", n)
	}
}

// TestWhatEndsIsSeenByAnApplicationThatShowsSomething: what is gone has not ended where nothing else is shown either.
func TestWhatEndsIsSeenByAnApplicationThatShowsSomething(t *testing.T) {
	var v Vanishing
	if why := v.Blind("jobs", morning); why != "" {
		t.Errorf("nothing else is known: %q", why)
	}
	for n := range vanishedFew {
		v.Looked(engine.DocumentID(fmt.Sprint(n)), false, morning)
	}
	if why := v.Blind("jobs", morning.Add(time.Minute)); why == "" {
		t.Error("all others are gone, too")
	}
	v.Looked("other", true, morning.Add(2*time.Minute))
	if why := v.Blind("jobs", morning.Add(3*time.Minute)); why != "" {
		t.Errorf("another is shown: %q", why)
	}
}

// TestRemakesAreBounded: only so many are made anew within an hour.
func TestRemakesAreBounded(t *testing.T) {
	var v Vanishing
	for n := range remakesMost + 1 {
		id := engine.DocumentID(fmt.Sprint(n))
		v.Looked(id, false, morning)
		if why := v.Remake(id, "images", morning); (why == "") != (n < remakesMost) {
			t.Errorf("object %d: %q", n+1, why)
		}
	}
	if why := v.Remake("late", "images", morning.Add(2*remakesWithin)); why != "" {
		t.Errorf("what was long ago counts: %q", why)
	}
}
