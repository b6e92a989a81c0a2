package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// The sites of a placement, as long as they are.
var benchSites = []engine.SiteID{
	"12D3KooWA1parisparisparisparisparisparisparisparispar", "12D3KooWB2nantesnantesnantesnantesnantesnantesnantesna",
	"12D3KooWC3lyonlyonlyonlyonlyonlyonlyonlyonlyonlyonlyo"}

// created are the three commits of a replicated create at one site: it has heard of the operation; the application has it; all
// sites have it.
type created struct{ heard, applied, converged engine.Batch }

func createOf(n int) created {
	sum := sha256.Sum256(fmt.Append(nil, "document", n))
	document := engine.DocumentID(hex.EncodeToString(sum[:]))
	name := fmt.Sprintf("web-%x", sum[:4])
	at := time.Unix(1_790_000_000, int64(n)*1000).UTC()
	operation := engine.OperationID(fmt.Sprintf("0190b000-0000-7000-8000-%012d", n))
	row := engine.ResourceRow{Document: document, ID: engine.ResourceID(name), Service: "kubernetes", Kind: "deployments.apps",
		Collaboration: engine.Replication, State: engine.StateConverging, CreatedAt: at, UpdatedAt: at, Pending: true,
		Sites: map[engine.SiteID]engine.ReplicaStatus{}}
	for _, s := range benchSites {
		row.Sites[s] = engine.ReplicaStatus{State: engine.StateConverging, Pending: 1}
	}
	digest := engine.Fingerprint{uint64(n), 1, 2, 3}
	change := &engine.Change{SignedChange: engine.SignedChange{Line: engine.LineOf(benchSites[0], "1"), Signature: make([]byte, 64), Bytes: bytes.Repeat([]byte{'c'}, 600)},
		Document: document, Number: 1}
	var c created
	c.heard = engine.Batch{Changes: []*engine.Change{change}, Records: []engine.Record{{Row: row, About: bytes.Repeat([]byte{'a'}, 250),
		Mine: bytes.Repeat([]byte{'m'}, 300), Digest: digest, Peers: benchSites[1:], Hollow: true}}}

	op := engine.OperationRow{ID: operation, Document: document, Resource: row.ID, Type: engine.TypeCreate, Service: row.Service,
		Kind: row.Kind, Method: "POST", Path: "/apis/apps/v1/namespaces/default/deployments", Scope: "{kubernetes: paris & nantes & lyon}",
		Origin: benchSites[0], User: "ada", IssuedAt: at, State: engine.StatePending, Sites: map[engine.SiteID]engine.OperationStatus{},
		Change: json.RawMessage(`{"set":{"/spec/replicas":3,"/metadata/name":"` + name + `","/spec/template/spec/containers":[{"image":"nginx","name":"web"}]}}`),
		Body:   []byte(`{"metadata":{"name":"` + name + `"},"spec":{"replicas":3,"template":{"spec":{"containers":[{"image":"nginx","name":"web"}]}}}}`)}
	for _, s := range benchSites {
		op.Sites[s] = engine.OperationStatus{State: engine.StatePending}
	}
	op.Sites[benchSites[0]] = engine.OperationStatus{State: engine.StateApplied, Status: 201, At: at, Attempts: 1}
	row.Local, row.Label, row.Sites = engine.LocalID(name), name, map[engine.SiteID]engine.ReplicaStatus{}
	for _, s := range benchSites {
		row.Sites[s] = engine.ReplicaStatus{Local: row.Local, State: engine.StateConverging, Applied: 1}
	}
	event := func(kind string) engine.Event {
		return engine.Event{Type: kind, Subject: string(operation), Time: at, Data: []byte(`{"resource":"` + name + `","service":"kubernetes"}`)}
	}
	c.applied = engine.Batch{Operations: []engine.OperationRow{op}, Events: []engine.Event{event("operation.accepted"), event("operation.applied"), event("resource.created")},
		Records: []engine.Record{{Row: row, Mine: bytes.Repeat([]byte{'n'}, 400), Digest: digest, Peers: benchSites[1:]}}}

	row.State, row.Pending, row.Sites = engine.StateConverged, false, map[engine.SiteID]engine.ReplicaStatus{}
	op.State, op.Sites = engine.StateApplied, map[engine.SiteID]engine.OperationStatus{}
	for _, s := range benchSites {
		row.Sites[s] = engine.ReplicaStatus{Local: row.Local, State: engine.StateConverged, Applied: 1}
		op.Sites[s] = engine.OperationStatus{State: engine.StateApplied, Status: 201, At: at, Attempts: 1}
	}
	digest[1]++
	c.converged = engine.Batch{Operations: []engine.OperationRow{op}, Events: []engine.Event{event("operation.converged"), event("resource.converged")},
		Records: []engine.Record{{Row: row, Statuses: bytes.Repeat([]byte{'s'}, 900), Digest: digest, Peers: benchSites[1:]}}}
	return c
}

