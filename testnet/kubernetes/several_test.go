//go:build kubernetes

package kubernetes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// row returns the cells of the line of a table that begins with some.
func row(table string, first ...string) []string {
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) >= len(first) && slices.Equal(cells[:len(first)], first) {
			return cells
		}
	}
	return nil
}

// ends reports whether a line of a table has these last cells.
func ends(cells []string, last ...string) bool {
	return len(cells) >= len(last) && slices.Equal(cells[len(cells)-len(last):], last)
}

// whole is what kubectl lists of both sites. A site that is much slower than the first to answer is left out, of which kubectl is warned: that list is
// asked for again, and no other.
func (s *site) whole(e *env.Env, args ...string) (list string) {
	s.Helper()
	argv := []string{"sh", "-c", `"$@" 2>&1`, "sh", program, "--api", "http://" + s.Config().API, "exec", "--scope", both, "--service", "cluster", "--", s.kubectl}
	e.Eventually(s, within, fmt.Sprint(s.Name(), " lists what both sites have: ", args), func() (err error) {
		if list, err = s.run("agent.yaml.kube", "", append(argv, args...)...); err == nil && strings.Contains(list, "cannot be reached now") {
			return errors.New(list)
		}
		return err
	})
	return list
}

// TestListsOfSeveralSites: one list of several sites tells where each object is.
func TestListsOfSeveralSites(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	for scope, name := range map[string]string{both: "everywhere", "site1": "one", "site2": "two"} {
		site1.kube(scope, "run", name, "--image=registry.example/x")
	}
	site1.kube(spread, "create", "namespace", "foo")
	for _, s := range all {
		has(e, s, "the pod that is at both", nil, "pod", "everywhere")
		has(e, s, "the namespace", nil, "namespace", "foo")
	}
	site1.kube("site2", "run", "far", "-n", "foo", "--image=registry.example/x")
	converged(t, e, all)
	for _, s := range all {
		for _, args := range [][]string{{"get", "pods"}, {"get", "pods", "-o", "wide"}, {"get", "pods", "-A"}} {
			table := s.whole(e, args...)
			before := []string{}
			if args[len(args)-1] == "-A" {
				before = []string{"default"}
				if !ends(row(table, "foo", "far"), "site2") {
					t.Errorf("%s %v: %s", s.Name(), args, table)
				}
			}
			cells := func(name string) []string { return row(table, append(slices.Clone(before), name)...) }
			if !strings.Contains(table, "STATUS") || !strings.Contains(table, "SITE") || !ends(cells("one"), "site1") || !ends(cells("two"), "site2") ||
				strings.Count(table, "everywhere") != 1 || !slices.Contains(cells("everywhere"), "&") {
				t.Errorf("%s %v: %s", s.Name(), args, table)
			}
		}
		if table := s.whole(e, "get", "namespaces"); strings.Count(table, "foo") != 1 || !slices.Contains(row(table, "foo"), "%") {
			t.Errorf("%s: the namespaces are %s", s.Name(), table)
		}
		if table := s.kube("", "get", "pods", "-n", "foo"); !ends(row(table, "far"), "site2") {
			t.Errorf("%s: in the namespace of both it shows %s", s.Name(), table)
		}
		if table := s.kube("", "get", "pods"); strings.Contains(table, "SITE") || row(table, "one") == nil != (s == site2) {
			t.Errorf("%s: without a scope it shows %s", s.Name(), table)
		}
		names := strings.Fields(s.whole(e, "get", "pods", "--chunk-size=1", "-o", "name"))
		if slices.Sort(names); !slices.Equal(names, []string{"pod/everywhere", "pod/one", "pod/two"}) {
			t.Errorf("%s: in pages it lists %v", s.Name(), names)
		}
	}
	if out, err := site1.try(both, "", "get", "--raw", "/api/v1/pods?resourceVersion=1&resourceVersionMatch=Exact"); err == nil || !strings.Contains(err.Error(), "none of this list") {
		t.Errorf("the version of one cluster: %s, %v", out, err)
	}
}

// following is a client that goes on telling.
type following struct {
	mu    sync.Mutex
	lines []string
}

func (f *following) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// follow runs a client at a site until the test ends.
func (s *site) follow(config string, argv ...string) *following {
	s.Helper()
	argv = s.Host().Command(argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.file(config), "HOME="+s.Config().Dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	f, read := &following{}, make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.mu.Lock()
			f.lines = append(f.lines, lines.Text())
			f.mu.Unlock()
		}
	}()
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if s.Failed() {
			s.Logf("%s told:\n%s", strings.Join(argv, " "), strings.Join(f.told(), "\n"))
		}
	})
	return f
}

// tells waits until a client has told a line with all these words, after those that it had told before.
func (f *following) tells(e *env.Env, s *site, before int, words ...string) {
	s.Helper()
	e.Eventually(s, within, fmt.Sprintf("the client tells %v", words), func() error {
		lines := f.told()
		for _, line := range lines[min(before, len(lines)):] {
			if cells := strings.Fields(line); !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(cells, w) }) {
				return nil
			}
		}
		return errors.New("it does not")
	})
}

