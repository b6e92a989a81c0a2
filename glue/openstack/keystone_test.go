package openstack

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// saying answers each request with the same.
type saying []byte

func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if r.Method == http.MethodPost {
		status = http.StatusCreated
	}
	return &http.Response{StatusCode: status, Header: http.Header{subjectHeader: {"given"}}, Body: io.NopCloser(bytes.NewReader(s))}, nil
}

// FuzzKeystone: whatever Keystone says, it is clear who asks or nobody does, and nobody else's token is ever used for a user.
func FuzzKeystone(f *testing.F) {
	const alice = `{"token":{"expires_at":"2100-01-01T00:00:00Z","user":{"id":"1","name":"alice","domain":{"name":"Default"}},"project":{"id":"2","name":"demo","domain":{"name":"Default"}}},
"trusts":[{"id":"t","impersonation":true,"project_id":"2","remaining_uses":null}]}`
	f.Add([]byte(alice))
	f.Add([]byte(`{"token":{"user":{"id":"1","name":"alice"}}}`))
	f.Add([]byte(`{"token":null,"trusts":[null]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, said []byte) {
		at := &url.URL{Scheme: "http", Host: "keystone", Path: "/v3"}
		k := &Keystone{URL: at, Via: saying(said), Now: time.Now, Agent: func() (http.Header, error) { return http.Header{tokenHeader: {"own"}}, nil }}
		who, err := k.Asker(t.Context(), nil, nil, http.Header{tokenHeader: {"shown"}})
		if err != nil {
			if !errors.Is(err, engine.ErrUnreachable) {
				t.Error(err)
			}
			return
		}
		other := &engine.Asker{User: who.User + "x", Extra: who.Extra}
		h := http.Header{tokenHeader: {"own"}}
		if err := k.Impersonate(t.Context(), h, other); err == nil || h.Get(tokenHeader) != "own" {
			t.Errorf("it acts for %s, whom %s says nothing of: %v", other.User, said, err)
		}
	})
}
