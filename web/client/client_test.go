package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/client"
	"github.com/skerry/skerry/web/webtest/served"
)

func asking(t *testing.T, f *served.Server) *client.Client {
	t.Helper()
	c, err := client.New(f.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestListsComeInPages: what is more than a page is asked for when it is wanted, and no sooner.
func TestListsComeInPages(t *testing.T) {
	f := served.Start(t)
	const all = client.MaxPage + 5
	for i := range all {
		f.Site.AddResource(served.Image(fmt.Sprintf("r%04d", i), engine.StateConverged, time.Unix(int64(i), 0)))
	}
	c := asking(t, f)
	seen := map[string]bool{}
	for r, err := range c.Resources(t.Context(), client.Filter{Service: "images"}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Service != "images" || r.Sites["nantes"].Pending != 1 || r.Collaboration != "replication" {
			t.Fatalf("a resource is %+v", r)
		}
		seen[r.ID] = true
	}
	if len(seen) != all {
		t.Errorf("%d resources of %d", len(seen), all)
	}
	few := 0
	for _, err := range c.Resources(t.Context(), client.Filter{Limit: 7}) {
		if err != nil {
			t.Fatal(err)
		}
		few++
	}
	if few != 7 {
		t.Errorf("%d resources where 7 were wanted", few)
	}
	last := 0
	for _, err := range c.Resources(t.Context(), client.Filter{About: "drift"}) {
		if refusal := (*client.Problem)(nil); !errors.As(err, &refusal) || refusal.Status != 400 {
			t.Errorf("a filter that the list does not know: %v", err)
		}
		last++
	}
	if last != 1 {
		t.Errorf("the error comes %d times", last)
	}
}

func TestCalls(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateConverging, time.Now()))
	f.Site.AddOperation(served.Operation("o1", "x", engine.StateRejected))
	c := asking(t, f)
	sites, err := c.Sites(t.Context())
	if err != nil || len(sites) != 3 || !sites[0].Self || sites[1].Name != "nantes" || *sites[1].RTT != 8.4 || sites[2].Reachable {
		t.Errorf("the sites are %+v, %v", sites, err)
	}
	if r, err := c.Resource(t.Context(), "x"); err != nil || r.State != "converging" {
		t.Errorf("the resource is %+v, %v", r, err)
	}
	if o, err := c.Operation(t.Context(), "o1"); err != nil || o.Sites["paris"].Status != 422 || o.User != "ada" {
		t.Errorf("the operation is %+v, %v", o, err)
	}
	refusal := (*client.Problem)(nil)
	if _, err := c.Resource(t.Context(), "none"); !errors.As(err, &refusal) || refusal.Name() != "not-found" || refusal.Status != 404 {
		t.Errorf("of a resource that is not there: %v", err)
	}
	issued, err := c.Issue(t.Context(), client.Request{Service: "images", Method: "POST", Path: "/images", Scope: "{images: paris & nantes}", Body: json.RawMessage(`{"name":"alpine"}`)})
	if err != nil || issued.ID == "" || !strings.Contains(string(issued.Answer), `"status":201`) {
		t.Errorf("issued %+v, %v", issued, err)
	}
	placed, err := c.Place(t.Context(), "x", []string{"paris", "nantes", "toulouse"})
	if err != nil || placed.Resource != "x" {
		t.Errorf("placed %+v, %v", placed, err)
	}
}

// TestWatch: events come as they happen, and after a stream broke from the one that was last.
func TestWatch(t *testing.T) {
	enough := errors.New("enough")
	asked := make(chan string, 2)
	times := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Last-Event-ID")
		times++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": hello\n\nid: %d\ndata: {\"id\":\"%d\",\ndata: \"type\":\"site.up\"}\n\n", times, times)
	}))
	defer h.Close()
	c, err := client.New(h.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	lost := 0
	err = c.Watch(t.Context(), client.Watcher{Pause: time.Nanosecond, Lost: func() { lost++ }, Event: func(id string, b json.RawMessage) error {
		e, err := client.Decode[client.Event](b)
		if err != nil {
			return err
		}
		if got = append(got, e.ID+" "+e.Type+" "+id); len(got) == 2 {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) || !reflect.DeepEqual(got, []string{"1 site.up 1", "2 site.up 2"}) || lost != 1 {
		t.Errorf("the events are %q, %v; it was lost %d times", got, err, lost)
	}
	if first, second := <-asked, <-asked; first != "" || second != "1" {
		t.Errorf("it began after %q and %q", first, second)
	}
}

func TestWhatIsNoAgent(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	address := h.URL
	c, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stranger, gone := (*client.Stranger)(nil), (*client.Unreachable)(nil)
	if _, err := c.Sites(t.Context()); !errors.As(err, &stranger) {
		t.Errorf("of what is no agent: %v", err)
	}
	h.Close()
	if _, err := c.Sites(t.Context()); !errors.As(err, &gone) || gone.Silent || gone.Untrusted {
		t.Errorf("of what is not there: %v", err)
	}
	if err := c.Watch(t.Context(), client.Watcher{}); !errors.As(err, &gone) {
		t.Errorf("a watch of what is not there: %v", err)
	}
	wrong := (*client.AddressError)(nil)
	for _, address := range []string{"", "ftp://paris", "http://paris/?a=b"} {
		if _, err := client.New(address, client.Options{}); !errors.As(err, &wrong) || wrong.InClear {
			t.Errorf("of %q: %v", address, err)
		}
	}
	if _, err := client.New("http://192.0.2.1:8700", client.Options{Token: "secret"}); !errors.As(err, &wrong) || !wrong.InClear {
		t.Errorf("of a token in clear: %v", err)
	}
}

// TestMembersAreThoseOfTheDescription: what the client reads is what /openapi.yaml describes.
func TestMembersAreThoseOfTheDescription(t *testing.T) {
	schemas := served.Describe(t).Root["components"].(map[string]any)["schemas"].(map[string]any)
	for name, v := range map[string]any{"Resource": client.Resource{}, "Operation": client.Operation{}, "Site": client.Site{}, "Conflict": client.Conflict{}, "IssueRequest": client.Request{}} {
		described, err := json.Marshal([]any{schemas[name], schemas[name+"Detail"]})
		if err != nil {
			t.Fatal(err)
		}
		of := reflect.TypeOf(v)
		for i := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(described), `"`+key+`":{`) {
				t.Errorf("%s has no member %s", name, key)
			}
		}
	}
}
