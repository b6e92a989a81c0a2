package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// made creates something with a scope and returns its identifier.
func made(t testing.TB, s *env.Site, service, scope, body string) string {
	t.Helper()
	header := []string{}
	if scope != "" {
		header = append(header, "Scope", scope)
	}
	return s.Do(t, service, "POST /"+service, body, header...).Must(t, 201).Text("id")
}

// TestWhatIsReliedOn replicates a server with its image and its network, and deletes what it needs.
func TestWhatIsReliedOn(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 10*time.Second, "the sites have met", func() bool { return reaches(t, s, "paris") && reaches(t, s, "nantes") })
	}
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	network := made(t, paris, lab.Networks, "{networks: paris & nantes}", `{"name":"front"}`)
	for _, id := range []string{image, network} {
		eventually(t, e, 20*time.Second, id+" has converged", func() bool { return stateOf(t, paris, id) == "converged" })
	}
	server := made(t, paris, lab.Servers, "{servers: paris & nantes}", `{"name":"web","image":"`+image+`","network":"`+network+`"}`)
	eventually(t, e, 20*time.Second, "the server has converged", func() bool { return stateOf(t, paris, server) == "converged" })

	// Either site knows the graph.
	for _, s := range []*env.Site{paris, nantes} {
		g := s.API(t, "GET /api/v1/relations?resource="+server, "").Must(t, 200).Body
		for _, part := range []string{"networks.network/" + network, "images.image/" + image, `"relation":"reliance"`, `"relation":"requirement"`} {
			if !strings.Contains(g, part) {
				t.Errorf("%s does not tell %s: %s", s.Name(), part, g)
			}
		}
	}
	a := nantes.Do(t, lab.Networks, "DELETE /networks/"+network, "")
	problem(t, a, 409, "relied-on")
	if !strings.Contains(a.Text("detail"), "server "+server+" (at nantes, paris, through /network)") {
		t.Errorf("it says %s", a.Text("detail"))
	}
	nantes.Do(t, lab.Networks, "GET /networks/"+network, "").Must(t, 200)
	// The image was needed to boot and is not any more.
	nantes.Do(t, lab.Images, "DELETE /images/"+image, "").Must(t, 204)

	// A server of paris alone counts at paris.
	other := made(t, paris, lab.Networks, "{networks: paris & nantes}", `{"name":"back"}`)
	spare := made(t, paris, lab.Images, "", `{"name":"alpine"}`)
	alone := made(t, paris, lab.Servers, "", `{"name":"alone","image":"`+spare+`","network":"`+other+`"}`)
	a = paris.Do(t, lab.Networks, "DELETE /networks/"+other, "")
	problem(t, a, 409, "relied-on")
	if !strings.Contains(a.Text("detail"), "server "+alone+" (which only paris has, through /network)") {
		t.Errorf("it says %s", a.Text("detail"))
	}
	paris.Do(t, lab.Servers, "DELETE /servers/"+alone, "").Must(t, 204)
	paris.Do(t, lab.Networks, "DELETE /networks/"+other, "").Must(t, 204)

	nantes.Do(t, lab.Networks, "DELETE /networks/"+network, "", "Skerry-Force", "relied-on").Must(t, 204)
	paris.Do(t, lab.Servers, "GET /servers/"+server, "").Must(t, 200)
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 10*time.Second, s.Name()+" says what the server lacks", func() bool {
			a := s.API(t, "GET /api/v1/resources/"+server, "").Must(t, 200)
			return a.Text("state") == "degraded" && strings.Contains(a.Text("reason"), "relies on network "+network+", which was deleted")
		})
	}
}

// TestCutOffFromWhatItReliesOn has a server at paris rely on a network that only nantes has.
func TestCutOffFromWhatItReliesOn(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 10*time.Second, "the sites have met", func() bool { return reaches(t, s, "paris") && reaches(t, s, "nantes") })
	}
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	eventually(t, e, 20*time.Second, "the image has converged", func() bool { return stateOf(t, paris, image) == "converged" })
	network := made(t, nantes, lab.Networks, "", `{"name":"front"}`)
	a := paris.Do(t, lab.Servers, "POST /servers", `{"name":"web","image":"`+image+`","network":"`+network+`"}`,
		"Scope", "{servers: paris & nantes, networks: nantes}").Must(t, 201)
	if w := a.Header.Get("Warning"); !strings.Contains(w, "it is not at paris, where it will be relied on") {
		t.Errorf("the answer warns %q", w)
	}
	server := a.Text("id")
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 20*time.Second, s.Name()+" has all", func() bool { return stateOf(t, paris, server) == "converged" && stateOf(t, s, server) == "converged" })
	}
	nantes.Cut(t)
	eventually(t, e, 20*time.Second, "paris says what the server lacks", func() bool {
		a := paris.API(t, "GET /api/v1/resources/"+server, "").Must(t, 200)
		return a.Text("state") == "degraded" && strings.Contains(a.Text("reason"), "no site that has it can be reached (nantes)")
	})
	if state := stateOf(t, nantes, server); state != "converged" {
		t.Errorf("nantes, which has the network, says that the server is %s", state)
	}
	paris.Do(t, lab.Servers, "PATCH /servers/"+server, `{"description":"of paris"}`, merge...).Must(t, 200)
	nantes.Heal(t)
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 30*time.Second, s.Name()+" has all again", func() bool { return stateOf(t, s, server) == "converged" })
	}
}

