package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Value is one value of a document, or the absence of one: the zero value and what Mapping.Optional returns for a key
// that is not there. Reading an absent value gives a zero value and notes no problem.
type Value struct {
	document *Document
	node     *yaml.Node
}

// Present reports whether the value is in the file.
func (v Value) Present() bool { return v.node != nil }

// Problem notes that something is wrong with the value. It does nothing for an absent one.
func (v Value) Problem(format string, args ...any) {
	if v.Present() {
		v.document.add(v.node.Line, v.node.Column, format, args...)
	}
}

// Position returns where the value begins, from 1; zeros when it is absent.
func (v Value) Position() (line, column int) {
	if !v.Present() {
		return 0, 0
	}
	return v.node.Line, v.node.Column
}

// IsMapping, IsSequence tell collections apart where a key takes several forms.
func (v Value) IsMapping() bool { return v.Present() && v.node.Kind == yaml.MappingNode }

// IsSequence reports whether the value is a list.
func (v Value) IsSequence() bool { return v.Present() && v.node.Kind == yaml.SequenceNode }

// Text returns a string that is not empty.
func (v Value) Text() string {
	if !v.Present() {
		return ""
	}
	if v.node.Kind != yaml.ScalarNode || v.tag() != "!!str" {
		advice := ""
		if v.node.Kind == yaml.ScalarNode && !isNull(v.node) {
			advice = "; put it in quotes"
		}
		v.Problem("expected a string, found %s%s", v.describe(), advice)
		return ""
	}
	if v.node.Value == "" {
		v.Problem("expected a string, found an empty one")
	}
	return v.node.Value
}

// Bool returns true or false.
func (v Value) Bool() bool {
	if !v.Present() {
		return false
	}
	if v.node.Kind == yaml.ScalarNode && v.tag() == "!!bool" {
		switch strings.ToLower(v.node.Value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	v.Problem("expected true or false, found %s", v.describe())
	return false
}

// Choice returns a string that is one of those given; the empty string when it is another.
func (v Value) Choice(choices ...string) string {
	s := v.Text()
	for _, c := range choices {
		if s == c {
			return s
		}
	}
	if s != "" {
		v.Problem("expected %s, found %q%s", alternatives(choices), s, DidYouMean(s, choices))
	}
	return ""
}

// Sequence returns the elements of a list.
func (v Value) Sequence() []Value {
	if !v.Present() {
		return nil
	}
	if v.node.Kind != yaml.SequenceNode {
		v.Problem("expected a list, found %s", v.describe())
		return nil
	}
	elements := make([]Value, len(v.node.Content))
	for i, n := range v.node.Content {
		elements[i] = Value{v.document, n}
	}
	return elements
}

// JSON returns the value in JSON, compact, the members of its objects sorted. Numbers that JSON does not have and
// keys that are no strings are problems.
func (v Value) JSON() json.RawMessage {
	if !v.Present() {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.plain()); err != nil {
		v.Problem("the value has no form in JSON: %v", err)
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decimal is an integer in JSON's form: 0777 and 0x1ff are numbers in YAML and mean others there.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,18})$`)

// plain returns the value as encoding/json decodes values.
func (v Value) plain() any {
	switch v.node.Kind {
	case yaml.MappingNode:
		m := v.Mapping("value")
		object := map[string]any{}
		for _, e := range m.Entries() {
			object[e.Key] = e.Value.plain()
		}
		return object
	case yaml.SequenceNode:
		array := []any{}
		for _, e := range v.Sequence() {
			array = append(array, e.plain())
		}
		return array
	}
	switch v.tag() {
	case "!!null":
		return nil
	case "!!bool":
		return v.Bool()
	case "!!int":
		if n := json.Number(v.node.Value); decimal.MatchString(v.node.Value) {
			return n
		}
		v.Problem("expected a decimal number, found %s", v.node.Value)
		return nil
	case "!!float":
		n, err := strconv.ParseFloat(v.node.Value, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			v.Problem("expected a number, found %s", v.node.Value)
			return nil
		}
		return n
	case "!!str", "!!timestamp":
		return v.node.Value
	}
	v.Problem("the tag %s is not allowed", v.tag())
	return nil
}

func (v Value) tag() string { return v.node.ShortTag() }

func (v Value) describe() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	value := v.node.Value
	if len(value) > 40 {
		value = value[:40] + "…"
	}
	switch v.tag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return value
	case "!!int", "!!float":
		return "the number " + value
	}
	return fmt.Sprintf("%q", value)
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
