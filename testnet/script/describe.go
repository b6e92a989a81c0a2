package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// numbered names an operation as statuses do.
type numbered struct {
	document engine.DocumentID
	line     engine.Line
	number   uint64
}

// tell tells what a process has done that others can see.
func (w *world) tell(s *site, what any) {
	switch what := what.(type) {
	case *engine.Batch:
		w.tellBatch(s, what)
	case *engine.Letter:
		w.tellStatuses(s, what)
	}
}

// tellBatch tells what a site has made durable for others to hear, and what it asks a person about.
func (w *world) tellBatch(s *site, b *engine.Batch) {
	for _, r := range b.Records { // the client that made it may never hear of it
		if t := w.trace; t.as != "" && t.names[string(r.Row.ID)] == "" && made.MatchString(string(r.Row.ID)) {
			t.names[string(r.Row.ID)], t.as = t.as, ""
		}
	}
	for _, e := range b.Dropped {
		w.trace.add(s.name(), fmt.Sprintf("drops epoch %d", e.Epoch))
	}
	for _, c := range b.Changes {
		var said []string
		for _, e := range c.Entries {
			if text := w.entry(c, e); text != "" {
				said = append(said, text)
			}
		}
		if c.Author() != s.ID || len(said) == 0 {
			continue
		}
		how := "publishes "
		if w.published[c.Hash] { // its disk was set back
			how = "takes back what it had published: "
		}
		w.published[c.Hash] = true
		w.trace.add(s.name(), how+strings.Join(said, "; "))
	}
	for _, c := range b.Conflicts {
		if c.Site != s.ID && c.Document != "" {
			continue
		}
		if old, known := s.open[c.ID]; c.Open() && (!known || old.Reason != c.Reason) {
			w.trace.add(s.name(), "has a conflict: "+conflict(&c))
			s.open[c.ID] = c
		}
	}
	for _, id := range b.Resolved {
		if c, known := s.open[id]; known {
			w.trace.add(s.name(), "has no conflict any more: "+spaced(string(c.Kind), string(c.Operation)))
			delete(s.open, id)
		}
	}
}

