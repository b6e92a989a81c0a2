package mesh

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInvariantAPoisonedOperationIsSetAside has an application stumble over one operation each time it comes, while it does what else it is
// asked, or while nothing else is asked of it. After a few tries a person is asked; nothing else waits for it meanwhile, and the service does
// not count as failing. While nothing else is asked, nobody can tell whether it fails: people are told that it does until the operation is set aside.
func TestInvariantAPoisonedOperationIsSetAside(t *testing.T) {
	for _, c := range []struct {
		others bool
		decide engine.Action
	}{{true, engine.ActionRetry}, {true, engine.ActionDrop}, {false, engine.ActionRetry}} {
		t.Run(fmt.Sprintf("others %v, %s", c.others, c.decide), func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			poisoned := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"a"}`, m.Sites...))
			other := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"b"}`, m.Sites...))
			converge(t, m, m.Sites...)
			row, err := nantes.Lookup(t.Context(), Image, string(poisoned.Resource))
			if err != nil {
				t.Fatal(err)
			}
			nantes.App.Refuse(string(row.Local), 500)
			o := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(poisoned.Resource), `{"size":1}`)).Operation
			var listed []engine.Conflict
			n := 0
			for until := m.Now.Add(time.Hour); len(listed) == 0 && m.Now.Before(until); n++ {
				if c.others {
					must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(other.Resource), fmt.Sprintf(`{"size":%d}`, n)))
				}
				m.rest(20 * time.Millisecond)
				if q := queueOf(nantes); q.State != engine.QueueRunning && (c.others || q.Waiting != 1) {
					t.Fatalf("the queue is %+v", q)
				}
				if listed, _, err = paris.Disk.Conflicts(t.Context(), engine.ConflictFilter{}); err != nil {
					t.Fatal(err)
				}
			}
			if len(listed) != 1 || listed[0].Operation != o || listed[0].Site != nantes.ID || listed[0].Kind != engine.ConflictUncertain || !strings.Contains(listed[0].Reason, "500") {
				t.Fatalf("what waits for a person is %+v", listed)
			}
			if q := queueOf(nantes); q.State != engine.QueueRunning {
				t.Errorf("once it is set aside, the queue is %+v", q)
			}
			tried := nantes.App.Tried()
			m.rest(time.Minute)
			if n := nantes.App.Tried(); n != tried {
				t.Errorf("it is tried %d times more", n-tried)
			}
			nantes.App.Refuse(string(row.Local), 0)
			must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(other.Resource), `{"name":"c"}`))
			if err := nantes.Resolve(t.Context(), listed[0].ID, c.decide, ""); err != nil {
				t.Fatal(err)
			}
			if c.decide == engine.ActionRetry {
				converge(t, m, m.Sites...)
			}
			until(t, m, func() string {
				row, err := nantes.Disk.Operation(t.Context(), o)
				if st := row.Sites[nantes.ID].State; err != nil || st == engine.StateUncertain || st == engine.StatePending {
					return fmt.Sprintf("it is %s, %v", st, err)
				}
				return ""
			})
		})
	}
}
