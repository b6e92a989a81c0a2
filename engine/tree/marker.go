package tree

import (
	"strings"

	"github.com/skerry/skerry/engine"
)

// A create whose identifier the application assigns cannot be looked for by it after a crash. Where the catalog names a field
// for that, the agent writes there which request made the object, behind whatever the client has put there. Nobody but the
// agent ever sees it: Application.Present takes it off.

const (
	markerBegins = "[skerry "
	markerEnds   = "]"
)

// TrimMarker returns what the field of a marker shows to everybody else.
func TrimMarker(text string) string {
	for strings.HasSuffix(text, markerEnds) {
		i := strings.LastIndex(text, markerBegins)
		if i < 0 {
			break
		}
		text = strings.TrimSuffix(text[:i], " ")
	}
	return text
}

// HasMarker reports whether the text of a field ends with the marker of a request.
func HasMarker(text, request string) bool {
	return request != "" && strings.HasSuffix(text, markerBegins+request+markerEnds)
}

// Mark returns the body of a create with the marker of a request in it, ok false when there is no place for it: the body is
// no JSON object, or has something else than text there.
func Mark(k *engine.Kind, body []byte, request string) (marked []byte, ok bool) {
	tree, err := ParseJSON(body)
	if _, object := tree.(map[string]any); err != nil || !object {
		return body, false
	}
	v, there := ValueAt(tree, k.Marker)
	text, isText := v.(string)
	switch {
	case there && v != nil && !isText:
		return body, false
	case text != "":
		text += " "
	}
	return Compact(SetAt(tree, k.Marker, text+markerBegins+request+markerEnds)), true
}

// unmarked makes a representation without a text in the marker's place the same as one with an empty text there.
func unmarked(k *engine.Kind, tree any) {
	if k.Marker == "" {
		return
	}
	if v, ok := ValueAt(tree, k.Marker); ok && (v == nil || v == "") {
		UnsetAt(tree, k.Marker)
	}
}
