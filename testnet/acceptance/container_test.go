package acceptance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// container is a network that is spread over paris and nantes, and what is plugged in.
type container struct {
	*testing.T
	env           *env.Env
	paris, nantes *env.Site
	network       string
}

// TestANetworkIsSpreadOverTwoSites: what is inside lies at one part, is found from the other, and is listed as one; a name is
// given once, and when two sides of a cut have both given it a person is asked.
func TestANetworkIsSpreadOverTwoSites(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	c := &container{T: t, env: e, paris: e.Site("paris"), nantes: e.Site("nantes")}
	const spread, atParis, atNantes = "{networks: paris % nantes}", "{networks: paris}", "{networks: nantes}"
	c.network = c.paris.Do(t, lab.Networks, "POST /networks", `{"name":"foo"}`, "Scope", spread).Must(t, 201).Text("id")
	for _, s := range []*env.Site{c.paris, c.nantes} {
		eventually(t, e, 10*time.Second, "the network is at "+s.Name(), func() bool { return len(c.held(s, "")) == 1 })
	}

	blue := c.plug(c.nantes, "blue", atParis)
	yellow := c.plug(c.paris, "yellow", atNantes)
	c.wantHeld(c.paris, "blue")
	c.wantHeld(c.nantes, "yellow")
	c.wantListed(c.paris, "", "blue", "yellow")
	c.wantListed(c.nantes, "", "blue", "yellow")
	c.plug(c.paris, "red", "") // without a scope: here
	c.wantHeld(c.paris, "blue", "red")

	eventually(t, e, 10*time.Second, "paris knows what nantes has", func() bool {
		return c.ports(c.paris, "POST", "", `{"name":"yellow"}`).Status == 409
	})
	again := c.ports(c.paris, "POST", "", `{"name":"yellow"}`)
	problem(t, again, 409, "name-taken")
	if !strings.Contains(again.Text("detail"), "nantes") {
		t.Errorf("it is not said where the name is taken: %s", again.Body)
	}
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

	twin := c.ports(c.paris, "POST", "", `{"name":"twin"}`, "Scope", "{networks: paris & nantes}").Must(t, 201)
	c.wantHeld(c.nantes, "twin", "yellow")
	c.wantListed(c.nantes, "", "red", "twin", "yellow")
	problem(t, c.ports(c.nantes, "POST", "", `{"name":"twin"}`), 409, "name-taken")
	c.ports(c.nantes, "PATCH", "/"+twin.Text("id"), `{"device":"both"}`, merge...).Must(t, 200)
	eventually(t, e, 10*time.Second, "both replicas have changed", func() bool {
		return c.ports(c.paris, "GET", "/"+twin.Text("id"), "").Text("device") == "both"
	})

	c.bothSidesOfACut()
}

func (c *container) bothSidesOfACut() {
	c.nantes.Cut(c)
	eventually(c, c.env, 20*time.Second, "paris misses nantes", func() bool { return !reaches(c, c.paris, "nantes") })
	c.wantListed(c.paris, "nantes", "red", "twin", "yellow")
	c.wantListed(c.nantes, "paris", "red", "twin", "yellow")
	problem(c, c.ports(c.nantes, "POST", "", `{"name":"red"}`), 409, "name-taken")
	c.plug(c.paris, "green", "")
	late := c.plug(c.nantes, "green", "")
	c.nantes.Heal(c)
	eventually(c, c.env, 20*time.Second, "both sites ask a person about the name", func() bool {
		return c.conflicts(c.paris) == 1 && c.conflicts(c.nantes) == 1
	})
	c.wantListed(c.paris, "", "green", "green", "red", "twin", "yellow")
	c.ports(c.paris, "DELETE", "/"+late, "").Must(c, 204)
	eventually(c, c.env, 20*time.Second, "nobody asks any more", func() bool {
		return c.conflicts(c.paris) == 0 && c.conflicts(c.nantes) == 0
	})
	c.wantListed(c.nantes, "", "green", "red", "twin", "yellow")
}

// ports sends a request about the ports of the network, whose path goes on with rest.
func (c *container) ports(s *env.Site, method, rest, body string, header ...string) env.Answer {
	c.Helper()
	return s.Do(c, lab.Networks, method+" /networks/"+c.network+"/ports"+rest, body, header...)
}

// plug makes a port and returns its identifier.
func (c *container) plug(s *env.Site, name, scope string) string {
	c.Helper()
	var header []string
	if scope != "" {
		header = []string{"Scope", scope}
	}
	return c.ports(s, "POST", "", `{"name":"`+name+`"}`, header...).Must(c, 201).Text("id")
}

// held returns the names of what the site's application has: networks, or what is inside the first one.
func (c *container) held(s *env.Site, inside string) []string {
	c.Helper()
	return names(c, s.Application(c, lab.Networks, "GET /networks"+inside, "").Must(c, 200).Body, "name")
}

// wantHeld waits until the site's application has these ports.
func (c *container) wantHeld(s *env.Site, want ...string) {
	c.Helper()
	own := names(c, s.Application(c, lab.Networks, "GET /networks", "").Must(c, 200).Body, "id")[0]
	eventually(c, c.env, 10*time.Second, s.Name()+" holds "+strings.Join(want, ", "), func() bool {
		return slices.Equal(c.held(s, "/"+own+"/ports"), want)
	})
}

// wantListed waits until the site's agent lists these ports, and says that missing is missing.
func (c *container) wantListed(s *env.Site, missing string, want ...string) {
	c.Helper()
	eventually(c, c.env, 10*time.Second, s.Name()+" lists "+strings.Join(want, ", "), func() bool {
		a := c.ports(s, "GET", "", "").Must(c, 200)
		return slices.Equal(names(c, a.Body, "name"), want) && a.Header.Get("Skerry-Missing") == missing
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
