package acceptance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// operator is one way to write a scope, and what a client at paris gets with it: while all sites can be reached, and while nantes
// is cut off.
type operator struct {
	location string
	// what is made with it: an image, unless this says network or key.
	kind string
	// up are the sites at which it is made while all can be reached.
	up string
	// read and change are the answers during the cut to who reads and changes what was made before, create to who makes another.
	read, change, create int
	// cut are the sites at which the other one is then, healed those at which it is in the end.
	cut, healed string
}

const west = "west" // a zone: paris and nantes

var operators = []operator{
	{location: "nantes", up: "nantes", read: 503, change: 202, create: 202, healed: "nantes"},
	{location: "nantes ; paris", up: "nantes", read: 404, change: 404, create: 201, cut: "paris", healed: "paris"},
	{location: "nantes | toulouse", up: "nantes", read: 503, change: 404, create: 201, cut: "toulouse", healed: "toulouse"},
	// Nantes makes one of that name as well: neither is deleted, and a person is asked.
	{location: "nantes ^ toulouse", kind: "key", up: "nantes", read: 503, change: 202, create: 201, cut: "toulouse", healed: "nantes toulouse"},
	{location: "paris % nantes", kind: "network", up: "nantes paris", read: 200, change: 200, create: 201, cut: "paris", healed: "nantes paris"},
	{location: "paris & nantes", up: "nantes paris", read: 200, change: 200, create: 201, cut: "paris", healed: "nantes paris"},
	{location: "!paris", up: "nantes toulouse", read: 200, change: 200, create: 201, cut: "toulouse", healed: "nantes toulouse"},
	{location: "*", up: "nantes paris toulouse", read: 200, change: 200, create: 201, cut: "paris toulouse", healed: "nantes paris toulouse"},
	{location: west, up: "nantes paris", read: 200, change: 200, create: 201, cut: "paris", healed: "nantes paris"},
	{location: "quorum(*)", up: "nantes paris toulouse", read: 200, change: 200, create: 201, cut: "paris toulouse", healed: "nantes paris toulouse"},
	{location: "quorum(west)", up: "nantes paris", read: 503, change: 503, create: 503},
	{location: "sync(*)", up: "nantes paris toulouse", read: 503, change: 503, create: 503},
	// Paris is 6 ms from nantes, toulouse 166.
	{location: "around(nantes, 80ms)", up: "nantes", read: 404, change: 404, create: 201, cut: "paris", healed: "paris"},
}

// TestEveryOperatorThroughACut plays the table.
func TestEveryOperatorThroughACut(t *testing.T) {
	lines := map[string]time.Duration{"nantes": 3 * time.Millisecond, "toulouse": 80 * time.Millisecond}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "toulouse"}, Application: env.Lab(program),
		Prepare: func(s *env.Site) error {
			if delay := lines[s.Name()]; delay > 0 {
				return s.Host().Lengthen(delay)
			}
			return nil
		}})
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	coordinates(t, e)
	paris.API(t, "PUT /api/v1/zones/"+west, `{"sites":["paris","nantes"]}`).Must(t, 200)

	ids := make([]string, len(operators))
	for i, o := range operators {
		a := o.make(t, paris, "before")
		if a.Status != 201 {
			t.Fatalf("%s: a create is answered with %d %s", o.location, a.Status, a.Body)
		}
		ids[i] = "/" + o.collection() + "/" + a.Text("id")
		o.wantAt(t, e, "before", o.up, e.Sites())
	}
	eventually(t, e, patience, "toulouse knows whose the key is", func() bool {
		a := e.Site("toulouse").API(t, "GET /api/v1/resources?names=true", "").Must(t, 200)
		return strings.Contains(a.Body, `"local_id":"before"`)
	})
	nantes.Cut(t)
	atOnce(t, paris, ids[slices.IndexFunc(operators, func(o operator) bool { return o.location == "paris & nantes" })])
	noticed(t, e, nantes)
	counted := func(state string) int {
		n, _ := paris.API(t, "GET /api/v1/summary", "").Must(t, 200).Fields()["resources"].(map[string]any)[state].(float64)
		return int(n)
	}
	if counted("unknown") == 0 {
		t.Error("paris knows the state of all that nantes has, which it cannot reach")
	}
	for i, o := range operators {
		if a := paris.Do(t, o.service(), "GET "+ids[i], "", "Scope", o.scope()); a.Status != o.read {
			t.Errorf("%s: a read is answered with %d %s, want %d", o.location, a.Status, a.Body, o.read)
		}
		if a := paris.Do(t, o.service(), "PATCH "+ids[i], `{"description":"during the cut"}`, append(merge, "Scope", o.scope())...); a.Status != o.change {
			t.Errorf("%s: a change is answered with %d %s, want %d", o.location, a.Status, a.Body, o.change)
		}
		if a := o.make(t, paris, "during"); a.Status != o.create {
			t.Errorf("%s: a create is answered with %d %s, want %d", o.location, a.Status, a.Body, o.create)
		}
		if o.kind == "key" {
			o.make(t, nantes, "during").Must(t, 201)
		}
		o.wantAt(t, e, "during", o.cut, []*env.Site{paris, e.Site("toulouse")})
	}
	nantes.Heal(t)
	meet(t, e)
	for i, o := range operators {
		o.wantAt(t, e, "during", o.healed, e.Sites())
		want := ""
		if o.change < 300 {
			want = "during the cut"
		}
		for _, name := range strings.Fields(o.up) {
			eventually(t, e, patience, o.location+": "+name+" shows the change that was answered, and no other", func() bool {
				return e.Site(name).Do(t, o.service(), "GET "+ids[i], "").Must(t, 200).Text("description") == want
			})
		}
	}
	eventually(t, e, patience, "paris knows what is at nantes again", func() bool { return counted("unknown") == 0 })
	eventually(t, e, patience, "a person is asked about the key that is at two sites", func() bool {
		return strings.Count(e.Site("toulouse").API(t, "GET /api/v1/conflicts", "").Must(t, 200).Body, `"about":"name"`) == 1
	})
}

