package glue

import (
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Enveloped returns the body of a request of a client as the application shows what is in it: operations have representations, and some applications
// answer with an envelope around what they are sent. What an agent sends its application loses the envelope again.
func (m *Match) Enveloped(header http.Header, body []byte) []byte {
	if !isJSON(header) || m.Type != engine.TypeCreate && m.Type != engine.TypeReplace && m.Type != engine.TypeMerge {
		return body
	}
	return Envelop(m.Kind, body)
}

// Envelop puts what clients of a kind send where representations have it. What is no JSON stays as it is, and is no representation either.
func Envelop(k *engine.Kind, body []byte) []byte {
	if k.Envelope == "" {
		return body
	}
	content, err := tree.ParseJSON(body)
	if err != nil {
		return body
	}
	return tree.Compact(tree.SetAt(map[string]any{}, k.Envelope, content))
}

// Bare is what is in the envelope of a representation: what the application is sent.
func Bare(k *engine.Kind, body []byte) []byte {
	if k.Envelope == "" {
		return body
	}
	document, err := tree.ParseJSON(body)
	if err != nil {
		return body
	}
	content, ok := tree.ValueAt(document, k.Envelope)
	if !ok {
		return body
	}
	return tree.Compact(content)
}

// represents reports whether a call of the engine has a representation, or a part of one, as its body.
func represents(call engine.Call, header http.Header) bool {
	return isJSON(header) && (call.Path == call.Kind.Collection && call.Method == http.MethodPost ||
		call.Path == call.Kind.Item && (call.Method == http.MethodPut || call.Method == http.MethodPatch))
}
