package kubernetes

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// questions are what clients POST to be told something; nothing is made: what somebody may do, and who somebody is.
var questions = map[string]bool{
	"selfsubjectaccessreviews": true, "selfsubjectrulesreviews": true, "subjectaccessreviews": true, "localsubjectaccessreviews": true,
	"selfsubjectreviews": true, "tokenreviews": true,
}

// Inquires reports whether a request is a question, such as kubectl auth can-i, or asks for a token of an account, which is good in that cluster only.
func (Dialect) Inquires(method, path string) bool {
	if method != http.MethodPost {
		return false
	}
	s := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(s) < 4:
	case s[0] == "apis" && (s[1] == "authorization.k8s.io" || s[1] == "authentication.k8s.io"):
		return len(s) == 4 && questions[s[3]] || len(s) == 6 && s[3] == namespaces && questions[s[5]]
	case s[0] == "api":
		return len(s) == 7 && s[2] == namespaces && s[4] == string(accounts) && s[6] == "token"
	}
	return false
}

// Refuses reports whether the API server could not read a server-side apply by the kind's schema, as when it has a field that the kind lacks. It
// finds that out before it has done anything, and calls it a failure of its own.
func (Dialect) Refuses(answer []byte) bool {
	var status struct{ Kind, Message string }
	return bytes.Contains(answer, []byte(untyped)) && json.Unmarshal(answer, &status) == nil && status.Kind == "Status" && strings.HasPrefix(status.Message, untyped)
}

const untyped = "failed to create typed patch object"

// Closed reports whether the API server makes nothing in a namespace since that is being deleted.
func (Dialect) Closed(answer []byte) bool {
	var status struct {
		Details struct{ Causes []struct{ Reason string } }
	}
	return bytes.Contains(answer, []byte(terminating)) && json.Unmarshal(answer, &status) == nil &&
		slices.ContainsFunc(status.Details.Causes, func(c struct{ Reason string }) bool { return c.Reason == terminating })
}

const terminating = "NamespaceTerminating"

// TakesAlong reports whether a cluster deletes all that lies in an object of a kind with it.
func (Dialect) TakesAlong(k *engine.Kind) bool { return k.Name == namespaces }

// Leaves says which field of a body goes nowhere, though whoever sends it means something by it.
func (Dialect) Leaves(_ *engine.Kind, body []byte) string {
	if !bytes.Contains(body, []byte("ownerReferences")) {
		return ""
	}
	var object struct {
		Metadata struct{ OwnerReferences []json.RawMessage }
	}
	if json.Unmarshal(body, &object) != nil || len(object.Metadata.OwnerReferences) == 0 {
		return ""
	}
	return "metadata.ownerReferences names its owner by the uid of one cluster, so that it goes to no cluster: delete the object yourself when its owner goes"
}