func (o operator) collection() string {
	if o.kind == "" {
		return "images"
	}
	return o.kind + "s"
}

func (o operator) service() string {
	if o.kind == "key" {
		return lab.Servers
	}
	return o.collection()
}

func (o operator) scope() string { return "{" + o.service() + ": " + o.location + "}" }

// make asks a site to make something. Keys have names that clients choose.
func (o operator) make(t *testing.T, s *env.Site, name string) env.Answer {
	t.Helper()
	if o.kind == "key" {
		return s.Do(t, o.service(), "PUT /keys/"+name, `{}`, "Scope", o.scope())
	}
	return s.Do(t, o.service(), "POST /"+o.collection(), `{"name":"`+name+" "+o.location+`"}`, "Scope", o.scope())
}

// wantAt waits until what was made is at these sites of some, as their applications tell, and at no other.
func (o operator) wantAt(t *testing.T, e *env.Env, name, want string, of []*env.Site) {
	t.Helper()
	field := "id"
	if o.kind != "key" {
		field, name = "name", name+" "+o.location
	}
	e.Eventually(t, patience, name, func() error {
		var at []string
		for _, s := range of {
			if slices.Contains(names(t, s.Application(t, o.service(), "GET /"+o.collection(), "").Must(t, 200).Body, field), name) {
				at = append(at, s.Name())
			}
		}
		if slices.Sort(at); strings.Join(at, " ") != want {
			return fmt.Errorf("it is at %v, not at %s", at, want)
		}
		return nil
	})
}

// atOnce reads what has replicas on both sides of a cut that paris does not know of yet.
func atOnce(t *testing.T, paris *env.Site, image string) {
	t.Helper()
	for _, scope := range []string{
		"{images: paris & nantes}", // the nearest replica
		"{images: nantes | paris}", // the first answer
		"{images: nantes ; paris}", // nantes is given five seconds
	} {
		a := paris.Do(t, lab.Images, "GET "+image, "", "Scope", scope).Must(t, 200)
		if a.Header.Get("Skerry-Site") != "paris" {
			t.Errorf("%s: %s answered", scope, a.Header.Get("Skerry-Site"))
		}
	}
}

// coordinates waits until the coordinates of any two sites tell about what is measured between them.
func coordinates(t *testing.T, e *env.Env) {
	t.Helper()
	for _, s := range e.Sites() {
		e.Eventually(t, patience, "the coordinates tell the round trips of "+s.Name(), func() error {
			var list []struct {
				Name     string
				Self     bool
				RTT      float64 `json:"rtt_ms"`
				Estimate float64 `json:"estimated_rtt_ms"`
			}
			if err := s.Client().Call(t.Context(), "GET", "/api/v1/sites", nil, &list); err != nil {
				return err
			}
			for _, x := range list {
				if off := math.Abs(x.RTT - x.Estimate); !x.Self && (x.RTT == 0 || off > 3+0.25*x.RTT) {
					return fmt.Errorf("to %s %g ms are measured and %g estimated", x.Name, x.RTT, x.Estimate)
				}
			}
			return nil
		})
	}
}
