package kubernetes

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Dialect implements glue.Dialect.
type Dialect struct{}

// Accept asks for JSON: clients of Kubernetes take it whatever they have asked for.
func (Dialect) Accept() string { return "application/json" }

// Headers are those of Kubernetes' clients, beside HTTP's own, that go on to another site. What says who asks goes where the agent that says
// it is believed, and nowhere else (Silence).
var Headers = []string{"Audit-Id", "Impersonate-*", "Kubectl-*", "X-Remote-*", "X-Stream-Protocol-Version"}

// Describes reports whether it is discovery: clients begin with that.
func (Dialect) Describes(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	switch segments[0] {
	case "openapi", "version":
		return true
	case "api":
		return len(segments) <= 2
	case "apis":
		return len(segments) <= 3
	}
	return false
}

// Rehearses reports whether it is a dry run, as the query or the options of a delete say.
func (Dialect) Rehearses(method, query string, header http.Header, body []byte) bool {
	values, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if values.Get("dryRun") != "" {
		return true
	}
	if method != http.MethodDelete || len(body) == 0 {
		return false
	}
	if isProtobuf(header) {
		return deletesDry(body)
	}
	var options struct{ DryRun []string }
	return json.Unmarshal(body, &options) == nil && len(options.DryRun) > 0
}

// Own reports whether nothing that travels is touched: kubectl apply --server-side hands over fields so, by managedFields and resourceVersion.
func (Dialect) Own(k *engine.Kind, patch []byte) bool {
	var steps []struct{ Path engine.Pointer }
	if json.Unmarshal(patch, &steps) != nil {
		return false
	}
	for _, s := range steps {
		if !slices.ContainsFunc(k.Ignore, func(p engine.Pointer) bool { return p.Covers(s.Path) }) {
			return false
		}
	}
	return len(steps) > 0
}

// Naming reads the name of an object in protobuf.
func (Dialect) Naming(header http.Header, body []byte) []byte {
	if !isProtobuf(header) {
		return body
	}
	rest, _ := bytes.CutPrefix(body, []byte(magic))
	name, _ := nested(rest, unknownRaw, objectMeta, metaName)
	named, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": string(name)}})
	if err != nil {
		return nil
	}
	return named
}

// Former counts back the revisions of a release of Helm, which keeps an object of each.
func (Dialect) Former(name string) string {
	const revision = ".v"
	i := strings.LastIndex(name, revision)
	if i < 0 || !strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "sh.helm.release.v1.") {
		return ""
	}
	n, err := strconv.Atoi(name[i+len(revision):])
	if err != nil || n < 2 {
		return ""
	}
	return name[:i] + revision + strconv.Itoa(n-1)
}

// Forces reports whether there is no time of grace, as kubectl delete --force says.
func (Dialect) Forces(header http.Header, body []byte) bool {
	if isProtobuf(header) {
		return deletesAtOnce(body)
	}
	var options struct{ GracePeriodSeconds *int64 }
	return json.Unmarshal(body, &options) == nil && options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0
}

// Rehearsal has the API server itself turn protobuf and YAML into JSON, and give a name where the client asks for one: a dry run answers
// with the whole object in its canonical form, checked and with its defaults, and nothing has happened.
func (Dialect) Rehearsal(_ *engine.Kind, query string, header http.Header, body []byte) (string, bool) {
	if mediaType(header) == "application/json" {
		var object struct {
			Metadata struct{ Name, GenerateName string }
		}
		if json.Unmarshal(body, &object) != nil || object.Metadata.Name != "" || object.Metadata.GenerateName == "" {
			return "", false
		}
	}
	query = strings.TrimPrefix(query, "?")
	if query != "" {
		query += "&"
	}
	return query + "dryRun=All", true
}

// Portable takes out what a cluster sets by itself.
func (Dialect) Portable(k *engine.Kind, body []byte) []byte { return portable(k, body) }

// Whole takes out limit and continue: the token of one cluster's list means nothing to another.
func (Dialect) Whole(query string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && name != "limit" && name != "continue" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

// Accepted is the object that is going to be made; for other requests it is a Status, since what they come to is not known.
func (Dialect) Accepted(t engine.Type, body []byte) (string, []byte) {
	if t != engine.TypeCreate || !json.Valid(body) {
		body = []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`)
	}
	return "application/json", body
}

// reasons are what Kubernetes calls its statuses.
var reasons = map[int]string{
	http.StatusBadRequest: "BadRequest", http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound",
	http.StatusMethodNotAllowed: "MethodNotAllowed", http.StatusConflict: "Conflict", http.StatusGone: "Gone",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge", http.StatusUnprocessableEntity: "Invalid",
	http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "ServiceUnavailable", http.StatusGatewayTimeout: "Timeout",
}

// Refusal writes a Status, so that kubectl shows its message.
func (Dialect) Refusal(status int, typ, detail string) (string, []byte) {
	reason := reasons[status]
	if typ == "name-taken" || typ == "exists" {
		reason = "AlreadyExists"
	}
	if typ == "expired" {
		reason = "Expired" // clients list anew by themselves
	}
	details := map[string]any{}
	if reason != "Invalid" { // of that kubectl shows the causes and no message, where there are any
		details["causes"] = []any{map[string]any{"reason": "Skerry", "message": typ}}
	}
	b, _ := json.Marshal(map[string]any{ // of strings and numbers: it cannot fail
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "code": status, "reason": reason,
		"message": detail, "details": details,
	})
	return "application/json", b
}

func mediaType(h http.Header) string {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t
}

func isProtobuf(h http.Header) bool { return mediaType(h) == "application/vnd.kubernetes.protobuf" }
