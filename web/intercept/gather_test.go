package intercept

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/intercept/request"
)

// newWatched is a mesh of fake clusters at paris and nantes.
func newWatched(t *testing.T, atParis, atNantes *fakeCluster) *mesh {
	m := newClusters(t)
	m.sites[paris].app.answer, m.sites[nantes].app.answer = atParis.ServeHTTP, atNantes.ServeHTTP
	return m
}

// listed is what a client reads of a list.
type listed struct {
	Metadata struct{ ResourceVersion, Continue string }
	Items    []struct {
		Metadata struct{ Name, ResourceVersion string }
	}
	ColumnDefinitions []struct{ Name string }
	Rows              []struct{ Cells []string }
}

func readList(t *testing.T, body string) (l listed, names string) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err, body)
	}
	var all []string
	for _, i := range l.Items {
		all = append(all, i.Metadata.Name)
	}
	return l, strings.Join(all, " ")
}

const scopeOfTwo = "Scope: paris & nantes"

func TestListsOfSeveralClusters(t *testing.T) {
	m := newWatched(t, newFakeCluster(10, "a", "both"), newFakeCluster(500, "b", "both", "c"))
	m.replicate("both", map[engine.SiteID]engine.LocalID{paris: "both", nantes: "both"})
	s := m.sites[paris]
	l, names := readList(t, s.do("GET", "/pods", "", scopeOfTwo).want(t, 200, "Skerry-Site: paris, nantes").body)
	if names != "a both b c" {
		t.Errorf("it lists %s", names)
	}
	other, _ := readList(t, m.sites[nantes].do("GET", "/pods", "", "Scope: nantes & paris").want(t, 200).body)
	if l.Metadata.ResourceVersion != other.Metadata.ResourceVersion || l.Items[0].Metadata.ResourceVersion == l.Metadata.ResourceVersion {
		t.Errorf("the versions are %+v, and from elsewhere %+v", l, other)
	}
	table, _ := readList(t, s.do("GET", "/pods?limit=500", "", scopeOfTwo, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json").want(t, 200).body)
	var rows []string
	for _, r := range table.Rows {
		rows = append(rows, strings.Join(r.Cells, ":"))
	}
	if got := strings.Join(rows, ", "); got != "a:paris, both:paris & nantes, b:nantes, c:nantes" || len(table.ColumnDefinitions) != 2 || table.ColumnDefinitions[1].Name != "Site" {
		t.Errorf("as a table it is %s, %+v", got, table.ColumnDefinitions)
	}

	var pages []string
	query := "?limit=1"
	for query != "" {
		page, names := readList(t, s.do("GET", "/pods"+query, "", scopeOfTwo).want(t, 200).body)
		pages = append(pages, names)
		if page.Metadata.ResourceVersion != l.Metadata.ResourceVersion {
			t.Errorf("page %d has the version %s", len(pages), page.Metadata.ResourceVersion)
		}
		if query = ""; page.Metadata.Continue != "" {
			query = "?limit=1&continue=" + page.Metadata.Continue
		}
	}
	if got := strings.Join(pages, ", "); got != "a b, both, c" {
		t.Errorf("in pages it is %s", got)
	}
	s.do("GET", "/pods?continue=x", "", scopeOfTwo).want(t, 400)
	s.do("GET", "/pods?resourceVersion=12", "", scopeOfTwo).want(t, 410)
	s.down[nantes] = true
	a := s.do("GET", "/pods", "", scopeOfTwo).want(t, 200, "Skerry-Missing: nantes")
	if _, names := readList(t, a.body); names != "a both" || !strings.Contains(a.header.Get("Warning"), "nantes cannot be reached") {
		t.Errorf("without nantes it lists %s, %v", names, a.header)
	}
}

// stream is a watch as its client reads it.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (s *siteUnderTest) watch(t *testing.T, path string, header ...string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return &stream{t, bufio.NewScanner(resp.Body)}
}

// next returns what the next event is, and its version.
func (s *stream) next() (what, version string) {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("the watch has ended: %v", s.lines.Err())
	}
	var e struct {
		Type   string
		Object struct {
			Code     int
			Count    int
			Kind     string
			Metadata struct {
				Name, ResourceVersion string
				Annotations           map[string]string
			}
		}
	}
	if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
		s.t.Fatal(err)
	}
	what = e.Type + " " + e.Object.Metadata.Name
	if e.Object.Kind == "" {
		s.t.Errorf("an object without a kind: %s", s.lines.Bytes())
	}
	if e.Object.Code != 0 {
		what = fmt.Sprint(e.Type, " ", e.Object.Code)
	}
	if e.Object.Count != 0 {
		what += fmt.Sprint(" ", e.Object.Count)
	}
	if e.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "" {
		what += "begun"
	}
	return what, e.Object.Metadata.ResourceVersion
}

