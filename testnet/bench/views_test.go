package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

// How much there is in a store that a page has to be quick with.
const (
	manyResources  = 10_000
	manyOperations = 1_000
	manyConflicts  = 200
)

// BenchmarkViews measures each view over a store on disk with thousands of resources: the mean, p50 and p99 in milliseconds, and how large it is.
func BenchmarkViews(b *testing.B) {
	server, resource, operation := crowded(b)
	for _, v := range []struct{ name, path string }{
		{"overview", "/"},
		{"sites", "/sites"},
		{"site", "/sites/paris"},
		{"resources", "/resources"},
		{"resources-deep", "/resources?state=converged&site=nantes"},
		{"resources-rare", "/resources?state=degraded"},
		{"resources-search", "/resources?q=99"},
		{"resource", resource},
		{"operations", "/operations"},
		{"operations-pending", "/operations?state=pending&site=nantes"},
		{"operation", operation},
		{"conflicts", "/conflicts"},
		{"relations", "/relations"},
		{"events", "/events"},
		{"compose", "/compose?service=images&method=POST&path=/images&scope=images:+paris+%26+nantes"},
	} {
		b.Run(v.name, func(b *testing.B) {
			var took []time.Duration
			size := 0
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8700"+v.path, nil)
				r.Header.Set("Accept", "text/html")
				w := httptest.NewRecorder()
				begin := time.Now()
				server.ServeHTTP(w, r)
				took = append(took, time.Since(begin))
				size = w.Body.Len()
				if w.Code != http.StatusOK {
					b.Fatalf("%s: %d %s", v.path, w.Code, w.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(size)/1024, "KiB")
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
			}
		})
	}
}

// crowded is a server over a full store, with the addresses of a resource and of an operation in it.
func crowded(b *testing.B) (server *web.Server, resource, operation string) {
	b.Helper()
	store, err := storage.Open(b.TempDir(), storage.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	site := webtest.Generous()
	fill(b, store, site.Self())
	c := site.Config("127.0.0.1:8700")
	c.Store, c.Counter = store, store
	if server, err = web.New(c); err != nil {
		b.Fatal(err)
	}
	return server, "/resources/r-9990?service=images&kind=image", "/operations/o-990"
}

func fill(b *testing.B, store *storage.Store, self engine.SiteID) {
	b.Helper()
	start := time.Now().Add(-manyResources * time.Minute)
	var batch engine.Batch
	commit := func() {
		if err := store.Commit(context.Background(), &batch); err != nil {
			b.Fatal(err)
		}
		batch = engine.Batch{}
	}
	for i := range manyResources {
		state := engine.StateConverged
		switch {
		case i%500 == 0:
			state = engine.StateDegraded
		case i%100 == 0:
			state = engine.StateConverging
		}
		document := engine.DocumentID(fmt.Sprintf("%064x", i))
		at := start.Add(time.Duration(i) * time.Minute)
		sites := map[engine.SiteID]engine.ReplicaStatus{}
		for _, s := range []engine.SiteID{self, webtest.Nantes, webtest.Toulouse}[:2+i%2] {
			sites[s] = engine.ReplicaStatus{Local: engine.LocalID(fmt.Sprintf("img-%d", i)), State: state, Applied: 3}
		}
		row := engine.ResourceRow{Document: document, ID: engine.ResourceID(fmt.Sprintf("r-%d", i)),
			Service: "images", Kind: "image", Collaboration: engine.Replication, Local: engine.LocalID(fmt.Sprintf("img-%d", i)), State: state,
			CreatedAt: at, UpdatedAt: at, Sites: sites}
		batch.Records = append(batch.Records, engine.Record{Row: row, About: []byte{}, Mine: []byte{}, Statuses: []byte{}, Peers: []engine.SiteID{webtest.Nantes}})
		if i < manyResources-manyOperations {
			if i%1000 == 999 {
				commit()
			}
			continue
		}
		n := i - (manyResources - manyOperations)
		o := engine.OperationRow{ID: engine.OperationID(fmt.Sprintf("o-%d", n)), Document: document, Resource: row.ID,
			Type: engine.TypeMerge, Service: "images", Kind: "image", Method: "PATCH", Path: "/images/{id}", Origin: self, User: "ada", IssuedAt: at,
			State: engine.StateApplied, Sites: map[engine.SiteID]engine.OperationStatus{self: {State: engine.StateApplied, Status: 200, At: at, Attempts: 1}},
			Change: []byte(`{"set":{"/name":"x"}}`), Body: []byte(`{"name":"x"}`)}
		if n%10 == 0 {
			o.State, o.Sites[webtest.Nantes] = engine.StatePending, engine.OperationStatus{State: engine.StatePending}
		}
		batch.Operations = append(batch.Operations, o)
		if n < manyConflicts {
			batch.Conflicts = append(batch.Conflicts, engine.Conflict{ID: engine.ConflictID(fmt.Sprintf("%016x", n)), Kind: engine.ConflictRefused,
				Document: document, Resource: o.Resource, Service: "images", KindName: "image", Site: self, Operation: o.ID, Type: o.Type, Since: at,
				Reason: "the application refused this change: it answered \"no such name\" (422 Unprocessable Entity)", Actions: []engine.Action{engine.ActionRetry}})
		}
		if i%1000 == 999 {
			commit()
		}
	}
}
