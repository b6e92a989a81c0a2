package p2p

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// What a member has is known from the first comparison on that follows its coming into reach, and no longer than it stays there.
func TestKnownOnceCompared(t *testing.T) {
	told := 0
	n := newTestSite(t, testConfig{}).net
	defer n.Close()
	n.cfg.OnStatus = func(engine.SiteID, bool) {}
	n.cfg.OnCompared = func(_ engine.SiteID, first bool) {
		if first {
			told++
		}
	}
	l := newLink(n, "b", "")
	for i, step := range []struct {
		what   func()
		silent bool
		told   int
	}{
		{func() {}, true, 0},
		{l.allCompared, true, 0}, // a comparison that ends after the connection
		{func() { l.setUp(true) }, true, 0},
		{l.allCompared, false, 1},
		{l.allCompared, false, 1},
		{func() { l.setUp(true) }, false, 1}, // another ping
		{func() { l.setUp(false) }, true, 1},
		{func() { l.setUp(true) }, true, 1},
		{l.allCompared, false, 2},
	} {
		step.what()
		if _, silent := l.status().Silent(); silent != step.silent || told != step.told {
			t.Errorf("step %d: silent is %t, told %d times, want %t, %d", i, silent, told, step.silent, step.told)
		}
	}
}
