package mesh

import (
	"slices"
	"testing"
)

// TestKnownCases plays what pairs of replicas are known to get wrong that merge their histories and not what these amount to: put,
// put, delete on one replica against a concurrent put on the other, and its likes. Equal documents are not enough: the applications have
// to show equal values, whichever side hears first.
func TestKnownCases(t *testing.T) {
	type request struct{ method, body string }
	for _, c := range []struct {
		name          string
		paris, nantes []request
		want          []string
	}{
		{"put, put, delete against a put", []request{{"PUT", `{"n":1}`}, {"PUT", `{"n":2}`}, {"DELETE", ""}}, []request{{"PUT", `{"n":3}`}}, nil},
		{"put, delete, put against a put", []request{{"PUT", `{"n":1}`}, {"DELETE", ""}, {"PUT", `{"n":2}`}}, []request{{"PUT", `{"n":3}`}}, []string{`{"n":2}`}},
		{"put, put against a delete", []request{{"PUT", `{"n":1}`}, {"PUT", `{"n":2}`}}, []request{{"DELETE", ""}}, nil},
		{"put, put against put, put", []request{{"PUT", `{"n":1,"p":1}`}, {"PUT", `{"n":2,"p":1}`}}, []request{{"PUT", `{"n":3,"q":1}`}, {"PUT", `{"n":4,"q":1}`}},
			[]string{`{"n":4,"p":1,"q":1}`}},
	} {
		for _, first := range []int{0, 1} {
			t.Run(c.name+", heard first at "+[]string{"paris", "nantes"}[first], func(t *testing.T) {
				m := open(t, natural, 2)
				paris, nantes := m.Sites[0], m.Sites[1]
				must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"n":0}`, m.Sites...))
				converge(t, m, m.Sites...)
				m.Cut(nantes, true)
				play := func(s *Site, requests []request) {
					for _, r := range requests {
						if _, err := submit(t.Context(), s, natural, r.method, "x", r.body, m.Sites...); err != nil {
							t.Fatalf("%s %s at %s: %v", r.method, r.body, s.Name, err)
						}
					}
				}
				play(paris, c.paris)
				play(nantes, c.nantes)
				m.Cut(nantes, false)
				m.Sites[first].pull(m.Sites[1-first])
				if got := converge(t, m, m.Sites...); !slices.Equal(got, c.want) {
					t.Errorf("the sites show %v, want %v", got, c.want)
				}
			})
		}
	}
}
