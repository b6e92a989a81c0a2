package scope

import "slices"

// cross evaluates "A % B": each argument is the set of sites that hold one part, and no site holds two.
func (c *checker) cross(l Location) []Alternative {
	all := Alternative{Mode: Cross}
	good := true
	for _, arg := range l.Args {
		found := c.plain(arg, l)
		if len(found) == 0 {
			good = false
			continue
		}
		part := found[0].Sites
		if i := slices.IndexFunc(part, func(site string) bool { return slices.Contains(all.Sites, site) }); i >= 0 {
			c.add(TypeError, arg.source, arg.from, arg.to, "site %s is in two parts of the cross; a site holds one part", quote(part[i]))
			good = false
		}
		all.Sites, all.Parts = append(all.Sites, part...), append(all.Parts, part)
	}
	if !good {
		return nil
	}
	return []Alternative{all}
}

// replicatedCross reports a cross that is an argument of "&", and writes down what was probably meant.
func (c *checker) replicatedCross(together, cross Location) {
	replicated := Location{Op: OpTogether, Args: []Location{cross.Args[0]}}
	instead := ""
	for _, arg := range together.Args {
		named := slices.ContainsFunc(cross.Args, func(part Location) bool { return part.String() == arg.String() })
		if arg.Op == OpCross && arg.from != cross.from || named {
			replicated.Args = nil
			break
		}
		if arg.Op != OpCross {
			replicated.Args = append(replicated.Args, arg)
		}
	}
	if replicated.Args != nil {
		wanted := Location{Op: OpCross, Args: append([]Location{replicated}, cross.Args[1:]...)}
		instead = ", as in " + quote(parenthesised(wanted))
	}
	c.add(TypeError, cross.source, cross.Position, cross.End,
		"a cross cannot be replicated as a whole; replicate its parts instead%s", instead)
}
