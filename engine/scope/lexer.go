package scope

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenSymbol
	tokenQuote   // opens or closes a JSON string
	tokenIllegal // no part of the language; text says what it is
)

// token is one word of a scope. text is what it means: "&" for "&&", decoded where JSON escapes something; at and
// end are offsets in the source all the same, so that a caret points at what the user wrote.
type token struct {
	kind    tokenKind
	text    string
	at, end int
}

func (t token) is(symbol string) bool { return t.kind == tokenSymbol && t.text == symbol }

// operator reports whether t, where an operator may stand, is op.
func (t token) operator(op Op) bool {
	return t.is(string(op)) || op == OpExactlyOne && t.kind == tokenName && t.text == "XOR"
}

// startsPrimary reports whether t, after a word "XOR", makes that word an operator and no name.
func (t token) startsPrimary() bool {
	return t.kind == tokenName && t.text != "XOR" || t.is("*") || t.is("!") || t.is("(")
}

const symbols = "{}(),:/*!&%^|;"

// lexer turns the source into tokens. A quote is a token like a bracket is: what stands between two of them is
// the same language, with the escapes of JSON strings (RFC 8259, section 7) decoded.
type lexer struct {
	source string
	at     int
	quoted bool
}

// scan returns all tokens, tokenEnd last. It does not fail: what it does not know becomes tokenIllegal, so that
// the parser reports whatever is wrong first in the order of the text.
func scan(source string) []token {
	l := lexer{source: source}
	var tokens []token
	for {
		t := l.token()
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens
		}
	}
}

func (l *lexer) token() token {
	r, size := l.peek()
	for size > 0 && unicode.IsSpace(r) {
		l.at += size
		r, size = l.peek()
	}
	at := l.at
	l.at += size
	switch {
	case size == 0:
		return token{tokenEnd, "", at, at}
	case l.source[at] == '"':
		l.quoted = !l.quoted
		return token{tokenQuote, `"`, at, l.at}
	case r == utf8.RuneError:
		return token{tokenIllegal, l.source[at:l.at], at, l.at}
	case startsName(r):
		return l.name(at, r)
	case !strings.ContainsRune(symbols, r):
		return token{tokenIllegal, string(r), at, l.at}
	}
	if r == '&' || r == '|' {
		if next, size := l.peek(); next == r {
			l.at += size
		}
	}
	return token{tokenSymbol, string(r), at, l.at}
}

// name reads the rest of a name, or of a duration, which looks like one.
func (l *lexer) name(at int, first rune) token {
	var b strings.Builder
	b.WriteRune(first)
	for {
		r, size := l.peek()
		if size == 0 || !startsName(r) && r != '_' && r != '-' && r != '.' {
			return token{tokenName, b.String(), at, l.at}
		}
		b.WriteRune(r)
		l.at += size
	}
}

func startsName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// peek returns the next character and how many bytes of the source it takes; none at the end. Bytes that are no
// UTF-8, and escapes that are none of JSON's, are utf8.RuneError.
func (l *lexer) peek() (rune, int) {
	rest := l.source[l.at:]
	if rest == "" {
		return 0, 0
	}
	if l.quoted && rest[0] == '\\' {
		return unescape(rest)
	}
	return utf8.DecodeRuneInString(rest)
}