func (s *stream) want(what string) (version string) {
	s.t.Helper()
	got, version := s.next()
	if got != what {
		s.t.Fatalf("the next event is %s, want %s", got, what)
	}
	return version
}

func TestAWatchOfSeveralClustersGoesOnFromItsList(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "a", "both"), newFakeCluster(500, "b", "both")
	m := newWatched(t, atParis, atNantes)
	m.replicate("both", map[engine.SiteID]engine.LocalID{paris: "both", nantes: "both"})
	s := m.sites[paris]
	l, _ := readList(t, s.do("GET", "/pods", "", scopeOfTwo).body)
	atNantes.set("both") // nantes does not tell of it
	atNantes.set("b")
	first := s.watch(t, "/pods?watch=true&resourceVersion="+l.Metadata.ResourceVersion, scopeOfTwo)
	one := first.want("MODIFIED b")
	atParis.set("both")
	two := first.want("MODIFIED both")
	if len(one) != len(two) || one >= two || one <= l.Metadata.ResourceVersion {
		t.Errorf("the versions are %s, %s, %s", l.Metadata.ResourceVersion, one, two)
	}
	atNantes.happen("b", "DELETED")
	// Where one stream ends another goes on, at another site as well.
	for id, want := range map[engine.SiteID][]string{paris: {"DELETED b", "MODIFIED both"}, nantes: {"DELETED b"}} { // nantes has not changed both
		again, got := m.sites[id].watch(t, "/pods?watch=true&resourceVersion="+one, scopeOfTwo), []string{}
		for range want {
			what, _ := again.next()
			got = append(got, what)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("from %s on %s tells %v", one, id, got)
		}
	}
}

func TestAWatchOfSeveralClustersBegins(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "a", "both"), newFakeCluster(500, "b", "both")
	atNantes.page = 1
	m := newWatched(t, atParis, atNantes)
	m.replicate("both", map[engine.SiteID]engine.LocalID{paris: "both", nantes: "both"})
	w := m.sites[paris].watch(t, "/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", scopeOfTwo)
	var got []string
	for range 3 {
		what, _ := w.next()
		got = append(got, what)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"ADDED a", "ADDED b", "ADDED both"}) {
		t.Errorf("it begins with %v", got)
	}
	version := w.want("BOOKMARK begun")
	atNantes.set("b")
	w.want("MODIFIED b")
	atNantes.set("b")
	w.want("MODIFIED b")
	again := m.sites[paris].watch(t, "/pods?watch=true&resourceVersion="+version, scopeOfTwo)
	again.want("MODIFIED b")
	again.want("MODIFIED b")
}

func TestAWatchGoesOnAfterACut(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "a"), newFakeCluster(500, "b")
	m := newWatched(t, atParis, atNantes)
	s := m.sites[paris]
	s.mu.Lock()
	s.down[nantes] = true
	s.mu.Unlock()
	l, _ := readList(t, s.do("GET", "/pods", "", scopeOfTwo).want(t, 200, "Skerry-Missing: nantes").body)
	w := s.watch(t, "/pods?watch=true&allowWatchBookmarks=true&resourceVersion="+l.Metadata.ResourceVersion, scopeOfTwo)
	atParis.set("a")
	w.want("MODIFIED a")
	s.mu.Lock()
	s.down[nantes] = false
	s.mu.Unlock()
	w.want("ADDED b") // what was missing in the list
	w.want("BOOKMARK ")
	m.sites[nantes].peers.CloseClientConnections()
	atNantes.set("c")
	version := w.want("MODIFIED c")
	m.sites[nantes].peers.CloseClientConnections()
	atNantes.happen("c", "DELETED")
	w.want("DELETED c")

	atNantes.forget()
	s.do("GET", "/pods?watch=true&resourceVersion="+version, "", scopeOfTwo).want(t, 410)
	s.do("GET", "/pods?watch=true&resourceVersion=12", "", scopeOfTwo).want(t, 410)
	s.do("GET", "/pods?watch=true&resourceVersion="+version, "", "Scope: paris & lyon").want(t, 410)
}

