package failpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/failpoint"
)

const both = "{app: paris & nantes}"

// crowd is how many operations may wait somewhere before the clients pause. A site that is killed again and again applies less than
// clients can write, and the less the more waits: what they may write is bounded, as how often agents are killed is not.
const crowd = 200

// acting begins the tags of actions, which have an effect each time they are done.
const acting = "act-"

// assigned are the collections in which the application gives the identifiers. Those of notes clients may choose, and these do not.
var assigned = []string{"/items", "/notes"}

// clients write at every site, and a person decides what agents ask.
type clients struct {
	e    *env.Env
	end  chan struct{}
	work sync.WaitGroup
	// crowded says that enough waits somewhere.
	crowded atomic.Bool

	mu       sync.Mutex
	acked    map[string]string // tags of creates and actions that were acknowledged, with their operation
	deleted  map[string]bool   // tags of items whose deletion was asked for
	gone     map[string]string // tags of items whose deletion was acknowledged, with the operation
	counters map[string]int    // by site, the last value of its field of the shared thing that was acknowledged
	files    map[string]int    // by site, the last of the large files of its own thing that was acknowledged
	asked    int
	answered map[string]int // by site
	decided  int
}

func newClients(t *testing.T, e *env.Env) *clients {
	t.Helper()
	c := &clients{e: e, end: make(chan struct{}), acked: map[string]string{}, deleted: map[string]bool{}, gone: map[string]string{},
		counters: map[string]int{}, files: map[string]int{}, answered: map[string]int{}}
	e.Site("paris").Do(t, "app", "PUT /things/shared", `{"tag":"shared"}`, "Scope", both).Must(t, 201)
	for _, s := range e.Sites() {
		e.Site("paris").Do(t, "app", "PUT "+fileOf(s), fmt.Sprintf(`{"tag":%q}`, fileOf(s)), "Scope", both).Must(t, 201)
		c.work.Go(func() { c.write(s) })
	}
	c.work.Go(func() {
		for !c.ended() {
			time.Sleep(200 * time.Millisecond) // a person is not quick
			c.decide()
			c.count()
			c.invite(e.Site("paris"))
			c.invite(e.Site("nantes"))
		}
	})
	return c
}

func (c *clients) stop() { close(c.end); c.work.Wait() }

func (c *clients) ended() bool {
	select {
	case <-c.end:
		return true
	default:
		return false
	}
}

func (c *clients) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d requests, %d acknowledged, %d decisions of a person", c.asked, len(c.acked)+len(c.gone), c.decided)
}

// ask sends a request and returns its operation, empty unless it was acknowledged.
func (c *clients) ask(s *env.Site, request, body string, header ...string) (operation string, a env.Answer) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	a, err := s.Request(ctx, "app", request, body, header...)
	if err == nil {
		c.mu.Lock()
		c.answered[s.Name()]++
		c.mu.Unlock()
	}
	if err != nil || a.Status > 299 {
		time.Sleep(5 * time.Millisecond) // the agent may be dead
		return "", a
	}
	return a.Header.Get("Skerry-Operation"), a
}

// write creates, changes, acts and deletes until the end.
func (c *clients) write(s *env.Site) {
	var items []string // tags and paths of what was made
	remember := func(tag, operation string) {
		if operation != "" {
			c.mu.Lock()
			c.acked[tag] = operation
			c.mu.Unlock()
		}
	}
	merge := []string{"Content-Type", "application/merge-patch+json", "Scope", both}
	for n := 1; !c.ended(); n++ {
		for c.crowded.Load() && !c.ended() {
			time.Sleep(10 * time.Millisecond)
		}
		tag := fmt.Sprintf("%s-%d", s.Name(), n)
		if n%17 == 0 {
			op, _ := c.ask(s, "PUT "+fileOf(s)+"/file", failpoint.File(fmt.Sprint(n)), "Content-Type", "application/octet-stream", "Scope", both)
			if op != "" {
				c.mu.Lock()
				c.files[s.Name()] = n
				c.mu.Unlock()
			}
		}
		switch n % 7 {
		case 6: // which the application refuses, so that nothing comes of it
			c.ask(s, "POST /things/shared/act", `{"refuse":true}`, "Scope", both)
		case 0:
			collection := assigned[n/7%len(assigned)]
			op, a := c.ask(s, "POST "+collection, fmt.Sprintf(`{"tag":%q}`, tag), "Scope", both)
			remember(tag, op)
			if op != "" && a.Text("id") != "" && s.Name() != "lille" {
				items = append(items, tag, collection+"/"+a.Text("id"))
			}
		case 1:
			op, _ := c.ask(s, "PUT /things/"+tag, fmt.Sprintf(`{"tag":%q}`, tag), "Scope", both)
			remember(tag, op)
		case 2, 3:
			if op, _ := c.ask(s, "PATCH /things/shared", fmt.Sprintf(`{%q:%d}`, s.Name(), n), merge...); op != "" {
				c.mu.Lock()
				c.counters[s.Name()] = n
				c.mu.Unlock()
			}
		case 4:
			tag = acting + tag
			op, _ := c.ask(s, "POST /things/shared/act", fmt.Sprintf(`{"tag":%q}`, tag), "Scope", both)
			remember(tag, op)
		case 5:
			if len(items) > 8 {
				made, path := items[0], items[1]
				items = items[2:]
				c.mu.Lock()
				c.deleted[made] = true
				c.mu.Unlock()
				if op, _ := c.ask(s, "DELETE "+path, ""); op != "" {
					c.mu.Lock()
					c.gone[made] = op
					c.mu.Unlock()
				}
			}
		}
	}
}