// TestAFlatNetwork boots servers on networks that are local to their site and on others.
func TestAFlatNetwork(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, 10*time.Second, "the sites have met", func() bool { return reaches(t, s, "paris") && reaches(t, s, "nantes") })
	}
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	eventually(t, e, 20*time.Second, "the image has converged", func() bool { return stateOf(t, paris, image) == "converged" })
	flat := made(t, nantes, lab.Networks, "", `{"name":"flat","type":"flat"}`)
	shared := made(t, nantes, lab.Networks, "", `{"name":"shared"}`)
	boot := func(s *env.Site, scope, network string) env.Answer {
		t.Helper()
		return s.Do(t, lab.Servers, "POST /servers", `{"name":"web","image":"`+image+`","network":"`+network+`"}`, "Scope", scope)
	}
	servers := func(s *env.Site) int { return done(t, s, lab.Servers, "POST /servers") }

	a := boot(paris, "{servers: paris, networks: nantes}", flat)
	problem(t, a, 422, "scope-type")
	want := "mismatched owners: POST /servers at paris refers to network \"" + flat + "\" through /network\n" +
		"  expected  paris/network\n" +
		"  found     nantes/network   (networks of type \"flat\" are local to their site)\n" +
		"help: use a network of paris, or run the request at nantes: {servers: nantes, networks: nantes}"
	if got := a.Text("detail"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if n := servers(paris) + servers(nantes); n != 0 {
		t.Errorf("%d servers were made", n)
	}
	// A replica at paris as well, and the site is asked that the request came to.
	problem(t, boot(nantes, "{servers: paris & nantes}", flat), 422, "scope-type")
	problem(t, boot(nantes, "{servers: paris}", flat), 422, "scope-type")
	// Where it is well typed.
	boot(paris, "{servers: nantes, networks: nantes}", flat).Must(t, 201)
	boot(nantes, "{servers: nantes}", flat).Must(t, 201)
	a = boot(paris, "{servers: paris, networks: nantes}", shared).Must(t, 201)
	if w := a.Header.Get("Warning"); !strings.Contains(w, "299 - ") || !strings.Contains(w, "not at paris, where it will be relied on") {
		t.Errorf("the answer warns %q", w)
	}
	// A flat network at both sites is one at each.
	each := made(t, paris, lab.Networks, "{networks: paris & nantes}", `{"name":"each","type":"flat"}`)
	eventually(t, e, 20*time.Second, "the network has converged", func() bool { return stateOf(t, paris, each) == "converged" })
	a = boot(paris, "{servers: paris & nantes}", each).Must(t, 201)
	if w := a.Header.Get("Warning"); w != "" {
		t.Errorf("the answer warns %q", w)
	}
	id := a.Text("id")
	eventually(t, e, 20*time.Second, "the server has converged", func() bool { return stateOf(t, paris, id) == "converged" })
	problem(t, nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"network":"`+flat+`"}`, merge...), 422, "scope-type")

	problem(t, nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `[{"op":"replace","path":"/network","value":"`+flat+`"}]`,
		"Content-Type", "application/json-patch+json"), 422, "scope-type")

	// Nobody can tell, and nothing happens.
	nantes.Cut(t)
	eventually(t, e, 20*time.Second, "paris says so", func() bool { return !reaches(t, paris, "nantes") })
	problem(t, boot(paris, "{servers: paris, networks: nantes}", shared), 503, "unreachable")
	before := servers(paris)
	boot(paris, "{servers: paris}", each).Must(t, 201)
	if n := servers(paris) - before; n != 1 {
		t.Errorf("%d servers were made at paris while nantes was cut off", n)
	}
}
