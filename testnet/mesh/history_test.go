package mesh

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// run is one random history of a mesh and what its clients were told.
type run struct {
	*Mesh
	t     *rapid.T
	ctx   context.Context
	kind  *engine.Kind
	cut   map[*Site]bool
	asked int
	made  []target
	acked map[engine.OperationID]bool // of which a client heard
	keyed map[string]engine.OperationID
}

// target is a resource that clients know.
type target struct {
	id    string
	sites []*Site
}

// TestInvariantHistories lets clients create, change, act on and delete resources at random sites, while sites are cut off,
// restarted and partly reconciled and applications refuse, lose requests and lose answers. Once all is quiet every
// acknowledged operation is accounted for, nothing was done twice, and what says that it has converged has.
func TestInvariantHistories(t *testing.T) {
	fewer(t)
	honours := *Image
	honours.HonoursKey = true
	kinds := []*engine.Kind{Image, &honours, natural}
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]
		m, err := Open(kind, rapid.IntRange(2, 4).Draw(t, "sites"))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := &run{Mesh: m, t: t, ctx: context.Background(), kind: kind, cut: map[*Site]bool{}, acked: map[engine.OperationID]bool{}, keyed: map[string]engine.OperationID{}}
		steps := []func(){r.request, r.request, r.request, r.request, r.inject, r.cutOrHeal, r.exchange, r.exchange, r.restart}
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
		}
		r.settle()
		r.check()
	})
}

// fewer has rapid check less than it does by default: each check is a mesh of its own.
func fewer(t *testing.T) {
	t.Helper()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("40"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
	}
}

func (r *run) site(name string) *Site {
	return r.Sites[rapid.IntRange(0, len(r.Sites)-1).Draw(r.t, name)]
}

func (r *run) request() {
	at := r.site("at")
	method := rapid.SampledFrom([]string{"CREATE", "PUT", "PATCH", "PATCH", "START", "DELETE"}).Draw(r.t, "method")
	r.asked++
	body := fmt.Sprintf(`{"made":%d,"%s":%d}`, r.asked, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r.t, "field"), r.asked)
	var to target
	if method == "CREATE" || len(r.made) == 0 {
		method = "POST"
		count := rapid.IntRange(2, len(r.Sites)).Draw(r.t, "placement")
		first := rapid.IntRange(0, len(r.Sites)-1).Draw(r.t, "from")
		to.sites = slices.Concat(r.Sites, r.Sites)[first : first+count]
		if r.kind == natural {
			method, to.id = "PUT", rapid.SampledFrom([]string{"x", "y"}).Draw(r.t, "id")
		}
	} else {
		to = r.made[rapid.IntRange(0, len(r.made)-1).Draw(r.t, "target")]
		if method == "PATCH" {
			body = fmt.Sprintf(`{"%s":%s}`, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r.t, "field"),
				rapid.SampledFrom([]string{"null", fmt.Sprint(r.asked)}).Draw(r.t, "value"))
		}
	}
	if method == "START" || method == "DELETE" {
		body = ""
	}
	q := request(r.kind, method, to.id, body, to.sites...)
	times := 1
	if rapid.Bool().Draw(r.t, "with key") {
		q.Key, q.Caller = fmt.Sprint("key ", r.asked), "client"
		times = rapid.IntRange(1, 2).Draw(r.t, "times")
	}
	for range times {
		a, err := at.Submit(r.ctx, q)
		var refusal *engine.Refusal
		op := a.Operation
		switch {
		case errors.As(err, &refusal):
			op = refusal.Operation
			r.t.Logf("%s %s %s%s: %v", at.Name, method, to.id, body, refusal)
		case err != nil:
			r.t.Fatalf("%s %s %s: %v", at.Name, method, to.id, err)
		default:
			r.t.Logf("%s %s %s%s: %d %s %s", at.Name, method, to.id, body, a.Status, a.Operation, a.Resource)
		}
		if op == "" {
			continue
		}
		r.acked[op] = true
		if q.Key != "" && a.Status < 300 {
			if first, ok := r.keyed[q.Key]; ok && first != op {
				r.t.Fatalf("one key made operations %s and %s", first, op)
			}
			r.keyed[q.Key] = op
		}
		if known := slices.ContainsFunc(r.made, func(k target) bool { return k.id == string(a.Resource) }); a.Status == 201 && !known {
			r.made = append(r.made, target{string(a.Resource), to.sites})
		}
	}
}

func (r *run) inject() {
	fault := rapid.SampledFrom([]Fault{Refuses, Fails, DoesAndFails, Denies, Rejects}).Draw(r.t, "fault")
	r.site("faulty").App.Inject(fault)
}

func (r *run) cutOrHeal() {
	s := r.site("cut")
	r.cut[s] = !r.cut[s]
	r.Cut(s, r.cut[s])
}

func (r *run) exchange() {
	a, b := r.site("to"), r.site("from")
	if a == b || r.cut[a] || r.cut[b] {
		return
	}
	a.pull(b)
}

func (r *run) restart() {
	s := r.site("restarted")
	if err := s.Restart(); err != nil {
		r.t.Fatal(err)
	}
}

