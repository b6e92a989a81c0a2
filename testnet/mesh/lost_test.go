package mesh

import (
	"testing"
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
		row, err := s.store.ResourceByID(t.Context(), "images", "image", a.Resource)
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
