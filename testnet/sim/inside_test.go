package sim

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/lab"
)

// TestWhatLiesInsideIsWhereItsContainerIs: a key is at exactly one site, and so is what it is used for, whoever asks.
func TestWhatLiesInsideIsWhereItsContainerIs(t *testing.T) {
	gathered(t, 4, func(t *testing.T, r *run) {
		const scope = "{servers: site1 ^ site2}"
		ask := func(site int, method, path, body string) answer {
			return r.sites[site].lab.call(t.Context(), lab.Servers, method, path, []byte(body), "Scope", scope)
		}
		want := func(a answer, status int, what string) {
			t.Helper()
			if a.status != status || a.err != nil {
				t.Errorf("%s is answered with %d %s (%v), want %d", what, a.status, a.body, a.err, status)
			}
		}
		// The candidate that is farther from most has it.
		want(ask(2, http.MethodPut, "/keys/k", `{"public":"p"}`), http.StatusCreated, "the key")
		time.Sleep(5 * time.Second)
		for i := range r.sites {
			made := ask(i, http.MethodPost, "/keys/k/uses", `{"name":"u"}`)
			want(made, http.StatusCreated, "a use")
			at := "/keys/k/uses/" + made.text("id")
			for j := range r.sites {
				want(ask(j, http.MethodGet, at, ""), http.StatusOK, "a read of it")
				if list := ask(j, http.MethodGet, "/keys/k/uses", ""); strings.Count(string(list.body), `"name"`) != i+1 || list.header.Get("Skerry-Missing") != "" {
					t.Errorf("site%d lists %s (missing %q), want %d", j, list.body, list.header.Get("Skerry-Missing"), i+1)
				}
			}
			want(ask((i+1)%4, http.MethodPatch, at, `{"server":"s"}`), http.StatusOK, "a change of it")
		}
		for i, s := range r.sites {
			if n := len(s.lab.list(lab.Servers, "/keys/k/uses")); i == 2 && n != 4 || i != 2 && n != 0 {
				t.Errorf("site%d has %d uses of it", i, n)
			}
		}
	})
}
