package mesh

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// settleAll lets the sites exchange what they have until they have the same and nothing is left to do.
func settleAll(t *testing.T, m *Mesh) {
	t.Helper()
	until(t, m, func() string {
		for _, a := range m.Sites {
			if pending, err := a.Disk.Pending(t.Context()); err != nil || len(pending) > 0 {
				return fmt.Sprintf("%s has something left to do: %v, %v", a.Name, pending, err)
			}
			for _, b := range m.Sites {
				if differ := m.Differ(a.Site, b.Site); a != b && len(differ) > 0 {
					return fmt.Sprintf("%s and %s differ: %v", a.Name, b.Name, differ)
				}
			}
		}
		return ""
	})
}

// TestNothingGrows changes one resource over many epochs, by both of its sites, with fields that come and go. What the sites have on
// disk for it does not grow: neither the bytes of documents nor the rows of any list.
func TestNothingGrows(t *testing.T) {
	m := open(t, Image, 2)
	forgetSoon(t, m)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	// So many values that were lost and fields that were removed are kept for a while: as many as there may be, from the start.
	fields := func(n int, v any) string {
		values := map[string]any{}
		for i := range 120 {
			values[fmt.Sprintf("%s%d", strings.Repeat("r", 100), n*120+i)] = v
		}
		b, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), fields(0, 0)))
	must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), fields(0, 1)))
	settleAll(t, m)
	const warmUp = 4 // rounds after which a site has what it is not to have much more of ever after
	most := map[string]int{}
	for round := range 2 * warmUp {
		change(t, m, a.Resource, round*24, round*24+24, 0)
		must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), fields(round, nil)))
		settleAll(t, m)
		must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), fields(round+1, 1)))
		settleAll(t, m)
		m.rest(2 * time.Hour) // rows are forgotten meanwhile
		for what, n := range stored(m) {
			if round < warmUp {
				most[what] = max(most[what], n)
			} else if n > most[what]*5/4+8 {
				t.Errorf("after round %d there are %s: %d, at most %d before", round, what, n, most[what])
			}
		}
	}
	t.Logf("after %d operations: %v", 2*warmUp*26+1, stored(m))
}

// TestADeletedResourceTakesLittle deletes resources that were changed with large bodies: of each there is little left, however much it
// was.
func TestADeletedResourceTakesLittle(t *testing.T) {
	m := open(t, Image, 2)
	forgetSoon(t, m)
	large := strings.Repeat("x", 20_000)
	const each = 4
	before := stored(m)
	for i := range each {
		a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", fmt.Sprintf(`{"n":%d,"text":%q}`, i, large), m.Sites...))
		settleAll(t, m)
		for j := range 4 {
			must(t, 200)(submit(t.Context(), m.Sites[j%2], Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"text":"%d%s"}`, j, large)))
		}
		settleAll(t, m)
		must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(a.Resource), ""))
	}
	m.rest(2 * time.Hour)
	settleAll(t, m)
	most := map[string]int{"bytes": 6_000, "changes": 8, "records": 1}
	for what, n := range stored(m) {
		if n = (n - before[what]) / each; n > most[what] {
			t.Errorf("a deleted resource leaves %d %s of %d at most", n, what, most[what])
		}
	}
	t.Logf("in all there are: %v", stored(m))
}

// TestADeepBodyIsRefused has clients write JSON that is nested very deep. They are told so before the application is asked, and nothing of
// it is taken apart.
func TestADeepBodyIsRefused(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	deep := strings.Repeat(`{"abcdefg":`, 9_900) + "1" + strings.Repeat("}", 9_900)
	for _, method := range []string{"POST", "PUT", "PATCH"} {
		id, at := string(a.Resource), []*Site(nil)
		if method == "POST" {
			id, at = "", m.Sites
		}
		tried := paris.App.Tried()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := submit(t.Context(), paris, Image, method, id, deep, at...)
		runtime.ReadMemStats(&after)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Status != 413 || refusal.Type != "too-large" || !strings.Contains(refusal.Detail, "deep") {
			t.Errorf("%s is answered %v", method, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s of %d bytes took %d", method, len(deep), took)
		}
		if paris.App.Tried() != tried {
			t.Errorf("%s reached the application", method)
		}
	}
}

// forgetSoon has the sites forget rows of operations as soon as these are settled everywhere.
func forgetSoon(t *testing.T, m *Mesh) {
	t.Helper()
	m.keepOperations = time.Minute
	for _, s := range m.Sites {
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}

// stored counts what there is on the disk of the site that has more.
func stored(m *Mesh) map[string]int {
	most := map[string]int{}
	for _, s := range m.Sites {
		for what, n := range s.Disk.Stored() {
			most[what] = max(most[what], n)
		}
	}
	return most
}