func TestWhoTellsOfAReplicatedItem(t *testing.T) {
	atNantes, atLyon := newFakeCluster(10, "both"), newFakeCluster(500, "both")
	m := newClusters(t)
	m.sites[nantes].app.answer, m.sites[lyon].app.answer = atNantes.ServeHTTP, atLyon.ServeHTTP
	m.replicate("both", map[engine.SiteID]engine.LocalID{nantes: "both", lyon: "both"})
	s := m.sites[paris] // which has neither: lyon comes first in the order
	w := s.watch(t, "/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true", "Scope: nantes & lyon")
	w.want("ADDED both")
	w.want("BOOKMARK begun")
	atLyon.set("both")
	w.want("MODIFIED both") // it is followed
	s.mu.Lock()
	s.down[lyon] = true
	s.mu.Unlock()
	m.sites[lyon].peers.CloseClientConnections()
	w.want("MODIFIED both") // as nantes has it
	atNantes.happen("both", "DELETED")
	w.want("DELETED both")
}

// A replica goes at one site and then at the other, where nothing is known of the resource any more: that is one deletion.
func TestAReplicatedItemGoesOnce(t *testing.T) {
	atNantes, atLyon := newFakeCluster(10, "both"), newFakeCluster(500, "both")
	m := newClusters(t)
	m.sites[nantes].app.answer, m.sites[lyon].app.answer = atNantes.ServeHTTP, atLyon.ServeHTTP
	m.replicate("both", map[engine.SiteID]engine.LocalID{nantes: "both", lyon: "both"})
	w := m.sites[paris].watch(t, "/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true", "Scope: nantes & lyon")
	w.want("ADDED both")
	w.want("BOOKMARK begun")
	atLyon.happen("both", "DELETED")
	w.want("DELETED both")
	s := m.sites[nantes]
	s.mu.Lock()
	delete(s.resources, "both")
	s.mu.Unlock()
	atNantes.happen("both", "MODIFIED")
	atNantes.happen("both", "DELETED")
	atNantes.happen("both", "ADDED")
	w.want("ADDED both") // another one of that name
	atNantes.happen("both", "DELETED")
	w.want("DELETED both")
}

// A replica whose deletion the index has heard of before its event came is one with the others all the same.
func TestAReplicatedItemGoesOnceWhenTheIndexIsAhead(t *testing.T) {
	for name, gone := range map[string][]engine.SiteID{"at one": {lyon}, "at both": {nantes, lyon}} {
		t.Run(name, func(t *testing.T) {
			atNantes, atLyon := newFakeCluster(10, "both"), newFakeCluster(500, "both")
			m := newClusters(t)
			m.sites[nantes].app.answer, m.sites[lyon].app.answer = atNantes.ServeHTTP, atLyon.ServeHTTP
			m.replicate("both", map[engine.SiteID]engine.LocalID{nantes: "both", lyon: "both"})
			w := m.sites[paris].watch(t, "/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true", "Scope: nantes & lyon")
			w.want("ADDED both")
			w.want("BOOKMARK begun")
			for _, id := range []engine.SiteID{nantes, lyon} {
				s := m.sites[id]
				s.mu.Lock()
				row := s.resources["both"]
				row.Sites = maps.Clone(row.Sites)
				for _, at := range gone {
					row.Sites[at] = engine.ReplicaStatus{State: engine.StateConverged, Applied: 2}
				}
				if row.Local = row.Sites[id].Local; len(gone) == 2 {
					row.State = engine.StateDeleted
				}
				s.resources["both"] = row
				s.mu.Unlock()
			}
			atLyon.happen("both", "DELETED")
			w.want("DELETED both")
			atNantes.happen("both", "DELETED")
			atNantes.happen("another", "ADDED")
			w.want("ADDED another")
		})
	}
}

// TestAListThatOneClusterForbids: its site is missing, and the client hears why. What this site knows of what is there is not told to who may not see it.
func TestAListThatOneClusterForbids(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "a"), newFakeCluster(500, "b")
	atNantes.refuse = 403
	s := newWatched(t, atParis, atNantes).sites[paris]
	for _, path := range []string{"/pods", "/pods?watch=true&timeoutSeconds=1"} {
		a := s.do("GET", path, "", scopeOfTwo).want(t, 200, "Skerry-Missing: nantes", "Skerry-Refused: nantes 403 Forbidden")
		if w := strings.Join(a.header["Warning"], " "); !strings.Contains(w, "nantes has answered 403 Forbidden") || strings.Contains(w, "cannot be reached") {
			t.Errorf("%s warns %s", path, w)
		}
	}
	s.down[lyon] = true
	a := s.do("GET", "/pods", "", "Scope: paris & nantes & lyon").want(t, 200)
	if w := strings.Join(a.header["Warning"], " "); !strings.Contains(w, "nantes has answered 403 Forbidden") || !strings.Contains(w, "lyon cannot be reached") {
		t.Errorf("with lyon cut off it warns %s", w)
	}
}

