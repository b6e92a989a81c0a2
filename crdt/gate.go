package crdt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

// missingError names one dependency of a change that is not here.
type missingError struct{ dep hash }

func (e *missingError) Error() string { return fmt.Sprintf("depends on %x", e.dep[:4]) }
func (e *missingError) Unwrap() error { return engine.ErrMissing }

// check decides whether c, a change by author, is one that an honest site would have made of this document. It
// returns a *missingError while something that c depends on is not here. Whether author signed it is not its
// question.
func (h *history) check(c *change, author engine.SiteID) error {
	if !c.actor.madeBy(author) {
		return fmt.Errorf("actor %s is not of site %s", c.actor, author)
	}
	if err := h.checkPlace(c); err != nil {
		return err
	}
	var known []bool
	seen := make(map[slot]bool, len(c.puts))
	for _, p := range c.puts {
		s := slot{p.object, p.key}
		if p.object > uint64(len(h.maps)) {
			return fmt.Errorf("no map %d", p.object)
		}
		if err := checkKey(p.key, author); err != nil {
			return err
		}
		if seen[s] {
			return fmt.Errorf("key %q twice", p.key)
		}
		seen[s] = true
		var want []opID
		switch k := h.cells[s]; {
		case k == nil:
		case !k.shared && k.puts[0].op.actor == c.actor, h.covers(c.deps):
			// All of it is before c: an actor's changes build on each other.
			want = h.current(s)
		default:
			if known == nil {
				known = h.ancestors(c.deps)
			}
			want = h.visible(s, known)
		}
		if m := h.maps[p.object-1]; len(want) > 0 && m.WriteOnce() {
			return fmt.Errorf("key %q of %s is written already", p.key, m)
		}
		if !slices.Equal(want, p.preds) {
			return fmt.Errorf("key %q: other predecessors than the values that stand there", p.key)
		}
	}
	return nil
}

// checkPlace checks how c follows what is here: its dependencies, its number, its first operation.
func (h *history) checkPlace(c *change) error {
	if len(c.deps) == 0 {
		return errors.New("no dependency")
	}
	last := h.actors[c.actor]
	follows := c.seq == 1
	for i, d := range c.deps {
		if i > 0 && compareHashes(c.deps[i-1], d) >= 0 {
			return errors.New("dependencies that are not sorted, or twice the same")
		}
		if _, ok := h.index[d]; !ok {
			return &missingError{d}
		}
		follows = follows || d == last.hash
	}
	switch after := h.after(c.deps); {
	case c.seq != last.seq+1:
		return fmt.Errorf("change %d of actor %s, after its change %d", c.seq, c.actor, last.seq)
	case !follows:
		return fmt.Errorf("change %d of actor %s does not build on its change %d", c.seq, c.actor, last.seq)
	case c.startOp != after+1:
		return fmt.Errorf("first operation %d, after operation %d", c.startOp, after)
	}
	return nil
}

// checkKey checks that a key is within its bounds and belongs to author.
func checkKey(key string, author engine.SiteID) error {
	if len(key) > engine.MaxKey || !utf8.ValidString(key) {
		return fmt.Errorf("key %.60q: too long, or no text", key)
	}
	rest, ok := strings.CutPrefix(key, string(author))
	if !ok || rest != "" && rest[0] != '/' {
		return fmt.Errorf("key %q is not of site %s", key, author)
	}
	return nil
}
