package mesh

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

var rounds = flag.Int("bounds.rounds", 4, "how many rounds of changes follow those that the others are compared with")

// warmUp is how many rounds there are first: what a site has after them it is not to have much more of ever after.
const warmUp = 4

// TestNothingGrows changes one resource over many epochs, by both of its sites, with fields that come and go. What the sites have on
// disk for it does not grow: neither the bytes of documents nor the rows of any table.
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
		return encoded(t, values)
	}
	must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), fields(0, 0)))
	must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), fields(0, 1)))
	settleAll(t, m)
	most := map[string]int64{}
	for round := range warmUp + *rounds {
		change(t, m, a.Resource, round*24, round*24+24, 0)
		must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), fields(round, nil)))
		settleAll(t, m)
		must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), fields(round+1, 1)))
		settleAll(t, m)
		if round < warmUp {
			for what, n := range stored(t, m) {
				most[what] = max(most[what], n)
			}
			continue
		}
		until(t, m, func() string {
			var grown []string
			for what, n := range stored(t, m) {
				if n > most[what]*5/4+8 {
					grown = append(grown, fmt.Sprintf("%s: %d, at most %d before", what, n, most[what]))
				}
			}
			if len(grown) == 0 {
				return ""
			}
			return fmt.Sprintf("after round %d there is more and more of %s", round, strings.Join(grown, "; "))
		})
	}
	t.Logf("after %d operations: %v", (warmUp+*rounds)*26+1, stored(t, m))
}

// TestADeletedResourceTakesLittle deletes resources that were changed with large bodies: of each there is little left, however much it
// was.
func TestADeletedResourceTakesLittle(t *testing.T) {
	m := open(t, Image, 2)
	forgetSoon(t, m)
	large := strings.Repeat("x", 20_000)
	const each = 4
	before := stored(t, m)
	for i := range each {
		a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", fmt.Sprintf(`{"n":%d,"text":%q}`, i, large), m.Sites...))
		settleAll(t, m)
		for j := range 4 {
			must(t, 200)(submit(t.Context(), m.Sites[j%2], Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"text":"%d%s"}`, j, large)))
		}
		settleAll(t, m)
		must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(a.Resource), ""))
	}
	// The changes are those that end the epoch: each site says that it goes on, that it has all, and that it has dropped the rest.
	most := map[string]int64{"bytes of documents": 6_000, "changes": 8, "documents": 2, "document_sites": 2, "resources": 1, "resource_sites": 2}
	until(t, m, func() string {
		left := stored(t, m)
		for what := range left {
			if left[what] = (left[what] - before[what]) / each; left[what] > most[what] {
				return fmt.Sprintf("a deleted resource leaves %d %s of %d at most: %v", left[what], what, most[what], left)
			}
		}
		t.Logf("each deleted resource leaves at a site: %v", left)
		return ""
	})
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
		var id string
		var at []*Site
		if id = string(a.Resource); method == "POST" {
			id, at = "", m.Sites
		}
		tried := paris.App.Tried()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := submit(t.Context(), paris, Image, method, id, deep, at...)
		runtime.ReadMemStats(&after)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Status != 413 || refusal.Type != "too-large" || !strings.Contains(refusal.Detail, "200 levels") {
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

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// forgetSoon has the sites forget rows of operations as soon as these are settled everywhere.
func forgetSoon(t *testing.T, m *Mesh) {
	t.Helper()
	m.keepOperations = 50 * time.Millisecond
	for _, s := range m.Sites {
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// stored counts, of the site that has more, the rows of each table that is not bounded by itself, and the bytes of the documents of
// resources: changes with their signatures, snapshots, checkpoints and what they begin with.
func stored(t *testing.T, m *Mesh) map[string]int64 {
	t.Helper()
	most := map[string]int64{}
	for _, s := range m.Sites {
		db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: filepath.Join(s.dir, "skerry.db")}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		count := func(what, query string) {
			var n int64
			if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			most[what] = max(most[what], n)
		}
		for _, table := range []string{"documents", "document_sites", "snapshots", "resources", "resource_sites", "resource_relations",
			"operations", "operation_sites", "intents", "outbox", "conflicts", "records"} {
			count(table, "SELECT count(*) FROM "+table)
		}
		count("changes", `SELECT count(*) FROM changes JOIN documents ON id = document AND mesh = 0`)
		count("bytes of documents", `SELECT
			(SELECT coalesce(sum(length(bytes) + length(signature)), 0) FROM changes JOIN documents ON id = document AND mesh = 0) +
			(SELECT coalesce(sum(length(bytes)), 0) FROM snapshots JOIN documents ON id = document AND mesh = 0) +
			(SELECT coalesce(sum(length(about) + length(heads) + coalesce(length(checkpoint), 0)), 0) FROM documents WHERE mesh = 0)`)
	}
	return most
}
