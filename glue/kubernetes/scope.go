package kubernetes

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Annotation is that of an object which says the scope of the request that makes it.
const Annotation = "skerry/scope"

const (
	scopeHeader = "Impersonate-Extra-Scope"
	asHeader    = "Impersonate-User"
	// themselves is who clients say that they act as, because kubectl has extras only of somebody, where they stay who they are.
	themselves = "skerry:me"
)

// Carries implements glue.Carrier.
func (Dialect) Carries(name string) bool {
	return strings.EqualFold(name, scopeHeader) || strings.EqualFold(name, asHeader)
}

// TakeScope implements glue.Carrier: kubectl --as skerry:me --as-user-extra scope=…, or as and as-user-extra in a kubeconfig.
func (Dialect) TakeScope(h http.Header) string {
	text := strings.TrimSpace(strings.Join(h[scopeHeader], ", "))
	delete(h, scopeHeader)
	if h.Get(asHeader) == themselves {
		delete(h, asHeader)
	}
	return text
}

// WrittenScope implements glue.Carrier. What a controller has made from another object has got that one's annotations, and no scope.
func (Dialect) WrittenScope(h http.Header, body []byte) string {
	if !bytes.Contains(body, []byte(Annotation)) {
		return ""
	}
	var o struct {
		Metadata struct {
			Annotations     map[string]any               `json:"annotations" yaml:"annotations"`
			OwnerReferences []struct{ Controller *bool } `json:"ownerReferences" yaml:"ownerReferences"`
		} `json:"metadata" yaml:"metadata"`
	}
	switch t := mediaType(h); {
	case strings.HasSuffix(t, "json") && json.Unmarshal(body, &o) == nil:
	case strings.HasSuffix(t, "yaml") && yaml.Unmarshal(body, &o) == nil:
	default:
		return ""
	}
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return ""
		}
	}
	text, _ := o.Metadata.Annotations[Annotation].(string)
	return strings.TrimSpace(text)
}
