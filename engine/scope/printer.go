package scope

import (
	"slices"
	"strings"
	"time"
)

// String is the canonical form: braces, one space around operators, "&", "|" and "^" for their synonyms, and only
// the parentheses that are needed. Parse gives the same tree again. It is ASCII where the names are.
func (s *Scope) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, binding := range s.Bindings {
		if i > 0 {
			b.WriteString(", ")
		}
		if binding.Service != "" {
			b.WriteString(binding.Service)
			b.WriteString(": ")
		}
		binding.Location.print(&b)
	}
	b.WriteByte('}')
	return b.String()
}

// String is the canonical form of the location.
func (l Location) String() string {
	var b strings.Builder
	l.print(&b)
	return b.String()
}

func (l Location) print(b *strings.Builder) {
	switch l.Op {
	case OpSite:
		b.WriteString(l.Site)
	case OpEvery:
		b.WriteByte('*')
	case OpNot:
		b.WriteByte('!')
		l.printArg(b, l.Args[0])
	case OpAround:
		b.WriteString("around(" + l.Site + ", " + printDuration(l.Within) + ")")
	case OpQuorum, OpSync:
		b.WriteString(string(l.Op) + "(")
		l.Args[0].print(b)
		b.WriteByte(')')
	default:
		for i, arg := range l.Args {
			if i > 0 {
				b.WriteString(" " + string(l.Op) + " ")
			}
			l.printArg(b, arg)
		}
	}
}

// printArg prints an argument of an operator, in parentheses where it would be read as something else without.
func (l Location) printArg(b *strings.Builder, arg Location) {
	if arg.binds() > l.binds() || l.Op == OpNot && arg.Op == OpNot {
		arg.print(b)
		return
	}
	b.WriteByte('(')
	arg.print(b)
	b.WriteByte(')')
}

// binds says how tightly the node holds together; what needs no parentheses anywhere binds tightest.
func (l Location) binds() int {
	if level := slices.Index(levels, l.Op); level >= 0 {
		return level
	}
	if l.Op == OpNot {
		return len(levels)
	}
	return len(levels) + 1
}

// printDuration writes a duration as short as it can be and in ASCII: 1h for 1h0m0s, 5us for 5µs.
func printDuration(d time.Duration) string {
	s := strings.Replace(d.String(), "µ", "u", 1)
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
