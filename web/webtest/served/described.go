package served

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/skerry/skerry/web/api"
)

// Description is the parsed openapi.yaml.
type Description struct{ Root map[string]any }

// Describe reads it.
func Describe(t testing.TB) *Description {
	t.Helper()
	d := &Description{}
	if err := yaml.Unmarshal(api.OpenAPI, &d.Root); err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return d
}

func (d *Description) resolve(v any) map[string]any {
	m, _ := v.(map[string]any)
	for m["$ref"] != nil {
		var at any = d.Root
		for _, part := range strings.Split(strings.TrimPrefix(m["$ref"].(string), "#/"), "/") {
			at = at.(map[string]any)[part]
		}
		m = at.(map[string]any)
	}
	return m
}

// operation finds the call that a request makes; path parameters match one segment.
func (d *Description) operation(method, path string) map[string]any {
	path, _, _ = strings.Cut(path, "?")
	for pattern, item := range d.Root["paths"].(map[string]any) {
		re := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$")
		if op, ok := item.(map[string]any)[strings.ToLower(method)]; ok && re.MatchString(path) {
			return op.(map[string]any)
		}
	}
	return nil
}

// checkAnswer compares an answer with what is described for it.
func (d *Description) checkAnswer(t testing.TB, method, path string, status int, contentType string, body []byte) {
	t.Helper()
	op := d.operation(method, path)
	if op == nil {
		if status != 404 && status != 405 {
			t.Errorf("%s %s is not described", method, path)
		}
		return
	}
	if status == 304 && method == "GET" { // described for all of them at the top
		if len(body) > 0 {
			t.Errorf("%s %s: 304 has a body", method, path)
		}
		return
	}
	responses := op["responses"].(map[string]any)
	r, ok := responses[fmt.Sprint(status)]
	if !ok {
		if status < 400 {
			t.Errorf("%s %s: answer %d is not described", method, path, status)
			return
		}
		r = responses["default"]
	}
	content, _ := d.resolve(r)["content"].(map[string]any)
	if content == nil {
		if len(body) > 0 {
			t.Errorf("%s %s: %d has a body that is not described", method, path, status)
		}
		return
	}
	mt, _, _ := strings.Cut(contentType, ";")
	c, ok := content[mt]
	if !ok {
		t.Errorf("%s %s: %d has media type %q, which is not described", method, path, status, mt)
		return
	}
	if !strings.HasSuffix(mt, "json") {
		return
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return
	}
	for _, problem := range d.Check(c.(map[string]any)["schema"], v, "$") {
		t.Errorf("%s %s %d: %s", method, path, status, problem)
	}
}

// Check validates a value. Members of an object that is described by its properties must all be among them, unless
// additionalProperties says otherwise.
func (d *Description) Check(schema, v any, at string) []string {
	s := d.resolve(schema)
	if all, ok := s["allOf"].([]any); ok {
		merged := map[string]any{"type": "object", "properties": map[string]any{}}
		var required []any
		for _, part := range all {
			p := d.resolve(part)
			for name, prop := range p["properties"].(map[string]any) {
				merged["properties"].(map[string]any)[name] = prop
			}
			if r, ok := p["required"].([]any); ok {
				required = append(required, r...)
			}
		}
		merged["required"] = required
		s = merged
	}
	if s["type"] == nil { // anything
		return nil
	}
	var types []string
	switch x := s["type"].(type) {
	case string:
		types = []string{x}
	case []any:
		for _, y := range x {
			types = append(types, fmt.Sprint(y))
		}
	}
	var got string
	switch x := v.(type) {
	case nil:
		got = "null"
	case bool:
		got = "boolean"
	case string:
		got = "string"
	case float64:
		got = "number"
		if x == float64(int64(x)) && slices.Contains(types, "integer") {
			got = "integer"
		}
	case []any:
		got = "array"
	case map[string]any:
		got = "object"
	}
	if !slices.Contains(types, got) {
		return []string{fmt.Sprintf("%s is %s, described as %v", at, got, types)}
	}
	var wrong []string
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		wrong = append(wrong, fmt.Sprintf("%s is %v, described as one of %v", at, v, enum))
	}
	if c, ok := s["const"]; ok && c != v {
		wrong = append(wrong, fmt.Sprintf("%s is %v, described as %v", at, v, c))
	}
	switch x := v.(type) {
	case []any:
		for i, item := range x {
			wrong = append(wrong, d.Check(s["items"], item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		props, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := x[name.(string)]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s.%v is missing", at, name))
			}
		}
		for name, member := range x {
			switch prop, ok := props[name]; {
			case ok:
				wrong = append(wrong, d.Check(prop, member, at+"."+name)...)
			case s["additionalProperties"] == nil:
				wrong = append(wrong, fmt.Sprintf("%s.%s is not described", at, name))
			case s["additionalProperties"] != true:
				wrong = append(wrong, d.Check(s["additionalProperties"], member, at+"."+name)...)
			}
		}
	}
	return wrong
}
