package mesh

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestInvariantAWrongClockWinsNothing has a site whose machine is half an hour ahead, and which goes by the others' clocks: of two concurrent
// writes the later one wins, and not its own.
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

// TestWhatIsDatedTooFarAheadWaits has a site whose machine is ten minutes further ahead than a clock may be, and which hears of no other clock.
func TestWhatIsDatedTooFarAheadWaits(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"by":"paris"}`, m.Sites...))
	converge(t, m, m.Sites...)
	nantes.Skew = 70 * time.Minute
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	o := must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"by":"nantes"}`)).Operation
	until(t, m, func() string {
		row, err := paris.Disk.Operation(t.Context(), o)
		if st := row.Sites[paris.ID]; err != nil || !strings.Contains(st.Error, "waits until its time has come") {
			return fmt.Sprintf("paris says of it: %+v, %v", st, err)
		}
		return ""
	})
	m.rest(5 * time.Minute)
	if got := shown(paris); !slices.Equal(got, []string{`{"by":"paris"}`}) {
		t.Errorf("before its time paris shows %v", got)
	}
	m.rest(6 * time.Minute)
	if got := shown(paris); !slices.Equal(got, []string{`{"by":"nantes"}`}) {
		t.Errorf("once its time has come paris shows %v", got)
	}
}
