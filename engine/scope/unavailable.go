package scope

import "strings"

// advice says for each operator that no agent of this version can run what to write today.
var advice = map[Op]string{
	OpCross:      "name one site or use &",
	OpExactlyOne: "name one site",
	OpEither:     "name one site or use &",
	OpOtherwise:  "name one site or use &",
	OpAround:     "name the sites, with & between them",
	OpQuorum:     "leave it out: a write is answered once one site has applied it",
	OpSync:       "leave it out: a write is answered once one site has applied it",
}

// title names an operator to people.
func (o Op) title() string {
	switch o {
	case OpCross:
		return "cross (%)"
	case OpExactlyOne:
		return "exactly one (^)"
	case OpEither:
		return "either (|)"
	case OpOtherwise:
		return "otherwise (;)"
	}
	return string(o)
}

// refuse reports an operator that cannot be run, or that makes no sense in what "!" takes away.
func (c *checker) refuse(l Location, excluded bool) {
	if excluded {
		c.add(TypeError, l.source, l.Position, l.End,
			`"!" applies to a site or to sites with & between them, not to %s`, l.Op.title())
		return
	}
	c.add(TypeError, l.source, l.Position, l.End,
		"%s is not available in this version; %s", l.Op.title(), advice[l.Op])
}

// refuseReplicatedCross reports a cross that is an argument of "&", and writes down what was probably meant.
func (c *checker) refuseReplicatedCross(together, cross Location) {
	crosses := 0
	var others []Location
	for _, arg := range together.Args {
		if arg.Op == OpCross {
			crosses++
		} else {
			others = append(others, arg)
		}
	}
	instead := ""
	if crosses == 1 {
		wanted := Location{Op: OpCross}
		for _, part := range cross.Args {
			wanted.Args = append(wanted.Args, Location{Op: OpTogether, Args: append([]Location{part}, others...)})
		}
		instead = ", as in " + quote(parenthesised(wanted))
	}
	c.add(TypeError, cross.source, cross.Position, cross.End,
		"a cross cannot be replicated as a whole; replicate its parts instead%s; and %s is not available in this version: %s",
		instead, OpCross.title(), advice[OpCross])
}

// parenthesised prints the arguments of an operator in parentheses, for people who have precedence wrong.
func parenthesised(l Location) string {
	args := make([]string, len(l.Args))
	for i, arg := range l.Args {
		args[i] = "(" + arg.String() + ")"
	}
	return strings.Join(args, " "+string(l.Op)+" ")
}
