package scope

// advice says for each operator that no agent of this version can run what to write today.
var advice = map[Op]string{
	OpExactlyOne: "name one site",
}

// refuse reports an operator that cannot be run.
func (c *checker) refuse(l Location) {
	c.add(TypeError, l.source, l.Position, l.End, "%s is not available in this version; %s", l.Op.title(), advice[l.Op])
}