// settle heals everything and waits until nothing happens any more.
func (r *run) settle() {
	for _, s := range r.Sites {
		s.App.faults = nil
		if r.cut[s] {
			r.Cut(s, false)
		}
	}
	r.rest(lookEvery) // what has halted a service goes by
	until(r.t, r.Mesh, func() string {
		left := r.unsettled()
		if left == "" {
			return ""
		}
		for _, s := range r.Sites {
			rows, _, _ := s.Disk.Resources(r.ctx, engine.ResourceFilter{})
			for _, row := range rows {
				left += fmt.Sprintf("\n%s: %s (%.6s) is %s as %q: %s; here: %+v", s.Name, row.ID, row.Document, row.State, row.Local, row.Reason, row.Sites[s.ID])
			}
		}
		return "it does not become quiet: " + left
	})
}

// unsettled tells of something that is neither done nor waits for a person.
func (r *run) unsettled() string {
	uncertain := map[engine.OperationID]bool{}
	for _, s := range r.Sites {
		for _, o := range r.operations(s) {
			uncertain[o.ID] = uncertain[o.ID] || o.Sites[s.ID].State == engine.StateUncertain
		}
		for _, c := range r.conflicts(s) {
			uncertain[c.Operation] = true
		}
	}
	blocked := slices.Contains(slices.Collect(maps.Values(uncertain)), true) // what is kept may wait behind that
	for _, s := range r.Sites {
		waits := map[engine.DocumentID]bool{} // for a person, here
		for _, o := range r.operations(s) {
			st := o.Sites[s.ID]
			waits[o.Document] = waits[o.Document] || st.State == engine.StateUncertain || st.State == engine.StateRejected && o.Type == engine.TypeCreate
		}
		for _, c := range r.conflicts(s) {
			waits[c.Document] = true
		}
		for _, o := range r.operations(s) {
			if here, ok := o.Sites[s.ID]; ok && (here.State == engine.StatePending || here.State == engine.StatePaused) && !waits[o.Document] && !(o.Document == "" && blocked) {
				return fmt.Sprintf("%s of %s is %s at %s: %s", o.Type, o.Resource, here.State, s.Name, here.Error)
			}
		}
		errands, err := s.Disk.Errands(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range errands {
			if !uncertain[e.Operation] {
				return fmt.Sprintf("the errand of %s is open at %s", e.Operation, s.Name)
			}
		}
		kept, err := s.Disk.Outbox(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, k := range kept {
			if !uncertain[k.Operation] && !blocked {
				return fmt.Sprintf("operation %s is kept at %s", k.Operation, s.Name)
			}
		}
	}
	for _, a := range r.Sites {
		for _, b := range r.Sites {
			if a != b && len(r.Differ(a.Site, b.Site)) > 0 {
				return fmt.Sprintf("%s and %s hold different documents", a.Name, b.Name)
			}
		}
	}
	return ""
}

// conflicts are those that a person is to decide at a site.
func (r *run) conflicts(s *Site) []engine.Conflict {
	list, _, err := s.Disk.Conflicts(r.ctx, engine.ConflictFilter{Site: s.ID, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *run) operations(s *Site) []engine.OperationRow {
	rows, _, err := s.Disk.Operations(r.ctx, engine.OperationFilter{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

func (r *run) check() {
	found := map[engine.OperationID]bool{}
	objects := map[engine.DocumentID]string{} // what converged resources show
	for _, s := range r.Sites {
		doubtful := false
		for _, o := range r.operations(s) {
			found[o.ID] = true
			st, ok := o.Sites[s.ID]
			doubtful = doubtful || ok && (st.State == engine.StateUncertain || st.State == engine.StateRejected)
		}
		var rows []engine.ResourceRow
		for _, state := range []engine.State{"", engine.StateDeleted} {
			some, _, err := s.Disk.Resources(r.ctx, engine.ResourceFilter{State: state, Limit: 1000})
			if err != nil {
				r.t.Fatal(err)
			}
			rows = append(rows, some...)
		}
		owned := map[string]bool{}
		for _, row := range rows {
			object, exists := s.App.objects[string(row.Local)]
			if row.State != engine.StateDeleted { // of that its row tells what the object was called
				owned[string(row.Local)] = true
			}
			switch {
			case row.State == engine.StateDeleted && exists:
				r.t.Errorf("%s says that deleted %s is there as %s", s.Name, row.ID, row.Local)
			case row.State == engine.StateConverged && !exists:
				r.t.Errorf("%s says that %s is there as %q, and it is not", s.Name, row.ID, row.Local)
			case row.State == engine.StateConverged:
				shows := string(encode(without(object, "id")))
				if other, ok := objects[row.Document]; ok && other != shows {
					r.t.Errorf("%s shows %s of %s, another site %s", s.Name, shows, row.ID, other)
				}
				objects[row.Document] = shows
			case row.State != engine.StateDeleted && row.Reason == "":
				r.t.Errorf("%s does not say why %s is %s", s.Name, row.ID, row.State)
			}
		}
		for id := range s.App.objects {
			if !owned[id] && !doubtful {
				r.t.Errorf("%s has object %s, which belongs to nothing", s.Name, id)
			}
		}
		made := map[any]int{}
		for _, n := range s.App.created {
			made[n]++
		}
		for n, times := range made {
			if r.kind != natural && times > 1 {
				r.t.Errorf("%s created what request %v asked for %d times", s.Name, n, times)
			}
		}
		for key, times := range s.App.actions {
			if times > 1 {
				r.t.Errorf("%s ran %s %d times", s.Name, key, times)
			}
		}
	}
	for _, p := range r.Problems {
		r.t.Error(p)
	}
	for id := range r.acked {
		if !found[id] {
			r.t.Errorf("no site knows operation %s, of which a client was told", id)
		}
	}
}
