package sim

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/lab"
)

// TestNobodyWaitsForACut: whatever state the network is in, a client gets its answer within a second of what the application takes,
// also while nobody knows of the cut yet; and when it is over, what was done on both sides is everywhere within five. In virtual time,
// where a slow machine changes nothing of it.
func TestNobodyWaitsForACut(t *testing.T) {
	gathered(t, 3, func(t *testing.T, r *run) {
		ask := func(within time.Duration, site, status int, service engine.ServiceName, method, path, body, scope string) answer {
			t.Helper()
			begin := time.Now()
			header := []string{"Scope", scope}
			if scope == "" {
				header = nil
			}
			if method == http.MethodPatch {
				header = append(header, "Content-Type", "application/merge-patch+json")
			}
			a := r.sites[site].lab.call(t.Context(), service, method, path, []byte(body), header...)
			if a.err != nil || a.status != status {
				t.Errorf("%s %s %s at site%d is answered with %d %s (%v), want %d", method, path, scope, site, a.status, a.body, a.err, status)
			}
			if took := time.Since(begin); took > within {
				t.Errorf("%s %s %s at site%d is answered after %v", method, path, scope, site, took)
			}
			return a
		}
		const (
			both   = "{images: site0 & site1}"
			prompt = time.Second
		)
		id := ask(prompt, 0, 201, lab.Images, "POST", "/images", `{"name":"debian"}`, both).text("id")
		image, settle := "/images/"+id, func() { time.Sleep(10 * time.Second) }
		settle()
		group := "/servers/" + ask(prompt, 0, 201, lab.Servers, "POST", "/servers", `{"name":"group","count":5,"image":"`+id+`"}`, "{servers: site0 % site1}").text("id")
		settle()

		made := 1
		requests := []func(){
			func() { ask(prompt, 0, 200, lab.Images, "PATCH", image, `{"description":"of site0"}`, "") },
			func() { ask(prompt, 1, 200, lab.Images, "PATCH", image, `{"status":"of site1"}`, "") },
			func() { ask(prompt, 0, 201, lab.Images, "POST", "/images", `{"name":"of site0"}`, both); made++ },
			func() { ask(prompt, 1, 201, lab.Images, "POST", "/images", `{"name":"of site1"}`, both); made++ },
			func() { ask(prompt, 0, 200, lab.Servers, "GET", group, "", "") },
			func() { ask(prompt, 0, 200, lab.Servers, "PATCH", group, `{"description":"of site0"}`, "") },
		}
		for _, path := range []string{image, "/images"} {
			requests = append(requests,
				func() { ask(prompt, 0, 200, lab.Images, "GET", path, "", "") },
				func() { ask(prompt, 1, 200, lab.Images, "GET", path, "", "") },
				func() { ask(prompt, 2, 200, lab.Images, "GET", path, "", both) },
				func() { ask(prompt, 0, 200, lab.Images, "GET", path, "", "{images: site1 | site0}") },
				func() { ask(8*time.Second, 0, 200, lab.Images, "GET", path, "", "{images: site1 ; site0}") }) // site1 is given five
		}
		links := [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}}
		for _, request := range requests {
			r.wires.set(links, true)
			request() // nobody knows
			settle()
			request() // everybody does
			r.wires.set(links, false)
			time.Sleep(5 * time.Second)
			for i := range 2 {
				if n := len(r.sites[i].lab.list(lab.Images, "/images")); n != made {
					t.Errorf("site%d has %d images, want %d", i, n, made)
				}
			}
			settle()
		}
		for i := range 2 {
			if a := ask(prompt, i, 200, lab.Images, "GET", image, "", ""); a.text("description") != "of site0" || a.text("status") != "of site1" {
				t.Errorf("site%d shows %s", i, a.body)
			}
		}
	})
}
