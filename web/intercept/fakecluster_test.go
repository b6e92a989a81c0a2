package intercept

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// fakeCluster is an API server that lists its pods, in pages and as tables, and tells what happens to them.
type fakeCluster struct {
	mu      sync.Mutex
	changed *sync.Cond
	version int
	pods    map[string]int // the version that each has
	log     []podEvent
	first   int // events before this one are forgotten
	refuse  int // the status of every answer
	page    int // the most of a page
}

type podEvent struct {
	version    int
	kind, name string
}

func newFakeCluster(version int, pods ...string) *fakeCluster {
	c := &fakeCluster{version: version, pods: map[string]int{}}
	c.changed = sync.NewCond(&c.mu)
	for _, name := range pods {
		c.set(name)
	}
	c.log = nil
	return c
}

func (c *fakeCluster) set(name string) { c.happen(name, "MODIFIED") }

func (c *fakeCluster) happen(name, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	if kind == "DELETED" {
		delete(c.pods, name)
	} else {
		c.pods[name] = c.version
	}
	c.log = append(c.log, podEvent{c.version, kind, name})
	c.changed.Broadcast()
}

func (c *fakeCluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log, c.first = nil, c.version
}

func pod(name string, version int) string {
	if name == "spread" { // and counted
		return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"resourceVersion":"%d"},"count":%d}`, name, version, version)
	}
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"resourceVersion":"%d"}}`, name, version)
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != 0 {
		w.WriteHeader(c.refuse)
		_, _ = io.WriteString(w, `{"kind":"Status","message":"refused"}`)
		return
	}
	table := strings.Contains(r.Header.Get("Accept"), "as=Table")
	if q.Get("watch") != "" {
		c.watch(w, r, q.Get("resourceVersion"), q.Get("sendInitialEvents") != "")
		return
	}
	if name, item := strings.CutPrefix(r.URL.Path, "/pods/"); item {
		if c.pods[name] == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, pod(name, c.pods[name]))
		return
	}
	names := []string{}
	for name := range c.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	from, _ := strconv.Atoi(q.Get("continue"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	if c.page > 0 {
		limit = min(limit, c.page)
	}
	next := ""
	if names = names[from:]; limit > 0 && len(names) > limit {
		names, next = names[:limit], fmt.Sprintf(`,"continue":"%d"`, from+limit)
	}
	var items []string
	for _, name := range names {
		item := strings.Replace(pod(name, c.pods[name]), `"kind":"Pod",`, "", 1)
		if table {
			item = fmt.Sprintf(`{"cells":[%q],"object":%s}`, name, item)
		}
		items = append(items, item)
	}
	head := `{"kind":"PodList","apiVersion":"v1","items":`
	if table {
		head = `{"kind":"Table","columnDefinitions":[{"name":"Name"}],"rows":`
	}
	_, _ = fmt.Fprintf(w, `%s[%s],"metadata":{"resourceVersion":"%d"%s}}`, head, strings.Join(items, ","), c.version, next)
}

func (c *fakeCluster) watch(w http.ResponseWriter, r *http.Request, version string, begin bool) {
	from, _ := strconv.Atoi(version)
	flush := http.NewResponseController(w)
	if version != "" && from < c.first {
		w.WriteHeader(http.StatusGone)
		return
	}
	say := func(kind, object string) { _, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", kind, object) }
	_ = flush.Flush()
	if begin {
		names := []string{}
		for name := range c.pods {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			say("ADDED", pod(name, c.pods[name]))
		}
		from = c.version
		say("BOOKMARK", fmt.Sprintf(`{"kind":"Pod","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}`, c.version))
		_ = flush.Flush()
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		case <-stop:
		}
	}()
	for r.Context().Err() == nil {
		for _, e := range c.log {
			if e.version > from {
				from = e.version
				say(e.kind, pod(e.name, e.version))
			}
		}
		_ = flush.Flush()
		c.changed.Wait()
	}
}
