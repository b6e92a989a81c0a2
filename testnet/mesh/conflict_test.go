package mesh

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// conflictAt waits until a site lists one open conflict, of that kind, and returns it.
func conflictAt(t *testing.T, m *Mesh, s *Site, kind engine.ConflictKind) engine.Conflict {
	t.Helper()
	var found engine.Conflict
	until(t, m, func() string {
		list, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{})
		if err != nil || len(list) != 1 || list[0].Kind != kind {
			return fmt.Sprintf("%s lists %+v, %v; want one %s", s.Name, list, err, kind)
		}
		found = list[0]
		return ""
	})
	return found
}

func noConflict(t *testing.T, m *Mesh, sites ...*Site) {
	t.Helper()
	for _, s := range sites {
		until(t, m, func() string {
			list, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{})
			if err != nil || len(list) != 0 {
				return fmt.Sprintf("%s lists %+v, %v", s.Name, list, err)
			}
			return ""
		})
	}
}

func stateOf(t *testing.T, s *Site, id engine.ResourceID) (engine.State, string) {
	t.Helper()
	row, err := s.Disk.ResourceByID(t.Context(), "images", "image", id)
	if err != nil {
		t.Fatal(err)
	}
	return row.State, row.Reason
}

// refused makes an image at both sites whose change nantes refuses.
func refused(t *testing.T, m *Mesh, body string) (created, changed engine.Answer) {
	t.Helper()
	paris, nantes := m.Sites[0], m.Sites[1]
	created = must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	nantes.App.Inject(Rejects)
	changed = must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(created.Resource), body))
	st := await(t, m, nantes, changed.Operation, engine.StateRejected)
	if st.Status != 422 {
		t.Errorf("nantes says %+v", st)
	}
	return created, changed
}

func TestARefusedChangeIsSentAgain(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a, op := refused(t, m, `{"size":1}`)
	// What comes later goes on.
	later := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"tag":"x"}`))
	await(t, m, nantes, later.Operation, engine.StateApplied)
	for _, s := range m.Sites {
		c := conflictAt(t, m, s, engine.ConflictRefused)
		if c.Site != nantes.ID || c.Operation != op.Operation || c.Blocks || c.Status != 422 {
			t.Errorf("%s lists %+v", s.Name, c)
		}
		if state, reason := stateOf(t, s, a.Resource); state != engine.StateDegraded || !strings.Contains(reason, "422") {
			t.Errorf("at %s it is %s: %s", s.Name, state, reason)
		}
	}
	c := conflictAt(t, m, nantes, engine.ConflictRefused)
	if err := paris.Resolve(t.Context(), c.ID, engine.ActionRetry, ""); err == nil {
		t.Error("paris has retried what is for nantes to retry")
	}
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionRetry, ""); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n","size":1,"tag":"x"}`}) {
		t.Errorf("the sites show %v", got)
	}
	await(t, m, paris, op.Operation, engine.StateApplied)
	noConflict(t, m, m.Sites...)
	for _, s := range m.Sites {
		if o, r := eventsOf(t, s, "conflict.opened"), eventsOf(t, s, "conflict.resolved"); o != 1 || r != 1 {
			t.Errorf("at %s %d events say opened, %d resolved", s.Name, o, r)
		}
	}
	if err := nantes.Retry(t.Context(), op.Operation); !errors.Is(err, engine.ErrSettled) {
		t.Errorf("retried once more: %v", err)
	}
}

func TestARefusedChangeIsRefusedAgain(t *testing.T) {
	m := open(t, Image, 2)
	nantes := m.Sites[1]
	_, op := refused(t, m, `{"size":1}`)
	first := conflictAt(t, m, nantes, engine.ConflictRefused)
	nantes.App.Inject(Rejects)
	if err := nantes.Retry(t.Context(), op.Operation); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		if c := conflictAt(t, m, nantes, engine.ConflictRefused); c.ID != first.ID || !c.Since.After(first.Since) {
			return fmt.Sprintf("nantes lists %+v, first it was %+v", c, first)
		}
		return ""
	})
}

