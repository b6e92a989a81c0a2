package names

import (
	"strings"

	"github.com/skerry/skerry/engine"
)

// Admits classifies an operation of another site again, and sets its Name: what its origin says must be what this site's catalog says, of the resource of its document
// and no other, and its headers must be of those that travel and can be sent.
func Admits(c engine.Catalog, k *engine.Kind, o *engine.Operation) bool {
	if o.Type == engine.TypePlace {
		return (o.Method == "" || o.Method == engine.MethodDivide && o.Place.Parts != nil) && o.Path == "" && o.Query == "" && len(o.Header) == 0 && len(o.Body) == 0 && o.Blob == nil && o.Edit == nil
	}
	if rest, ok := strings.CutPrefix(o.Path, k.Item); !ok && (o.Type != engine.TypeCreate || o.Path != k.Collection) ||
		ok && (rest != "" && rest[0] != '/' || strings.Contains(rest, "{id}")) {
		return false
	}
	for name := range o.Header {
		if !k.Carries(name) {
			return false
		}
	}
	kind, t, ok := c.Classify(k.Service, o.Method, o.Path, o.Header)
	if !ok || kind != k.Name {
		return false
	}
	if n := k.Named(o.Method, o.Path, o.Body); n != nil {
		o.Name = n.Name
	}
	return t == o.Type || (t == engine.TypeReplace || t == engine.TypeAbsolute) && o.Type == engine.TypeCreate ||
		t == engine.TypePatch && o.Type == engine.TypeCreate && k.CreatesByPatch(o.Header["Content-Type"]) ||
		t == engine.TypeReplace && o.Type == engine.TypeAbsolute || (t == engine.TypeMerge || t == engine.TypePatch) && o.Type == engine.TypeAction
}
