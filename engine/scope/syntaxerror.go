package scope

import (
	"fmt"
	"strconv"
)

// SyntaxError says where a scope cannot be read, and what was expected there.
type SyntaxError struct {
	// Offset and End are the byte offsets in Source of what was found; equal at the end of the text.
	Offset, End int
	// Expected and Found are phrases; names and signs in them are quoted.
	Expected, Found string
	// Hint tells what might have been meant. Empty: nothing comes to mind.
	Hint   string
	Source string
}

// Error is one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("scope at byte %d: %s", e.Offset, e.message())
}

// Picture is two lines: the scope, and below it carets that point at the place with what is wrong there.
func (e *SyntaxError) Picture() string { return picture(e.Source, e.Offset, e.End, e.message()) }

func (e *SyntaxError) message() string {
	m := "expected " + e.Expected + ", found " + e.Found
	if e.Hint != "" {
		m += "; " + e.Hint
	}
	return m
}

// words are what people write for operators that have none.
var words = map[string]string{"xor": "XOR", "Xor": "XOR", "and": "&", "AND": "&", "or": "|", "OR": "|"}

func (p *parser) wrong(t token, expected string) *SyntaxError {
	e := &SyntaxError{Offset: t.at, End: t.end, Expected: expected, Source: p.source}
	switch {
	case t.kind == tokenEnd:
		e.Found = "the end"
	case t.kind == tokenIllegal && t.end-t.at == 1 && p.source[t.at] >= 0x80:
		e.Found = fmt.Sprintf("the byte 0x%x", p.source[t.at])
	case t.kind == tokenQuote:
		e.Found = "a quote"
	case t.text == "XOR":
		e.Found = `the operator "XOR"` // a name is all that it could have been
	default:
		e.Found = quote(t.text)
	}
	if t.kind == tokenName && p.next > 0 && words[t.text] != "" {
		e.Hint = didYouMean(words[t.text])
	}
	return e
}

// quote puts a name into a sentence. It is cut where it is long, and harmless on a terminal.
func quote(name string) string {
	const most = 64
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return strconv.Quote(name)
}

func didYouMean(name string) string { return "did you mean " + quote(name) + "?" }
