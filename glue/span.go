package glue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// This file edits JSON texts without taking them apart: a representation that a client or an application wrote keeps
// its order, its numbers and its white space, and only the identifiers in it are exchanged. All functions
// expect a text that json.Valid accepts.

// span is the part of a text from start to end, exclusive.
type span struct{ start, end int }

// edit replaces a span.
type edit struct {
	span
	text []byte
}

// apply returns doc with edits, which must not overlap; doc itself when there are none.
func apply(doc []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return doc
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	out := make([]byte, 0, len(doc)+64*len(edits))
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue // two pointers name one value; the first that was found counts
		}
		out = append(out, doc[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, doc[at:]...)
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\n' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i.
func skipString(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// skipValue returns the index after the value that begins at i.
func skipValue(doc []byte, i int) int {
	if i >= len(doc) {
		return i
	}
	switch doc[i] {
	case '"':
		return skipString(doc, i)
	case '{', '[':
		depth := 0
		for i < len(doc) {
			switch doc[i] {
			case '"':
				i = skipString(doc, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
		return i
	}
	for i < len(doc) && bytes.IndexByte([]byte(",]} \t\n\r"), doc[i]) < 0 {
		i++
	}
	return i
}

// members calls visit for each member of the object that begins at i.
func members(doc []byte, i int, visit func(key string, value span)) {
	if i >= len(doc) || doc[i] != '{' {
		return
	}
	for i = skipSpace(doc, i+1); i < len(doc) && doc[i] == '"'; {
		end := skipString(doc, i)
		key := unquote(doc[i:end])
		i = skipSpace(doc, end)
		i = skipSpace(doc, i+1) // the colon
		end = skipValue(doc, i)
		visit(key, span{i, end})
		i = skipSpace(doc, end)
		if i < len(doc) && doc[i] == ',' {
			i = skipSpace(doc, i+1)
		}
	}
}

// elements calls visit for each element of the array that begins at i.
func elements(doc []byte, i int, visit func(value span)) {
	if i >= len(doc) || doc[i] != '[' {
		return
	}
	for i = skipSpace(doc, i+1); i < len(doc) && doc[i] != ']'; {
		end := skipValue(doc, i)
		visit(span{i, end})
		i = skipSpace(doc, end)
		if i < len(doc) && doc[i] == ',' {
			i = skipSpace(doc, i+1)
		}
	}
}

// values calls visit for each value that the tokens name below the value that begins at i. * names every element of an
// array.
func values(doc []byte, i int, tokens []string, visit func(span)) {
	if len(tokens) == 0 {
		visit(span{i, skipValue(doc, i)})
		return
	}
	if i >= len(doc) {
		return
	}
	switch doc[i] {
	case '{':
		members(doc, i, func(key string, v span) {
			if key == tokens[0] {
				values(doc, v.start, tokens[1:], visit)
			}
		})
	case '[':
		index, n := arrayIndex(tokens[0]), 0
		elements(doc, i, func(v span) {
			if n == index || tokens[0] == "*" {
				values(doc, v.start, tokens[1:], visit)
			}
			n++
		})
	}
}

func arrayIndex(token string) int {
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 || strconv.Itoa(n) != token {
		return -1
	}
	return n
}

func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && len(raw) >= 2 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw is a valid string
	return s
}

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// identifier reads an identifier: a string, or a whole number in its shortest form.
func identifier(raw []byte) (id string, number, ok bool) {
	if len(raw) == 0 {
		return "", false, false
	}
	if raw[0] == '"' {
		id = unquote(raw)
		return id, false, id != ""
	}
	if isInteger(string(raw)) {
		return string(raw), true, true
	}
	return "", false, false
}

// isInteger reports whether s is a whole number in its shortest decimal form, of a size that identifiers have.
func isInteger(s string) bool {
	if s == "" || len(s) > 20 || (s[0] == '0' && len(s) > 1) {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// putAt returns doc, an object, with the value at the pointer's tokens set to raw; objects on the way are made. False
// when something that is no object is in the way.
func putAt(doc []byte, tokens []string, raw []byte) ([]byte, bool) {
	i := skipSpace(doc, 0)
	for depth, token := range tokens {
		if i >= len(doc) || doc[i] != '{' {
			return nil, false
		}
		var found *span
		count := 0
		members(doc, i, func(key string, v span) {
			count++
			if key == token {
				found = &v
			}
		})
		if found == nil {
			value := raw
			for _, t := range slices.Backward(tokens[depth+1:]) {
				value = slices.Concat([]byte("{"), quote(t), []byte(":"), value, []byte("}"))
			}
			member := slices.Concat(quote(token), []byte(":"), value)
			if count > 0 {
				member = append(member, ',')
			}
			return apply(doc, []edit{{span{i + 1, i + 1}, member}}), true
		}
		if depth == len(tokens)-1 {
			return apply(doc, []edit{{*found, raw}}), true
		}
		i = found.start
	}
	return nil, false
}
