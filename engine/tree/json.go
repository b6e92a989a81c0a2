package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// ParseJSON decodes one JSON value and keeps numbers as they are written. The error wraps engine.ErrTooLarge for JSON that
// is nested more than engine.MaxDepth deep. Who calls it bounds the length.
func ParseJSON(b []byte) (any, error) {
	if tooDeep(b) {
		return nil, fmt.Errorf("%w: JSON nested more than %d levels deep", engine.ErrTooLarge, engine.MaxDepth)
	}
	if !json.Valid(b) {
		var why any
		return nil, json.Unmarshal(b, &why)
	}
	return (&reader{b}).value(), nil
}

// tooDeep reports whether brackets are nested too deep, so that nothing that walks a tree can run out of stack.
func tooDeep(b []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > engine.MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Compact encodes a tree with sorted members and without escaping for HTML, so that equal values have equal bytes. It panics
// for what is no tree.
func Compact(v any) json.RawMessage { return appendCompact(nil, v) }

func appendCompact(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendText(b, v)
	case json.Number:
		if v == "" {
			return append(b, '0')
		}
		return append(b, v...)
	case map[string]any:
		return appendMembers(b, v)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCompact(b, element)
		}
		return append(b, ']')
	case *elements:
		return v.append(b)
	case whole:
		return appendCompact(b, v.v)
	}
	return append(b, encode(v)...)
}

func appendMembers(b []byte, members map[string]any) []byte {
	b = append(b, '{')
	names := slices.AppendSeq(make([]string, 0, len(members)), maps.Keys(members))
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		b = appendCompact(b, members[name])
	}
	return append(b, '}')
}

// appendText quotes a string. What needs no escaping, which is most of it, is copied.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, encode(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// encode is for what needs the rules of the standard library: text with escapes, values that are encoded already.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a decoded JSON value: %v", err)) // it came from Parse, or was found to be valid
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Recompact returns JSON in compact form; what is none stays as it is.
func Recompact(b json.RawMessage) json.RawMessage {
	v, err := ParseJSON(b)
	if err != nil {
		return b
	}
	return Compact(v)
}