func TestARefusedChangeIsDroppedOrDone(t *testing.T) {
	for _, action := range []engine.Action{engine.ActionDrop, engine.ActionDone, engine.ActionDismiss} {
		m := open(t, Image, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		a, op := refused(t, m, `{"size":1}`)
		at, want := nantes, engine.StateRejected
		switch action {
		case engine.ActionDone: // somebody has set it by hand
			want = engine.StateApplied
			nantes.App.Change(local(t, nantes), "size", 1)
		case engine.ActionDismiss: // said at any site that has it
			at = paris
		}
		c := conflictAt(t, m, at, engine.ConflictRefused)
		if err := at.Resolve(t.Context(), c.ID, action, ""); err != nil {
			t.Fatal(action, err)
		}
		noConflict(t, m, m.Sites...)
		for _, s := range m.Sites {
			row, err := s.Disk.Operation(t.Context(), op.Operation)
			if err != nil || row.Sites[nantes.ID].State != want {
				t.Errorf("%s: %s says nantes has it %s, %v", action, s.Name, row.Sites[nantes.ID].State, err)
			}
			until(t, m, func() string {
				state, reason := stateOf(t, s, a.Resource)
				if state != engine.StateConverged || strings.Contains(reason, "differs from the other sites") != (action != engine.ActionDone) {
					return fmt.Sprintf("%s: at %s it is %s: %s", action, s.Name, state, reason)
				}
				return ""
			})
			accepted, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{Accepted: true})
			if err != nil || len(accepted) != map[engine.Action]int{engine.ActionDrop: 1, engine.ActionDismiss: 1}[action] {
				t.Errorf("%s: %s lists as accepted %+v, %v", action, s.Name, accepted, err)
			}
			if len(accepted) == 1 && (accepted[0].Accepted.Action != action || accepted[0].Accepted.By != at.ID) {
				t.Errorf("%s: accepted as %+v", action, accepted[0].Accepted)
			}
		}
		if action == engine.ActionDone {
			continue
		}
		if err := nantes.Retry(t.Context(), op.Operation); err != nil { // on second thoughts
			t.Fatal(action, err)
		}
		if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n","size":1}`}) {
			t.Errorf("%s: the sites show %v", action, got)
		}
		if list, _, err := nantes.Disk.Conflicts(t.Context(), engine.ConflictFilter{Accepted: true}); err != nil || len(list) != 0 {
			t.Errorf("%s: still accepted: %+v, %v", action, list, err)
		}
	}
}

// TestALaterValueEndsARefusal sets the refused field to something that nantes takes.
func TestALaterValueEndsARefusal(t *testing.T) {
	m := open(t, Image, 2)
	a, _ := refused(t, m, `{"size":1}`)
	conflictAt(t, m, m.Sites[1], engine.ConflictRefused)
	must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), `{"size":2}`))
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n","size":2}`}) {
		t.Errorf("the sites show %v", got)
	}
	noConflict(t, m, m.Sites...)
}

