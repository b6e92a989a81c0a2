package scope

import "fmt"

// Parse reads a scope in any of its forms. Its error is a *SyntaxError. Names are not compared with anything: that
// is Check's work.
//
// No word is reserved. "around", "quorum" and "sync" are functions where "(" follows, else names; "XOR" is the
// operator where an operator may stand, and a name where a name may stand.
func Parse(s string) (*Scope, error) {
	if len(s) > MaxLength {
		return nil, tooLong(s, len(s), "")
	}
	p := &parser{source: s, tokens: scan(s)}
	scope, err := p.scope()
	if err != nil {
		return nil, err
	}
	// Whoever passes a scope on passes on its canonical form, which may be the longer one.
	if n := len(scope.String()); n > MaxLength {
		return nil, tooLong(s, n, " in canonical form")
	}
	return scope, nil
}

func tooLong(s string, length int, form string) *SyntaxError {
	at := min(len(s), MaxLength)
	return &SyntaxError{
		Offset: at, End: at, Source: s[:at],
		Expected: fmt.Sprintf("at most %d bytes%s", MaxLength, form), Found: fmt.Sprint(length),
	}
}

type parser struct {
	source string
	tokens []token // tokenEnd is last
	next   int
	depth  int
}

func (p *parser) scope() (*Scope, error) {
	s := &Scope{source: p.source}
	braced := p.accept("{")
	if braced && p.accept("}") {
		return s, p.end()
	}
	unnamed := false
	for {
		start := p.peek(0)
		if !startsBinding(start) {
			want := `a service, a site, "*", "!", "(" or a function`
			if braced && len(s.Bindings) == 0 {
				want = `a service, a site, "*", "!", "(", a function or "}"`
			}
			return nil, p.wrong(start, want)
		}
		b, err := p.binding()
		if err != nil {
			return nil, err
		}
		if b.Service == "" && unnamed {
			e := p.wrong(start, `a service's name and ":", since one binding at most goes without`)
			e.Hint = `write "&" between sites for all of them`
			return nil, e
		}
		unnamed = unnamed || b.Service == ""
		s.Bindings = append(s.Bindings, b)
		if !p.accept(",") {
			break
		}
	}
	if closed := braced && p.accept("}"); !closed && (braced || p.peek(0).kind != tokenEnd) {
		return nil, p.wrong(p.peek(0), p.after(s.Bindings[len(s.Bindings)-1], braced))
	}
	return s, p.end()
}

func (p *parser) end() error {
	if t := p.peek(0); t.kind != tokenEnd {
		return p.wrong(t, "the end")
	}
	return nil
}

func startsBinding(t token) bool {
	return t.kind == tokenName || t.kind == tokenQuote || t.is("*") || t.is("!") || t.is("(")
}

// binding reads one binding. The service and the location may each stand in quotes: that is the JSON form. A "/"
// after the service is the oldest form.
func (p *parser) binding() (Binding, error) {
	var b Binding
	quotes := 0
	if p.peek(0).kind == tokenQuote && p.peek(1).kind == tokenName && p.peek(2).kind == tokenQuote {
		quotes = 1
	}
	b.Position = p.peek(0).at
	b.End = b.Position
	if name, sign := p.peek(quotes), p.peek(2*quotes+1); name.kind == tokenName && (sign.is(":") || sign.is("/")) {
		b.Service, b.Position, b.End = name.text, name.at, name.end
		p.next += 2*quotes + 2
	}
	quoted := p.peek(0).kind == tokenQuote
	if quoted {
		p.next++
	}
	var err error
	if b.Location, err = p.location(0); err != nil {
		return b, err
	}
	if quoted {
		if t := p.peek(0); t.kind != tokenQuote {
			return b, p.wrong(t, "an operator or the closing quote")
		}
		p.next++
	}
	return b, nil
}

// after says what may follow a binding.
func (p *parser) after(b Binding, braced bool) string {
	want := `"," or the end`
	if braced {
		want = `"," or "}"`
	}
	last := p.tokens[p.next-1]
	if last.kind != tokenQuote {
		want = "an operator, " + want
	}
	if b.Service == "" && last.kind == tokenName && last.at == b.Position {
		want = `":", ` + want
	}
	return want
}

func (p *parser) enter(t token) error {
	if p.depth == MaxNesting {
		return p.wrong(t, fmt.Sprintf("at most %d levels of nesting", MaxNesting))
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

// peek returns the token n further on; tokenEnd where there is none.
func (p *parser) peek(n int) token { return p.tokens[min(p.next+n, len(p.tokens)-1)] }

func (p *parser) accept(symbol string) bool {
	if p.peek(0).is(symbol) {
		p.next++
		return true
	}
	return false
}

func (p *parser) expect(symbol, want string) error {
	if !p.accept(symbol) {
		return p.wrong(p.peek(0), want)
	}
	return nil
}
