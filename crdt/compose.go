package crdt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// compose makes the change that puts entries into a document with this history.
func (s *Set) compose(h *history, entries []engine.Entry) (*change, error) {
	last := h.actors[s.actor]
	c := &change{deps: s.deps(h), actor: s.actor, seq: last.seq + 1}
	c.startOp = h.after(c.deps) + 1
	at := map[slot]int{}
	for _, e := range entries {
		sl := slot{h.object(e.Map), e.Key}
		switch {
		case sl.object == 0:
			return nil, fmt.Errorf("no map %q", e.Map)
		case len(e.Key) > engine.MaxKey || len(e.Value) > engine.MaxEntry:
			return nil, fmt.Errorf("entry %.60q: %w: %d bytes", e.Key, engine.ErrTooLarge, len(e.Value))
		}
		i, ok := at[sl]
		if !ok {
			i = len(c.puts)
			at[sl] = i
			c.puts = append(c.puts, put{object: sl.object, key: e.Key, preds: h.current(sl)})
		}
		c.puts[i].value = slices.Clone(e.Value)
	}
	switch n := len(c.puts); {
	case n == 0:
		return nil, errors.New("no entries")
	case n > maxOps:
		return nil, fmt.Errorf("%w: %d entries", engine.ErrTooLarge, n)
	}
	return c, nil
}

// deps returns what this site's next change depends on: the heads and, as Automerge has it, this actor's last
// change. With more heads than a change may name it is as many as fit, this site's own changes first.
func (s *Set) deps(h *history) []hash {
	set := map[hash]struct{}{}
	if last := h.actors[s.actor]; last.seq > 0 {
		set[last.hash] = struct{}{}
	}
	if len(h.heads) >= maxDeps {
		for a, t := range h.actors {
			if a.madeBy(s.self) && len(set) < maxDeps {
				set[t.hash] = struct{}{}
			}
		}
	}
	for _, head := range h.sortedHeads() {
		if len(set) < maxDeps {
			set[head] = struct{}{}
		}
	}
	return sortedHashes(set)
}
