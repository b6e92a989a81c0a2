package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// both is the scope of most tests.
const both = "{images: paris & nantes}"

// merge is the header of a merge patch.
var merge = []string{"Content-Type", "application/merge-patch+json"}

// labAt starts sites with lab.
func labAt(t *testing.T, sites ...string) *env.Env {
	t.Helper()
	return env.New(t, env.Setup{Program: program, Sites: sites, Application: env.Lab(program)})
}

// patience bounds what would never come. It says nothing of how long anything takes: a loaded machine may be slow, so what is to be
// quick is tested in virtual time (testnet/sim).
const patience = 3 * time.Minute

// prompt sends a request to the images service through a site's agent. The answer has to come whatever state the network is in, and
// while it is in that.
func prompt(t testing.TB, s *env.Site, request, body string, header ...string) env.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := s.Request(ctx, lab.Images, request, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// missing asks until the answer names just these sites as missing, which a site is as well that a loaded machine has not given its turn.
func missing(t testing.TB, e *env.Env, want string, ask func() env.Answer) (a env.Answer) {
	t.Helper()
	e.Eventually(t, patience, "an answer without "+strconv.Quote(want), func() error {
		if a = ask().Must(t, 200); a.Header.Get("Skerry-Missing") != want {
			return fmt.Errorf("it is without %q", a.Header.Get("Skerry-Missing"))
		}
		return nil
	})
	return a
}

// create makes an image with a scope and returns its identifier.
func create(t testing.TB, s *env.Site, scope, body string) string {
	t.Helper()
	a := prompt(t, s, "POST /images", body, "Scope", scope).Must(t, 201)
	id := a.Text("id")
	if id == "" || a.Header.Get("Skerry-Resource") != id || a.Header.Get("Skerry-Operation") == "" {
		t.Fatalf("the answer names no resource or operation: %v %s", a.Header, a.Body)
	}
	if l := a.Header.Get("Location"); l != "/images/"+id {
		t.Errorf("Location is %q for %s", l, id)
	}
	return id
}

// images decodes a list, without the fields that differ between replicas by nature, by identifier.
func images(body string) (map[string]map[string]any, error) {
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return nil, fmt.Errorf("%w in %.200s", err, body)
	}
	all := map[string]map[string]any{}
	for _, i := range list {
		delete(i, "updated_at")
		id, _ := i["id"].(string)
		if all[id] != nil {
			return nil, fmt.Errorf("%s is listed twice", id)
		}
		all[id] = i
	}
	return all, nil
}

// listed returns what the site's agent lists.
func listed(t testing.TB, s *env.Site) (map[string]map[string]any, error) {
	t.Helper()
	return images(prompt(t, s, "GET /images", "").Must(t, 200).Body)
}

// held returns the sorted names of what the site's application holds, asked past the agent.
func held(t testing.TB, s *env.Site) []string {
	t.Helper()
	all, err := images(s.Application(t, lab.Images, "GET /images", "").Must(t, 200).Body)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		name, _ := i["name"].(string)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// done returns how many requests of a route have changed something at the site's application.
func done(t testing.TB, s *env.Site, service, route string) int {
	t.Helper()
	return counts(t, s, service).Done[route]
}

// received returns how many requests of a route the site's application has got, whatever became of them.
func received(t testing.TB, s *env.Site, service, route string) int {
	t.Helper()
	return counts(t, s, service).Received[route]
}

func counts(t testing.TB, s *env.Site, service string) (c lab.Counts) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.Application(t, service, "GET /-/requests", "").Must(t, 200).Body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// same says why two sites do not show the same.
func same(x, y map[string]map[string]any) error {
	a, _ := json.Marshal(x) // decoded from JSON, so it encodes
	b, _ := json.Marshal(y)
	if string(a) != string(b) {
		return fmt.Errorf("one shows %s, the other %s", a, b)
	}
	return nil
}

// stateOf returns the state of a resource as the site's API tells it.
func stateOf(t testing.TB, s *env.Site, id string) string {
	t.Helper()
	return s.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Text("state")
}

// operationAt returns the state of an operation at a site, as another site's API tells it.
func operationAt(t testing.TB, asked *env.Site, operation, site string) string {
	t.Helper()
	var o struct {
		Sites map[string]struct{ State string }
	}
	a := asked.API(t, "GET /api/v1/operations/"+operation, "").Must(t, 200)
	if err := json.Unmarshal([]byte(a.Body), &o); err != nil {
		t.Fatal(err)
	}
	return o.Sites[site].State
}

// reaches reports whether a site's API says that another one is reachable.
func reaches(t testing.TB, s *env.Site, other string) bool {
	t.Helper()
	seen, err := s.Client().Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range seen {
		if x.Name == other {
			return x.Reachable
		}
	}
	return false
}

// problem checks that an answer is a refusal of the agent's own.
func problem(t testing.TB, a env.Answer, status int, typ string) {
	t.Helper()
	if media := a.Header.Get("Content-Type"); a.Status != status || !strings.HasPrefix(media, "application/problem+json") ||
		!strings.HasSuffix(a.Text("type"), typ) {
		t.Errorf("got %d %s %s, want %d with a type that ends in %s", a.Status, media, a.Body, status, typ)
	}
}

// eventually checks a condition with words of its own for when it never holds.
func eventually(t testing.TB, e *env.Env, within time.Duration, what string, ok func() bool) {
	t.Helper()
	e.Eventually(t, within, what, func() error {
		if !ok() {
			return fmt.Errorf("it is not so")
		}
		return nil
	})
}

// operationOf returns the newest operation of a resource.
func operationOf(t testing.TB, s *env.Site, resource string) string {
	t.Helper()
	list, err := s.Client().Operations(t.Context(), resource)
	if err != nil || len(list) == 0 {
		t.Fatalf("operations of %s: %v, %v", resource, list, err)
	}
	return list[0].ID
}
