package mesh

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// Two live runs under one key find each other out, whichever of them is heard first; one that meets what a lost run has said
// does not take that for alive.
func TestMeet(t *testing.T) {
	for _, alive := range []bool{true, false} {
		a := found(t)
		b := New("paris")
		hear(t, b, a)
		say := map[*State]engine.SiteRecord{a: {Name: "paris", Run: "a"}, b: {Name: "paris", Run: "b"}}
		announce(t, b, say[b], 1)
		announce(t, a, engine.SiteRecord{Name: "paris", Run: "a", Version: "1"}, 1)
		announce(t, a, say[a], 2)
		hears := func(s, from *State) {
			if news := hear(t, s, from); len(news.Own) == 0 {
				return
			}
			answer, _ := Meet(say[s], s.Own())
			say[s] = answer
			announce(t, s, answer, 3)
		}
		for range 2 {
			hears(b, a)
			if alive {
				hears(a, b)
			}
		}
		if say[a].Cloned != alive || say[b].Cloned != alive || !slices.Equal(say[b].Heard, []string{"a"}) || b.Own().Run != "b" {
			t.Errorf("alive %t: they say %+v and %+v", alive, say[a], say[b])
		}
	}
}

func TestMeetIsBounded(t *testing.T) {
	say := engine.SiteRecord{Name: "paris", Run: "r"}
	for i := range 2 * MaxHeard {
		say, _ = Meet(say, engine.SiteRecord{Run: fmt.Sprint(i)})
		say, _ = Meet(say, engine.SiteRecord{Run: fmt.Sprint(i)})
	}
	if n := len(say.Heard); n != MaxHeard || say.Heard[n-1] != fmt.Sprint(2*MaxHeard-1) || say.Cloned || CheckSite(say) != nil {
		t.Errorf("it has heard of %d runs: %v", n, say.Heard)
	}
}
