package failpoint_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/failpoint"
)

var (
	kills = flag.Int("failpoint.kills", 36, "how often an agent is killed")
	at    = flag.String("failpoint.at", "", "kill at points that have one of these words in their names, with | between them; empty: at all")
	seed  = flag.Uint64("failpoint.seed", 0, "the order in which that happens; 0: by the clock")
)

// round is one way to die: at these points, one after the other, each time with what the death before has left.
type round struct {
	victim string
	points []failpoint.Point
	// alone says that the other sites are killed before, and come back when that has not been enough.
	alone bool
}

// rounds are all of them. Paris and nantes hold everything; lille only passes requests on.
func rounds() []round {
	passing := []string{failpoint.Forward, failpoint.CommitKeep, failpoint.CommitDelivered, failpoint.KeepSpool, failpoint.DropSpool}
	var all []round
	chosen := regexp.MustCompile(*at)
	for _, p := range failpoint.All() {
		thing, _, _ := strings.Cut(string(p), ".")
		if !chosen.MatchString(string(p)) {
			continue
		}
		switch {
		case slices.Contains(passing, thing):
			all = append(all, round{"lille", []failpoint.Point{p}, thing != failpoint.Forward})
		case thing == failpoint.CommitQuestion: // only a site that comes back gets there
			all = append(all, round{"paris", []failpoint.Point{failpoint.After(failpoint.RequestAction), p}, false})
		case thing == failpoint.ListChanges: // for another one that comes back
			all = append(all, round{"paris", []failpoint.Point{p}, true})
		default:
			all = append(all, round{"paris", []failpoint.Point{p}, false}, round{"nantes", []failpoint.Point{p}, false})
		}
	}
	if *at != "" {
		return all
	}
	// Settling what a death has left can be interrupted as well.
	for _, again := range []failpoint.Point{
		failpoint.Before(failpoint.RequestChange), failpoint.After(failpoint.RequestChange),
		failpoint.Before(failpoint.CommitOwn), failpoint.After(failpoint.CommitOwn), failpoint.Before(failpoint.Publish),
	} {
		all = append(all, round{"paris", []failpoint.Point{failpoint.After(failpoint.RequestChange), again, again}, false})
	}
	for _, again := range []failpoint.Point{failpoint.Before(failpoint.RequestLook), failpoint.After(failpoint.RequestLook)} {
		all = append(all, round{"nantes", []failpoint.Point{failpoint.Before(failpoint.CommitOwn), again}, false})
	}
	return all
}

// TestKilledAtEveryPoint lets clients write at three sites while agents are killed at named points and start again. In the
// end every acknowledged request is accounted for at both sites that hold things, and none has had an effect twice.
func TestKilledAtEveryPoint(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("to repeat: -failpoint.seed %d -failpoint.kills %d", s, *kills)
	random := rand.New(rand.NewPCG(s, 0))
	program := build(t)
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "lille"}, Application: env.Application{
		Catalog:  failpoint.Catalog,
		Services: map[string]int{"app": 9801},
		Health:   "/-/state",
		Command:  func(string) []string { return []string{program, "application", "--listen", "127.0.0.1:9801"} },
	}})
	c := newClients(t, e)
	died := map[failpoint.Point]int{}
	total := 0
	kill := func(r round, count int) {
		for _, p := range play(t, e, c, r, count) {
			died[p]++
			total++
		}
	}
	plan := rounds()
	for total < *kills {
		random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
		for _, r := range plan {
			if total >= *kills {
				break
			}
			kill(r, 1+random.IntN(3))
		}
	}
	// What chance has left out.
	for range 5 {
		for _, r := range rounds() {
			if *kills >= len(plan) && died[r.points[len(r.points)-1]] == 0 {
				kill(r, 1)
			}
		}
	}
	c.stop()
	c.settle(t)
	losses := c.check(t)
	for _, p := range failpoint.All() {
		t.Logf("%-24s killed %d times", p, died[p])
		if died[p] == 0 && *kills >= len(plan) && slices.ContainsFunc(plan, func(r round) bool { return slices.Contains(r.points, p) }) {
			t.Errorf("nobody has died at %s", p)
		}
	}
	t.Logf("%d kills at %d of %d points; %s; %d losses", total, len(died), len(failpoint.All()), c, losses)
}

// play kills as a round says and returns where that has succeeded. Afterwards all sites run.
func play(t *testing.T, e *env.Env, c *clients, r round, count int) []failpoint.Point {
	t.Helper()
	victim := e.Site(r.victim)
	file := victim.Config().File() + ".point"
	var died []failpoint.Point
	for i, p := range r.points {
		if err := os.WriteFile(file+".new", fmt.Appendf(nil, "%s %d", p, count), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
		count = 1
		if i == 0 && r.alone {
			for _, s := range e.Sites() {
				if s != victim {
					s.Kill(t)
				}
			}
		}
		if i > 0 {
			if err := victim.Launch(); err != nil {
				t.Fatal(err)
			}
		}
		ok := c.seeDie(victim)
		if !ok && i == 0 && r.alone {
			revive(t, e)
			ok = c.seeDie(victim)
		}
		if ok {
			died = append(died, p)
		}
		if victim.Agent().Ended() == nil {
			break
		}
	}
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	revive(t, e)
	return died
}

// seeDie waits for the end of an agent until its client has had enough answers, and for a while.
func (c *clients) seeDie(s *env.Site) bool {
	const enough, least, most = 100, 1500 * time.Millisecond, 15 * time.Second
	answers := func() int { c.mu.Lock(); defer c.mu.Unlock(); return c.answered[s.Name()] }
	before, begin := answers(), time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.Agent().Done():
			return true
		case <-tick.C:
			if took := time.Since(begin); took > most || took > least && answers() > before+enough {
				return false
			}
		}
	}
}

// revive starts every agent that does not run.
func revive(t *testing.T, e *env.Env) {
	t.Helper()
	for _, s := range e.Sites() {
		if s.Agent().Ended() != nil {
			s.Start(t)
		}
	}
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mortal")
	if err := env.Program(t.Context(), path, "./mortal"); err != nil {
		t.Fatal(err)
	}
	return path
}
