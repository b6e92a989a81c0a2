package p2p

import (
	"slices"
	"testing"
	"time"
)

// TestClocksThatDisagree has a site whose clock is an hour behind: it and the others see that, each from its side.
func TestClocksThatDisagree(t *testing.T) {
	right := newTestSite(t, testConfig{})
	late := newTestSite(t, testConfig{now: func() time.Time { return time.Now().Add(-time.Hour) }})
	right.members.add(late.member())
	late.members.add(right.member())
	right.run(t)
	late.run(t)
	near := func(got, want time.Duration) bool { return (got - want).Abs() < farOff }
	eventually(t, "both know how far their clocks are apart", func() bool {
		return near(right.net.Status()[late.id].Ahead, -time.Hour) && near(late.net.Status()[right.id].Ahead, time.Hour)
	})
}

// TestInvariantTheMiddleClockCounts has a site whose clock is wrong go by the others', which are not led astray by it.
func TestInvariantTheMiddleClockCounts(t *testing.T) {
	right := []*testSite{newTestSite(t, testConfig{}), newTestSite(t, testConfig{})}
	wrong := newTestSite(t, testConfig{now: func() time.Time { return time.Now().Add(5 * time.Hour) }})
	all := append(right, wrong)
	for _, a := range all {
		for _, b := range all {
			if a != b {
				a.members.add(b.member())
			}
		}
	}
	for _, a := range all {
		a.run(t)
	}
	eventually(t, "the wrong one goes by the others", func() bool { return (wrong.net.Correction() + 5*time.Hour).Abs() < farOff })
	for _, a := range right {
		if got := a.net.Correction(); got.Abs() > farOff {
			t.Errorf("one that was right is set by %v", got)
		}
	}
}

// TestInvariantLiarsLeadNobodyAstray has members, up to all but one, say that it is years later: whoever hears one that agrees with
// its own clock stays with it, and so does a site that hears few of all.
func TestInvariantLiarsLeadNobodyAstray(t *testing.T) {
	const h = time.Hour
	for _, c := range []struct {
		heard  []time.Duration // how far the others' clocks are ahead
		others int
		want   time.Duration
	}{
		{nil, 0, 0},
		{[]time.Duration{h}, 1, h / 2}, // nobody knows which one is right: they meet half way
		{[]time.Duration{-2 * h}, 1, 0},
		{[]time.Duration{2 * h}, 1, 0},
		{[]time.Duration{1000 * h, time.Second}, 2, time.Second / 2},
		{[]time.Duration{-1000 * h, -1000 * h}, 2, -1000 * h}, // this site's own is wrong
		{[]time.Duration{3 * h, 3 * h, 4 * h}, 3, 3 * h},
		{[]time.Duration{1000 * h, 0, 1000 * h}, 3, 0},
		{[]time.Duration{0, time.Second, 1000 * h, 1000 * h, 1000 * h, 1000 * h}, 6, 0},
		{[]time.Duration{1000 * h, 1000 * h}, 6, 0}, // three of seven, this site among them
		{[]time.Duration{1000 * h, 1000 * h}, 4, 1000 * h},
	} {
		if got := corrected(slices.Clone(c.heard), c.others); got != c.want {
			t.Errorf("of %v, of %d others, the correction is %v, want %v", c.heard, c.others, got, c.want)
		}
	}
}