func TestAWatchThatNoClusterGives(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "a"), newFakeCluster(500, "b")
	atParis.refuse, atNantes.refuse = 403, 403
	m := newWatched(t, atParis, atNantes)
	m.sites[paris].do("GET", "/pods?watch=true", "", scopeOfTwo).want(t, 403)
	m.sites[paris].do("GET", "/pods?watch=true", "", "Scope: quorum(paris & nantes)").want(t, 501)
	m.sites[paris].down[nantes], m.sites[paris].down[lyon] = true, true
	m.sites[paris].do("GET", "/pods?watch=true", "", "Scope: nantes & lyon").want(t, 503)
}

// newDivided is a mesh with a pod that paris and nantes hold a part of.
func newDivided(t *testing.T, atParis, atNantes *fakeCluster) *mesh {
	kind := *podKind
	kind.Divide = []engine.Pointer{"/count"}
	m := newMeshIn(t, kubernetes.Dialect{}, &kind, request.Limits{}, 0)
	m.sites[paris].app.answer, m.sites[nantes].app.answer = atParis.ServeHTTP, atNantes.ServeHTTP
	m.replicate("spread", map[engine.SiteID]engine.LocalID{paris: "spread", nantes: "spread"})
	for _, id := range []engine.SiteID{paris, nantes} {
		row := m.sites[id].resources["spread"]
		row.Collaboration = engine.Cross
		for n, at := range []engine.SiteID{paris, nantes} {
			row.Sites[at] = engine.ReplicaStatus{Local: "spread", State: engine.StateConverged, Part: n + 1}
		}
		m.sites[id].resources["spread"] = row
	}
	return m
}

// What is divided over sites is one in their list and in their watch, whichever of its parts changes.
func TestAWatchOfWhatIsDivided(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "spread"), newFakeCluster(500, "spread")
	m := newDivided(t, atParis, atNantes)
	for _, at := range []engine.SiteID{paris, nantes, lyon} {
		body := m.sites[at].do("GET", "/pods", "", scopeOfTwo).want(t, 200).body
		if strings.Count(body, "spread") != 1 || !strings.Contains(body, `"count":512`) {
			t.Errorf("at %s the list is %s", at, body)
		}
	}
	l, _ := readList(t, m.sites[nantes].do("GET", "/pods", "", scopeOfTwo).body)
	w := m.sites[nantes].watch(t, "/pods?watch=true&resourceVersion="+l.Metadata.ResourceVersion, scopeOfTwo)
	atParis.set("spread")
	w.want("MODIFIED spread 513")
	atNantes.set("spread")
	w.want("MODIFIED spread 514")
	begun := m.sites[paris].watch(t, "/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true", scopeOfTwo)
	what, _ := begun.next()
	if what == "ADDED spread 12" { // nantes has not told of its part yet
		what, _ = begun.next()
		what = strings.Replace(what, "MODIFIED", "ADDED", 1)
	}
	if what != "ADDED spread 514" {
		t.Errorf("a watch begins with %s", what)
	}
	atNantes.happen("spread", "DELETED")
	atParis.happen("spread", "DELETED")
	w.want("DELETED spread 503") // nantes tells of it there
}

// A list, or a watch, of one item that is divided is of all its parts without a scope, too: of the version of this site's part on.
func TestAWatchOfOneDividedItem(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "spread"), newFakeCluster(500, "spread")
	m := newDivided(t, atParis, atNantes)
	const one = "fieldSelector=metadata.name%3Dspread"
	s := m.sites[paris]
	if body := s.do("GET", "/pods?"+one, "").want(t, 200).body; !strings.Contains(body, `"count":512`) {
		t.Errorf("the list is %s", body)
	}
	if body := s.do("GET", "/pods", "").want(t, 200).body; !strings.Contains(body, `"count":11}`) {
		t.Errorf("the list of this site is %s", body)
	}
	table, _ := readList(t, s.do("GET", "/pods?"+one, "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json").want(t, 200).body)
	if len(table.ColumnDefinitions) != 1 || len(table.Rows) != 1 || len(table.Rows[0].Cells) != 1 {
		t.Errorf("as a table it is %+v", table)
	}
	w := s.watch(t, "/pods?watch=true&resourceVersion=11&"+one)
	atParis.set("spread")
	for _, want := range []string{"MODIFIED spread 513"} {
		what, _ := w.next()
		for what != want { // nantes has told of its part before, or this one tells of its own alone
			what, _ = w.next()
		}
	}
	atNantes.set("spread")
	w.want("MODIFIED spread 514")
}
