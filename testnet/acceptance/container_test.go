package acceptance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// container is a network that is spread over paris and nantes, and what is plugged in. It is to lab what a namespace is to
// Kubernetes, and a port what a pod is.
type container struct {
	*testing.T
	env           *env.Env
	paris, nantes *env.Site
	name, network string
}

const atParis, atNantes, atBoth = "{networks: paris}", "{networks: nantes}", "{networks: paris & nantes}"

// spread makes a network with a part at each of the two.
func spread(t *testing.T, e *env.Env, name string) *container {
	t.Helper()
	c := &container{T: t, env: e, paris: e.Site("paris"), nantes: e.Site("nantes"), name: name}
	c.network = made(t, c.paris, lab.Networks, "{networks: paris % nantes}", `{"name":"`+name+`"}`)
	for _, s := range []*env.Site{c.paris, c.nantes} {
		eventually(t, e, patience, "the network "+name+" is at "+s.Name(), func() bool { return c.own(s) != "" })
	}
	converge(t, e, c.paris, c.network) // and the agents know what their applications have
	converge(t, e, c.nantes, c.network)
	return c
}

// spreadNetwork: what is inside lies at one part, is found from the other, and is listed as one; a name is given once, and when
// two sides of a cut have both given it a person is asked.
func spreadNetwork(t *testing.T, e *env.Env) {
	// What the research showed with two independent Kubernetes clusters, line by line.
	c := spread(t, e, "default")
	c.plug(c.paris, "purple", atBoth)
	c.wantHeld(c.paris, "purple")
	c.wantHeld(c.nantes, "purple")
	violet := c.plug(c.nantes, "violet", atBoth)
	c.wantHeld(c.paris, "purple", "violet")
	c.wantHeld(c.nantes, "purple", "violet")
	for _, s := range []*env.Site{c.paris, c.nantes} {
		eventually(t, e, patience, s.Name()+" shows its own", func() bool {
			a := c.ports(s, "GET", "/"+violet, "").Must(t, 200)
			return a.Text("name") == "violet" && a.Header.Get("Skerry-Site") == s.Name()
		})
	}
	c = spread(t, e, "foo")
	blue := c.plug(c.nantes, "blue", atParis)
	yellow := c.plug(c.paris, "yellow", atNantes)
	c.wantHeld(c.paris, "blue")
	c.wantHeld(c.nantes, "yellow")
	c.wantListed(c.paris, "", "blue", "yellow")
	c.wantListed(c.nantes, "", "blue", "yellow")
	c.wantFound(c.paris, yellow)
	c.wantFound(c.nantes, blue)
	again := c.ports(c.paris, "POST", "", `{"name":"yellow"}`)
	problem(t, again, 409, "name-taken")
	if !strings.Contains(again.Text("detail"), "nantes") {
		t.Errorf("it is not said where the name is taken: %s", again.Body)
	}

	red := c.plug(c.paris, "red", "") // without a scope: here
	c.wantHeld(c.paris, "blue", "red")
	problem(t, c.ports(c.paris, "POST", "", `{"name":"yellow"}`, "Scope", atParis), 409, "name-taken")
	problem(t, c.ports(c.paris, "POST", "", `{"name":"x"}`, "Scope", "{networks: toulouse}"), 422, "scope-type")
	c.wantHeld(c.paris, "blue", "red")

	// What lies elsewhere is found by the index.
	if a := c.ports(c.paris, "GET", "/"+yellow, "").Must(t, 200); a.Text("name") != "yellow" || a.Header.Get("Skerry-Site") != "nantes" {
		t.Errorf("paris reads %s from %q", a.Body, a.Header.Get("Skerry-Site"))
	}
	c.ports(c.paris, "PATCH", "/"+yellow, `{"device":"web"}`, merge...).Must(t, 200)
	if a := c.ports(c.nantes, "GET", "/"+yellow, "").Must(t, 200); a.Text("device") != "web" {
		t.Errorf("nantes shows %s", a.Body)
	}
	c.ports(c.nantes, "DELETE", "/"+blue, "").Must(t, 204)
	c.wantHeld(c.paris, "red")

	twin := c.ports(c.paris, "POST", "", `{"name":"twin"}`, "Scope", atBoth).Must(t, 201)
	c.wantHeld(c.nantes, "twin", "yellow")
	c.wantListed(c.nantes, "", "red", "twin", "yellow")
	converge(t, e, c.nantes, url.PathEscape(twin.Header.Get("Skerry-Resource")))
	c.wantFound(c.nantes, red)
	problem(t, c.ports(c.nantes, "POST", "", `{"name":"twin"}`), 409, "name-taken")
	c.ports(c.nantes, "PATCH", "/"+twin.Text("id"), `{"device":"both"}`, merge...).Must(t, 200)
	eventually(t, e, patience, "both replicas have changed", func() bool {
		return c.ports(c.paris, "GET", "/"+twin.Text("id"), "").Text("device") == "both"
	})

	// Under sync every part is asked. What somebody has made behind the agent is known to no index.
	c.nantes.Application(t, lab.Networks, "POST /networks/"+c.own(c.nantes)+"/ports", `{"name":"hidden"}`).Must(t, 201)
	problem(t, c.ports(c.paris, "POST", "", `{"name":"hidden"}`, "Scope", "{networks: sync(paris)}"), 409, "name-taken")
	seen := c.ports(c.paris, "POST", "", `{"name":"seen"}`, "Scope", "{networks: sync(paris)}").Must(t, 201)
	c.ports(c.paris, "DELETE", "/"+seen.Text("id"), "").Must(t, 204)
	c.wantFree(c.nantes, "seen")
	for id := range c.heldAt(c.nantes, "hidden") {
		c.ports(c.nantes, "DELETE", "/"+id, "").Must(t, 204)
	}
	c.wantFree(c.paris, "hidden")

	// A network with a replica inside is not deleted.
	a := c.nantes.Do(t, lab.Networks, "DELETE /networks/"+c.network, "")
	problem(t, a, 409, "relied-on")
	if !strings.Contains(a.Text("detail"), twin.Text("id")+" (at nantes, paris, inside it)") {
		t.Errorf("it says %s", a.Text("detail"))
	}

	c.bothSidesOfACut()
}

