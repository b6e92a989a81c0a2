package p2p

import (
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