// TestOneSiteRefusesAnotherFails lets one site answer 422 and another 503: the others converge, and what is said of each is
// exact, everywhere.
func TestOneSiteRefusesAnotherFails(t *testing.T) {
	m := open(t, Image, 4)
	paris, refuses, fails, good := m.Sites[0], m.Sites[1], m.Sites[2], m.Sites[3]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	refuses.App.Inject(Rejects)
	fails.App.Always(Refuses)
	op := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":1}`))
	for _, s := range m.Sites {
		until(t, m, func() string {
			row, err := s.Disk.Operation(t.Context(), op.Operation)
			want := map[engine.SiteID]engine.State{paris.ID: engine.StateApplied, good.ID: engine.StateApplied, refuses.ID: engine.StateRejected, fails.ID: engine.StatePending}
			for id, state := range want {
				if got := row.Sites[id]; got.State != state || id == refuses.ID && got.Status != 422 {
					return fmt.Sprintf("%s says of %s: %+v, %v; want %s", s.Name, m.site(id).Name, got, err, state)
				}
			}
			if row.State != engine.StateRejected {
				return fmt.Sprintf("%s says it is %s", s.Name, row.State)
			}
			res, err := s.Disk.ResourceByID(t.Context(), "images", "image", a.Resource)
			if err != nil || res.State != engine.StateDegraded || res.Sites[good.ID].State != engine.StateConverged || res.Sites[fails.ID].State != engine.StateConverging {
				return fmt.Sprintf("%s says of the resource %+v, %v", s.Name, res, err)
			}
			return ""
		})
	}
	if got := shown(good); !slices.Equal(got, []string{`{"name":"n","size":1}`}) || !slices.Equal(got, shown(paris)) {
		t.Errorf("the others show %v and %v", got, shown(paris))
	}
	if st := await(t, m, fails, op.Operation, engine.StatePending); st.Status != 503 || st.Attempts == 0 {
		t.Errorf("the site that fails says %+v", st)
	}
	fails.App.Always(0)
	await(t, m, fails, op.Operation, engine.StateApplied)
	conflictAt(t, m, paris, engine.ConflictRefused)
}

// TestARequestThatDoesNotFitIsTriedOnceMore answers 409 once, and then for good.
func TestARequestThatDoesNotFitIsTriedOnceMore(t *testing.T) {
	for _, method := range []string{"PATCH", "PUT", "START", "DELETE"} {
		m := open(t, Image, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
		converge(t, m, m.Sites...)
		body := map[string]string{"PATCH": `{"size":1}`, "PUT": `{"name":"n","size":1}`}[method]
		if method != "DELETE" {
			nantes.App.Inject(Clashes)
			answer, err := submit(t.Context(), paris, Image, method, string(a.Resource), body)
			if err != nil || answer.Status >= 300 {
				t.Fatal(answer, err)
			}
			await(t, m, nantes, answer.Operation, engine.StateApplied)
			body = strings.Replace(body, "1", "2", 1)
		}
		row, err := nantes.Disk.ResourceByID(t.Context(), "images", "image", a.Resource)
		if err != nil {
			t.Fatal(err)
		}
		nantes.App.Refuse(string(row.Local), http.StatusConflict)
		answer, err := submit(t.Context(), paris, Image, method, string(a.Resource), body)
		if err != nil || answer.Status >= 300 {
			t.Fatal(answer, err)
		}
		await(t, m, nantes, answer.Operation, engine.StateRejected)
		for _, s := range m.Sites {
			c := conflictAt(t, m, s, engine.ConflictContested)
			if c.Status != http.StatusConflict || c.Blocks || c.Operation != answer.Operation {
				t.Errorf("%s: %s lists %+v", method, s.Name, c)
			}
			if state, _ := stateOf(t, s, a.Resource); state != engine.StateConflict {
				t.Errorf("%s: at %s it is %s", method, s.Name, state)
			}
		}
		nantes.App.Refuse(string(row.Local), 0)
		if err := nantes.Retry(t.Context(), answer.Operation); err != nil {
			t.Fatal(err)
		}
		await(t, m, nantes, answer.Operation, engine.StateApplied)
		noConflict(t, m, m.Sites...)
		if got := shown(nantes); !slices.Equal(got, shown(paris)) {
			t.Errorf("%s: nantes shows %v, paris %v", method, got, shown(paris))
		}
	}
}

// TestAnObjectIsAdopted makes what a create met at one site its replica.
func TestAnObjectIsAdopted(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Put("x", map[string]any{"owner": "nantes", "size": 1})
	a := must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"owner":"paris","size":2}`, m.Sites...))
	await(t, m, nantes, a.Operation, engine.StateRejected)
	must(t, 200)(submit(t.Context(), paris, natural, "PATCH", "x", `{"size":3}`)) // it waits
	c := conflictAt(t, m, nantes, engine.ConflictExists)
	if !c.Blocks || !slices.Equal(c.Actions, []engine.Action{engine.ActionAdopt, engine.ActionRetry, engine.ActionDrop}) {
		t.Errorf("nantes lists %+v", c)
	}
	nantes.App.Inject(Refuses, Fails, DoesAndFails) // on the way
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionAdopt, ""); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"owner":"paris","size":3}`}) {
		t.Errorf("the sites show %v", got)
	}
	noConflict(t, m, m.Sites...)
	if err := nantes.AdoptObject(t.Context(), a.Operation, "x"); !errors.Is(err, engine.ErrSettled) {
		t.Errorf("adopted twice: %v", err)
	}
}