// count finds out whether the clients have to pause. What a dead site has not applied waits at the others too.
func (c *clients) count() {
	c.crowded.Store(slices.ContainsFunc(c.e.Sites(), func(s *env.Site) bool {
		list, err := c.operations(s, "&state=pending", crowd)
		return err == nil && len(list) == crowd
	}))
}

// fileOf is the thing whose file a site's client writes.
func fileOf(s *env.Site) string { return "/things/file-" + s.Name() }

// operation is what the agent's API tells of one.
type operation struct {
	ID, Type, Path, Origin, State, Resource, Kind string
	Body                                          struct{ Tag string }
	Sites                                         map[string]struct{ State, Error string }
}

func (c *clients) operations(s *env.Site, query string, limit int) ([]operation, error) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	var v struct{ Items []operation }
	err := s.Client().Call(ctx, "GET", fmt.Sprintf("/api/v1/operations?limit=%d%s", limit, query), nil, &v)
	return v.Items, err
}

func state(s *env.Site) (v failpoint.State, err error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	a, err := s.RequestApplication(ctx, "app", "GET /-/state", "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Body), &v)
	}
	return v, err
}

// decide does what a person does about operations that are uncertain: look at the application, and say what happened.
func (c *clients) decide() {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	for _, s := range c.e.Sites() {
		list, err := c.operations(s, "&state=uncertain", 1000)
		if err != nil {
			continue // it is dead
		}
		for _, o := range list {
			if o.Sites[s.Name()].State != "uncertain" {
				continue
			}
			now, err := state(s)
			if err != nil {
				continue
			}
			verb := "retry"
			switch {
			case o.Type == "create" && slices.Contains(assigned, o.Path):
				// Nobody knows which identifier it was given: what it made goes, and it is made again.
				for path, object := range now.Objects {
					if object["tag"] != o.Body.Tag {
						continue
					}
					if _, err := s.RequestApplication(ctx, "app", "DELETE "+path, ""); err != nil {
						return
					}
				}
			case now.Done[o.Body.Tag] > 0:
				verb = "done"
			}
			if s.Client().Call(ctx, "POST", "/api/v1/operations/"+o.ID+"/"+verb, nil, nil) == nil {
				c.mu.Lock()
				c.decided++
				c.mu.Unlock()
			}
		}
	}
}

// invite lets an agent write to the mesh's document.
func (c *clients) invite(s *env.Site) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if i, err := s.Client().Invite(ctx, 1); err == nil {
		_ = s.Client().Call(ctx, "DELETE", "/api/v1/invitations/"+i.ID, nil, nil) // it may be dead by now
	}
}

// settle waits until nothing is left to do.
func (c *clients) settle(t *testing.T) {
	t.Helper()
	var left operation
	defer func() {
		if left.ID != "" {
			c.tell(t, left)
		}
	}()
	c.e.Eventually(t, 5*time.Minute, "both sites are up to date", func() error {
		left = operation{}
		c.decide()
		for _, s := range c.e.Sites() {
			for _, state := range []string{"pending", "uncertain"} {
				list, err := c.operations(s, "&state="+state, 1000)
				if err != nil {
					return err
				}
				for _, o := range list {
					left = o
					return fmt.Errorf("%s says that %s %s of %s is %s: %v", s.Name(), o.Type, o.ID, o.Origin, o.State, o.Sites)
				}
			}
		}
		return nil
	})
}

