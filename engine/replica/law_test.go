package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
)

// Commands that a random script is made of: what clients ask for, and what happens to sites, their applications and their letters.
var (
	changes   = []string{"merge blue a=%d", "merge blue b=%d", "merge blue a=null c=%d", "replace blue a=%d b=1", "incr blue"}
	pokes     = []string{"poke blue", "poke blue"}
	mischance = []string{"crash", "start", "release", "fault held", "fault answer-held", "fault unreachable", "fault 503", "fault missed", "fault lost",
		"fault 409", "cut", "heal", "run 100ms", "run 3s", "lose", "reverse", "repeat", "deliver"}
)

// anyCommand draws one of some commands, for one of the sites of a world.
func anyCommand(t *rapid.T, commands []string) string {
	site := rapid.SampledFrom([]string{"paris: ", "nantes: ", "lille: "}).Draw(t, "site")
	command := rapid.SampledFrom(commands).Draw(t, "command")
	if strings.Contains(command, "%d") {
		command = fmt.Sprintf(command, rapid.IntRange(1, 9).Draw(t, "value"))
	}
	switch name, _, _ := strings.Cut(command, " "); name {
	case "cut", "deliver":
		return command + " " + strings.TrimSuffix(site, ": ")
	case "heal", "run", "lose", "reverse", "repeat":
		return command
	}
	return site + command
}

// answerAll answers, as who knows what has run, all that a person is asked at a site. It reports whether there was anything.
func (s *site) answerAll() (any bool) {
	for _, id := range s.documents() {
		r := s.replicas[id]
		for _, c := range report.Conflicts(r.View) {
			if c.Site != s.id || !c.Open() {
				continue
			}
			what := VerbRetry
			if s.app.ran[fmt.Sprintf("%s.%s", c.Operation, s.id)] > 0 {
				what = VerbDone
			}
			switch c.Kind {
			case engine.ConflictName:
				what = VerbDropName
			case engine.ConflictRival:
				what = VerbRetry
			case engine.ConflictDrift:
				s.world.tell("%s: drifts: %s", s.id, c.Reason)
				return false
			}
			any = true
			s.put(id, &Decide{What: what, Operation: c.Operation})
			s.rest()
		}
	}
	return any
}

// comesTogether lets all go on undisturbed, and tells what is not as it should be; empty: nothing.
func (w *world) comesTogether(key string) (wrong string) {
	clear(w.cut)
	clear(w.compared)
	for _, id := range w.ids {
		s := w.sites[id]
		s.app.faults, s.full = nil, false
		s.release()
		if !s.up {
			s.start()
		}
	}
	for _, id := range w.ids {
		if r := w.sites[id].named(key); r != nil {
			w.sites[id].put(r.Document, &Decide{What: VerbPause})
		}
	}
	for range 30 {
		w.run(10 * limits.CallTimeout)
		asked := slices.ContainsFunc(w.ids, func(id engine.SiteID) bool { return w.sites[id].answerAll() })
		if !asked {
			break
		}
	}
	shown := map[string]bool{}
	for _, id := range w.ids {
		s := w.sites[id]
		for key, n := range s.app.ran {
			if n > 1 {
				wrong += fmt.Sprintf("%s has run %s %d times; ", id, key, n)
			}
		}
		r := s.named(key)
		if r == nil || !r.Holds(id) {
			continue
		}
		conflicts := report.Conflicts(r.View)
		row := report.Row(r.View, w.now, conflicts, plan.Next(r.History, r.standing()), false)
		if row.State != engine.StateConverged && row.State != engine.StateDeleted {
			wrong += fmt.Sprintf("%s is %s: %s; ", id, row.State, row.Reason)
		}
		shown[s.app.show(r.Mine.Local)] = true
	}
	if len(shown) > 1 {
		wrong += fmt.Sprintf("%d things are shown: %v", len(shown), shown)
	}
	return wrong
}

// endOrphans lets requests go of which nobody waits for the answer any more: one that came so late that others have gone out meanwhile
// would be seen as a change behind the agent, and not undone.
func (s *site) endOrphans() {
	held := s.held
	s.held = nil
	for _, c := range held {
		if c.document == "" {
			s.letGo(c)
		} else {
			s.held = append(s.held, c)
		}
	}
}

// playAny plays random commands, and then expects all sites to come together.
func playAny(t *rapid.T, first []string, commands ...[]string) {
	w := newWorld("lille", "nantes", "paris")
	script := slices.Clone(first)
	for range rapid.IntRange(1, 25).Draw(t, "length") {
		script = append(script, anyCommand(t, slices.Concat(commands...)))
	}
	for _, line := range script {
		w.tell("> %s", line)
		if who, _, ok := strings.Cut(line, ": "); ok && !w.sites[engine.SiteID(who)].up && !strings.HasSuffix(line, ": start") {
			continue
		}
		if strings.HasSuffix(line, ": start") && w.sites[engine.SiteID(strings.TrimSuffix(line, ": start"))].up {
			continue
		}
		if err := w.command(line); err != nil {
			t.Fatal(err)
		}
		for _, id := range w.ids {
			w.sites[id].endOrphans()
		}
	}
	if wrong := w.comesTogether("blue"); wrong != "" {
		for _, id := range w.ids {
			w.sites[id].show("blue")
		}
		t.Fatalf("%s\n%s", wrong, w.out.String())
	}
}

// TestInvariantConvergence plays random requests at three sites, whose applications fail, whose agents crash, and whose letters are
// lost, repeated and turned around. In the end all show the same, and nothing has run twice that is not to.
func TestInvariantConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		playAny(t, []string{"paris: create box blue a=1 count=0", "run"}, changes, pokes, mischance)
	})
}

// TestInvariantConvergenceOfNames plays likewise, and deletes the resource and creates it anew, at the same sites or at others.
func TestInvariantConvergenceOfNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		playAny(t, nil, []string{"create box blue a=%d", "create box blue a=%d", "create box blue b=%d", "delete blue", "delete blue"},
			changes, mischance)
	})
}

// TestInvariantConvergenceOfPlacements plays likewise, and adds sites and removes them, pauses replicas, and fills disks.
func TestInvariantConvergenceOfPlacements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		playAny(t, []string{"paris: create box blue a=1 count=0 @nantes,paris", "run"},
			[]string{"place blue +lille", "place blue -paris", "pause blue", "resume blue", "full", "free"}, changes, mischance)
	})
}

// TestWhatHasEndedHoldsNothingUp has an action without a certain answer at one site, and its resource deleted and created anew meanwhile: the
// action counts no more, and yet a person is asked about it, since all that comes after it waits there.
func TestWhatHasEndedHoldsNothingUp(t *testing.T) {
	w := newWorld("lille", "nantes", "paris")
	for _, line := range []string{
		"nantes: create box blue a=8", "lille: create box blue a=2", "nantes: delete blue", "lille: create box blue a=1", "reverse",
		"nantes: fault answer-held", "paris: create box blue a=9", "lille: fault missed", "paris: create box blue a=9", "paris: incr blue",
		"paris: delete blue", "run 3s", "paris: merge blue a=null c=8",
	} {
		if err := w.command(line); err != nil {
			t.Fatal(err)
		}
	}
	if wrong := w.comesTogether("blue"); wrong != "" {
		t.Fatalf("%s\n%s", wrong, w.out.String())
	}
}
