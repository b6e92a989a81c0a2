package mesh

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func queueOf(s *Site) engine.QueueStatus { return s.Proc.Site.Queues()["images"] }

// told is what the mesh document, as a site knows it, says of another's queue.
func told(by, of *Site) engine.QueueStatus {
	for _, m := range by.Proc.Mesh.Members() {
		if m.ID == of.ID {
			return m.Queues["images"]
		}
	}
	return engine.QueueStatus{}
}

func eventsOf(t *testing.T, s *Site, kind string) int {
	t.Helper()
	n := 0
	for after := uint64(0); ; {
		events, err := s.Disk.Events(t.Context(), after, 256)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return n
		}
		for _, e := range events {
			if after = e.Seq; e.Type == kind {
				n++
			}
		}
	}
}

func TestWrongCredentialsPauseAQueueAndItSaysSo(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Always(Denies)
	var ops []engine.OperationID
	for i := range 5 {
		a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"name":"%d"}`, i), m.Sites...))
		ops = append(ops, a.Operation)
	}
	for _, at := range m.Sites { // the reason is known everywhere
		for _, op := range ops {
			until(t, m, func() string {
				row, err := at.Disk.Operation(t.Context(), op)
				if st := row.Sites[nantes.ID]; err != nil || st.State != engine.StatePaused || !strings.Contains(st.Error, "401") {
					return fmt.Sprintf("%s says of nantes: %+v, %v", at.Name, st, err)
				}
				return ""
			})
		}
		rows, _, err := at.Disk.Resources(t.Context(), engine.ResourceFilter{State: engine.StateDegraded})
		if err != nil || len(rows) != 5 || !strings.Contains(rows[0].Reason, "does not let the agent in") {
			t.Errorf("%s lists %+v, %v", at.Name, rows, err)
		}
	}
	until(t, m, func() string {
		if q, p := queueOf(nantes), told(paris, nantes); q.State != engine.QueuePaused || q.Waiting != 5 || p.State != engine.QueuePaused || p.Reason == "" {
			return fmt.Sprintf("nantes says %+v, paris %+v", q, p)
		}
		return ""
	})
	if q := queueOf(paris); q.State != engine.QueueRunning {
		t.Errorf("at paris the queue is %+v", q)
	}
	if n := eventsOf(t, nantes, "queue.paused"); n != 1 {
		t.Errorf("%d events tell it", n)
	}
	nantes.App.Always(0)
	if err := nantes.Proc.Site.ResumeQueue("images"); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); len(got) != 5 {
		t.Errorf("the sites show %v", got)
	}
	until(t, m, func() string {
		if q, p := queueOf(nantes), told(paris, nantes); q.State != engine.QueueRunning || q.Waiting != 0 || p.State != "" {
			return fmt.Sprintf("nantes says %+v, paris %+v", q, p)
		}
		return ""
	})
	if n := nantes.App.Count("POST"); n != 5 {
		t.Errorf("created %d times", n)
	}
	if err := nantes.Proc.Site.ResumeQueue("nothing"); err == nil {
		t.Error("a service that does not exist is resumed")
	}
}

// TestAPausedQueueResumesByItself corrects the credentials and asks for nothing, also after a restart.
func TestAPausedQueueResumesByItself(t *testing.T) {
	m := open(t, Image, 2)
	nantes := m.Sites[1]
	nantes.App.Always(Denies)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	await(t, m, nantes, a.Operation, engine.StatePaused)
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	await(t, m, nantes, a.Operation, engine.StatePaused)
	nantes.App.Always(0)
	converge(t, m, m.Sites...)
}

// TestOneForbiddenResourceHoldsUpNoOther lets the agent change all objects but one.
func TestOneForbiddenResourceHoldsUpNoOther(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	bad := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"bad"}`, m.Sites...))
	good := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"good"}`, m.Sites...))
	converge(t, m, m.Sites...)
	row, err := nantes.Disk.ResourceByID(t.Context(), "images", "image", bad.Resource)
	if err != nil {
		t.Fatal(err)
	}
	nantes.App.Refuse(string(row.Local), http.StatusForbidden)
	denied := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(bad.Resource), `{"size":1}`))
	await(t, m, nantes, denied.Operation, engine.StatePaused)
	for i := range 4 {
		op := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(good.Resource), fmt.Sprintf(`{"size":%d}`, i)))
		await(t, m, nantes, op.Operation, engine.StateApplied)
	}
	until(t, m, func() string {
		if q := queueOf(nantes); q.State != engine.QueueRunning {
			return fmt.Sprintf("the queue is %+v", q)
		}
		return ""
	})
	if st := await(t, m, nantes, denied.Operation, engine.StatePaused); st.Error == "" {
		t.Error("it is not said why")
	}
	// However often it is denied again, nothing else waits for it.
	tried := nantes.App.Tried()
	until(t, m, func() string {
		if q := queueOf(nantes); q.State != engine.QueueRunning {
			t.Fatalf("the queue is %+v", q)
		}
		if n := nantes.App.Tried() - tried; n < 3 {
			return fmt.Sprintf("it was tried %d times more", n)
		}
		return ""
	})
	nantes.App.Refuse(string(row.Local), 0)
	if err := nantes.Proc.Site.ResumeQueue(""); err != nil {
		t.Fatal(err)
	}
	converge(t, m, m.Sites...)
}

// TestAFailingServiceIsAskedOneRequestAtATime has many resources meet a service that is down.
func TestAFailingServiceIsAskedOneRequestAtATime(t *testing.T) {
	const n = 60
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Always(Refuses)
	for i := range n {
		must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"name":"%d"}`, i), m.Sites...))
	}
	until(t, m, func() string {
		if q := queueOf(nantes); q.State != engine.QueueFailing || q.Waiting < n-1 || !strings.Contains(q.Reason, "503") {
			return fmt.Sprintf("the queue is %+v", q)
		}
		return ""
	})
	// All that a heap of resources costs from now on is one probe after the other; each meets another resource.
	before := nantes.App.Tried()
	until(t, m, func() string {
		if nantes.App.Tried() < before+4 {
			return "no probes"
		}
		return ""
	})
	if q := queueOf(nantes); q.State != engine.QueueFailing || q.Waiting < n-1 {
		t.Errorf("the queue is %+v", q)
	}
	nantes.App.Always(0)
	if got := converge(t, m, m.Sites...); len(got) != n {
		t.Errorf("the sites show %d objects", len(got))
	}
	if c := nantes.App.Count("POST"); c != n {
		t.Errorf("created %d times", c)
	}
	if f, r := eventsOf(t, nantes, "queue.failing"), eventsOf(t, nantes, "queue.running"); f != r || f == 0 {
		t.Errorf("it failed %d times and ran again %d times", f, r)
	}
}

