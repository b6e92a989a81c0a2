package tree

import (
	"encoding/json"
	"strings"
)

// reader makes a tree of one JSON value that was found to be valid. The decoder of the standard library gives the same, for more time and
// memory: representations are read with each step of each replica.
type reader struct{ rest []byte }

func (r *reader) value() any {
	switch r.peek() {
	case '{':
		members := map[string]any{}
		for r.skip(1); r.peek() != '}'; {
			name := r.text()
			r.peek()
			r.skip(1) // the colon
			members[name] = r.value()
			r.comma()
		}
		r.skip(1)
		return members
	case '[':
		list := []any{}
		for r.skip(1); r.peek() != ']'; {
			list = append(list, r.value())
			r.comma()
		}
		r.skip(1)
		return list
	case '"':
		return r.text()
	case 't':
		r.skip(len("true"))
		return true
	case 'f':
		r.skip(len("false"))
		return false
	case 'n':
		r.skip(len("null"))
		return nil
	}
	n := 0
	for n < len(r.rest) && strings.IndexByte("+-.0123456789Ee", r.rest[n]) >= 0 {
		n++
	}
	number := json.Number(r.rest[:n])
	r.skip(n)
	return number
}

// peek returns the first byte that is no space.
func (r *reader) peek() byte {
	for {
		switch c := r.rest[0]; c {
		case ' ', '\t', '\r', '\n':
			r.skip(1)
		default:
			return c
		}
	}
}

func (r *reader) skip(n int) { r.rest = r.rest[n:] }

// comma takes the comma that is there but after the last element.
func (r *reader) comma() {
	if r.peek() == ',' {
		r.skip(1)
	}
}

// text takes a quoted text. Most have no escapes.
func (r *reader) text() string {
	r.peek()
	plain := true
	for n := 1; ; n++ {
		switch c := r.rest[n]; {
		case c == '\\':
			plain = false
			n++
		case c > '~':
			plain = false // it may not be valid UTF-8
		case c == '"':
			quoted := r.rest[:n+1]
			r.skip(n + 1)
			if plain {
				return string(quoted[1:n])
			}
			var s string
			_ = json.Unmarshal(quoted, &s) // it is valid
			return s
		}
	}
}
