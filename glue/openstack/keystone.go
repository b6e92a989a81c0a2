package openstack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

var _ glue.Impersonator = (*Keystone)(nil)

// What an Asker of Keystone says beside the name of the user: where that is one, and for which project it asked. Sites give the same user
// different identifiers, so names count.
const (
	extraDomain        = "domain"
	extraProject       = "project"
	extraProjectDomain = "project-domain"
)

const (
	tokenHeader   = "X-Auth-Token"
	subjectHeader = "X-Subject-Token"
	// maxTrusts bounds how many trusts are looked into and tokens kept.
	maxTrusts = 1024
	// soon is how long before its end a token is not used any more.
	soon = time.Minute
	// maxSaid bounds an answer of Keystone.
	maxSaid = 4 << 20
)

// Keystone knows who asks, and does for a user what that user has trusted the agent's account with: a trust (OS-TRUST) with impersonation, which
// each user makes at each site. A token of a trust is the user's, with the roles of the trust in its project. It is safe for concurrent use.
type Keystone struct {
	// URL is that of the API, such as http://192.0.2.10:5000/v3. Via asks it. Agent gives the credentials of the agent's account.
	URL   *url.URL
	Via   http.RoundTripper
	Agent func() (http.Header, error)
	Now   func() time.Time

	mu sync.Mutex
	// trusts are those that were looked into, by their identifier; self is whose they are.
	trusts map[string]trusted
	self   whose
}

// whose is the user that a token of the agent is of.
type whose struct{ token, user string }

// trusted is for whom a trust lets the agent act, and its last token.
type trusted struct {
	who   string
	token string
	until time.Time
}

// Tells implements glue.Impersonator.
func (*Keystone) Tells(name string) bool { return name == tokenHeader }

// said is what Keystone says of a token.
type said struct {
	Token struct {
		Expires time.Time `json:"expires_at"`
		User    named     `json:"user"`
		Project named     `json:"project"`
	} `json:"token"`
}

type named struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain struct {
		Name string `json:"name"`
	} `json:"domain"`
}

// asker is whom a token is of.
func (s *said) asker() *engine.Asker {
	who := &engine.Asker{User: s.Token.User.Name, Extra: map[string][]string{extraDomain: {s.Token.User.Domain.Name}}}
	if p := s.Token.Project; p.ID != "" {
		who.Extra[extraProject], who.Extra[extraProjectDomain] = []string{p.Name}, []string{p.Domain.Name}
	}
	return who
}

// nameOf is a user in a project, for who compares them.
func nameOf(who *engine.Asker) string {
	of := []string{who.User}
	for _, key := range slices.Sorted(maps.Keys(who.Extra)) {
		of = append(append(of, key), who.Extra[key]...)
	}
	return fmt.Sprintf("%q", of)
}

// Asker implements glue.Impersonator: Keystone says whose a token is to whoever shows that token.
func (k *Keystone) Asker(ctx context.Context, _ *url.URL, _ http.RoundTripper, credentials http.Header) (*engine.Asker, error) {
	token := credentials.Get(tokenHeader)
	if token == "" {
		return nil, errors.New("no token was shown")
	}
	var s said
	if _, err := k.ask(ctx, http.MethodGet, "/auth/tokens", token, nil, http.StatusOK, &s); err != nil {
		return nil, err
	}
	return s.asker(), nil
}

// Impersonate implements glue.Impersonator: the token of a trust takes the place of the agent's.
func (k *Keystone) Impersonate(ctx context.Context, h http.Header, who *engine.Asker) error {
	token, err := k.tokenOf(ctx, who)
	if err != nil {
		return err
	}
	h.Del("X-Service-Token")
	h.Set(tokenHeader, token)
	return nil
}

// Refused implements glue.Impersonator: the user may have taken the trust back, or have another password.
func (k *Keystone) Refused(who *engine.Asker) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := nameOf(who)
	maps.DeleteFunc(k.trusts, func(_ string, t trusted) bool { return t.who == name })
	return true
}

