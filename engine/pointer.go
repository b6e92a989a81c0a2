package engine

import (
	"fmt"
	"strings"
)

// Pointer is a JSON Pointer (RFC 6901). The empty pointer is the whole document.
type Pointer string

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// ParsePointer checks the syntax of s.
func ParsePointer(s string) (Pointer, error) {
	if s != "" && s[0] != '/' {
		return "", fmt.Errorf("JSON pointer %q does not begin with a slash", s)
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || (s[i+1] != '0' && s[i+1] != '1')) {
			return "", fmt.Errorf("JSON pointer %q has a ~ that is not ~0 or ~1", s)
		}
	}
	return Pointer(s), nil
}

// Tokens returns the unescaped reference tokens.
func (p Pointer) Tokens() []string {
	if p == "" {
		return nil
	}
	tokens := strings.Split(string(p[1:]), "/")
	for i, t := range tokens {
		tokens[i] = unescaper.Replace(t)
	}
	return tokens
}

// Append returns the pointer to the member or element that token names below p.
func (p Pointer) Append(token string) Pointer {
	return p + "/" + Pointer(escaper.Replace(token))
}

// anyElement is a token of the catalog's pointers that stands for every element of an array.
const anyElement = "*"

// stands reports whether a token of the catalog's pointers stands for one: itself, * for any, and a* for all that begin with a.
func stands(pattern, token string) bool {
	if pattern == token || pattern == anyElement {
		return true
	}
	prefix, open := strings.CutSuffix(pattern, anyElement)
	return open && strings.HasPrefix(token, prefix)
}

// Covers is Contains where a token * of either stands for any, and one of p that ends so for all that begin alike.
func (p Pointer) Covers(q Pointer) bool {
	if strings.IndexByte(string(p), '*') < 0 && strings.IndexByte(string(q), '*') < 0 {
		return p.Contains(q)
	}
	a, b := strings.Split(string(p), "/"), strings.Split(string(q), "/")
	if len(a) > len(b) {
		return false
	}
	for i, token := range a {
		if !stands(token, b[i]) && b[i] != anyElement {
			return false
		}
	}
	return true
}

// Contains reports whether q is p or below it.
func (p Pointer) Contains(q Pointer) bool {
	return strings.HasPrefix(string(q), string(p)) && (len(q) == len(p) || q[len(p)] == '/')
}