func (c *container) bothSidesOfACut() {
	c.nantes.Cut(c)
	noticed(c, c.env, c.nantes)
	c.wantListed(c.paris, "nantes", "red", "twin", "yellow")
	c.wantListed(c.nantes, "paris", "red", "twin", "yellow")
	problem(c, c.ports(c.nantes, "POST", "", `{"name":"red"}`), 409, "name-taken")
	c.plug(c.paris, "green", "")
	late := c.plug(c.nantes, "green", "")
	heal(c, c.env, c.nantes)
	eventually(c, c.env, patience, "both sites ask a person about the name", func() bool {
		return c.conflicts(c.paris) == 1 && c.conflicts(c.nantes) == 1
	})
	c.wantListed(c.paris, "", "green", "green", "red", "twin", "yellow")
	c.nameIsKept(c.paris, late)
	eventually(c, c.env, patience, "nobody asks any more", func() bool {
		return c.conflicts(c.paris) == 0 && c.conflicts(c.nantes) == 0
	})
	c.wantListed(c.nantes, "", "green", "red", "twin", "yellow")
}

// nameIsKept compares the two ports of one name at either site, and has one site keep the name: the late one is deleted, where it is.
func (c *container) nameIsKept(keeper *env.Site, late string) {
	var list struct {
		Items []struct {
			ID, Holder string
			Inside     struct{ Kind, Name string }
		}
	}
	for _, s := range []*env.Site{c.paris, c.nantes} {
		if err := json.Unmarshal([]byte(s.API(c, "GET /api/v1/conflicts?about=name-taken", "").Must(c, 200).Body), &list); err != nil || len(list.Items) != 1 ||
			list.Items[0].Holder != "paris" || list.Items[0].Inside.Kind != "port" || list.Items[0].Inside.Name != "green" {
			c.Fatalf("%s asks %+v, %v", s.Name(), list, err)
		}
		if sides := s.API(c, "GET /api/v1/conflicts/"+list.Items[0].ID+"/replicas", "").Must(c, 200); !strings.Contains(sides.Body, `"nantes":"`+late) || strings.Contains(sides.Body, c.network) {
			c.Errorf("%s compares %s", s.Name(), sides.Body)
		}
	}
	page := c.nantes.API(c, "GET /decisions?at="+list.Items[0].ID, "").Must(c, 200).Body
	for _, choice := range []string{"paris keeps its port green, and that of nantes is deleted", "nantes keeps its port green", "Let both have it"} {
		if !strings.Contains(page, choice) {
			c.Errorf("the inbox is without the choice %q", choice)
		}
	}
	c.nantes.API(c, "POST /conflicts/"+list.Items[0].ID, "action=keep&site="+keeper.Name(), form(c.nantes)...).Want(c, 200)
	eventually(c, c.env, patience, keeper.Name()+" has it, and nobody else", func() bool {
		return len(c.heldAt(keeper, "green")) == 1 && len(c.heldAt(c.nantes, "green")) == 0
	})
}