// spaced puts words one after the other, those left out that are empty.
func spaced(words ...string) string {
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// conflict says what a person is asked.
func conflict(c *engine.Conflict) string {
	var actions []string
	for _, a := range c.Actions {
		actions = append(actions, string(a))
	}
	text := spaced(string(c.Kind), string(c.Operation)) + ": " + strings.TrimSpace(c.Reason)
	if len(actions) > 0 {
		text += " (" + strings.Join(actions, ", ") + ")"
	}
	return text
}

// entry says what a change puts into a document.
func (w *world) entry(c *engine.Change, e engine.Entry) string {
	var err error
	read := func(into any) { err = engine.Decode(e.Value, into) }
	text := ""
	switch e.Map {
	case engine.MapOperations:
		var o engine.Operation
		read(&o)
		w.numbers[numbered{c.Document, c.Line, o.Number}] = o.ID
		text = fmt.Sprintf("%s %s%s", o.ID, o.Type, edit(o.Edit)) + placing(o.Place)
	case engine.MapReplicas:
		var r engine.Replica
		read(&r)
		text = "has it as " + string(r.Local)
	case engine.MapDecisions:
		var d engine.Decision
		read(&d)
		text = "decides: " + string(d.Action)
	case engine.MapContents:
		var i engine.Inner
		read(&i)
		text = inner(&i)
	}
	if err != nil {
		w.Problem("%v", err)
	}
	return text
}

// edit says what an operation sets.
func edit(e *engine.Edit) string {
	if e.Empty() {
		return ""
	}
	var parts []string
	for p, v := range e.Set {
		parts = append(parts, fmt.Sprintf("%s=%s", p, v))
	}
	for p, v := range e.Add {
		parts = append(parts, fmt.Sprintf("%s+%s", p, v.By))
	}
	for _, p := range e.Unset {
		parts = append(parts, fmt.Sprintf("%s gone", p))
	}
	slices.Sort(parts)
	if e.Whole {
		parts = append(parts, "and nothing else")
	}
	return " sets " + strings.Join(parts, " ")
}

// placing says what an operation does to the placement.
func placing(p *engine.PlacementChange) string {
	if p == nil {
		return ""
	}
	text := ""
	for _, id := range p.Add {
		text += " +" + string(id)
	}
	for _, id := range p.Remove {
		text += " -" + string(id)
	}
	for i, part := range p.Parts {
		text += []string{" parts", " %"}[min(i, 1)]
		for _, id := range part {
			text += " " + string(id)
		}
	}
	return text
}

// inner says what a part of a container holds, or holds no more.
func inner(i *engine.Inner) string {
	text := fmt.Sprintf("has %s %s inside", i.Kind, i.Local)
	switch {
	case i.Gone:
		return text + " no more"
	case i.Resource != "":
		text += " of " + string(i.Resource)
	case i.Own:
		text += ", which the application made"
	}
	if i.Name != "" && i.Name != i.Local {
		text += ", called " + i.Name
	}
	return text
}

// tellStatuses tells what a site says of itself, as far as it has not said so before.
func (w *world) tellStatuses(s *site, l *engine.Letter) {
	for _, b := range l.Batches {
		for _, encoded := range b.Statuses {
			now := &engine.Status{}
			if err := engine.Decode(encoded, now); err != nil {
				w.Problem("%v", err)
				continue
			}
			before := s.told[now.Document]
			if before == nil {
				before = &engine.Status{}
			}
			s.told[now.Document] = now
			if news := w.news(s, before, now); len(news) > 0 {
				w.trace.add(s.name(), "tells that it "+strings.Join(news, ", "))
			}
		}
	}
}

// news says in what one status is more than the one before it.
func (w *world) news(s *site, before, now *engine.Status) (news []string) {
	say := func(format string, args ...any) { news = append(news, fmt.Sprintf(format, args...)) }
	if now.Rejoins && !before.Rejoins {
		say("joins anew")
	}
	if now.Epoch > before.Epoch {
		say("goes on in epoch %d", now.Epoch)
	}
	settled := ""
	for _, line := range slices.Sorted(maps.Keys(now.Settled)) {
		for n := before.Settled[line] + 1; n <= now.Settled[line] && line.Site() != s.ID; n++ {
			settled += " " + string(w.numbers[numbered{now.Document, line, n}])
		}
	}
	if settled != "" {
		say("has settled%s", settled)
	}
	for _, id := range slices.Sorted(maps.Keys(now.Outcomes)) {
		out, old := now.Outcomes[id], before.Outcomes[id]
		if out.State == old.State && out.Error == old.Error && out.Blocks == old.Blocks {
			continue
		}
		text := fmt.Sprintf("has %s %s", out.State, id)
		if out.Status != 0 {
			text += fmt.Sprintf(" (%d)", out.Status)
		}
		if out.Error != "" {
			text += ": " + strings.TrimSpace(out.Error)
		}
		news = append(news, text)
	}
	for _, wait := range now.Waits {
		if old := before.Wait(wait.Kind); old == nil || old.Reason != wait.Reason || old.Operation != wait.Operation {
			news = append(news, spaced(fmt.Sprintf("waits (%s)", wait.Kind), string(wait.Operation), wait.Reason))
		}
	}
	for _, wait := range before.Waits {
		if now.Wait(wait.Kind) == nil {
			say("waits no more (%s)", wait.Kind)
		}
	}
	switch {
	case now.Left != nil && before.Left == nil:
		say("has left")
	case before.Object && !now.Object:
		say("has nothing there")
	}
	if now.Shown != nil && len(now.Shown.Differs) > 0 && (before.Shown == nil || !slices.Equal(before.Shown.Differs, now.Shown.Differs)) {
		say("shows %v not as it was set", now.Shown.Differs)
	}
	if now.Contended != before.Contended && now.Contended != "" {
		say("repairs it no more: %s", now.Contended)
	}
	if h := now.Holding; h != nil && (before.Holding == nil || *before.Holding != *h) {
		say("holds the name as %s%s", h.Local, map[bool]string{true: " no more"}[h.Gone])
	}
	return news
}
