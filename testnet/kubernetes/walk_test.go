//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/conform"
	"github.com/skerry/skerry/testnet/env"
)

var (
	walkSeed  = flag.Uint64("kubernetes.walk", 1, "which random walk is taken")
	walkSteps = flag.Int("kubernetes.steps", 240, "how many requests it has")
)

// notes are what clusters note in an object for themselves.
var notes = [][]string{{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}, {"metadata", "generation"},
	{"metadata", "managedFields"}, {"metadata", "annotations", "deployment.kubernetes.io/revision"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
	{"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}, {"spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"},
	{"spec", "template", "metadata", "labels", "controller-uid"}}

// walk is a random walk of two clients, each at its own cluster, over three names of each kind.
type walk struct {
	*rand.Rand
	all   []*site
	kinds []string
	// told is what has been asked about each object, and what the answers were.
	told map[string][]string
	n    int
}

// TestWalk: two clients make, change, put back and delete objects of many kinds at random, most of that on both sides of cuts. In the end direct
// clients are shown the same. To go on a longer way: make test-kubernetes ARGS="-run TestWalk -kubernetes.walk 7 -kubernetes.steps 1440".
func TestWalk(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	w := &walk{Rand: rand.New(rand.NewPCG(*walkSeed, 0)), all: all, told: map[string][]string{}}
	for name := range conform.Kubernetes.Bodies {
		kind := strings.TrimPrefix(name, cluster.Service+"/")
		if !strings.Contains(kind, "/") && !slices.Contains([]string{"namespaces", "customresourcedefinitions.apiextensions.k8s.io", "widgets.example.org"}, kind) {
			w.kinds = append(w.kinds, kind)
		}
	}
	slices.Sort(w.kinds)
	for range 4 {
		for range *walkSteps / 20 {
			w.step()
		}
		all[1].Cut(t)
		apart(t, e, all)
		for range *walkSteps / 5 {
			w.step()
		}
		all[1].Heal(t)
	}
	asked := w.rest(t, e)
	for _, path := range slices.Sorted(maps.Keys(w.told)) {
		if one, two := all[0].plain(path), all[1].plain(path); !reflect.DeepEqual(one, two) && !asked[strings.Join(strings.Split(path, "/")[strings.Count(path, "/")-1:], "/")] {
			t.Errorf("site1 has\n  %v\nand site2\n  %v\nafter\n  %s", one, two, strings.Join(w.told[path], "\n  "))
		}
	}
}

// step makes one request.
func (w *walk) step() {
	s, kind, name := w.all[w.IntN(2)], w.kinds[w.IntN(len(w.kinds))], fmt.Sprintf("w%d", w.IntN(3))
	body := conform.Kubernetes.Bodies[cluster.Service+"/"+kind]
	resource, _, _ := strings.Cut(kind, ".")
	list := s.serves(resource).path + "/namespaces/default/" + resource
	path := list + "/" + name
	w.n++
	value := fmt.Sprintf("v%d", w.n)
	in := strings.NewReplacer("{name}", name, "{value}", value)
	media, scope := "application/merge-patch+json", both
	if w.IntN(4) == 0 {
		scope = ""
	}
	switch n := w.IntN(20); {
	case n < 6:
		w.ask(s, both, path, http.MethodPost, list, "application/json", in.Replace(string(body.Text)))
	case n < 12:
		label := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, []string{"tier", "team", s.Name()}[w.IntN(3)], value)
		w.ask(s, scope, path, http.MethodPatch, path, media, label)
	case n < 14 && len(body.Requests) > 0:
		r := body.Requests[w.IntN(len(body.Requests))]
		w.ask(s, both, path, r.Method, path+r.Below, r.Media, in.Replace(r.Text))
	case n < 16:
		if status, now := s.send(scope, http.MethodGet, path, "", ""); status == http.StatusOK {
			w.ask(s, scope, path, http.MethodPut, path, "application/json", putting(s, now, value))
		}
	case n < 17:
		w.ask(s, scope, path, http.MethodPatch, path, "application/json-patch+json", `[{"op":"add","path":"/metadata/annotations","value":{"patched":"`+value+`"}}]`)
	default:
		w.ask(s, scope, path, http.MethodDelete, path, "application/json", `{"propagationPolicy":"Background"}`)
	}
}

// putting is an object with one annotation set.
func putting(s *site, object, value string) string {
	s.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		s.Fatal(err)
	}
	annotations, _ := at(o, "metadata", "annotations").(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		o["metadata"].(map[string]any)["annotations"] = annotations
	}
	annotations["put"] = value
	text, err := json.Marshal(o)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// ask makes a request about the object of a path, and notes it.
func (w *walk) ask(s *site, scope, of, method, path, media, body string) {
	status, answer := s.send(scope, method, path, media, body)
	w.told[of] = append(w.told[of], fmt.Sprintf("%s: %s scope %q %.200s: %d %.200s", s.Name(), method, scope, body, status, answer))
}

// send makes a request with a scope, empty for none, through the site's agent.
func (s *site) send(scope, method, path, media, body string) (status int, answer string) {
	s.Helper()
	at := "https://" + s.Config().Services[0].Listen
	if scope != "" {
		at += "/~scope/" + url.PathEscape(scope)
	}
	status, text := s.request(method, at+path, body, http.Header{"Content-Type": {media}})
	return status, string(text)
}

// rest waits until nothing is under way, and returns the kinds and names about which a person is asked: two that were made apart have one name.
func (w *walk) rest(t *testing.T, e *env.Env) map[string]bool {
	t.Helper()
	asked := map[string]bool{}
	for _, s := range w.all {
		e.Eventually(t, within, s.Name()+" says that all is at rest", func() error {
			clear(asked)
			list, err := s.Client().Resources(t.Context())
			for _, r := range list {
				switch r.State {
				case "converged":
				case "conflict":
					kind, _, _ := strings.Cut(r.Kind, ".")
					asked[kind+r.ID[strings.LastIndex(r.ID, "/"):]] = true
				default:
					return fmt.Errorf("%s %s is %s: %s", r.Kind, r.ID, r.State, r.Reason)
				}
			}
			return err
		})
	}
	for _, c := range w.all[0].conflicts() {
		if !strings.Contains(c.Reason, "another resource of this name") && !strings.Contains(c.Reason, "either this one gets the name") {
			t.Errorf("a person is asked about %s at %s: %s", c.Resource, c.Site, c.Reason)
		}
	}
	return asked
}

// plain is what the site's own cluster has, without what that notes for itself; nil for nothing.
func (s *site) plain(path string) map[string]any {
	s.Helper()
	var o map[string]any
	if s.reads(path, "application/json", &o) != http.StatusOK {
		return nil
	}
	for _, note := range notes {
		in := o
		for _, name := range note[:len(note)-1] {
			in, _ = in[name].(map[string]any)
		}
		delete(in, note[len(note)-1])
	}
	if meta := o["metadata"].(map[string]any); reflect.DeepEqual(meta["annotations"], map[string]any{}) {
		delete(meta, "annotations")
	}
	for i := 0; at(o, "spec", "ports", i) != nil; i++ {
		if port, ok := at(o, "spec", "ports", i).(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	return o
}
