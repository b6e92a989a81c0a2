package scope

import (
	"slices"
	"time"
)

// levels are the binary operators from the loosest to the tightest.
var levels = []Op{OpOtherwise, OpEither, OpExactlyOne, OpCross, OpTogether}

var functions = []string{string(OpAround), string(OpQuorum), string(OpSync)}

const wantPrimary = `a site, "*", "!", "(" or a function`

// location reads operators of levels[level] and tighter ones.
func (p *parser) location(level int) (Location, error) {
	if level == len(levels) {
		return p.unary()
	}
	first, err := p.location(level + 1)
	if err != nil || !p.peek(0).operator(levels[level]) {
		return first, err
	}
	operator := p.peek(0)
	node := p.node(levels[level], operator)
	node.Args = []Location{first}
	for p.peek(0).operator(levels[level]) {
		p.next++
		arg, err := p.location(level + 1)
		if err != nil {
			return node, err
		}
		node.Args = append(node.Args, arg)
	}
	node.from, node.to = first.from, node.Args[len(node.Args)-1].to
	return node, nil
}

func (p *parser) unary() (Location, error) {
	t := p.peek(0)
	if !t.is("!") {
		return p.primary()
	}
	p.next++
	if err := p.enter(t); err != nil {
		return Location{}, err
	}
	defer p.leave()
	arg, err := p.unary()
	node := p.node(OpNot, t)
	node.Args, node.to = []Location{arg}, arg.to
	return node, err
}

func (p *parser) primary() (Location, error) {
	t := p.peek(0)
	switch {
	case t.is("*"):
		p.next++
		return p.node(OpEvery, t), nil
	case t.is("("):
		return p.parenthesis()
	case t.kind != tokenName, t.text == "XOR" && p.peek(1).startsPrimary():
		return Location{}, p.wrong(t, wantPrimary)
	case !p.peek(1).is("("):
		p.next++
		site := p.node(OpSite, t)
		site.Site = t.text
		return site, nil
	case t.text == string(OpAround):
		return p.around()
	case slices.Contains(functions, t.text):
		p.next++
		node := p.node(Op(t.text), t)
		arg, err := p.parenthesis()
		node.Args, node.to = []Location{arg}, p.tokens[p.next-1].end
		return node, err
	}
	e := p.wrong(t, `a function (around, quorum or sync), or an operator before "("`)
	if near := nearest(t.text, functions); near != "" {
		e.Hint = didYouMean(near)
	}
	return Location{}, e
}

func (p *parser) parenthesis() (Location, error) {
	if err := p.enter(p.peek(0)); err != nil {
		return Location{}, err
	}
	defer p.leave()
	p.next++
	node, err := p.location(0)
	if err != nil {
		return node, err
	}
	return node, p.expect(")", `an operator or ")"`)
}

// around reads "around", "(", the site's name, ",", the round trip and ")".
func (p *parser) around() (Location, error) {
	node := p.node(OpAround, p.peek(0))
	p.next += 2
	site := p.peek(0)
	if site.kind != tokenName {
		return node, p.wrong(site, "a site's name")
	}
	p.next++
	node.Site, node.siteAt, node.siteEnd = site.text, site.at, site.end
	if err := p.expect(",", `"," and a round trip`); err != nil {
		return node, err
	}
	t := p.peek(0)
	within, err := time.ParseDuration(t.text)
	if t.kind != tokenName || err != nil || within <= 0 {
		return node, p.wrong(t, "a round trip such as 10ms or 1.5s")
	}
	p.next++
	node.Within, node.to = within, p.peek(0).end
	return node, p.expect(")", `")"`)
}

func (p *parser) node(op Op, t token) Location {
	return Location{Op: op, Position: t.at, End: t.end, from: t.at, to: t.end, source: p.source}
}
