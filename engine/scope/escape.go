package scope

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the escape that s begins with, as JSON strings have them (RFC 8259, section 7). JSON writers
// escape more than they must: Go's writes "&" as \u0026.
func unescape(s string) (rune, int) {
	if len(s) < 2 {
		return utf8.RuneError, 1
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b', 'f', 'n', 'r', 't':
		return ' ', 2 // white space wherever it may stand
	case 'u':
	default:
		return utf8.RuneError, 1
	}
	r, ok := hexRune(s)
	if !ok {
		return utf8.RuneError, 1
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := hexRune(s[6:])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
}

// hexRune reads \uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
