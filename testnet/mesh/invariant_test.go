package mesh

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInvariantLocalFirst has the other sites answer nothing for good, though they look as if they could be reached: whatever a client
// asks of what is here is done all the same.
func TestInvariantLocalFirst(t *testing.T) {
	m := open(t, Image, 3)
	paris := m.Sites[0]
	shared := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"shared"}`, m.Sites...)).Resource
	converge(t, m, m.Sites...)
	m.Silent = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must(t, 201)(submit(ctx, paris, Image, "POST", "", `{"name":"alone"}`, paris))
	made := must(t, 201)(submit(ctx, paris, Image, "POST", "", `{"name":"made"}`, m.Sites...)).Resource
	for _, id := range []engine.ResourceID{shared, made} {
		must(t, 200)(submit(ctx, paris, Image, "PATCH", string(id), `{"size":1}`))
		must(t, 200)(submit(ctx, paris, Image, "PUT", string(id), `{"name":"n","size":2}`))
		must(t, 200)(submit(ctx, paris, Image, "START", string(id), ""))
		must(t, 204)(paris.Submit(ctx, putFile(id, large('x', 100<<10))))
	}
	must(t, 204)(submit(ctx, paris, Image, "DELETE", string(made), ""))
	last := must(t, 202)(paris.Submit(ctx, deferred(request(Image, "PATCH", string(shared), `{"size":3}`), 0))).Operation
	m.Silent = false
	await(t, m, m.Sites[2], last, engine.StateApplied)
}

// TestInvariantNothingHidden brings about each state that is not "converged": the resource says so, and why, at every site, so does the
// operation that is in it where it is known, and an event has told it.
func TestInvariantNothingHidden(t *testing.T) {
	patch := func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
		return must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(id), `{"name":"other"}`)).Operation
	}
	start := func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
		return must(t, 200)(submit(t.Context(), m.Sites[0], Image, "START", string(id), "")).Operation
	}
	// behind brings something about at nantes first.
	behind := func(bring func(*Application), ask func(*testing.T, *Mesh, engine.ResourceID) engine.OperationID) func(*testing.T, *Mesh, engine.ResourceID) engine.OperationID {
		return func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			bring(m.Sites[1].App)
			return ask(t, m, id)
		}
	}
	for _, c := range []struct {
		name      string
		bring     func(*testing.T, *Mesh, engine.ResourceID) engine.OperationID
		at        int // the site where it is in this state
		operation engine.State
		resource  engine.State
		listed    int // at how many sites the operation is
	}{
		{"pending", behind(func(a *Application) { a.Always(Away) }, patch), 1, engine.StatePending, engine.StateConverging, 2},
		{"rejected", behind(func(a *Application) { a.Inject(Rejects) }, patch), 1, engine.StateRejected, engine.StateDegraded, 2},
		{"conflicting", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			m.Sites[1].App.Refuse(local(t, m.Sites[1]), http.StatusConflict)
			return patch(t, m, id)
		}, 1, engine.StateRejected, engine.StateConflict, 2},
		{"uncertain", behind(func(a *Application) { a.Inject(DoesAndFails) }, start), 1, engine.StateUncertain, engine.StateDegraded, 2},
		{"uncertain where it ran first", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			m.Sites[0].App.Inject(DoesAndFails)
			_, err := submit(t.Context(), m.Sites[0], Image, "START", string(id), "")
			return wantRefusal(t, err, http.StatusGatewayTimeout).Operation
		}, 0, engine.StateUncertain, engine.StateDegraded, 1},
		{"not let in", behind(func(a *Application) { a.Always(Denies) }, patch), 1, engine.StatePaused, engine.StateDegraded, 2},
		{"paused", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			if err := m.Sites[1].Pause(t.Context(), document(t, m.Sites[1], id), m.Sites[1].ID, "moving disks"); err != nil {
				t.Fatal(err)
			}
			return patch(t, m, id)
		}, 1, engine.StatePaused, engine.StateConverging, 2},
		{"held", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			m.Sites[1].deletions = engine.DeletionLimits{Late: time.Nanosecond, Number: 1}
			if err := m.Sites[1].Restart(); err != nil {
				t.Fatal(err)
			}
			first := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{}`, m.Sites...)).Resource
			converge(t, m, m.Sites...)
			await(t, m, m.Sites[1], must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(first), "")).Operation, engine.StateApplied)
			return must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(id), "")).Operation
		}, 1, engine.StateHeld, engine.StateConverging, 2},
		{"drifted", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			m.Sites[1].App.Change(local(t, m.Sites[1]), "name", "changed behind the agent")
			if err := m.Sites[1].Check(t.Context(), document(t, m.Sites[1], id)); err != nil {
				t.Fatal(err)
			}
			return ""
		}, 1, "", engine.StateDegraded, 2},
		{"superseded", func(t *testing.T, m *Mesh, id engine.ResourceID) engine.OperationID {
			m.Cut(m.Sites[1], true)
			must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(id), ""))
			o := must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(id), `{"name":"late"}`)).Operation
			m.Cut(m.Sites[1], false)
			return o
		}, 0, engine.StateSuperseded, engine.StateDeleted, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, Image, 2)
			id := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...)).Resource
			awaitStates(t, m, "converged", func(_ *Site, row engine.ResourceRow) bool { return row.State == engine.StateConverged })
			o := c.bring(t, m, id)
			for i, s := range m.Sites {
				until(t, m, func() string {
					row, err := s.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, id)
					if err != nil || row.State != c.resource || row.Reason == "" && !row.State.Past() {
						return fmt.Sprintf("%s says %s: %q (%v); want %s and a reason", s.Name, row.State, row.Reason, err, c.resource)
					}
					if c.operation == "" || i >= c.listed {
						return ""
					}
					listed, err := s.Disk.Operation(t.Context(), o)
					if is := listed.Sites[m.Sites[c.at].ID].State; err != nil || is != c.operation {
						return fmt.Sprintf("%s says of the operation at %s: %s (%v), want %s", s.Name, m.Sites[c.at].Name, is, err, c.operation)
					}
					return ""
				})
				if eventsOf(t, s, "resource."+string(c.resource)) == 0 {
					t.Errorf("%s has told nobody that the resource is %s", s.Name, c.resource)
				}
			}
		})
	}
}
