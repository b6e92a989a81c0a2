package p2p

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Each case plays a minute of pings, one a second. A comparison begins and ends in no time.
func TestWhenToCompare(t *testing.T) {
	equal := func(int) (byte, byte) { return 1, 1 }
	for _, c := range []struct {
		name   string
		second bool // it is the second site
		new    bool // the connection is
		says   func(second int) (mine, theirs byte)
		lost   int // when something is lost, in seconds; 0: never
		fails  bool
		want   string // when comparisons begin, in seconds
	}{
		{name: "nothing differs", new: true, says: equal, want: "[]"},
		{name: "it differed when the connection came", new: true, says: func(s int) (byte, byte) { return 1, byte(2 - min(s, 1)) }, want: "[0]"},
		{name: "likewise, at the second site", new: true, second: true, says: func(s int) (byte, byte) { return 1, byte(2 - min(s, 1)) }, want: "[]"},
		{name: "the first site does nothing about it", new: true, second: true, says: func(s int) (byte, byte) { return 1, byte(2 - min(s/2, 1)) }, want: "[1]"},
		{name: "it differs now and then", says: func(s int) (byte, byte) { return 1, byte(1 + s%2) }, want: "[]"},
		{name: "it differs and no comparison helps", says: func(int) (byte, byte) { return 1, 2 }, want: "[1 3 7 15 31]"},
		{name: "likewise, at the second site", second: true, says: func(int) (byte, byte) { return 1, 2 }, want: "[2 5 9 17 33]"},
		{name: "both write all the time", says: func(s int) (byte, byte) { return byte(s), byte(s + 1) }, want: "[1 3 7 15 31]"},
		{name: "and stop with something lost", says: func(s int) (byte, byte) { return byte(min(s, 20)), byte(min(s, 20) + 1) }, want: "[1 3 7 15 21 51]"},
		{name: "something is lost", says: func(s int) (byte, byte) { return 1 + byte(s/10), 1 + byte(max(s-1, 0)/10) }, lost: 10, want: "[10]"},
		{name: "something is lost that comes by another way", says: equal, lost: 10, fails: true, want: "[10]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgreement(!c.second)
				if c.new {
					a.connected(time.Now())
				}
				began := []int{}
				for second := range 60 {
					if second == c.lost && second > 0 {
						a.lost()
					}
					if compare, _ := a.next(time.Now()); compare {
						began = append(began, second)
						a.begun()
						a.ended(time.Now(), time.Now(), !c.fails)
					}
					mine, theirs := c.says(second)
					a.pinged(time.Now(), time.Now(), sum{mine}, sum{theirs})
					if compare, _ := a.next(time.Now()); compare {
						began = append(began, second)
						a.begun()
						a.ended(time.Now(), time.Now(), !c.fails)
					}
					time.Sleep(time.Second)
				}
				if got := fmt.Sprint(began); got != c.want {
					t.Errorf("at %v, not at %v", got, c.want)
				}
			})
		})
	}
}

// What is lost while a comparison is under way makes for another one, soon after; two are never closer than that.
func TestLostWhileComparing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgreement(true)
		a.lost()
		if compare, _ := a.next(time.Now()); !compare {
			t.Fatal("nothing is compared")
		}
		began := time.Now()
		a.begun()
		time.Sleep(time.Millisecond)
		a.lost()
		time.Sleep(time.Millisecond)
		a.ended(time.Now(), began, true)
		if compare, wait := a.next(time.Now()); compare || wait != compareGap {
			t.Errorf("the next comparison is due in %v: %v", wait, compare)
		}
		time.Sleep(compareGap)
		if compare, _ := a.next(time.Now()); !compare {
			t.Error("what was lost is forgotten")
		}
		// One that the other site has begun later answers it as well.
		a.ended(time.Now(), time.Now(), true)
		if compare, wait := a.next(time.Now()); compare || wait != 0 {
			t.Errorf("another comparison is due in %v: %v", wait, compare)
		}
	})
}

// A site that is busy with a comparison of the other one's waits.
func TestBusyAgreementWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgreement(true)
		a.lost()
		a.busy(time.Now())
		if compare, wait := a.next(time.Now()); compare || wait != secondSide {
			t.Errorf("the next comparison is due in %v: %v", wait, compare)
		}
	})
}
