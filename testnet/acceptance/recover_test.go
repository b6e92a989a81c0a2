package acceptance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skerry/skerry/testnet/lab"
)

// TestBackedUpUnderWritesAndPutBack makes a backup of a site while its clients write, kills its agent while they go on, deletes its data and
// puts the backup back. The site takes up again what the others hold: nothing acknowledged is lost that they have, and both show the same.
func TestBackedUpUnderWritesAndPutBack(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	first := create(t, paris, both, `{"name":"first"}`)
	large := create(t, nantes, both, `{"name":"large","note":"`+strings.Repeat("x", 100<<10)+`"}`)
	settled(t, e, first, large)

	var acknowledged sync.Map // identifier to name
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	enough := make(chan struct{}, 1)
	for w := range 3 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("w%d-%d", w, i)
				a, err := paris.Request(ctx, lab.Images, "POST /images", `{"name":"`+name+`"}`, "Scope", both)
				if err != nil || a.Status != 201 {
					return // the agent was killed
				}
				acknowledged.Store(a.Text("id"), name)
				if i == 5 {
					select {
					case enough <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	count := func() (n int) {
		acknowledged.Range(func(any, any) bool { n++; return true })
		return n
	}
	<-enough
	file := filepath.Join(t.TempDir(), "paris.skerry")
	before := count()
	command(t, "backup", "--config", paris.Config().File(), file)
	command(t, "restore", "--config", paris.Config().File(), "--check", file)
	after := count()
	e.Eventually(t, patience, "nantes has heard of more", func() error {
		if n, err := listed(t, nantes); err != nil || len(n) <= after+5 {
			return fmt.Errorf("it lists %d: %v", len(n), err)
		}
		return nil
	})
	paris.Kill(t)
	stop()
	writers.Wait()
	t.Logf("%d were acknowledged before the backup, %d until it was made and checked, %d in all", before, after, count())

	// What nantes holds of its own: one of these may just be being made, and has no identifier yet that paris knows.
	had := held(t, nantes)
	if err := os.RemoveAll(paris.Config().Data()); err != nil {
		t.Fatal(err)
	}
	command(t, "restore", "--config", paris.Config().File(), file)
	paris.Start(t)
	e.Eventually(t, patience, "paris has what nantes held, under the same identifiers", func() error {
		p, err := listed(t, paris)
		if err != nil {
			return err
		}
		n, err := listed(t, nantes)
		if err != nil {
			return err
		}
		shared := map[any]bool{}
		for id, o := range n {
			if p[id] != nil && p[id]["name"] == o["name"] {
				shared[o["name"]] = true
			}
		}
		for _, name := range had {
			if !shared[name] {
				return fmt.Errorf("%s is not the same resource at both: paris lists %v, nantes %v", name, p, n)
			}
		}
		return nil
	})
	for _, s := range e.Sites() {
		if names := held(t, s); len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("something is there twice at %s: %v", s.Name(), names)
		}
	}
	ids, late := []string{first, large}, 0
	acknowledged.Range(func(id, name any) bool {
		if slices.Contains(had, name.(string)) {
			late++
			ids = append(ids, id.(string))
			if a := prompt(t, paris, "GET /images/"+id.(string), ""); a.Status != 200 || a.Text("name") != name {
				t.Errorf("%s (%v), which was acknowledged and nantes held, is answered with %d %s", id, name, a.Status, a.Body)
			}
		}
		return true
	})
	if late <= after {
		t.Errorf("nantes held %d of those that were acknowledged, no more than the %d until the backup was made", late, after)
	}
	settled(t, e, ids...)
	next := create(t, paris, both, `{"name":"next"}`)
	settled(t, e, next)
}

// command runs skerry, which has to end well.
func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("skerry %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