// TestAnObjectWithAnIdentifierOfItsOwnIsAdopted names the object, since its site has assigned its identifier.
func TestAnObjectWithAnIdentifierOfItsOwnIsAdopted(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Put("own", map[string]any{"name": "old"})
	nantes.App.Inject(Clashes)
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	c := conflictAt(t, m, nantes, engine.ConflictExists)
	wantRefusal(t, nantes.Resolve(t.Context(), c.ID, engine.ActionAdopt, ""), http.StatusUnprocessableEntity)
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionAdopt, "none"); err != nil {
		t.Fatal(err)
	}
	c = conflictAt(t, m, nantes, engine.ConflictRefused)
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionAdopt, "own"); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n"}`}) {
		t.Errorf("the sites show %v", got)
	}
	if n := nantes.App.Count("POST"); n != 0 {
		t.Errorf("created %d times", n)
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":1}`))
	converge(t, m, m.Sites...)
	// A replica of one resource is not adopted by another.
	nantes.App.Inject(Clashes)
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	c = conflictAt(t, m, nantes, engine.ConflictExists)
	wantRefusal(t, nantes.Resolve(t.Context(), c.ID, engine.ActionAdopt, "own"), http.StatusConflict)
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionDrop, ""); err != nil {
		t.Fatal(err)
	}
	noConflict(t, m, m.Sites...)
}

// TestWhatIsUncertainAtItsOriginIsAConflict looks at a create that no other site has heard of.
func TestWhatIsUncertainAtItsOriginIsAConflict(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	paris.App.Inject(DoesAndFails)
	_, err := submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...)
	op := wantRefusal(t, err, http.StatusGatewayTimeout).Operation
	c := conflictAt(t, m, paris, engine.ConflictUncertain)
	if c.Operation != op || !c.Blocks || !slices.Equal(c.Actions, []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}) {
		t.Errorf("paris lists %+v", c)
	}
	wantRefusal(t, paris.Resolve(t.Context(), c.ID, engine.ActionDismiss, ""), http.StatusUnprocessableEntity)
	wantRefusal(t, paris.Resolve(t.Context(), c.ID, engine.ActionAdopt, "nothing"), http.StatusUnprocessableEntity)
	if err := paris.Resolve(t.Context(), c.ID, engine.ActionRetry, ""); err != nil {
		t.Fatal(err)
	}
	noConflict(t, m, m.Sites...)
	await(t, m, m.Sites[1], op, engine.StateApplied)
	if o, r := eventsOf(t, paris, "conflict.opened"), eventsOf(t, paris, "conflict.resolved"); o != 1 || r != 1 {
		t.Errorf("%d events say opened, %d resolved", o, r)
	}
	if err := paris.Resolve(t.Context(), c.ID, engine.ActionRetry, ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("resolved once more: %v", err)
	}
}

