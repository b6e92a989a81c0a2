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
}
