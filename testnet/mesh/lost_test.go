package mesh

import (
	"errors"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestWhatIsLostIsKept has two sites set one field while they cannot hear of each other: both tell which value was lost, who
// had set it and who took its place.
func TestWhatIsLostIsKept(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"size":1}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(nantes, true)
	lost := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":2}`))
	kept := must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":3}`))
	m.Cut(nantes, false)
	converge(t, m, m.Sites...)
	for _, s := range m.Sites {
		row, err := s.Disk.ResourceByID(t.Context(), "images", "image", a.Resource)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Superseded(t.Context(), row.Document)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Path != "/size" || string(got[0].Value) != "2" || got[0].By != lost.Operation || got[0].Over != kept.Operation {
			t.Errorf("%s tells %+v", s.Name, got)
		}
	}
}

// TestALostValueIsRestored sets one of two values that were lost at a path again, and expects it everywhere, as an operation.
func TestALostValueIsRestored(t *testing.T) {
	patching := *Image
	patching.MergePatch = true
	for _, kind := range []*engine.Kind{Image, &patching} {
		m := open(t, kind, 3)
		paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
		a := must(t, 201)(submit(t.Context(), paris, kind, "POST", "", `{"size":1}`, m.Sites...))
		converge(t, m, m.Sites...)
		m.Cut(nantes, true)
		m.Cut(lyon, true)
		first := must(t, 200)(submit(t.Context(), paris, kind, "PATCH", string(a.Resource), `{"size":2}`))
		must(t, 200)(submit(t.Context(), nantes, kind, "PATCH", string(a.Resource), `{"size":null}`))
		must(t, 200)(submit(t.Context(), lyon, kind, "PATCH", string(a.Resource), `{"size":4}`))
		m.Cut(nantes, false)
		m.Cut(lyon, false)
		converge(t, m, m.Sites...)
		row, err := nantes.Disk.ResourceByID(t.Context(), kind.Service, kind.Name, a.Resource)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []engine.RestoreRequest{{Path: "/size"}, {Path: "/other"}, {Path: "/size", From: "0190a5c2-0000-7000-8000-0000000000aa"}} {
			var refusal *engine.Refusal
			if _, err := nantes.Restore(t.Context(), row.Document, q); !errors.As(err, &refusal) || refusal.Type != "restore" {
				t.Errorf("restore %+v: %v, want it refused", q, err)
			}
		}
		must(t, 200)(nantes.Restore(t.Context(), row.Document, engine.RestoreRequest{Path: "/size", From: first.Operation}))
		if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"size":2}`}) {
			t.Errorf("the sites show %v", got)
		}
		for _, s := range m.Sites {
			left, err := s.Superseded(t.Context(), row.Document)
			if err != nil || len(left) != 1 || left[0].Value != nil {
				t.Errorf("%s still tells of %+v, %v; want the removal alone", s.Name, left, err)
			}
		}
	}
}