// join puts batches into one.
func join(all []*engine.Batch) *engine.Batch {
	var b engine.Batch
	for _, one := range all {
		b.Records = append(b.Records, one.Records...)
		b.Changes = append(b.Changes, one.Changes...)
		b.Operations = append(b.Operations, one.Operations...)
		b.Events = append(b.Events, one.Events...)
	}
	return &b
}

// createAll commits n creates from first on, size at a time.
func createAll(b *testing.B, s *Store, first, n, size int) {
	b.Helper()
	for from := first; from < first+n; from += size {
		all := make([]created, min(size, first+n-from))
		parts := [3][]*engine.Batch{}
		for i := range all {
			all[i] = createOf(from + i)
			for j, part := range []*engine.Batch{&all[i].heard, &all[i].applied, &all[i].converged} {
				parts[j] = append(parts[j], part)
			}
		}
		for _, part := range parts {
			mustCommit(b, s, join(part))
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCreate measures what a replicated create costs one site, by how many share a commit, in a store that is empty and
// in one with 100,000 resources.
func BenchmarkCreate(b *testing.B) {
	for _, there := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("there=%d", there), func(b *testing.B) {
			s := open(b, b.TempDir())
			createAll(b, s, 0, there, 1000)
			next := there
			for _, size := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) { benchmarkCreates(b, s, &next, size) })
			}
		})
	}
}

func benchmarkCreates(b *testing.B, s *Store, next *int, size int) {
	var took, used time.Duration
	ran, creates, commits := s.queue.writer.ran, 0, 0
	for creates < b.N {
		parts := [3][]*engine.Batch{}
		for range size {
			c := createOf(*next)
			*next++
			parts[0], parts[1], parts[2] = append(parts[0], &c.heard), append(parts[1], &c.applied), append(parts[2], &c.converged)
		}
		for _, p := range parts {
			batch := join(p)
			begin, before := time.Now(), cpu()
			mustCommit(b, s, batch)
			took, used = took+time.Since(begin), used+cpu()-before
		}
		creates, commits = creates+size, commits+3
	}
	n := float64(creates)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(used.Nanoseconds())/1000/n, "cpu-µs/create")
	b.ReportMetric(float64(s.queue.writer.ran-ran)/n, "statements/create")
	b.ReportMetric(float64(commits)/took.Seconds(), "commits/s")
	b.ReportMetric(n/took.Seconds(), "creates/s")
}

