package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// described is what the trace has told of the documents of a resource: whatever it tells next, it tells as the difference.
type described struct {
	number     int // in the order in which the script has come to documents
	operations []*engine.Operation
	replicas   map[string]engine.Replica // by who knows of it and whose it is
	epochs     map[string]uint64         // in which it was, likewise
	shown      []string                  // the hashes of what applications show, in the order in which they were first told
}

// describe says what entries of a document tell a site that it has not known, in words; what operations set only where it
// publishes them. It is empty for the mesh document.
func (w *world) describe(s *site, id engine.DocumentID, entries []engine.Entry, publishes bool) string {
	resource := w.resource(id)
	d := w.described[resource]
	if d == nil {
		d = &described{number: len(w.described), replicas: map[string]engine.Replica{}, epochs: map[string]uint64{}}
		w.described[resource] = d
	}
	var operations, rest []string
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b engine.Entry) int { return strings.Compare(a.Key, b.Key) })
	var list []*engine.Operation
	for _, e := range sorted {
		if e.Map != engine.MapOperations {
			continue
		}
		o, err := engine.DecodeOperation(e.Key, e.Value)
		if err != nil {
			return err.Error()
		}
		list = append(list, o)
		if !slices.ContainsFunc(d.operations, func(p *engine.Operation) bool { return p.ID == o.ID }) {
			d.operations = append(d.operations, o)
		}
	}
	slices.SortFunc(list, engine.Compare)
	for _, o := range list {
		text := fmt.Sprintf("%s %s", o.ID, o.Type)
		if publishes {
			text += changes(o.Change)
		}
		operations = append(operations, text)
	}
	for _, e := range sorted {
		switch e.Map {
		case engine.MapReplicas:
			if text := d.replica(s, e, w.abouts[id].Epoch); text != "" {
				rest = append(rest, text)
			}
		case engine.MapOutcomes:
			rest = append(rest, outcome(e))
		case engine.MapContents:
			rest = append(rest, inner(e))
		}
	}
	return strings.Join(append(operations, rest...), "; ")
}

func changes(c *engine.Change) string {
	if c.Empty() {
		return ""
	}
	var parts []string
	for p, v := range c.Set {
		parts = append(parts, fmt.Sprintf("%s=%s", p, v))
	}
	for _, p := range c.Unset {
		parts = append(parts, fmt.Sprintf("%s gone", p))
	}
	slices.Sort(parts)
	return " sets " + strings.Join(parts, " ")
}

// replica says what has become settled at a site, as far as another one has not known.
func (d *described) replica(hearer *site, e engine.Entry, epoch uint64) string {
	var now engine.Replica
	if err := json.Unmarshal(e.Value, &now); err != nil {
		return err.Error()
	}
	key := hearer.name + " " + e.Key
	before := d.replicas[key]
	if epoch < d.epochs[key] {
		return "" // it was before what was told
	}
	var news []string
	if epoch > d.epochs[key] {
		news = append(news, fmt.Sprintf("goes on in epoch %d", epoch))
	}
	if now.Whole && (!before.Whole || epoch > d.epochs[key]) {
		news = append(news, fmt.Sprintf("has all of epoch %d", epoch-1))
	}
	if now.Over && (!before.Over || epoch > d.epochs[key]) {
		news = append(news, fmt.Sprintf("has dropped epoch %d", epoch-1))
	}
	d.replicas[key], d.epochs[key] = now, epoch
	settled, later := "", ""
	slices.SortFunc(d.operations, engine.Compare)
	for _, o := range d.operations {
		if o.Seq > before.Hindsight[o.Line()].Upto && o.Seq <= now.Hindsight[o.Line()].Upto {
			later += " " + string(o.ID)
		}
		if o.Seq > before.Settled[o.Line()] && o.Seq <= now.Settled[o.Line()] {
			settled += " " + string(o.ID)
		}
	}
	if settled != "" {
		news = append(news, "settled"+settled)
	}
	if later != "" {
		news = append(news, "has"+later+" count as issued after what was lost")
	}
	switch {
	case now.Left != nil && before.Left == nil:
		news = append(news, "has left")
	case now.Local != before.Local && now.Local == "":
		news = append(news, "nothing there")
	case now.Local != before.Local:
		news = append(news, "as "+string(now.Local))
	}
	if y := !now.Yields.IsZero(); y != !before.Yields.IsZero() {
		news = append(news, map[bool]string{true: "yields the name", false: "has the name"}[y])
	}
	if p := now.Paused; p != nil && before.Paused == nil {
		news = append(news, p.String())
	} else if p == nil && before.Paused != nil {
		news = append(news, "not paused any more")
	}
	if h := now.Held; h != nil && h.Confirmed == "" && before.Held == nil {
		news = append(news, "holds the deletion "+string(h.Operation))
	} else if h != nil && h.Confirmed != "" {
		news = append(news, "may delete, by "+string(h.Confirmed))
	}
	if o := now.Open; o != nil && (before.Open == nil || *o != *before.Open) {
		news = append(news, o.String())
	} else if o == nil && before.Open != nil {
		news = append(news, string(before.Open.Operation)+" not open any more")
	}
	if looked := d.looked(before.Observed, now.Observed); looked != "" {
		news = append(news, looked)
	}
	if len(news) == 0 {
		return ""
	}
	return e.Key + " " + strings.Join(news, ", ")
}

// looked says what a site has seen at its application: A is one representation, B another.
func (d *described) looked(before, now *engine.Observed) string {
	if now == nil || before != nil && before.Hash == now.Hash && before.Unseen == now.Unseen && before.Steady == now.Steady {
		return ""
	}
	shows := string(now.Unseen)
	if now.Hash != "" {
		if !slices.Contains(d.shown, now.Hash) {
			d.shown = append(d.shown, now.Hash)
		}
		shows = string(rune('A' + slices.Index(d.shown, now.Hash)))
	}
	text := "shows " + shows
	if now.Steady {
		text += " still"
	}
	for _, p := range now.Differs {
		text += ", " + string(p) + " not as it was set"
	}
	return text
}

// inner says what a part of a container holds, or holds no more.
func inner(e engine.Entry) string {
	var i engine.Inner
	if err := json.Unmarshal(e.Value, &i); err != nil {
		return err.Error()
	}
	site, _, _ := strings.Cut(e.Key, "/")
	text := fmt.Sprintf("%s has %s %s inside", site, i.Kind, i.Local)
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

func outcome(e engine.Entry) string {
	var out engine.Outcome
	if err := json.Unmarshal(e.Value, &out); err != nil {
		return err.Error()
	}
	site, id, _ := strings.Cut(e.Key, "/")
	text := fmt.Sprintf("%s %s at %s", id, out.State, site)
	if out.Status != 0 {
		text += fmt.Sprintf(" (%d)", out.Status)
	}
	if out.Error != "" {
		text += ": " + out.Error
	}
	return text
}
