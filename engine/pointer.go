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
		if strings.IndexByte(t, '~') >= 0 {
			tokens[i] = unescaper.Replace(t)
		}
	}
	return tokens
}

// Append returns the pointer to the member or element that token names below p.
func (p Pointer) Append(token string) Pointer {
	return p + "/" + Pointer(escaper.Replace(token))
}

// AnyElement is a token of the catalog's pointers that stands for every element of an array.
const AnyElement = "*"

// Stands reports whether a token of the catalog's pointers stands for one: itself, * for any, a* for all that begin with a.
func Stands(pattern, token string) bool {
	if pattern == token || pattern == AnyElement {
		return true
	}
	prefix, open := strings.CutSuffix(pattern, AnyElement)
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
		if !Stands(token, b[i]) && b[i] != AnyElement {
			return false
		}
	}
	return true
}

// Contains reports whether q is p or below it.
func (p Pointer) Contains(q Pointer) bool {
	return strings.HasPrefix(string(q), string(p)) && (len(q) == len(p) || q[len(p)] == '/')
}

// Parent returns the path above p; the root is above itself.
func (p Pointer) Parent() Pointer { return p[:max(0, strings.LastIndexByte(string(p), '/'))] }

// Validate checks a path from outside: its syntax, and that it leads at most MaxDepth levels deep.
func (p Pointer) Validate() error {
	if strings.Count(string(p), "/") > MaxDepth {
		return fmt.Errorf("a path is more than %d levels deep", MaxDepth)
	}
	_, err := ParsePointer(string(p))
	return err
}