// TestAServiceThatHangsHoldsUpNoOther hangs hundreds of requests to one service.
func TestAServiceThatHangsHoldsUpNoOther(t *testing.T) {
	disk := *Image
	disk.Service = "disks"
	m := open(t, Image, 2, &disk)
	paris, nantes := m.Sites[0], m.Sites[1]
	_, release := nantes.App.HoldService("disks")
	for i := range 200 {
		must(t, 201)(submit(t.Context(), paris, &disk, "POST", "", fmt.Sprintf(`{"disk":"%d"}`, i), m.Sites...))
	}
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	await(t, m, nantes, a.Operation, engine.StateApplied)
	release()
	if got := converge(t, m, m.Sites...); len(got) != 201 {
		t.Errorf("the sites show %d objects", len(got))
	}
}

// TestASiteThatAsksForMuchWaitsForItself has paris ask for many objects while nantes' application lets nobody in, and toulouse for one after that.
func TestASiteThatAsksForMuchWaitsForItself(t *testing.T) {
	const many = 60
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	nantes.App.Always(Denies)
	waiting := func(n int) {
		t.Helper()
		until(t, m, func() string {
			if q := queueOf(nantes); q.State != engine.QueuePaused || q.Waiting != n {
				return fmt.Sprintf("%+v, and %d are to wait", q, n)
			}
			return ""
		})
	}
	for range many {
		must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"made":"paris"}`, paris, nantes))
	}
	waiting(many)
	must(t, 201)(submit(t.Context(), toulouse, Image, "POST", "", `{"made":"toulouse"}`, toulouse, nantes))
	waiting(many + 1)
	nantes.App.Always(0)
	if err := nantes.Proc.Site.ResumeQueue("images"); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		if n := len(nantes.App.created); n <= many {
			return fmt.Sprintf("%d are made", n)
		}
		return ""
	})
	if i := slices.Index(nantes.App.created, any("toulouse")); i < 0 || i > many/4 {
		t.Errorf("%d of paris' were made before that of toulouse", i)
	}
}
