package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// api is what is read of an OpenAPI document.
type api struct {
	Info       struct{ Description string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]call
	Components struct{ Parameters map[string]parameter }
}

type call struct {
	Tags                 []string
	Role                 string `yaml:"x-role"`
	Summary, Description string
	Parameters           []parameter
}

type parameter struct {
	Ref                   string `yaml:"$ref"`
	Name, In, Description string
}

const restHead = `# Every call of the REST API

Made from [web/api/openapi.yaml](../../web/api/openapi.yaml) by ` + "`make generate`" + `. An agent serves that document at ` + "`/openapi.yaml`" + `; it has the form of all bodies and answers
too. [problems.md](../problems.md) has what is refused, [access.md](../access.md) who may ask.

`

// rest is the page of an OpenAPI document.
func rest(document string) ([]byte, error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return nil, err
	}
	var a api
	if err := yaml.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	var b strings.Builder
	b.WriteString(restHead + strings.TrimSpace(a.Info.Description) + "\n")
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, tag := range a.Tags {
		fmt.Fprintf(&b, "\n## %s%s\n\n%s\n", strings.ToUpper(tag.Name[:1]), tag.Name[1:], tag.Description)
		for _, path := range slices.Sorted(maps.Keys(a.Paths)) {
			for _, method := range methods {
				if c, has := a.Paths[path][strings.ToLower(method)]; has && slices.Contains(c.Tags, tag.Name) {
					a.write(&b, method+" "+path, &c)
				}
			}
		}
	}
	return []byte(b.String()), nil
}

// write writes what is said of a call.
func (a *api) write(b *strings.Builder, name string, c *call) {
	fmt.Fprintf(b, "\n- **`%s`** (%s) %s\n", name, cmp.Or(c.Role, "anyone"), line(c.Summary))
	if c.Description != "" {
		fmt.Fprintf(b, "  %s\n", line(c.Description))
	}
	for _, p := range c.Parameters {
		if p.Ref != "" {
			p = a.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
		if p.In == "query" {
			fmt.Fprintf(b, "  - `%s` %s\n", p.Name, line(p.Description))
		}
	}
}

// line is a text in one line, whose placeholders are no tags of HTML.
func line(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "<", "\\<")
}
