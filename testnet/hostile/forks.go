package hostile

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// forkLines writes a line that parts: after a beginning that all sites are told, two of them are told of it in two ways.
func forkLines(ctx context.Context, m *Member, _ *Orders) error {
	d := m.forkable()
	if d == nil {
		return errNothing
	}
	begun := story{line: engine.LineOf(m.id, fmt.Sprint("f", m.chance(1<<30))), tip: m.docs.First(d.about, d.id, 0)}
	var all []*engine.Letter
	for range m.chance(3) {
		l, err := begun.goesOn(m, d)
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	for _, l := range all {
		if err := m.tell(ctx, l); err != nil {
			return err
		}
	}
	first := m.chance(len(m.sites))
	for i := range 2 {
		told := begun                // from here on each goes on by itself
		m.forked = m.forked || i > 0 // whether or not the answer comes: who finds it out may end the line to the member
		for range 1 + m.chance(3) {
			l, err := told.goesOn(m, d)
			if err != nil {
				return err
			}
			_, err = m.send(ctx, m.sites[(first+i)%len(m.sites)], letters, letterFrame(l))
			if err := ignore(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// story is what the member tells of a line.
type story struct {
	line engine.Line
	tip  engine.Tip
	ops  uint64
}

// goesOn goes on with a story by one change, and returns the letter that brings it.
func (s *story) goesOn(m *Member, d *document) (*engine.Letter, error) {
	s.ops++
	text := encoded(fmt.Sprint("told ", m.chance(1<<30)))
	o := m.operation(d, func(o *engine.Operation) {
		o.Number, o.Body = s.ops, fmt.Appendf(nil, `{"description":%s}`, text)
		o.Edit.Set["/description"] = text
	})
	c, err := m.docs.Write(d.about, d.id, 0, s.line, s.tip, []engine.Entry{{Map: engine.MapOperations, Value: engine.Encode(o)}})
	if err != nil {
		return nil, err
	}
	m.docs.SignChanges([]*engine.Change{c})
	s.tip = c.Tip()
	return &engine.Letter{Parcels: []engine.Parcel{{About: d.raw, Changes: []engine.SignedChange{c.SignedChange}}}}, nil
}

func encoded(text string) json.RawMessage {
	b, _ := json.Marshal(text) // a text always has a form
	return b
}
