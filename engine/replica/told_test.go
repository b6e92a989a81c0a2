package replica

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
)

// How what happens is told.

// title is what people call a resource: which one it is where there were several.
func (s *site) title(r *Replica) string {
	text := string(r.About.Key)
	if r.About.Incarnation > 0 {
		text += fmt.Sprintf(" (%d)", r.About.Incarnation+1)
	}
	return text
}

func vector(v engine.Vector) string {
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, fmt.Sprintf("%s:%d", s, v[s]))
	}
	return strings.Join(parts, " ")
}

// tellStep tells what a step has made durable.
func (s *site) tellStep(r *Replica, change *engine.Change, told []byte, before string) {
	if now := r.flights(); now != before && now != "" {
		s.world.tell("%s: keeps in flight%s", s.id, now)
	}
	if change != nil {
		var what []string
		for _, e := range change.Entries {
			what = append(what, tellEntry(e))
		}
		s.world.tell("%s: writes change %d: %s", s.id, change.Number, strings.Join(what, ", "))
	}
	if told == nil {
		return
	}
	st := heardStatus(s.id, told).Status
	text := "settled " + vector(st.Settled)
	if st.Shown != nil {
		text += ", shown"
		if st.Shown.Unseen != "" {
			text += " " + string(st.Shown.Unseen)
		}
		if len(st.Shown.Differs) > 0 {
			text += fmt.Sprintf(", differs at %s", st.Shown.Differs)
		}
	}
	if !st.Object {
		text += ", no object"
	}
	for _, id := range slices.Sorted(maps.Keys(st.Outcomes)) {
		out := st.Outcomes[id]
		text += fmt.Sprintf(", %s %s", id, out.State)
		if out.Blocks {
			text += " (blocks)"
		}
	}
	for _, w := range st.Waits {
		text += fmt.Sprintf(", waits: %s %s", w.Kind, w.Operation)
	}
	if st.Left != nil {
		text += ", has left"
	}
	s.world.tell("%s: tells %d: %s", s.id, st.Number>>16, text)
}

func tellEntry(e engine.Entry) string {
	switch e.Map {
	case engine.MapOperations:
		o := &engine.Operation{}
		must(engine.Decode(e.Value, o))
		text := fmt.Sprintf("%s %s", o.Type, o.ID)
		if o.Place != nil {
			text += fmt.Sprintf(" +%s -%s", o.Place.Add, o.Place.Remove)
		}
		if o.Edit != nil && len(o.Edit.Add) > 0 {
			for _, p := range tree.Sorted(o.Edit.Add) {
				text += fmt.Sprintf(" adds %s at %s", o.Edit.Add[p].By, p)
			}
		}
		return text
	case engine.MapReplicas:
		r := engine.Replica{}
		must(engine.Decode(e.Value, &r))
		return fmt.Sprintf("calls it %s", r.Local)
	case engine.MapDecisions:
		d := engine.Decision{}
		must(engine.Decode(e.Value, &d))
		return fmt.Sprintf("decides %s", d.Action)
	}
	return string(e.Map)
}

// tellCall tells a call and its answer.
func (s *site) tellCall(c call, held bool) {
	text := ""
	switch c.asked.Kind {
	case CallFind:
		text = "looks for the marker " + c.asked.Request
	case CallHolds:
		text = "compares content with the application's"
	case CallCopy:
		text = fmt.Sprintf("copies content from %s", c.asked.From[0])
	default:
		text = c.asked.Call.Method + " " + fill(c.asked.Call.Path, c.asked.Call.Local)
		if len(c.asked.Call.Body) > 0 {
			text += " " + string(c.asked.Call.Body)
		}
		if c.asked.Call.Method == "POST" {
			text += " key=" + c.asked.Call.Key
		}
	}
	switch in := c.done; {
	case in == nil:
		text += " -> held before it is done"
	case held:
		text += " -> done, its answer held"
	case errors.Is(in.Err, engine.ErrUnreachable):
		text += " -> unreachable"
	case in.Err != nil:
		text += " -> " + in.Err.Error()
	case c.asked.Kind == CallFind:
		text += fmt.Sprintf(" -> %d found", len(in.List))
	case c.asked.Kind == CallHolds:
		text += fmt.Sprintf(" -> the same: %t", in.Same)
	case c.asked.Kind != CallCopy:
		text += fmt.Sprintf(" -> %d", in.Reply.Status)
		if c.asked.Kind == CallRead && len(in.Reply.Body) > 0 {
			text += " " + string(in.Reply.Body)
		}
	}
	s.world.tell("%s: %s", s.id, text)
}

// tellGiven tells what a client gets.
func (s *site) tellGiven(g Given) {
	if g.Err != nil {
		s.world.tell("%s: answers %s", s.id, tellRefusal(g.Err))
		return
	}
	s.world.tell("%s: answers %d %s", s.id, g.Answer.Status, g.Answer.Operation)
}

func tellRefusal(err error) string {
	var r *engine.Refusal
	if errors.As(err, &r) {
		return fmt.Sprintf("%d %s: %s", r.Status, r.Type, r.Detail)
	}
	return err.Error()
}

func (s *site) tellDecided(d DecidedOf) {
	switch {
	case d.Err != nil:
		s.world.tell("%s: decides nothing: %s", s.id, tellRefusal(d.Err))
	case d.Operation != "":
		s.world.tell("%s: decides, by %s", s.id, d.Operation)
	}
}

// show tells how a resource stands at a site.
func (s *site) show(key string) {
	if !s.up {
		s.world.tell("%s: is down", s.id)
		return
	}
	any := false
	for _, id := range s.documents() {
		r := s.replicas[id]
		if string(r.About.Key) != key {
			continue
		}
		any = true
		conflicts := report.Conflicts(r.View)
		row := report.Row(r.View, s.world.now, conflicts, plan.Next(r.History, r.standing()), r.task != nil)
		state := string(row.State)
		if row.Reason != "" {
			state += ": " + row.Reason
		}
		s.world.tell("%s: %s shows %s; settled %s; %s", s.id, s.title(r), s.app.show(r.Mine.Local), vector(r.Me.Settled), state)
		for _, c := range conflicts {
			s.world.tell("    %s at %s %v: %s", c.Kind, c.Site, c.Actions, c.Reason)
		}
		for _, l := range report.LostValues(r.View) {
			s.world.tell("    lost: %s %s of %s to %s: %s", l.Path, l.Value, l.By, l.Over, l.Rule)
		}
	}
	if !any {
		s.world.tell("%s: knows nothing of %s", s.id, key)
	}
}

// folds tells of a site what its operations amount to; it is the same at sites that know the same.
func (s *site) folds(key string) string {
	r := s.named(key)
	if r == nil {
		return ""
	}
	return string(r.History.Whole(merge.Any).Representation())
}
