package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	// MaxSize is the most bytes that a file may have.
	MaxSize = 1 << 20
	// MaxDepth is how deep collections may nest in it.
	MaxDepth = 64
)

// Document is one file that is being read, with the problems found so far.
type Document struct {
	problems
	root *yaml.Node
}

// ReadFile returns the content of the file at path. It is an error when it has more than MaxSize bytes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > MaxSize {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", path, MaxSize)
	}
	return b, nil
}

// Parse reads the one YAML document in b. The name stands for the file in problems. The error is an *Error when b is
// no YAML, is empty, is over a bound or refers to its own parts; Parse does not keep b.
func Parse(name string, b []byte) (*Document, error) {
	d := &Document{problems: problems{file: name}}
	if len(b) > MaxSize {
		d.add(0, 0, "the file has more than %d bytes", MaxSize)
		return nil, d.err()
	}
	var documents []yaml.Node
	err := yaml.Load(b, &documents, yaml.WithAllDocuments(), yaml.WithUniqueKeys(false),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(tooDeep))))
	if err != nil {
		d.syntax(err)
		return nil, d.err()
	}
	if len(documents) > 1 {
		second := documents[1]
		d.add(second.Line, second.Column, "a second document begins here: one file holds one document")
		return nil, d.err()
	}
	if len(documents) == 1 {
		d.root = &documents[0]
		if d.root.Kind == yaml.DocumentNode && len(d.root.Content) == 1 {
			d.root = d.root.Content[0]
		}
	}
	if d.root == nil || isNull(d.root) {
		d.add(0, 0, "the file is empty")
		return nil, d.err()
	}
	d.references(d.root)
	if err := d.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// Root returns the whole document.
func (d *Document) Root() Value { return Value{document: d, node: d.root} }

// Err returns an *Error with all problems noted so far, nil when there is none.
func (d *Document) Err() error { return d.err() }

func tooDeep(depth int, _ *yaml.DepthContext) error {
	if depth > MaxDepth {
		return fmt.Errorf("collections nest deeper than %d", MaxDepth)
	}
	return nil
}

// syntax notes what the YAML parser says.
func (d *Document) syntax(err error) {
	var several *yaml.LoadErrors
	if errors.As(err, &several) {
		for _, e := range several.Errors {
			d.add(e.Mark.Line, e.Mark.Column, "%s", oneLine(e.Message))
		}
		return
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		d.add(one.Mark.Line, one.Mark.Column, "%s", oneLine(one.Message))
		return
	}
	d.add(0, 0, "%s", oneLine(err.Error()))
}

// references notes every anchor and alias. A file without them has no part that is read twice, so that what a reader
// does is bounded by what the file holds.
func (d *Document) references(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.add(n.Line, n.Column, "the alias *%s is not allowed: write the value itself", n.Value)
		return
	case n.Anchor != "":
		d.add(n.Line, n.Column, "the anchor &%s is not allowed: aliases cannot be used", n.Anchor)
	}
	for _, child := range n.Content {
		d.references(child)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