// tell tells what each site says of an operation, and of its resource.
func (c *clients) tell(t *testing.T, o operation) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, s := range c.e.Sites() {
		for _, path := range []string{"/api/v1/operations/" + o.ID, "/api/v1/resources/" + o.Resource + "?service=app&kind=" + o.Kind} {
			var v json.RawMessage
			err := s.Client().Call(ctx, "GET", path, nil, &v)
			t.Logf("%s: GET %s: %s (%v)", s.Name(), path, v, err)
		}
	}
}

// check accounts for everything that was acknowledged, and returns how much of it is lost.
func (c *clients) check(t *testing.T) (losses int) {
	t.Helper()
	for _, s := range c.e.Sites()[:2] {
		now, err := state(s)
		if err != nil {
			t.Fatal(err)
		}
		living := map[string]int{}
		for _, o := range now.Objects {
			tag, _ := o["tag"].(string)
			living[tag]++
		}
		for tag, op := range c.acked {
			// What was deleted in time is not made at all.
			there := living[tag] > 0 || c.deleted[tag] || strings.HasPrefix(tag, acting) && now.Done[tag] > 0
			if !there {
				t.Errorf("%s: %s (%s) was acknowledged and is lost", s.Name(), tag, op)
				losses++
			}
		}
		for tag, n := range now.Done { // acknowledged or not
			if strings.HasPrefix(tag, acting) && n > 1 || living[tag] > 1 {
				t.Errorf("%s: %s was done %d times and is there %d times%s", s.Name(), tag, n, living[tag], c.history(tag))
			}
		}
		for tag, op := range c.gone {
			if living[tag] > 0 {
				t.Errorf("%s: the deletion of %s (%s) was acknowledged and it is there%s", s.Name(), tag, op, c.history(tag))
				losses++
			}
		}
		for site, n := range c.files {
			tag, _ := now.Objects["/things/file-"+site]["file"].(string)
			if got, err := strconv.Atoi(tag); err != nil || got < n {
				t.Errorf("%s: the file of %s is %q, which was told %d", s.Name(), site, tag, n)
				losses++
			}
		}
		for site, n := range c.counters {
			if got, _ := now.Objects["/things/shared"][site].(float64); int(got) < n {
				t.Errorf("%s: the shared thing shows %v of %s, which was told %d", s.Name(), got, site, n)
				losses++
			}
		}
	}
	c.same(t)
	return losses
}

// history tells what each site says of what was made with a tag and acknowledged, and of its deletion.
func (c *clients) history(tag string) string {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var b strings.Builder
	for _, s := range c.e.Sites() {
		for _, id := range []string{c.acked[tag], c.gone[tag]} {
			if id == "" {
				continue
			}
			var v json.RawMessage
			err := s.Client().Call(ctx, "GET", "/api/v1/operations/"+id, nil, &v)
			fmt.Fprintf(&b, "\n%s says: %s (%v)", s.Name(), v, err)
		}
	}
	return b.String()
}

// same compares what both sites hold of what was acknowledged.
func (c *clients) same(t *testing.T) {
	t.Helper()
	var lists [2][]string
	for i, s := range c.e.Sites()[:2] {
		now, err := state(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range now.Objects {
			tag, _ := o["tag"].(string)
			if c.acked[tag] == "" && tag != "shared" {
				continue // its client was told that it is not certain
			}
			delete(o, "id")
			b, _ := json.Marshal(o)
			lists[i] = append(lists[i], string(b))
		}
		slices.Sort(lists[i])
	}
	if !slices.Equal(lists[0], lists[1]) {
		c.explain(t)
		for i := range max(len(lists[0]), len(lists[1])) {
			if i >= len(lists[0]) || i >= len(lists[1]) || lists[0][i] != lists[1][i] {
				t.Errorf("the sites differ from here on: paris %v, nantes %v", lists[0][i:min(i+3, len(lists[0]))], lists[1][i:min(i+3, len(lists[1]))])
				break
			}
		}
	}
}

// explain tells what each site says of the resources that are not the same everywhere.
func (c *clients) explain(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, s := range c.e.Sites() {
		for _, state := range []string{"converging", "degraded", "conflict"} {
			var resources struct{ Items []json.RawMessage }
			if err := s.Client().Call(ctx, "GET", "/api/v1/resources?limit=20&state="+state, nil, &resources); err != nil {
				t.Log(err)
			}
			for _, r := range resources.Items {
				var id struct{ ID string }
				_ = json.Unmarshal(r, &id) // without it all operations are told
				list, err := c.operations(s, "&resource="+id.ID, 20)
				t.Logf("%s says: %s\n%+v (%v)", s.Name(), r, list, err)
			}
		}
	}
}
