package builder

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine/scope"
)

// Shape is what shall happen at the sites that are chosen.
type Shape string

// The shapes. The empty one says nothing: the scope is written by hand.
const (
	Copies Shape = "copies" // one resource, a copy at each
	Spread Shape = "spread" // one resource, spread over them
	First  Shape = "first"  // at the first that answers
	One    Shape = "one"    // at exactly one of them
)

// Shapes are all of them, as people are asked.
var Shapes = []Shape{Copies, Spread, First, One}

var ops = map[Shape]scope.Op{Copies: scope.OpTogether, Spread: scope.OpCross, First: scope.OpEither, One: scope.OpExactlyOne}

// Choice says where a service runs a request, in what people are asked.
type Choice struct {
	Shape Shape
	// Sites are names of sites and zones, or Every. Without any the request runs where it is asked for.
	Sites []string
	// Wait is when the answer comes: once one site has applied it (empty), "quorum" or "sync". It goes with Copies.
	Wait string
	// From says for other services at which site they are.
	From map[string]string

	rest []scope.Binding // of services about which the choice says nothing
}

// Every stands for all sites.
const Every = "*"

// Read says a scope as a choice about a service. ok is false where it says more than a choice can, or names what is not in names; the
// choice has then what can be kept of it.
func Read(text, service string, names []string) (c Choice, ok bool) {
	c = Choice{From: map[string]string{}}
	s, err := scope.Parse(text)
	if text == "" {
		s, err = &scope.Scope{}, nil
	}
	if err != nil {
		return c, false
	}
	l, bound := s.For(service, service)
	for _, b := range s.Bindings {
		switch {
		case b.Service == "" || b.Service == service:
		case b.Location.Op == scope.OpSite && slices.Contains(names, b.Location.Site):
			c.From[b.Service] = b.Location.Site
		default:
			c.rest = append(c.rest, b)
		}
	}
	if !bound {
		c.Shape = Copies
		return c, true
	}
	return c.at(l, names)
}

// at takes in where the service runs.
func (c Choice) at(l scope.Location, names []string) (Choice, bool) {
	wait := ""
	if l.Op == scope.OpQuorum || l.Op == scope.OpSync {
		wait, l = string(l.Op), l.Args[0]
	}
	shape, args := Copies, []scope.Location{l}
	for s, op := range ops {
		if l.Op == op {
			shape, args = s, l.Args
		}
	}
	var sites []string
	for _, a := range args {
		switch {
		case a.Op == scope.OpEvery && len(args) == 1:
			sites = append(sites, Every)
		case a.Op == scope.OpSite && slices.Contains(names, a.Site) && !slices.Contains(sites, a.Site):
			sites = append(sites, a.Site)
		default:
			return c, false
		}
	}
	if wait != "" && shape != Copies {
		return c, false
	}
	c.Shape, c.Sites, c.Wait = shape, sites, wait
	return c, true
}

// Scope is the text that says the choice about a service; empty where that says nothing. All are the names of the sites that Every
// stands for where it is said of a shape that takes them one by one.
func (c Choice) Scope(service string, all []string) string {
	var s scope.Scope
	if l, bound := c.location(all); bound {
		s.Bindings = append(s.Bindings, scope.Binding{Service: service, Location: l})
	}
	for _, other := range slices.Sorted(maps.Keys(c.From)) {
		if other != service {
			s.Bindings = append(s.Bindings, scope.Binding{Service: other, Location: scope.Location{Site: c.From[other]}})
		}
	}
	for _, b := range c.rest {
		if b.Service != service {
			s.Bindings = append(s.Bindings, b)
		}
	}
	if len(s.Bindings) == 0 {
		return ""
	}
	return s.String()
}

func (c Choice) location(all []string) (l scope.Location, bound bool) {
	sites := c.Sites
	if slices.Contains(sites, Every) {
		if sites = all; c.Shape == Copies {
			sites = []string{Every}
		}
	}
	for _, name := range sites {
		at := scope.Location{Site: name}
		if name == Every {
			at = scope.Location{Op: scope.OpEvery}
		}
		l.Args = append(l.Args, at)
	}
	switch {
	case len(l.Args) == 0 || ops[c.Shape] == "":
		return scope.Location{}, false
	case len(l.Args) == 1:
		l = l.Args[0]
	default:
		l.Op = ops[c.Shape]
	}
	if c.Wait != "" && c.Shape == Copies {
		l = scope.Location{Op: scope.Op(c.Wait), Args: []scope.Location{l}}
	}
	return l, true
}

// Same reports whether two choices say the same, in whatever order their sites are named. What neither says anything about is not compared.
func (c Choice) Same(d Choice) bool {
	return c.Shape == d.Shape && c.Wait == d.Wait && maps.Equal(c.From, d.From) &&
		slices.Equal(slices.Sorted(slices.Values(c.Sites)), slices.Sorted(slices.Values(d.Sites)))
}

// With returns the choice with what e, which was read from the scope that is there, says of services that no choice is about.
func (c Choice) With(e Choice) Choice {
	c.rest = e.rest
	return c
}