// ports sends a request about the ports of the network, whose path goes on with rest.
func (c *container) ports(s *env.Site, method, rest, body string, header ...string) env.Answer {
	c.Helper()
	return s.Do(c, lab.Networks, method+" /networks/"+c.network+"/ports"+rest, body, header...)
}

// heldAt returns the ports of a name that the site's application has in its part, by the identifiers that it gave.
func (c *container) heldAt(s *env.Site, name string) map[string]map[string]any {
	c.Helper()
	all, err := images(s.Application(c, lab.Networks, "GET /networks/"+c.own(s)+"/ports?name="+name, "").Must(c, 200).Body)
	if err != nil {
		c.Fatal(err)
	}
	return all
}

// plug makes a port and returns its identifier.
func (c *container) plug(s *env.Site, name, scope string) string {
	c.Helper()
	return c.ports(s, "POST", "", `{"name":"`+name+`"}`, scoped(scope)...).Must(c, 201).Text("id")
}

// own returns what the site's application calls its part; empty while it has none.
func (c *container) own(s *env.Site) string {
	c.Helper()
	all, err := images(s.Application(c, lab.Networks, "GET /networks", "").Must(c, 200).Body)
	if err != nil {
		c.Fatal(err)
	}
	for id, network := range all {
		if network["name"] == c.name {
			return id
		}
	}
	return ""
}

// wantHeld waits until the site's application has these ports in its part.
func (c *container) wantHeld(s *env.Site, want ...string) {
	c.Helper()
	path := "GET /networks/" + c.own(s) + "/ports"
	eventually(c, c.env, patience, s.Name()+" holds "+strings.Join(want, ", "), func() bool {
		return slices.Equal(names(c, s.Application(c, lab.Networks, path, "").Must(c, 200).Body, "name"), want)
	})
}

// wantFree waits until a site knows that nobody has a name: then a creation comes to its application, which refuses it here.
func (c *container) wantFree(s *env.Site, name string) {
	c.Helper()
	s.Application(c, lab.Networks, "POST /-/faults", `{"method":"POST","path":"/networks/","status":422,"times":100000}`).Must(c, 204)
	eventually(c, c.env, patience, s.Name()+" knows that "+name+" is free", func() bool {
		return c.ports(s, "POST", "", `{"name":"`+name+`"}`).Status == 422
	})
	s.Application(c, lab.Networks, "DELETE /-/faults", "").Must(c, 204)
}

// wantFound waits until a site knows where a port is, by the index: whoever lists the ports asks the sites that have them.
func (c *container) wantFound(s *env.Site, id string) {
	c.Helper()
	eventually(c, c.env, patience, s.Name()+" finds "+id, func() bool { return c.ports(s, "GET", "/"+id, "").Status == 200 })
}

// wantListed waits until the site's agent lists these ports, and says that missing is missing.
func (c *container) wantListed(s *env.Site, missing string, want ...string) {
	c.Helper()
	c.env.Eventually(c, patience, s.Name()+" lists "+strings.Join(want, ", "), func() error {
		a := c.ports(s, "GET", "", "").Must(c, 200)
		if got, without := names(c, a.Body, "name"), a.Header.Get("Skerry-Missing"); !slices.Equal(got, want) || without != missing {
			return fmt.Errorf("it lists %v without %q after %s", got, without, a.Took)
		}
		return nil
	})
}

// conflicts counts the names that a site asks a person about.
func (c *container) conflicts(s *env.Site) int {
	c.Helper()
	return strings.Count(s.API(c, "GET /api/v1/conflicts", "").Must(c, 200).Body, `"name-taken"`)
}

// names returns one field of the items of a list, sorted.
func names(t testing.TB, body, field string) []string {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	all := []string{}
	for _, item := range list {
		name, _ := item[field].(string)
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