// TestAResourceTellsWhatIsUncertain leaves open whether an action on a resource has run: the resource says so, and the conflict says
// which resource it is about and compares, until a person decides; also over a restart. The other site says so as well, and
// decides nothing of it.
func TestAResourceTellsWhatIsUncertain(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	paris.App.Inject(DoesAndFails)
	_, err := submit(t.Context(), paris, Image, "START", string(a.Resource), "")
	op := wantRefusal(t, err, http.StatusGatewayTimeout).Operation
	row, err := paris.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, a.Resource)
	if err != nil {
		t.Fatal(err)
	}
	is := func(when string, want engine.State, names bool) {
		t.Helper()
		for _, s := range m.Sites {
			until(t, m, func() string {
				row, err := s.Disk.ResourceByDocument(t.Context(), row.Document)
				if err == nil && row.State == want && row.Sites[paris.ID].State == want && strings.Contains(row.Reason, "nobody knows whether the action start ran") == names {
					return ""
				}
				return fmt.Sprintf("%s the resource is %s at %s: %s (%v)", when, row.State, s.Name, row.Reason, err)
			})
		}
	}
	is("at first", engine.StateDegraded, true)
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	is("after a restart", engine.StateDegraded, true)
	if err := paris.Check(t.Context(), row.Document); err != nil { // it writes the resource's row anew
		t.Fatal(err)
	}
	c := conflictAt(t, m, paris, engine.ConflictUncertain)
	if c.Operation != op || c.Document != row.Document || c.Resource != a.Resource {
		t.Errorf("paris lists %+v", c)
	}
	if there := conflictAt(t, m, nantes, engine.ConflictUncertain); there.ID != c.ID || there.Site != paris.ID {
		t.Errorf("nantes lists %+v", there)
	}
	if err := nantes.Resolve(t.Context(), c.ID, engine.ActionDone, ""); err == nil {
		t.Error("nantes decides what is for paris to decide")
	}
	if list, err := paris.PreviewConflict(t.Context(), c.ID, ""); err != nil || len(list) != 0 {
		t.Errorf("what is shown is compared with what all others amount to: %v, %v", list, err)
	}
	if o, err := paris.Disk.Operation(t.Context(), op); err != nil || o.Resource != a.Resource || o.Path != "/images/"+string(a.Resource)+"/start" {
		t.Errorf("the operation is listed as %+v, %v", o, err)
	}
	if err := paris.Resolve(t.Context(), c.ID, engine.ActionDone, ""); err != nil {
		t.Fatal(err)
	}
	converge(t, m, m.Sites...)
	is("in the end", engine.StateConverged, false)
	noConflict(t, m, m.Sites...)
}

// TestAConflictTellsTheDifference compares before anything is decided.
func TestAConflictTellsTheDifference(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Put("x", map[string]any{"owner": "nantes", "size": 1, "same": true})
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"owner":"paris","same":true,"deep":{"a":1}}`, m.Sites...))
	c := conflictAt(t, m, nantes, engine.ConflictExists)
	fields, err := nantes.PreviewConflict(t.Context(), c.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s: %s, here %s, wanted %s", f.Path, f.Base, f.Here, f.Wanted))
	}
	if want := []string{"/deep: , here , wanted {}", "/deep/a: , here , wanted 1", `/owner: , here "nantes", wanted "paris"`}; !slices.Equal(got, want) {
		t.Errorf("the differences are %q, want %q", got, want)
	}
	if got := shown(nantes); !slices.Equal(got, []string{`{"owner":"nantes","same":true,"size":1}`}) {
		t.Errorf("looking has changed it: %v", got)
	}
	conflictAt(t, m, paris, engine.ConflictExists)
	wantRefusal(t, func() error { _, err := paris.PreviewConflict(t.Context(), c.ID, ""); return err }(), http.StatusUnprocessableEntity)
	if _, err := nantes.PreviewConflict(t.Context(), "none", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a conflict that is none: %v", err)
	}
}

// TestARefusedChangeTellsTheDifference shows what the issuer saw, what is there and what is wanted.
func TestARefusedChangeTellsTheDifference(t *testing.T) {
	m := open(t, Image, 2)
	nantes := m.Sites[1]
	refused(t, m, `{"name":"new"}`)
	c := conflictAt(t, m, nantes, engine.ConflictRefused)
	fields, err := nantes.PreviewConflict(t.Context(), c.ID, "")
	if err != nil || len(fields) != 1 {
		t.Fatal(fields, err)
	}
	if f := fields[0]; f.Path != "/name" || string(f.Base) != `"n"` || string(f.Here) != `"n"` || string(f.Wanted) != `"new"` {
		t.Errorf("the difference is %s: %s, here %s, wanted %s", f.Path, f.Base, f.Here, f.Wanted)
	}
}
