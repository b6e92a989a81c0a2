package engine

import (
	"context"
	"slices"
)

// withContainer runs a request of a scope with "^" for something in a container that is at exactly one site: what lies inside is
// where the container is, whoever names it. It reports false when no such container is known here.
func (s *Site) withContainer(ctx context.Context, r Request, k keeper) (_ Answer, ok bool, err error) {
	c := s.known.Load().by[kindKey{r.Kind.Service, r.Kind.Within}]
	if c == nil || !c.Natural() {
		return Answer{}, false, nil
	}
	within := r.Within
	if r.Target != "" {
		within, _ = r.Kind.Split(r.Target)
	}
	at, _, err := s.Chosen(ctx, c, c.FromContainer(within))
	if err != nil {
		return Answer{}, false, err
	}
	var a Answer
	switch candidate := slices.Contains(r.Placement, s.cfg.Self); {
	case at == s.cfg.Self:
		a, err = s.alone(ctx, r, k)
	case at == "" && candidate:
		return Answer{}, false, nil
	case len(r.Via) > 0:
		err = notHere(s.name(s.cfg.Self), r) // whoever has passed it on asks the others
	case at == "": // the candidates know
		a, err = s.passOn(ctx, r, r.Placement, k)
	default:
		a, err = s.passOn(ctx, r, []SiteID{at}, k)
	}
	return a, true, err
}
