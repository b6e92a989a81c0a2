package mesh

import (
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// What actions have done and nothing declares is said before a site begins without it.
func TestUndeclaredActionsWarn(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	leaves(t, m, nantes, a.Resource)
	must(t, 200)(submit(t.Context(), paris, Image, "START", string(a.Resource), ""))
	for _, add := range []func(bool) error{
		func(forced bool) error {
			_, err := paris.Place(t.Context(), document(t, paris, a.Resource), engine.PlaceRequest{Add: ids(nantes), Forced: forced})
			return err
		},
		func(forced bool) error {
			r := request(Image, "PATCH", string(a.Resource), `{"v":1}`, paris, nantes)
			r.Forced = forced
			_, err := paris.Submit(t.Context(), r)
			return err
		},
	} {
		refusal := (*engine.Refusal)(nil)
		if err := add(false); !errors.As(err, &refusal) || refusal.Status != 409 || refusal.Type != "actions" {
			t.Errorf("it is added without a word: %v", err)
		}
	}
	if got := placement(t, paris, a.Resource); len(got) != 1 {
		t.Errorf("it lives at %v", got)
	}
	place(t, paris, a, engine.PlaceRequest{Add: ids(nantes), Forced: true})
	until(t, m, func() string {
		if got := shown(nantes); len(got) != 2 {
			return fmt.Sprintf("nantes shows %v", got)
		}
		return ""
	})
	if n := nantes.App.Count("POST"); n != 2 { // both creates; the action is not replayed
		t.Errorf("nantes was asked %d times", n)
	}
}

// Content is copied from a site that has it, whatever happens on the way, and what has gone into it is not done again.
func TestContentIsCopied(t *testing.T) {
	ctx := t.Context()
	m := open(t, withFile, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(ctx, paris, withFile, "POST", "", `{"name":"n"}`, paris, nantes))
	put := func(at *Site, file string) {
		t.Helper()
		r := request(withFile, "PUT", string(a.Resource), file)
		r.Type, r.Path = engine.TypeAbsolute, "/images/{id}/file"
		must(t, 204)(at.Submit(ctx, r))
	}
	put(paris, "first")
	must(t, 200)(submit(ctx, paris, withFile, "START", string(a.Resource), ""))
	converge(t, m, paris, nantes)
	for _, s := range []*Site{paris, nantes} { // something that no operation has said
		for id := range s.App.objects {
			s.App.files[id] = "first, and more"
		}
	}
	toulouse.App.Inject(0, Fails)
	place(t, paris, a, engine.PlaceRequest{Add: ids(toulouse)})
	must(t, 200)(submit(ctx, nantes, withFile, "START", string(a.Resource), ""))
	converge(t, m, m.Sites...)
	if got := toulouse.App.File(); got != "first" { // copied, then what put bytes runs again on top
		t.Errorf("toulouse has %q", got)
	}
	if n := len(toulouse.App.actions); n > 1 {
		t.Errorf("toulouse ran %d actions; one was before it, the other may be in what it copied", n)
	}
	put(toulouse, "second")
	converge(t, m, m.Sites...)
	for _, s := range m.Sites {
		if got := s.App.File(); got != "second" {
			t.Errorf("%s has %q", s.Name, got)
		}
	}
}

// Content that is too long is not copied, and that is said.
func TestContentThatIsTooLong(t *testing.T) {
	m := open(t, withFile, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, withFile, "POST", "", `{"name":"n"}`, paris, nantes))
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	leaves(t, m, nantes, a.Resource)
	for id := range paris.App.objects {
		paris.App.files[id] = string(make([]byte, maxBlob+1))
	}
	id := place(t, paris, a, engine.PlaceRequest{Add: ids(nantes)})
	st := await(t, m, nantes, id, engine.StateRejected)
	if st.Error == "" {
		t.Error("it is not said why")
	}
	row, err := nantes.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, a.Resource)
	if err != nil || row.State != engine.StateDegraded || row.Reason == "" {
		t.Errorf("nantes says %+v, %v", row, err)
	}
	must(t, 200)(submit(t.Context(), paris, withFile, "PATCH", string(a.Resource), `{"v":1}`))
	m.Reconcile()
	if err := nantes.Drop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	shows(t, m, nantes, `{"name":"n","v":1}`)
}
