package scope

import (
	"slices"
	"time"
)

// MaxLength is the most bytes that a scope may have, as it was written and in its canonical form. MaxNesting is
// how deep parentheses, functions and "!" may stand inside each other.
const (
	MaxLength  = 4 << 10
	MaxNesting = 64
)

// Scope is the tree of one scope. An empty one ("{}") binds nothing: every service runs where the request is.
type Scope struct {
	Bindings []Binding

	source string
}

// Binding says at which location a service runs the request.
type Binding struct {
	// Service is empty in the binding of the service that the request addresses. At most one binding is so.
	Service  string
	Location Location
	// Position and End are the byte offsets of the service's name in the text that was parsed; equal without a
	// name.
	Position, End int
}

// Op tells what a node of a location is.
type Op string

// The nodes of a location. Binary operators are flat: A & B & C is one node of three arguments, (A & B) & C is one
// inside another.
const (
	OpSite       Op = ""  // the site Site
	OpEvery      Op = "*" // every site
	OpNot        Op = "!" // every site but those of its argument
	OpTogether   Op = "&" // replication; of lists, aggregation
	OpCross      Op = "%" // one resource spread over its arguments
	OpExactlyOne Op = "^"
	OpEither     Op = "|" // the first that answers
	OpOtherwise  Op = ";" // the next where the one before fails
	OpAround     Op = "around"
	OpQuorum     Op = "quorum"
	OpSync       Op = "sync"
)

// Location is one node of the tree that says where a service runs a request.
type Location struct {
	Op Op
	// Site is the name of an OpSite, or of the site that an OpAround is around.
	Site string
	// Within is the round trip of an OpAround, more than zero.
	Within time.Duration
	// Args are the arguments: two or more of a binary operator, one of OpNot, OpQuorum and OpSync, else none.
	Args []Location
	// Position and End are the byte offsets, in the text that was parsed, of the site's name, of the function's
	// name, or of the operator (the first one where it is repeated).
	Position, End int

	// The extent of the whole node in source: from ≤ offset < to. Nodes that were not parsed have no source.
	from, to int
	source   string
	// Where the site's name of an OpAround is in source.
	siteAt, siteEnd int
}

// For returns where a service runs a request that addresses the service addressed. A binding without a service
// counts as the addressed service's, unless that one is bound by name as well (Check refuses that when it knows
// what is addressed). False when the scope does not bind the service: then it runs where the request already is.
func (s *Scope) For(service, addressed string) (Location, bool) {
	var unnamed *Binding
	for i := range s.Bindings {
		switch s.Bindings[i].Service {
		case service:
			return s.Bindings[i].Location, true
		case "":
			unnamed = &s.Bindings[i]
		}
	}
	if unnamed != nil && service == addressed {
		return unnamed.Location, true
	}
	return Location{}, false
}

// Named returns the scope with the binding that has no service bound to service. Whoever passes a scope on to other services needs
// that: to them it would mean another one.
func (s *Scope) Named(service string) *Scope {
	named := &Scope{Bindings: slices.Clone(s.Bindings)}
	for i := range named.Bindings {
		if named.Bindings[i].Service == "" {
			named.Bindings[i].Service = service
		}
	}
	return named
}

// Name reports whether s can stand for a site or a zone in every place of a scope, and means nothing else in any.
func Name(s string) bool {
	parsed, err := Parse(s)
	if err != nil || len(parsed.Bindings) != 1 {
		return false
	}
	b := parsed.Bindings[0]
	return b.Service == "" && b.Location.Op == OpSite && b.Location.Site == s && s != "XOR" && !slices.Contains(functions, s)
}
