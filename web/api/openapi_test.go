package api_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/web/webtest/served"
)

func TestOpenAPIDescribesEveryRouteAndNoOther(t *testing.T) {
	d := served.Describe(t)
	described := map[string]bool{}
	for path, item := range d.Root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	params := regexp.MustCompile(`:([a-z]+)`)
	for _, r := range served.Start(t).Web.Routes() {
		if !strings.HasPrefix(r.Path, "/api/") && !slices.Contains([]string{"/healthz", "/readyz", "/metrics", "/openapi.yaml"}, r.Path) {
			continue // the page
		}
		call := r.Method + " " + params.ReplaceAllString(r.Path, "{$1}")
		if !described[call] {
			t.Errorf("%s is served and not described", call)
		}
		delete(described, call)
	}
	for call := range described {
		t.Errorf("%s is described and not served", call)
	}
}

func TestOpenAPIExplainsEveryField(t *testing.T) {
	d := served.Describe(t)
	components := d.Root["components"].(map[string]any)
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch x := v.(type) {
		case []any:
			for i, item := range x {
				walk(item, fmt.Sprintf("%s[%d]", at, i))
			}
		case map[string]any:
			if props, ok := x["properties"].(map[string]any); ok {
				for name, p := range props {
					m := p.(map[string]any)
					if m["description"] == nil && m["$ref"] == nil {
						t.Errorf("%s.%s has no description", at, name)
					}
				}
			}
			if x["in"] != nil && x["description"] == nil {
				t.Errorf("parameter %v at %s has no description", x["name"], at)
			}
			for name, member := range x {
				walk(member, at+"."+name)
			}
		}
	}
	walk(components, "components")
	walk(d.Root["paths"], "paths")
}

func TestTheCheckOfAnswersFindsWhatIsNotDescribed(t *testing.T) {
	d := served.Describe(t)
	schema := map[string]any{"$ref": "#/components/schemas/Isolation"}
	for _, wrong := range []string{`{}`, `{"isolated": 1}`, `{"isolated": true, "more": 1}`, `[]`} {
		var v any
		if err := json.Unmarshal([]byte(wrong), &v); err != nil {
			t.Fatal(err)
		}
		if len(d.Check(schema, v, "$")) == 0 {
			t.Errorf("%s passes", wrong)
		}
	}
}
