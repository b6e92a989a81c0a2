// Command reference writes docs/reference/configuration.md from the comments of the structs that a configuration is read into: what stands in
// brackets behind a field's name are its keys. It writes docs/reference/rest.md from the OpenAPI document.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const head = `# Every key of a site's configuration

Made from the comments in [cmd/agent/config.go](../../cmd/agent/config.go) by ` + "`make generate`" + `. [install.md](../install.md) says how a first one is written, and
` + "`skerry config check FILE`" + ` lists all mistakes of one, with line and column. Unknown keys are errors. Relative paths count from the folder of the file.

`

func main() {
	text, err := page("cmd/agent")
	calls, wrong := rest("web/api/openapi.yaml")
	if err = errors.Join(err, wrong); err == nil {
		err = errors.Join(os.WriteFile(filepath.Join("docs", "reference", "configuration.md"), text, 0o644),
			os.WriteFile(filepath.Join("docs", "reference", "rest.md"), calls, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// page is the page of the structs in a folder, with Config first and each other struct where it is met.
func page(folder string) ([]byte, error) {
	structs, err := read(folder)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(head)
	written := map[string]bool{}
	var write func(name string)
	write = func(name string) {
		s := structs[name]
		if s == nil || written[name] || name != "Config" && len(structs.places(name)) == 0 {
			return
		}
		written[name] = true
		if name != "Config" {
			places := strings.Join(structs.places(name), ", ")
			fmt.Fprintf(&b, "## %s\n\n%s %s\n\n", places, map[bool]string{true: "Each", false: places}[strings.Contains(places, ",")], structs.inKeys(text(name, s.doc)))
		}
		for _, f := range s.fields {
			if f.keys != "" {
				fmt.Fprintf(&b, "- **`%s`** %s\n", strings.ReplaceAll(f.keys, ", ", "`, `"), indented(structs.inKeys(text(f.names, f.doc))))
			}
		}
		b.WriteString("\n")
		for _, f := range s.fields {
			write(f.typ)
		}
	}
	write("Config")
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// described is a struct that a part of the file is read into.
type described struct {
	doc    string
	fields []field
}

// structs are those of the configuration, by Go's names.
type structs map[string]*described

type field struct{ names, keys, doc, typ string }

var brackets = regexp.MustCompile(`^([\w, ]+?) \[([^\]]+)\] `)

// read finds the structs of a folder's code.
func read(folder string) (structs, error) {
	files, err := filepath.Glob(filepath.Join(folder, "config*.go"))
	if err != nil {
		return nil, err
	}
	all := structs{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				if s, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
					all[spec.(*ast.TypeSpec).Name.Name] = describe(types.Doc.Text(), s)
				}
			}
		}
	}
	if all["Config"] == nil {
		return nil, fmt.Errorf("%s has no struct Config", folder)
	}
	return all, nil
}

func describe(doc string, s *ast.StructType) *described {
	d := &described{doc: doc}
	for _, f := range s.Fields.List {
		one := field{doc: f.Doc.Text()}
		ast.Inspect(f.Type, func(n ast.Node) bool { // the last name is the type's own, whatever it is a list or a map of
			if id, ok := n.(*ast.Ident); ok {
				one.typ = id.Name
			}
			return true
		})
		if m := brackets.FindStringSubmatch(one.doc); m != nil {
			one.names, one.keys = m[1], m[2]
		}
		d.fields = append(d.fields, one)
	}
	return d
}

// places are the keys under which a struct stands in the file.
func (s structs) places(name string) (keys []string) {
	if m := brackets.FindStringSubmatch(s[name].doc); m != nil {
		return []string{"`" + m[2] + "`"}
	}
	for _, other := range slices.Sorted(maps.Keys(s)) {
		for _, f := range s[other].fields {
			if f.typ == name && f.keys != "" {
				keys = append(keys, "`"+f.keys+"`")
			}
		}
	}
	return keys
}

var camel = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*\b`)

// inKeys is a comment with the file's keys in place of Go's names of fields.
func (s structs) inKeys(text string) string {
	return camel.ReplaceAllStringFunc(text, func(word string) string {
		for _, d := range s {
			for _, f := range d.fields {
				if i := slices.Index(strings.FieldsFunc(f.names, func(r rune) bool { return r == ' ' || r == ',' }), word); i >= 0 && f.keys != "" {
					return strings.Split(f.keys, ", ")[min(i, strings.Count(f.keys, ", "))]
				}
			}
		}
		return word
	})
}

// text is a comment without the name that Go wants it to begin with.
func text(name, doc string) string {
	doc = strings.TrimSpace(doc)
	if m := brackets.FindString(doc); m != "" {
		doc = strings.TrimPrefix(doc, m)
	} else {
		doc = strings.TrimPrefix(doc, name+" ")
	}
	return doc
}

// indented keeps what follows the first line in an item of a list.
func indented(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n  "), "\n  \n", "\n\n")
}
