package acceptance

import (
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// reliedOn replicates a server with its image and its network, and deletes what it needs.
func reliedOn(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	network := made(t, paris, lab.Networks, "{networks: paris & nantes}", `{"name":"front"}`)
	iso := made(t, paris, lab.Images, both, `{"name":"an installer"}`)
	converge(t, e, paris, image, network, iso)
	server := made(t, paris, lab.Servers, "{servers: paris & nantes}",
		`{"name":"web","image":"`+image+`","network":"`+network+`","iso":"`+iso+`"}`)
	converge(t, e, paris, server)

	// Either site knows the graph.
	for _, s := range []*env.Site{paris, nantes} {
		g := s.API(t, "GET /api/v1/relations?resource="+server, "").Must(t, 200).Body
		for _, part := range []string{"networks.network/" + network, "images.image/" + image, "images.image/" + iso, `"relation":"reliance"`, `"relation":"requirement"`} {
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
	// The image in the server's drive is needed as long as it is there, the one that it was made from is not any more.
	a = nantes.Do(t, lab.Images, "DELETE /images/"+iso, "")
	problem(t, a, 409, "relied-on")
	if !strings.Contains(a.Text("detail"), "server "+server+" (at nantes, paris, through /iso)") {
		t.Errorf("it says %s", a.Text("detail"))
	}
	paris.Do(t, lab.Servers, "PATCH /servers/"+server, `{"iso":""}`, merge...).Must(t, 200)
	eventually(t, e, patience, "nantes shows the server without its drive", func() bool {
		return nantes.Do(t, lab.Servers, "GET /servers/"+server, "").Must(t, 200).Text("iso") == ""
	})
	nantes.Do(t, lab.Images, "DELETE /images/"+iso, "").Must(t, 204)
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
		eventually(t, e, patience, s.Name()+" says what the server lacks", func() bool {
			a := s.API(t, "GET /api/v1/resources/"+server, "").Must(t, 200)
			return a.Text("state") == "degraded" && strings.Contains(a.Text("reason"), "relies on network "+network+", which was deleted")
		})
	}
}

// cutOffFromWhatItReliesOn has a server at paris rely on a network that only nantes has.
func cutOffFromWhatItReliesOn(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	converge(t, e, paris, image)
	network := made(t, nantes, lab.Networks, "", `{"name":"front"}`)
	a := paris.Do(t, lab.Servers, "POST /servers", `{"name":"web","image":"`+image+`","network":"`+network+`"}`,
		"Scope", "{servers: paris & nantes, networks: nantes}").Must(t, 201)
	if w := a.Header.Get("Warning"); !strings.Contains(w, "it is not at paris, where it will be relied on") {
		t.Errorf("the answer warns %q", w)
	}
	server := a.Text("id")
	for _, s := range []*env.Site{paris, nantes, paris} { // what one of them lacks, both say
		converge(t, e, s, server)
	}
	nantes.Cut(t)
	eventually(t, e, patience, "paris says what the server lacks", func() bool {
		a := paris.API(t, "GET /api/v1/resources/"+server, "").Must(t, 200)
		return a.Text("state") == "degraded" && strings.Contains(a.Text("reason"), "no site that has it can be reached (nantes)")
	})
	eventually(t, e, patience, "nantes, which has the network, knows nothing of the server at paris", func() bool { return stateOf(t, nantes, server) == "unknown" })
	paris.Do(t, lab.Servers, "PATCH /servers/"+server, `{"description":"of paris"}`, merge...).Must(t, 200)
	heal(t, e, nantes)
	converge(t, e, paris, server)
	converge(t, e, nantes, server)
}

// flatNetwork boots servers on networks that are local to their site and on others.
func flatNetwork(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	image := made(t, paris, lab.Images, both, `{"name":"debian"}`)
	converge(t, e, paris, image)
	flat := made(t, nantes, lab.Networks, "", `{"name":"flat","type":"flat"}`)
	shared := made(t, nantes, lab.Networks, "", `{"name":"shared"}`)
	boot := func(s *env.Site, scope, network string) env.Answer {
		t.Helper()
		return boot(t, s, scope, "web", image, network)
	}
	servers := func(s *env.Site) int { return done(t, s, lab.Servers, "POST /servers") }
	none := servers(paris) + servers(nantes)

	a := boot(paris, "{servers: paris, networks: nantes}", flat)
	problem(t, a, 422, "scope-type")
	want := "mismatched owners: POST /servers at paris refers to network \"" + flat + "\" through /network\n" +
		"  expected  paris/network\n" +
		"  found     nantes/network   (networks of type \"flat\" are local to their site)\n" +
		"help: use a network of paris, or run the request at nantes: {servers: nantes, networks: nantes}"
	if got := a.Text("detail"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if n := servers(paris) + servers(nantes) - none; n != 0 {
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
	converge(t, e, paris, each)
	a = boot(paris, "{servers: paris & nantes}", each).Must(t, 201)
	if w := a.Header.Get("Warning"); w != "" {
		t.Errorf("the answer warns %q", w)
	}
	id := a.Text("id")
	converge(t, e, paris, id)
	problem(t, nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"network":"`+flat+`"}`, merge...), 422, "scope-type")

	problem(t, nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `[{"op":"replace","path":"/network","value":"`+flat+`"}]`,
		"Content-Type", "application/json-patch+json"), 422, "scope-type")

	// Nobody can tell, and nothing happens.
	nantes.Cut(t)
	eventually(t, e, patience, "paris says so", func() bool { return !reaches(t, paris, "nantes") })
	problem(t, boot(paris, "{servers: paris, networks: nantes}", shared), 503, "unreachable")
	before := servers(paris)
	boot(paris, "{servers: paris}", each).Must(t, 201)
	if n := servers(paris) - before; n != 1 {
		t.Errorf("%d servers were made at paris while nantes was cut off", n)
	}
	heal(t, e, nantes)
}