// tokenOf returns a token of a user in a project.
func (k *Keystone) tokenOf(ctx context.Context, who *engine.Asker) (string, error) {
	name, now := nameOf(who), k.Now()
	k.mu.Lock()
	defer k.mu.Unlock() // one looks, the others have what it has found
	for _, t := range k.trusts {
		if t.who == name && now.Before(t.until) {
			return t.token, nil
		}
	}
	agent, err := k.Agent()
	if err != nil {
		return "", fmt.Errorf("%w: read the agent's token: %w", engine.ErrUnreachable, err)
	}
	own := agent.Get(tokenHeader)
	if k.self.token != own {
		var s said
		if _, err := k.ask(ctx, http.MethodGet, "/auth/tokens", own, nil, http.StatusOK, &s); err != nil {
			return "", err
		}
		k.self, k.trusts = whose{own, s.Token.User.ID}, map[string]trusted{}
	}
	ids, err := k.list(ctx, own)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		t, known := k.trusts[id]
		if known && t.who != name {
			continue
		}
		if t, err = k.trust(ctx, own, id); err != nil {
			return "", err
		}
		if t.who == "" { // another time it may give one
			continue
		}
		if k.trusts[id] = t; t.who == name {
			return t.token, nil
		}
	}
	return "", &glue.NoRights{Why: fmt.Sprintf("%s has not trusted the agent's account in Keystone here: openstack trust create --project %s --role ROLE --impersonate %s %s, "+
		"with identifiers in place of names: users may not look these up",
		who.User, cmp.Or(strings.Join(who.Extra[extraProject], ""), "PROJECT"), who.User, k.self.user)}
}

// list returns the trusts that let the agent's account act as others, and whose uses are not counted: each look into one is a use.
func (k *Keystone) list(ctx context.Context, own string) (ids []string, err error) {
	var list struct {
		Trusts []struct {
			ID          string `json:"id"`
			Impersonate bool   `json:"impersonation"`
			Project     string `json:"project_id"`
			Uses        *int   `json:"remaining_uses"`
		} `json:"trusts"`
	}
	if _, err := k.ask(ctx, http.MethodGet, "/OS-TRUST/trusts?trustee_user_id="+url.QueryEscape(k.self.user), own, nil, http.StatusOK, &list); err != nil {
		return nil, err
	}
	for _, t := range list.Trusts {
		if t.Impersonate && t.Project != "" && t.Uses == nil && len(ids) < maxTrusts {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// trust gets a token of a trust. One that gives none, because its user is disabled or has lost the role, is nobody's.
func (k *Keystone) trust(ctx context.Context, own, id string) (t trusted, err error) {
	type object = map[string]any
	body, err := json.Marshal(object{"auth": object{
		"identity": object{"methods": []string{"token"}, "token": object{"id": own}}, "scope": object{"OS-TRUST:trust": object{"id": id}}}})
	if err != nil {
		return t, err
	}
	var s said
	header, err := k.ask(ctx, http.MethodPost, "/auth/tokens", "", body, http.StatusCreated, &s)
	var no *refusal
	switch {
	case errors.As(err, &no) && (no.status == http.StatusForbidden || no.status == http.StatusNotFound):
		return t, nil
	case err != nil:
		return t, err
	}
	return trusted{nameOf(s.asker()), header.Get(subjectHeader), s.Token.Expires.Add(-soon)}, nil
}

// refusal is an answer of Keystone that is another one than was asked for.
type refusal struct {
	status int
	said   string
}

func (r *refusal) Error() string { return fmt.Sprintf("Keystone answers %d: %.300s", r.status, r.said) }

// ask asks Keystone something with a token and reads its answer.
func (k *Keystone) ask(ctx context.Context, method, path, token string, body []byte, want int, into any) (http.Header, error) {
	of, query, _ := strings.Cut(path, "?")
	r := &http.Request{Method: method, Host: k.URL.Host, URL: glue.Target(k.URL, of, query), Header: http.Header{"Accept": {"application/json"}}}
	if token != "" {
		r.Header.Set(tokenHeader, token)
		if method == http.MethodGet && path == "/auth/tokens" {
			r.Header.Set(subjectHeader, token)
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	resp, err := k.Via.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w: ask Keystone: %w", engine.ErrUnreachable, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSaid))
	if err != nil {
		return nil, fmt.Errorf("%w: ask Keystone: %w", engine.ErrUnreachable, err)
	}
	if resp.StatusCode != want {
		return nil, fmt.Errorf("%w: %w", engine.ErrUnreachable, &refusal{resp.StatusCode, strings.Join(strings.Fields(string(b)), " ")})
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, fmt.Errorf("%w: read Keystone's answer: %w", engine.ErrUnreachable, err)
	}
	return resp.Header, nil
}
