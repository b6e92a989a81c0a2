package scope

import "strings"

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

// misplaced reports an operator that makes no sense as an argument of parent, and says what to write instead.
func (c *checker) misplaced(l, parent Location) {
	say := func(format string, args ...any) {
		c.add(TypeError, l.source, l.Position, l.End, format, args...)
	}
	switch {
	case parent.Op == OpNot:
		say(`"!" applies to a site, a zone or sites with & between them, not to %s`, l.Op.title())
	case parent.Op == OpTogether && l.Op == OpCross:
		c.replicatedCross(parent, l)
	case parent.Op == OpTogether && (l.Op == OpQuorum || l.Op == OpSync):
		say("%s counts all the sites of a location; write it around the whole, as in %s(%s)", l.Op, l.Op, bare(parent))
	case parent.Op == OpTogether && l.Op == OpExactlyOne:
		say(`"^" chooses one of its sites, and "&" wants a replica at each; leave one of them out`)
	case parent.Op == OpTogether && l.Op == OpAround:
		say(`around gives sites to try one after the other, and "&" wants a replica at each; name the sites`)
	case parent.Op == OpTogether:
		say(`alternatives stand around "&", not inside it%s`, asIn(l, parent))
	case parent.Op == OpQuorum || parent.Op == OpSync:
		say("%s counts the sites of an & or one site, not %s%s", parent.Op, l.Op.title(), counted(l, parent))
	case parent.Op == OpExactlyOne:
		say(`"^" chooses one site: name sites with ^ between them, not %s`, l.Op.title())
	case parent.Op == OpCross:
		say(`a part of a cross is a site, or sites with "&" between them, not %s`, l.Op.title())
	case parent.Op == OpEither:
		say(`with "|" the nearest counts, and %s gives sites in an order; use ; between all of them, or | between all`, l.Op.title())
	default:
		say("%s cannot stand here", l.Op.title())
	}
}

// asIn writes "(A | B) & C" as "(A & C) | (B & C)", which is what was meant; empty where that would be long.
func asIn(alternatives, together Location) string {
	if len(alternatives.Args)*len(together.Args) > 8 {
		return ""
	}
	wanted := Location{Op: alternatives.Op}
	for _, alternative := range alternatives.Args {
		each := Location{Op: OpTogether, Args: []Location{alternative}}
		for _, arg := range together.Args {
			if arg.from != alternatives.from && arg.String() != alternative.String() {
				each.Args = append(each.Args, arg)
			}
		}
		if len(each.Args) == 1 {
			each = alternative
		}
		wanted.Args = append(wanted.Args, each)
	}
	return ", as in " + quote(parenthesised(wanted))
}

// counted says how "quorum(A | B)" is written where each of A and B can be counted.
func counted(l, function Location) string {
	if l.Op != OpEither && l.Op != OpOtherwise || len(l.Args) > 4 {
		return ""
	}
	args := make([]string, len(l.Args))
	for i, arg := range l.Args {
		args[i] = string(function.Op) + "(" + arg.String() + ")"
	}
	return "; count in each alternative, as in " + quote(strings.Join(args, " "+string(l.Op)+" "))
}

// bare prints the sites of an "&" without the functions in it.
func bare(together Location) string {
	plain := Location{Op: OpTogether}
	for _, arg := range together.Args {
		if arg.Op == OpQuorum || arg.Op == OpSync {
			arg = arg.Args[0]
		}
		plain.Args = append(plain.Args, arg)
	}
	return plain.String()
}

// parenthesised prints the arguments of an operator in parentheses, for people who have precedence wrong.
func parenthesised(l Location) string {
	args := make([]string, len(l.Args))
	for i, arg := range l.Args {
		args[i] = arg.String()
		if len(arg.Args) > 1 {
			args[i] = "(" + args[i] + ")"
		}
	}
	return strings.Join(args, " "+string(l.Op)+" ")
}
