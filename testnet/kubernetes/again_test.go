//go:build kubernetes

package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// To start two clusters costs more than most tests do with them. So they go from test to test: the agents are new ones, and what etcd holds is
// put back to what it held when the clusters were new. What kubectl remembers of their kinds stays right: a cluster that a test has taught a kind is not
// used again, nor is one whose controllers do not come to rest, nor is any after a failure.

// pair are two clusters with the hosts that they run on.
type pair struct {
	*env.Env
	dir string
	// begin is what etcd held at each site when its cluster was new, by site.
	begin map[string]contents
}

// contents are the values of etcd's keys.
type contents map[string]string

// resting are the clusters that no test uses, with controllers and without.
var resting = struct {
	sync.Mutex
	pairs map[bool][]*pair
}{pairs: map[bool][]*pair{}}

// opened returns an environment of the setup for one test.
func opened(t *testing.T, controllers bool, setup env.Setup) *env.Env {
	t.Helper()
	p := used(t, controllers, setup)
	if p == nil {
		p = begun(t, setup)
	}
	t.Cleanup(func() {
		err := p.Rest()
		if err != nil {
			t.Errorf("at the end: %v", err)
		}
		if t.Failed() {
			if err := p.end(); err != nil {
				t.Errorf("at the end: %v", err)
			}
			return
		}
		resting.Lock()
		defer resting.Unlock()
		resting.pairs[controllers] = append(resting.pairs[controllers], p)
	})
	t.Cleanup(func() { // before the agents end
		if t.Failed() {
			var b strings.Builder
			p.Describe(&b)
			t.Log(b.String())
		}
	})
	return p.Env
}

// begun starts clusters of their own.
func begun(t *testing.T, setup env.Setup) *pair {
	t.Helper()
	dir, err := os.MkdirTemp("", "skerry-clusters-")
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{dir: dir, begin: map[string]contents{}}
	prepare := setup.Prepare
	setup.Prepare = func(s *env.Site) (err error) {
		if p.begin[s.Name()], err = held(t.Context(), s); err != nil {
			return err
		}
		return prepare(s)
	}
	if p.Env, err = env.Open(t.Context(), dir, setup); err != nil {
		t.Fatal(errors.Join(err, p.end()))
	}
	return p
}

// used makes clusters that rest those of another test; nil where there are none.
func used(t *testing.T, controllers bool, setup env.Setup) *pair {
	t.Helper()
	resting.Lock()
	all := resting.pairs[controllers]
	if len(all) == 0 {
		resting.Unlock()
		return nil
	}
	p := all[len(all)-1]
	resting.pairs[controllers] = all[:len(all)-1]
	resting.Unlock()
	for _, s := range p.Sites() {
		spent, err := p.putBack(t.Context(), s)
		if spent != "" {
			t.Logf("the clusters of another test are not used again: %s: %s", s.Name(), spent)
		}
		if err != nil || spent != "" {
			if err = errors.Join(err, p.end()); err != nil {
				t.Fatal(err)
			}
			return nil
		}
	}
	if err := p.Again(t.Context(), setup); err != nil {
		t.Fatal(errors.Join(err, p.end()))
	}
	return p
}

func (p *pair) end() error {
	if p.Env == nil {
		return os.RemoveAll(p.dir)
	}
	return errors.Join(p.Close(), os.RemoveAll(p.dir))
}

// endAll ends the clusters that rest.
func endAll() error {
	resting.Lock()
	defer resting.Unlock()
	var errs []error
	for _, pairs := range resting.pairs {
		for _, p := range pairs {
			errs = append(errs, p.end())
		}
	}
	clear(resting.pairs)
	return errors.Join(errs...)
}

// restsWithin is how long controllers may go on with what a test has left before their cluster is not used again.
const restsWithin = 30 * time.Second

const (
	definitions = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
	pods        = "/registry/pods/"
)

// putBack brings what etcd holds at a site to what it held at the beginning. Spent says why the cluster cannot be used again: the test had it know a
// kind more, which it does not forget at once. Controllers may make something anew meanwhile, so it looks until nothing is to be done, for restsWithin.
func (p *pair) putBack(ctx context.Context, s *env.Site) (spent string, err error) {
	begin := p.begin[s.Name()]
	for until := time.Now().Add(restsWithin); ; {
		now, err := held(ctx, s)
		if err != nil {
			return "", err
		}
		var keys []string
		for key, value := range now {
			if begin[key] != value {
				keys = append(keys, key)
			}
		}
		for key := range begin {
			if _, there := now[key]; !there {
				keys = append(keys, key)
			}
		}
		switch {
		case len(keys) == 0:
			return "", nil
		case slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, definitions) }):
			return "it was taught a kind", nil
		case time.Now().After(until):
			return fmt.Sprintf("its controllers go on making %q", keys[:min(len(keys), 5)]), nil
		}
		slices.SortFunc(keys, func(a, b string) int { // pods last: who has made them makes others
			switch one, other := strings.HasPrefix(a, pods), strings.HasPrefix(b, pods); {
			case one && !other:
				return 1
			case other && !one:
				return -1
			}
			return strings.Compare(a, b)
		})
		for _, key := range keys {
			value, was := begin[key]
			if was {
				err = etcd(ctx, s, "put", map[string]any{"key": []byte(key), "value": []byte(value)}, nil)
			} else {
				err = etcd(ctx, s, "deleterange", map[string]any{"key": []byte(key)}, nil)
			}
			if err != nil {
				return "", err
			}
		}
	}
}

// held is what etcd holds at a site, less what servers say of themselves all the time.
func held(ctx context.Context, s *env.Site) (contents, error) {
	var all struct{ Kvs []struct{ Key, Value []byte } }
	if err := etcd(ctx, s, "range", map[string]any{"key": []byte("/registry/"), "range_end": []byte("/registry0")}, &all); err != nil {
		return nil, err
	}
	c := contents{}
	for _, kv := range all.Kvs {
		if key := string(kv.Key); !strings.HasPrefix(key, "/registry/leases/") {
			c[key] = string(kv.Value)
		}
	}
	return c, nil
}

// etcd calls a site's etcd by its gateway, in which all bytes are base64, as in encoding/json.
func etcd(ctx context.Context, s *env.Site, call string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v3/kv/%s", etcdPort, call), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := s.HTTP().Do(r)
	if err != nil {
		return fmt.Errorf("ask etcd of %s: %w", s.Name(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask etcd of %s: %s %s", s.Name(), call, resp.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
