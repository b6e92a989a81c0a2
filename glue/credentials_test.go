package glue

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/skerry/skerry/engine"
)

// accounts is a client for two services, at each of which the agent has an account of its own, and the tokens that each was shown.
// The image service numbers its images.
func accounts(t *testing.T) (c *Client, tokens func(engine.ServiceName) []string) {
	t.Helper()
	answers := map[engine.ServiceName]string{"images": `{"id":6}`, "servers": `[{"id":7,"image":6}]`}
	logs := map[engine.ServiceName]*[]seen{}
	config := ClientConfig{}
	for service, kinds := range map[engine.ServiceName][]*engine.Kind{"images": testKinds(), "servers": {server}} {
		at, log := application(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answers[service])
		})
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		logs[service] = log
		config.Upstreams = append(config.Upstreams, Upstream{Service: service, URL: u, Kinds: kinds,
			Credentials: func() (http.Header, error) {
				return http.Header{"Authorization": {"agent of " + string(service)}, "X-Account": {"agent"}}, nil
			}})
	}
	c, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	c.Use(table{"images.image/M": "6"})
	t.Cleanup(c.CloseIdle)
	return c, func(service engine.ServiceName) (shown []string) {
		for _, s := range *logs[service] {
			token := s.header.Get("Authorization")
			if s.header.Get("X-Account") != "" {
				token += ", account"
			}
			shown = append(shown, token)
		}
		return shown
	}
}

// callers are who may ask, with what the services are to be shown.
var callers = []struct {
	name            string
	who             *engine.Credentials
	images, servers string
}{
	{"the agent", nil, "agent of images, account", "agent of servers, account"},
	{"a caller", &engine.Credentials{Header: http.Header{"Authorization": {"mine"}}}, "mine", "mine"},
	{"a caller who has shown none", &engine.Credentials{}, "", ""},
	{"a caller with an empty header", &engine.Credentials{Header: http.Header{}}, "", ""},
}

// TestNobodyIsLentTheAgentsCredentials has requests sent that need another one first, which asks what identifiers look like.
func TestNobodyIsLentTheAgentsCredentials(t *testing.T) {
	for _, caller := range callers {
		c, tokens := accounts(t)
		_, err := c.Do(t.Context(), engine.Call{Kind: server, Method: "POST", Path: "/servers", Credentials: caller.who,
			Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"image":"M"}`)})
		if err != nil {
			t.Fatal(err)
		}
		wantTokens(t, caller.name+" makes", tokens, caller.images, caller.servers)

		c, tokens = accounts(t)
		if _, err := c.Listed(t.Context(), server, "", "image=M", caller.who); err != nil {
			t.Fatal(err)
		}
		wantTokens(t, caller.name+" lists", tokens, caller.images, caller.servers)
	}
}

// TestReferringAsksAsItsCaller reads lists as whoever asks.
func TestReferringAsksAsItsCaller(t *testing.T) {
	for _, caller := range callers {
		c, tokens := accounts(t)
		c.learn(nameOf(image), true)
		found, err := c.Referring(t.Context(), engine.Target{Service: "images", Kind: "image", ID: "M"}, caller.who)
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v %v", found, err)
		}
		if got := tokens("servers"); len(got) != 1 || got[0] != caller.servers {
			t.Errorf("%s: the service was shown %q, want %q", caller.name, got, caller.servers)
		}
	}
}

// TestLocalizeAsksAsItsClient translates for clients, whatever their headers are.
func TestLocalizeAsksAsItsClient(t *testing.T) {
	for _, x := range []struct {
		header http.Header
		want   string
	}{{nil, ""}, {http.Header{}, ""}, {http.Header{"Authorization": {"mine"}}, "mine"}} {
		c, tokens := accounts(t)
		if query, _, err := c.Localize(t.Context(), server, "", x.header, "image=M", nil); query != "image=6" || err != nil {
			t.Fatal(query, err)
		}
		if got := tokens("images"); len(got) != 1 || got[0] != x.want {
			t.Errorf("%v: the service was shown %q, want %q", x.header, got, x.want)
		}
	}
}

// TestFindAsksAsTheAgent looks for what a request has made.
func TestFindAsksAsTheAgent(t *testing.T) {
	c, tokens := accounts(t)
	marked := *server
	marked.Marker = "/name"
	if _, err := c.Find(t.Context(), &marked, "request"); !errors.Is(err, engine.ErrUntellable) {
		t.Fatal(err)
	}
	if got := tokens("servers"); len(got) != 1 || got[0] != "agent of servers, account" {
		t.Errorf("the service was shown %q", got)
	}
}

// TestWithoutTheAgentsCredentialsNothingIsSent: a token that cannot be read certainly leaves nothing done, and is not missed by callers.
func TestWithoutTheAgentsCredentialsNothingIsSent(t *testing.T) {
	c, tokens := accounts(t)
	c.upstreams["images"].Credentials = func() (http.Header, error) { return nil, io.ErrUnexpectedEOF }
	call := engine.Call{Kind: image, Method: "DELETE", Path: image.Item, Local: "6"}
	if _, err := c.Do(t.Context(), call); !errors.Is(err, engine.ErrUnreachable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the agent: %v", err)
	}
	call.Credentials = &engine.Credentials{}
	if r, err := c.Do(t.Context(), call); r.Status != http.StatusOK || err != nil {
		t.Errorf("a caller: %d %v", r.Status, err)
	}
	if got := tokens("images"); len(got) != 1 || got[0] != "" {
		t.Errorf("the service was shown %q", got)
	}
}

func wantTokens(t *testing.T, what string, tokens func(engine.ServiceName) []string, images, servers string) {
	t.Helper()
	for service, want := range map[engine.ServiceName]string{"images": images, "servers": servers} {
		if got := tokens(service); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s was shown %q, want %q", what, service, got, want)
		}
	}
}