// BenchmarkReads works on 100,000 resources, of which every thousandth is in conflict.
func BenchmarkReads(b *testing.B) {
	const resources = 100_000
	s := open(b, b.TempDir())
	createAll(b, s, 0, resources, 1000)
	var conflicts engine.Batch
	for n := 0; n < resources; n += 1000 {
		r := createOf(n).converged.Records[0]
		r.Row.State = engine.StateConflict
		conflicts.Records = append(conflicts.Records, r)
		o := createOf(n).applied.Operations[0]
		conflicts.Operations = append(conflicts.Operations, o)
		conflicts.Conflicts = append(conflicts.Conflicts, engine.Conflict{ID: engine.ConflictID(o.ID), Kind: engine.ConflictDrift, Document: r.Row.Document,
			Service: r.Row.Service, KindName: r.Row.Kind, Site: benchSites[0]})
	}
	mustCommit(b, s, &conflicts)
	some := createOf(4711).converged.Records[0].Row
	operation := createOf(4711).applied.Operations[0].ID
	_, middle, err := s.Resources(b.Context(), engine.ResourceFilter{Limit: 1000})
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, do func() (int, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := do(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
	for _, tt := range []struct {
		name string
		f    engine.ResourceFilter
	}{
		{"all", engine.ResourceFilter{}},
		{"later page", engine.ResourceFilter{Cursor: middle}},
		{"site", engine.ResourceFilter{Site: benchSites[1]}},
		{"rare state", engine.ResourceFilter{State: engine.StateConflict}},
		{"rare state at site", engine.ResourceFilter{State: engine.StateConflict, Site: benchSites[0], Service: "kubernetes"}},
		{"kind", engine.ResourceFilter{Service: "kubernetes", Kind: "deployments.apps", State: engine.StateConverged}},
		{"query", engine.ResourceFilter{Query: string(some.ID)}},
		{"by name", engine.ResourceFilter{Order: engine.OrderName}},
		{"by change", engine.ResourceFilter{Order: engine.OrderChanged}},
	} {
		run("resources/"+tt.name, func() (int, error) {
			rows, _, err := s.Resources(b.Context(), tt.f)
			return len(rows), err
		})
	}
	run("resources/of a site that has none", func() (int, error) {
		rows, _, err := s.Resources(b.Context(), engine.ResourceFilter{Site: "none"})
		return 1 + len(rows), err
	})
	for _, tt := range []struct {
		name string
		f    engine.OperationFilter
	}{
		{"all", engine.OperationFilter{}},
		{"pending at site", engine.OperationFilter{Site: benchSites[1], State: engine.StatePending}},
		{"oldest pending", engine.OperationFilter{State: engine.StatePending, Oldest: true, Limit: 1}},
		{"of a document", engine.OperationFilter{Document: some.Document}},
		{"of a resource", engine.OperationFilter{Resource: some.ID}},
		{"words", engine.OperationFilter{Words: []engine.SearchWord{{Text: string(some.ID)}}}},
	} {
		run("operations/"+tt.name, func() (int, error) {
			rows, _, err := s.Operations(b.Context(), tt.f)
			return len(rows), err
		})
	}
	run("CountResources", func() (int, error) {
		counts, err := s.CountResources(b.Context())
		return counts[engine.StateConflict], err
	})
	for _, text := range []string{"", string(some.ID)} {
		run("TallyResources/"+text, func() (int, error) {
			tallies, err := s.TallyResources(b.Context(), text)
			return len(tallies), err
		})
	}
	run("CountOperations", func() (int, error) {
		counts, err := s.CountOperations(b.Context())
		return counts[engine.StateApplied], err
	})
	run("CountConflicts", func() (int, error) {
		s.causes.forget(&engine.Batch{Conflicts: conflicts.Conflicts})
		counts, err := s.CountConflicts(b.Context())
		return len(counts), err
	})
	run("ResourceByID", func() (int, error) {
		r, err := s.ResourceByID(b.Context(), some.Service, some.Kind, some.ID)
		return len(r.Sites), err
	})
	run("ResourceByLocal", func() (int, error) {
		r, err := s.ResourceByLocal(b.Context(), some.Service, some.Kind, some.Local)
		return len(r.Sites), err
	})
	run("Operation", func() (int, error) {
		r, err := s.Operation(b.Context(), operation)
		return len(r.Sites), err
	})
	run("Record and Changes", func() (int, error) {
		if _, err := s.Record(b.Context(), some.Document); err != nil {
			return 0, err
		}
		changes, _, err := s.Changes(b.Context(), some.Document, nil, 0)
		return len(changes), err
	})
	run("Digests of a range", func() (int, error) {
		all, err := s.Digests(b.Context(), benchSites[1], engine.Range{Depth: 2, First: 77})
		return len(all), err
	})
	run("AllDigests", func() (n int, err error) {
		err = s.AllDigests(b.Context(), func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint) { n++ })
		return n, err
	})
	run("Pending", func() (int, error) {
		all, err := s.Pending(b.Context())
		return 1 + len(all), err
	})
	run("Events", func() (int, error) {
		all, err := s.Events(b.Context(), 5*resources-1000, 100)
		return len(all), err
	})
}

// BenchmarkOpen opens the store of a site with 10,000 resources, and reads all that a start has to know of each.
func BenchmarkOpen(b *testing.B) {
	const resources = 100_000
	dir := b.TempDir()
	s := open(b, dir)
	createAll(b, s, 0, resources, 1000)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		if err := s.AllDigests(b.Context(), func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint) { n++ }); err != nil || n != resources {
			b.Fatal(n, err)
		}
		if _, err := s.Pending(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
