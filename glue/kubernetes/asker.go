package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

var _ glue.Impersonator = Dialect{}

// review asks an API server whom it takes its caller for (SelfSubjectReview).
const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// Tells implements glue.Impersonator.
func (Dialect) Tells(name string) bool {
	return name == "Authorization" || name == "Cookie" || strings.HasPrefix(name, impersonate) || isRemote(name)
}

// Asker implements glue.Impersonator. Who acts as somebody else, and may, is that one.
func (Dialect) Asker(ctx context.Context, base *url.URL, via http.RoundTripper, credentials http.Header) (*engine.Asker, error) {
	body := []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	r := &http.Request{Method: http.MethodPost, Host: base.Host, URL: glue.Target(base, review, ""), Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
	maps.Copy(r.Header, credentials)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := via.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Status struct {
			UserInfo struct {
				Username string              `json:"username"`
				Groups   []string            `json:"groups"`
				Extra    map[string][]string `json:"extra"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); resp.StatusCode != http.StatusCreated || err != nil {
		return nil, fmt.Errorf("the cluster does not say who asks: status %d", resp.StatusCode)
	}
	u := answer.Status.UserInfo
	return &engine.Asker{User: u.Username, Groups: u.Groups, Extra: u.Extra}, nil
}

const impersonate = "Impersonate-"

// Impersonate implements glue.Impersonator.
func (Dialect) Impersonate(_ context.Context, h http.Header, who *engine.Asker) error {
	for name := range h {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), impersonate) {
			delete(h, name)
		}
	}
	h.Set(impersonate+"User", who.User)
	if len(who.Groups) > 0 {
		h[impersonate+"Group"] = slices.Clone(who.Groups)
	}
	for key, values := range who.Extra {
		h[http.CanonicalHeaderKey(impersonate+"Extra-"+strings.ReplaceAll(url.QueryEscape(key), "+", "%20"))] = slices.Clone(values)
	}
	return nil
}

// Refused implements glue.Impersonator: the agent's own token is what counts.
func (Dialect) Refused(*engine.Asker) bool { return false }
