package mesh

import (
	"slices"
	"testing"
	"time"
)

// TestInvariantAWrongClockWinsNothing has a site whose machine is half an hour ahead, and which goes by the others' clocks: of two concurrent
// writes the later one wins, and not its own. What a site dates beyond the bound waits at the others, also where it does not hear them.
func TestInvariantAWrongClockWinsNothing(t *testing.T) {
	for _, c := range []struct {
		corrected bool
		want      string
	}{{true, `{"by":"paris"}`}, {false, `{"by":"nantes"}`}} {
		m := open(t, Image, 3)
		paris, nantes := m.Sites[0], m.Sites[1]
		nantes.Skew = 30 * time.Minute
		if c.corrected {
			nantes.Correction = -30 * time.Minute
		}
		if err := nantes.Restart(); err != nil {
			t.Fatal(err)
		}
		a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{}`, m.Sites...))
		converge(t, m, m.Sites...)
		m.Cut(nantes, true)
		must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"by":"nantes"}`))
		m.rest(time.Minute)
		must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"by":"paris"}`))
		m.Cut(nantes, false)
		if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{c.want}) {
			t.Errorf("corrected %v: the sites show %v, want %s", c.corrected, got, c.want)
		}
	}
}
