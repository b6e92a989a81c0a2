package scope

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawName draws names of all shapes, the words of the language among them.
func drawName(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"paris", "nantes", "XOR", "around", "quorum", "sync", "10ms"}),
		rapid.StringMatching(`[a-zA-Z0-9é東][a-zA-Z0-9é東_.-]{0,6}`),
	).Draw(t, "name")
}

// drawLocation draws a tree of ops, depth levels deep at most.
func drawLocation(t *rapid.T, depth int, ops []Op, name func(*rapid.T) string) Location {
	l := Location{Op: rapid.SampledFrom(ops).Draw(t, "op")}
	if depth == 0 && l.Op != OpEvery && l.Op != OpAround {
		l.Op = OpSite
	}
	arity := 0
	switch l.Op {
	case OpSite:
		l.Site = name(t)
	case OpAround:
		l.Site = name(t)
		l.Within = time.Duration(rapid.Int64Range(1, 1<<62).Draw(t, "within"))
	case OpEvery:
	case OpNot, OpQuorum, OpSync:
		arity = 1
	default:
		arity = rapid.IntRange(2, 3).Draw(t, "arity")
	}
	for range arity {
		l.Args = append(l.Args, drawLocation(t, depth-1, ops, name))
	}
	return l
}

var everyOp = []Op{OpSite, OpEvery, OpNot, OpTogether, OpCross, OpExactlyOne, OpEither, OpOtherwise, OpAround, OpQuorum,
	OpSync}

func drawScope(t *rapid.T) *Scope {
	s := &Scope{}
	unnamed := rapid.IntRange(0, 3).Draw(t, "unnamed")
	for i := range rapid.IntRange(0, 3).Draw(t, "bindings") {
		b := Binding{Location: drawLocation(t, 4, everyOp, drawName)}
		if i != unnamed {
			b.Service = drawName(t)
		}
		s.Bindings = append(s.Bindings, b)
	}
	return s
}

func fits(s *Scope) bool { return len(s.String()) <= MaxLength }

// trees is what a scope means, without where in the text it stands.
func trees(s *Scope) []any {
	out := []any{}
	for _, b := range s.Bindings {
		out = append(out, b.Service, Tree(b.Location))
	}
	return out
}

func TestParseOfPrintIsTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Custom(drawScope).Filter(fits).Draw(t, "scope")
		text := want.String()
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(trees(got), trees(want)) {
			t.Fatalf("%s parses to %s", text, got)
		}
		if again := got.String(); again != text {
			t.Fatalf("canonical form %s is printed %s", text, again)
		}
	})
}

func TestJSONFormIsTheSameScope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, l := drawName(t), drawLocation(t, 2, everyOp, drawName)
		want := &Scope{Bindings: []Binding{{Service: service, Location: l}}}
		text, err := json.Marshal(map[string]string{service: l.String()}) // which writes & as \u0026
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got.String() != want.String() {
			t.Fatalf("%s parses to %s, want %s", text, got, want)
		}
	})
}

// member says what Resolve must find, from the definition: "&" is union, "!" the complement.
func member(l Location, site string) bool {
	switch l.Op {
	case OpSite:
		return l.Site == site
	case OpEvery:
		return true
	case OpNot:
		return !member(l.Args[0], site)
	}
	return slices.ContainsFunc(l.Args, func(arg Location) bool { return member(arg, site) })
}

func TestResolveIsSetAlgebra(t *testing.T) {
	ops := []Op{OpSite, OpSite, OpEvery, OpNot, OpTogether}
	known := func(t *rapid.T) string { return rapid.SampledFrom(lab.Sites).Draw(t, "site") }
	rapid.Check(t, func(t *rapid.T) {
		l := drawLocation(t, 4, ops, known)
		var want []string
		for _, site := range lab.Sites {
			if member(l, site) {
				want = append(want, site)
			}
		}
		got, err := Resolve(l, lab)
		if len(want) == 0 {
			var p *Problem
			if !errors.As(err, &p) || p.Type != TypeError {
				t.Fatalf("%s: no site is left, got %v, %v", l, got, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		mode := Replicate
		if len(want) == 1 {
			mode = One
		}
		sites := slices.Sorted(slices.Values(got[0].Sites))
		if len(got) != 1 || got[0].Mode != mode || !slices.Equal(sites, slices.Sorted(slices.Values(want))) {
			t.Fatalf("%s resolves to %v, want %s %v", l, got, mode, want)
		}
	})
}

// What Check lets through can be resolved, and the other way round: nothing is refused half way.
func TestCheckAndResolveAgree(t *testing.T) {
	name := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"paris", "nantes", "berlin"}).Draw(t, "site")
	}
	ops := append([]Op{OpSite, OpSite, OpSite, OpTogether, OpTogether, OpNot}, everyOp...)
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse((&Scope{Bindings: []Binding{{Location: drawLocation(t, 3, ops, name)}}}).String())
		if err != nil {
			t.Fatal(err)
		}
		problems := s.Check(lab)
		_, err = Resolve(s.Bindings[0].Location, lab)
		var first *Problem
		switch {
		case len(problems) == 0 && err != nil:
			t.Fatalf("%s: Check finds nothing, Resolve says %v", s, err)
		case len(problems) > 0 && (!errors.As(err, &first) || *first != problems[0]):
			t.Fatalf("%s: Check says %v, Resolve %v", s, problems[0].Message, err)
		}
	})
}