// TestWatchOfSeveralSites: clients follow two sites in one stream, through a cut, and neither lose nor make up anything.
func TestWatchOfSeveralSites(t *testing.T) {
	t.Parallel()
	controller, err := cluster.Program(t.Context(), "../apps/kubernetes", "testdata/informer.go.txt", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	create := func(scope, name string) {
		t.Helper()
		if out, err := site1.try(scope, configMap(name, "value", "new"), "create", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
	}
	create("site1", "one")
	create("site2", "two")
	create(both, "everywhere")
	for _, s := range all {
		has(e, s, "what is at both", nil, "configmap", "everywhere")
	}
	converged(t, e, all)
	site1.write("both.yaml", site1.skerry("kubeconfig", "--from", site1.file("direct.yaml"), "--listener-ca", site1.file("server.pem"), "--scope", both))
	change := func(s *site, name, value string) {
		t.Helper()
		s.kube("", "patch", "configmap", name, "--type=merge", "-p", `{"data":{"value":"`+value+`"}}`)
	}

	has := site1.follow("both.yaml", controller)
	prints := site1.follow("both.yaml", site1.kubectl, "get", "configmaps", "-w", "--output-watch-events")
	for _, name := range []string{"one", "two", "everywhere"} {
		has.tells(e, site1, 0, "has", name, "new")
	}
	has.tells(e, site1, 0, "synced")
	prints.tells(e, site1, 0, "ADDED", "two", "site2")
	prints.tells(e, site1, 0, "ADDED", "everywhere", "site1", "&", "site2")
	change(site2, "two", "changed")
	change(site2, "everywhere", "changed")
	has.tells(e, site1, 0, "has", "two", "changed")
	has.tells(e, site1, 0, "has", "everywhere", "changed")
	prints.tells(e, site1, 0, "MODIFIED", "two", "site2")
	create("site2", "three")
	has.tells(e, site1, 0, "has", "three", "new")
	prints.tells(e, site1, 0, "ADDED", "three", "site2")

	site2.Cut(t)
	apart(t, e, all)
	change(site1, "one", "during the cut")
	has.tells(e, site1, 0, "has", "one", "during")
	change(site2, "two", "afar")
	change(site2, "everywhere", "afar")
	if out, err := site2.direct("delete", "configmap", "three"); err != nil {
		t.Fatal(out, err)
	}
	for _, line := range has.told() {
		if strings.HasPrefix(line, "lost") {
			t.Errorf("what cannot be reached is told to be gone: %s", line)
		}
	}
	site2.Heal(t)
	has.tells(e, site1, 0, "has", "two", "afar")
	has.tells(e, site1, 0, "has", "everywhere", "afar")
	has.tells(e, site1, 0, "lost", "three")
	prints.tells(e, site1, 0, "DELETED", "three", "site2")
	site1.kube("", "delete", "configmap", "everywhere")
	has.tells(e, site1, 0, "lost", "everywhere")
	var lost []string
	for _, line := range has.told() {
		if strings.HasPrefix(line, "lost") {
			lost = append(lost, strings.Fields(line)[1])
		}
	}
	if want := []string{"three", "everywhere"}; !reflect.DeepEqual(lost, want) {
		t.Errorf("the informer has lost %v, want %v", lost, want)
	}
}

// TestConditionsOfSeveralSites: what was read of several sites is changed on the condition that it is as it was there.
func TestConditionsOfSeveralSites(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	if out, err := site1.try(both, configMap("c", "a", "1"), "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		has(e, s, "the config map", nil, "configmap", "c")
	}
	converged(t, e, all)
	listed := func(s *site) string {
		t.Helper()
		var list map[string]any
		if err := json.Unmarshal([]byte(s.kube(both, "get", "configmaps", "--field-selector=metadata.name=c", "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(at(list, "items", 0))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, s := range all {
		item := strings.Replace(listed(s), `"a":"`, `"a":"`+s.Name(), 1)
		if out, err := s.try("", item, "replace", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
		for _, other := range all {
			e.Eventually(t, within, other.Name()+" has what was replaced at "+s.Name(), func() error {
				if v, _ := at(other.object("configmap", "c"), "data", "a").(string); !strings.HasPrefix(v, s.Name()) {
					return fmt.Errorf("it has %q", v)
				}
				return nil
			})
		}
		converged(t, e, all)
		if out, err := s.try("", item, "replace", "-f", "-"); err == nil || !strings.Contains(err.Error(), "modified") {
			t.Errorf("%s takes what was changed since: %s, %v", s.Name(), out, err)
		}
		if out, err := all[0].try("", listed(site2), "replace", "-f", "-"); err == nil || !strings.Contains(err.Error(), "Conflict") {
			t.Errorf("site1 takes a version of site2: %s, %v", out, err)
		}
	}
	// kubectl delete --raw sends what it is given.
	site1.write("options.json", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"`+at(site2.object("configmap", "c"), "metadata", "uid").(string)+`"}}`)
	remove := []string{"delete", "--raw", "/api/v1/namespaces/default/configmaps/c", "-f", site1.file("options.json")}
	if out, err := site1.try("", "", remove...); err == nil || !strings.Contains(err.Error(), "uid") {
		t.Errorf("the uid of another site: %s, %v", out, err)
	}
	site1.write("options.json", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"`+at(site1.object("configmap", "c"), "metadata", "uid").(string)+`"}}`)
	if out, err := site1.try("", "", remove...); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" has none", func() error {
			if s.object("configmap", "c") != nil {
				return errors.New("it is there")
			}
			return nil
		})
	}
}
