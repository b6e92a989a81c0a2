package shape

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

// Hidden stands in place of a sensitive value.
const Hidden = "(hidden)"

// ShowBody gives a body the form that people and programs can see: JSON with its sensitive fields hidden, text, or
// base64. Text of a kind that has sensitive fields is not shown, since they cannot be found in it.
func ShowBody(k *engine.Kind, b []byte) (body any, encoding string) {
	if len(b) == 0 {
		return nil, ""
	}
	if v, ok := DecodeJSON(b); ok {
		return Hide(k, v), "json"
	}
	if len(k.Sensitive) > 0 {
		return nil, ""
	}
	if utf8.Valid(b) && !bytes.ContainsRune(b, 0) {
		return string(b), "text"
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

// DecodeJSON decodes exactly one JSON value and keeps the digits of its numbers.
func DecodeJSON(b []byte) (any, bool) {
	if !json.Valid(b) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	return v, true
}

// Hide replaces the sensitive fields of a representation wherever one may stand in v, since lists and envelopes hold
// them at any depth, and the values of a JSON Patch that touch them. It changes v.
func Hide(k *engine.Kind, v any) any {
	if len(k.Sensitive) == 0 {
		return v
	}
	switch c := v.(type) {
	case []any:
		for i := range c {
			c[i] = Hide(k, c[i])
		}
	case map[string]any:
		path, hasPath := c["path"].(string)
		if _, hasOp := c["op"].(string); hasOp && hasPath && k.Hides(engine.Pointer(path)) {
			if _, has := c["value"]; has {
				c["value"] = Hidden
			}
		}
		for name := range c {
			c[name] = Hide(k, c[name])
		}
	}
	for _, p := range k.Sensitive {
		hideAt(v, p.Tokens())
	}
	return v
}

func hideAt(v any, tokens []string) {
	if len(tokens) == 0 {
		return
	}
	switch c := v.(type) {
	case map[string]any:
		child, ok := c[tokens[0]]
		if !ok {
			return
		}
		if len(tokens) == 1 {
			c[tokens[0]] = Hidden
			return
		}
		hideAt(child, tokens[1:])
	case []any:
		for i := range c {
			switch {
			case tokens[0] != "*" && tokens[0] != strconv.Itoa(i):
			case len(tokens) == 1:
				c[i] = Hidden
			default:
				hideAt(c[i], tokens[1:])
			}
		}
	}
}

func hideInChange(k *engine.Kind, c *engine.Edit) {
	for p := range c.Set {
		if k.Hides(p) {
			c.Set[p] = json.RawMessage(strconv.Quote(Hidden))
		}
	}
}
