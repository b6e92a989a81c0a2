package draft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxRef is how many references are followed from one place: real documents have circles.
const maxRef = 32

// document is an OpenAPI document of either version. Descriptions of real applications break the rules of the format in many
// places; what is not as expected is passed over.
type document struct {
	root   map[string]any
	prefix string // before all paths
	title  string
}

// parse reads JSON or YAML.
func parse(b []byte) (*document, error) {
	var root map[string]any
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		if err := json.Unmarshal(b, &root); err != nil {
			return nil, fmt.Errorf("the document is no JSON: %w", err)
		}
	} else if err := yaml.Unmarshal(b, &root); err != nil {
		return nil, fmt.Errorf("the document is no YAML: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	d := &document{root: root, title: text(at(root, "info", "title"))}
	three, _ := root["openapi"].(string)
	switch {
	case strings.HasPrefix(three, "3."):
		if servers, ok := root["servers"].([]any); ok && len(servers) > 0 {
			d.prefix = pathOf(text(at(servers[0], "url")))
		}
	case fmt.Sprint(root["swagger"]) == "2.0" || fmt.Sprint(root["swagger"]) == "2":
		d.prefix = pathOf(text(root["basePath"]))
	default:
		return nil, errors.New(`expected a document with "openapi": "3.…" or "swagger": "2.0"`)
	}
	if _, ok := root["paths"].(map[string]any); !ok {
		return nil, errors.New("the document has no paths")
	}
	return d, nil
}

// pathOf is the path of a server's address, with a slash before it and none at its end; empty for none.
func pathOf(address string) string {
	if strings.Contains(address, "{") {
		return "" // a template: nobody knows
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	path := strings.Trim(u.EscapedPath(), "/")
	if path == "" {
		return ""
	}
	return "/" + path
}

// at goes down the members of maps; nil when there is none.
func at(v any, names ...string) any {
	for _, n := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[n]
	}
	return v
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// resolve follows references inside the document.
func (d *document) resolve(v any) map[string]any {
	for range maxRef {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		pointer, inside := strings.CutPrefix(ref, "#/")
		if !inside {
			return nil
		}
		v = any(d.root)
		for _, part := range strings.Split(pointer, "/") {
			part, err := url.PathUnescape(part)
			if err != nil {
				return nil
			}
			v = at(v, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
	}
	return nil
}

// schemaOf is the schema of the JSON of a request's or answer's description, of either version.
func (d *document) schemaOf(v any) map[string]any {
	m := d.resolve(v)
	if s, ok := m["schema"]; ok { // OpenAPI 2
		return d.resolve(s)
	}
	content, _ := m["content"].(map[string]any)
	for _, media := range []string{"application/json", "*/*"} {
		if c, ok := content[media]; ok {
			return d.resolve(at(c, "schema"))
		}
	}
	for media, c := range content {
		if strings.HasSuffix(strings.Split(media, ";")[0], "json") {
			return d.resolve(at(c, "schema"))
		}
	}
	return nil
}

// answer is the schema of what an operation answers when it succeeds.
func (d *document) answer(operation any) map[string]any {
	for _, status := range []string{"201", "200", "202", "2XX", "default"} {
		if s := d.schemaOf(at(operation, "responses", status)); s != nil {
			return s
		}
	}
	return nil
}

// body is the schema of what an operation is sent.
func (d *document) body(operation any) map[string]any {
	if b := at(operation, "requestBody"); b != nil {
		return d.schemaOf(b)
	}
	list, _ := at(operation, "parameters").([]any)
	for _, p := range list {
		if p := d.resolve(p); text(p["in"]) == "body" {
			return d.resolve(p["schema"])
		}
	}
	return nil
}

// properties are the members that a schema gives an object, its parts (allOf) included; of alternatives, all.
func (d *document) properties(schema map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	d.collect(schema, all, 0)
	return all
}

func (d *document) collect(schema map[string]any, all map[string]map[string]any, depth int) {
	if schema == nil || depth > 8 {
		return
	}
	props, _ := schema["properties"].(map[string]any)
	for name, p := range props {
		if _, there := all[name]; !there {
			all[name] = d.merged(p)
		}
	}
	for _, word := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := schema[word].([]any)
		for _, part := range parts {
			d.collect(d.resolve(part), all, depth+1)
		}
	}
}

// merged is a property with what it refers to: the words beside the reference count as well.
func (d *document) merged(v any) map[string]any {
	own, _ := v.(map[string]any)
	m := map[string]any{}
	for k, x := range d.resolve(v) {
		m[k] = x
	}
	for k, x := range own {
		if k != "$ref" {
			m[k] = x
		}
	}
	return m
}

// typ is the type of a schema; documents of 3.1 may list several.
func typ(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, x := range t {
			if s := text(x); s != "null" {
				return s
			}
		}
	}
	if schema["properties"] != nil || schema["allOf"] != nil {
		return "object"
	}
	return ""
}
