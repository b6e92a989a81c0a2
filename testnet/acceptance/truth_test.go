package acceptance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// TestWhatIsDeletedStaysTranslated deletes an image that servers of two sites refer to. Each application shows its own identifier of it for ever,
// and that is still the same image: nothing has changed behind an agent, and what is kept of one site brings no identifier of it to the other.
func TestWhatIsDeletedStaysTranslated(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	const all = "{images: sync(paris & nantes), servers: sync(paris & nantes)}"
	image := create(t, paris, all, `{"name":"debian"}`)
	server := paris.Do(t, lab.Servers, "POST /servers", `{"name":"web","image":"`+image+`"}`, "Scope", all).Must(t, 201).Text("id")
	paris.Do(t, lab.Images, "DELETE /images/"+image, "", "Scope", all).Must(t, 204)
	for _, s := range e.Sites() {
		if got := s.Do(t, lab.Servers, "GET /servers/"+server, "").Must(t, 200).Text("image"); got != image {
			t.Errorf("%s shows the image as %q, which is %q", s.Name(), got, image)
		}
	}
	paris.API(t, "POST /api/v1/resources/"+server+"/check", "").Must(t, 202)
	eventually(t, e, patience, "both sites have looked, and see no difference", func() bool {
		a := paris.API(t, "GET /api/v1/resources/"+server+"/replicas", "").Must(t, 200)
		return a.Fields()["equal"] == true && stateOf(t, paris, server) == "converged" && stateOf(t, nantes, server) == "converged"
	})
	for _, s := range e.Sites() {
		if asked := s.API(t, "GET /api/v1/conflicts", "").Must(t, 200).Body; strings.Contains(asked, "drift") {
			t.Errorf("%s has invented drift: %s", s.Name(), asked)
		}
	}
	paris.API(t, "POST /api/v1/resources/"+server+"/keep", `{"site":"paris"}`).Must(t, 202)
	here := func(s *env.Site) string {
		var list []struct{ Image string }
		if err := json.Unmarshal([]byte(s.Application(t, lab.Servers, "GET /servers", "").Must(t, 200).Body), &list); err != nil || len(list) != 1 {
			t.Fatalf("%s has the servers %v, %v", s.Name(), list, err)
		}
		return list[0].Image
	}
	eventually(t, e, patience, "what is kept has been applied", func() bool { return stateOf(t, nantes, server) == "converged" })
	if here(paris) == here(nantes) {
		t.Errorf("the application of nantes has got an identifier of paris: %s", here(nantes))
	}
}

// TestATruthfulMesh has something go wrong between two sites: a name that was to be at one of them is given at both while they cannot reach each
// other. Any of the three sites tells of it: those two what it is, and either of them decides about it; the third that something waits, and where.
func TestATruthfulMesh(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	meet(t, e)
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	const one = "{servers: paris ^ nantes}"
	nantes.Cut(t)
	noticed(t, e, nantes)
	for _, s := range []*env.Site{paris, nantes} {
		s.Do(t, lab.Servers, "PUT /keys/door", `{"public":"of `+s.Name()+`"}`, "Scope", one).Must(t, 201)
	}
	nantes.Heal(t)
	meet(t, e)
	var list struct {
		Items []struct {
			ID, Site, Holder string
			Actions, Sites   []string
		}
	}
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, patience, s.Name()+" asks a person about the name", func() bool {
			return json.Unmarshal([]byte(s.API(t, "GET /api/v1/conflicts", "").Must(t, 200).Body), &list) == nil && len(list.Items) == 1
		})
		c := list.Items[0]
		if c.Site != "nantes" || c.Holder != "paris" || fmt.Sprint(c.Actions) != "[keep]" {
			t.Fatalf("%s shows the conflict %+v", s.Name(), c)
		}
		var sides struct {
			Differences []struct {
				Path   string
				Values map[string]string
			}
		}
		a := s.API(t, "GET /api/v1/conflicts/"+c.ID+"/replicas", "").Must(t, 200)
		if err := json.Unmarshal([]byte(a.Body), &sides); err != nil || len(sides.Differences) != 1 ||
			sides.Differences[0].Values["paris"] != "of paris" || sides.Differences[0].Values["nantes"] != "of nantes" {
			t.Errorf("%s compares %s", s.Name(), a.Body)
		}
		if r := s.API(t, "GET /api/v1/resources/door", "").Must(t, 200); r.Text("collaboration") != "exactly-one" || r.Text("state") != "conflict" {
			t.Errorf("%s shows the name as %s", s.Name(), r.Body)
		}
		if a := s.API(t, "GET /api/v1/resources?names=true&state=conflict&q=oor", "").Must(t, 200); !strings.Contains(a.Body, `"id":"door"`) || !strings.Contains(a.Body, `"local_id":"door"`) {
			t.Errorf("%s does not list the name: %s", s.Name(), a.Body)
		}
		if page := s.API(t, "GET /names?kind=servers.key&site=nantes", "").Must(t, 200).Body; !strings.Contains(page, `href="/resources/door?`) {
			t.Errorf("the page of %s does not list the name: %s", s.Name(), page)
		}
		if page := s.API(t, "GET /resources/door", "").Must(t, 200).Body; !strings.Contains(page, "Waits for a decision") || strings.Contains(page, "Where it lives") {
			t.Errorf("the page of %s does not lead on from the name: %s", s.Name(), page)
		}
		var cuts []struct{ ID string }
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/cuts", "").Must(t, 200).Body), &cuts); err != nil || len(cuts) != 1 {
			t.Fatalf("%s remembers the cuts %v, %v", s.Name(), cuts, err)
		}
		eventually(t, e, patience, "the cut is over at "+s.Name()+", and its report counts the name", func() bool {
			return strings.Contains(s.API(t, "GET /cuts/"+cuts[0].ID, "").Must(t, 200).Body, "name clashes")
		})
		if sum := s.API(t, "GET /api/v1/summary", "").Must(t, 200); sum.Fields()["converged"] != false || sum.Fields()["decisions"] != 1.0 ||
			!strings.Contains(sum.Body, `"headline":"The name of key door was given twice, also at nantes"`) {
			t.Errorf("%s says of a name that is at two sites %s", s.Name(), sum.Body)
		}
	}
	// Toulouse has no part in the name.
	decisions := func(s *env.Site, of string) float64 {
		st, _ := s.API(t, "GET /api/v1/sites/"+of, "").Must(t, 200).Fields()["bulletin"].(map[string]any)
		n, _ := st["decisions"].(float64)
		return n
	}
	eventually(t, e, patience, "toulouse hears that something waits at nantes", func() bool { return decisions(toulouse, "nantes") == 1 })
	sum := toulouse.API(t, "GET /api/v1/summary", "").Must(t, 200)
	if sum.Fields()["converged"] != false || sum.Fields()["elsewhere"] != 1.0 || sum.Fields()["decisions"] != 0.0 || strings.Contains(sum.Body, "door") {
		t.Errorf("toulouse says %s", sum.Body)
	}
	c := list.Items[0]
	// What it is about goes to sites that have a part in it. Toulouse says who has, and leads there.
	there := "http://" + nantes.Config().API
	if a := toulouse.API(t, "GET /api/v1/conflicts/"+c.ID+"/replicas", "").Want(t, 404); !strings.Contains(a.Text("detail"), "decisions wait at nantes ("+there+")") {
		t.Errorf("toulouse does not say who can compare: %s", a.Body)
	}
	if page := toulouse.API(t, "GET /conflicts/"+c.ID, "").Want(t, 404).Body; !strings.Contains(page, `href="`+there+"/conflicts/"+c.ID+`"`) {
		t.Errorf("the page of toulouse does not lead to the site that can compare: %s", page)
	}
	if page := toulouse.API(t, "GET /decisions?at="+c.ID, "").Must(t, 200).Body; !strings.Contains(page, `href="`+there+`/decisions"`) || !strings.Contains(page, "decisions wait at nantes") {
		t.Errorf("the inbox of toulouse does not lead to that of nantes: %s", page)
	}
	if a := paris.API(t, "GET /decisions?at="+c.ID, "").Must(t, 200); !strings.Contains(a.Body, "nantes keeps the name, and the object of paris is deleted") ||
		!strings.Contains(a.Body, "<title>(1) Decisions") {
		t.Errorf("the inbox of paris is without what can be decided: %s", a.Body)
	}
	if a := toulouse.API(t, "GET /decisions", "").Must(t, 200); !strings.Contains(a.Body, "1 decision waits for a person there") || strings.Contains(a.Body, "door") {
		t.Errorf("the inbox of toulouse is without what waits elsewhere: %s", a.Body)
	}
	paris.API(t, "POST /decisions", "action=keep+nantes&id="+c.ID, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+paris.Config().API).Want(t, 200) // it leads back to the inbox
	eventually(t, e, patience, "one of the two is left, the one that was kept", func() bool {
		return paris.Application(t, lab.Servers, "GET /keys", "").Must(t, 200).Body == "[]" &&
			strings.Contains(nantes.Application(t, lab.Servers, "GET /keys", "").Must(t, 200).Body, "of nantes")
	})
	eventually(t, e, patience, "paris tells that nantes has the name", func() bool {
		r := paris.API(t, "GET /api/v1/resources/door", "")
		sites, _ := r.Fields()["sites"].(map[string]any)
		return r.Text("state") == "converged" && len(sites) == 1 && sites["nantes"] != nil
	})
	nantes.Do(t, lab.Servers, "DELETE /keys/door", "").Must(t, 204)
	eventually(t, e, patience, "the name is free, at both", func() bool {
		return !strings.Contains(paris.API(t, "GET /names", "").Must(t, 200).Body, "/resources/door") &&
			strings.Contains(paris.API(t, "GET /names?state=deleted", "").Must(t, 200).Body, "nobody: it is free") &&
			strings.Contains(nantes.API(t, "GET /names?state=deleted", "").Must(t, 200).Body, "nobody: it is free")
	})
	eventually(t, e, patience, "nothing waits anywhere, as toulouse has heard", func() bool {
		return decisions(toulouse, "nantes") == 0 && toulouse.API(t, "GET /api/v1/summary", "").Must(t, 200).Fields()["converged"] == true
	})
}

// TestAScopeWithoutTheServiceWarns: who names another service than the one that is asked has it run here alone, and is told so.
func TestAScopeWithoutTheServiceWarns(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris := e.Site("paris")
	meet(t, e)
	a := paris.Do(t, lab.Servers, "GET /servers", "", "Scope", both).Must(t, 200)
	if w := a.Header.Get("Warning"); !strings.Contains(w, "does not name the service servers") {
		t.Errorf("the answer warns %q", w)
	}
	if w := a.Header.Get("Skerry-Warning"); !strings.Contains(w, "the request is for paris alone") {
		t.Errorf("the answer warns in a header of its own %q", w)
	}
	if page := paris.API(t, "GET /compose?service=servers&method=GET&path=/servers&scope=%7Bimages:+paris+%26+nantes%7D", "").Must(t, 200); !strings.Contains(page.Body, "does not name the service servers") {
		t.Error("the composer does not warn")
	}
	x := paris.API(t, "POST /api/v1/scope/explain", `{"scope":"`+both+`","service":"servers","method":"GET","path":"/servers"}`).Must(t, 200)
	if !strings.Contains(x.Body, "does not name the service servers") {
		t.Errorf("explained: %s", x.Body)
	}
	if w := paris.Do(t, lab.Images, "GET /images", "", "Scope", both).Must(t, 200).Header.Get("Warning"); w != "" {
		t.Errorf("a scope that names the service warns %q", w)
	}
}

// TestConflictsAreComparedAnywhere changes a server behind the agent of paris, and has both sites say at which fields it differs.
func TestConflictsAreComparedAnywhere(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	id := create(t, paris, "{images: sync(paris & nantes)}", `{"name":"debian"}`)
	local := paris.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Fields()["sites"].(map[string]any)["paris"].(map[string]any)["local_id"].(string)
	paris.Application(t, lab.Images, "PATCH /images/"+local, `{"name":"by hand","description":"by hand"}`, merge...).Must(t, 200)
	paris.API(t, "POST /api/v1/resources/debian/check", "").Must(t, 202) // by its name
	var list struct {
		Items []struct{ ID, About, Site string }
	}
	eventually(t, e, patience, "both sites ask about the drift", func() bool {
		for _, s := range e.Sites() {
			if json.Unmarshal([]byte(s.API(t, "GET /api/v1/conflicts?about=drift", "").Must(t, 200).Body), &list) != nil || len(list.Items) != 1 {
				return false
			}
		}
		return true
	})
	for _, s := range []*env.Site{paris, nantes} {
		a := s.API(t, "GET /api/v1/conflicts/"+list.Items[0].ID[:6], "").Must(t, 200) // by the beginning of its identifier
		if !strings.Contains(a.Body, `"here":"by hand"`) || a.Text("not_compared") != "" {
			t.Errorf("%s compares %s", s.Name(), a.Body)
		}
		if a := s.API(t, "GET /api/v1/conflicts/"+list.Items[0].ID+"/replicas", "").Must(t, 200); !strings.Contains(a.Body, `"path":"/description"`) {
			t.Errorf("%s compares the sites %s", s.Name(), a.Body)
		}
	}
}

// TestAServiceThatFailsIsSeen has a service of nantes answer 503 again and again. The overview and the inbox of paris tell so, by name, and it is
// tried at once from there when it works again.
func TestAServiceThatFailsIsSeen(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	nantes.Application(t, lab.Images, "POST /-/faults", `{"path":"/images","status":503,"times":1000000}`).Must(t, 204)
	for _, name := range []string{"debian", "alpine", "nixos"} { // one or two that fail may have a fault of their own
		create(t, paris, both, `{"name":"`+name+`"}`)
	}
	failing := func() bool {
		var s struct {
			Worries []struct{ About, ID, State, Reason string }
		}
		if err := json.Unmarshal([]byte(paris.API(t, "GET /api/v1/summary", "").Must(t, 200).Body), &s); err != nil {
			t.Fatal(err)
		}
		for _, w := range s.Worries {
			if w.About == "site" && w.ID == "nantes" && w.State == "failing" && strings.Contains(w.Reason, "images") {
				return true
			}
		}
		return false
	}
	eventually(t, e, patience, "paris hears that the images of nantes fail", failing)
	eventually(t, e, patience, "the inbox and the overview of paris tell it", func() bool {
		return strings.Contains(paris.API(t, "GET /decisions", "").Must(t, 200).Body, "The service images of nantes does not answer as it should, for ") &&
			strings.Contains(paris.API(t, "GET /", "").Must(t, 200).Body, "images does not answer as it should")
	})
	var waiting struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(paris.API(t, "GET /api/v1/operations?state=pending&site=nantes", "").Must(t, 200).Body), &waiting); err != nil || len(waiting.Items) != 3 {
		t.Fatalf("nantes is to do %+v, %v", waiting, err)
	}
	// Nothing happens at paris, which has done its part. Its drawing of an operation reaches to now all the same.
	way := func() string {
		page := paris.API(t, "GET /operations/"+waiting.Items[0].ID, "").Must(t, 200).Body
		if !strings.Contains(page, "alive from:#live") {
			t.Fatalf("the page does not draw its timeline anew: %s", page)
		}
		_, drawn, _ := strings.Cut(page, `class="lanes`)
		drawn, _, _ = strings.Cut(drawn, "</svg>")
		return drawn
	}
	was := way()
	eventually(t, e, patience, "the axis of what is pending has moved", func() bool { return was != "" && way() != was })
	nantes.Application(t, lab.Images, "DELETE /-/faults", "").Must(t, 204)
	paris.API(t, "POST /sites/nantes/resume", "service=images", "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+paris.Config().API).Want(t, 200)
	eventually(t, e, patience, "all is well again, as paris has heard", func() bool {
		return !failing() && len(held(t, nantes)) == 3
	})
}

// TestACutIsRemembered has both sides of a cut change one field, and one change what the other deletes. The page of the cut, at either, tells how
// much each side did; it restores the value that lost, and brings back what was deleted, with the change that was lost.
func TestACutIsRemembered(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	const all = "{images: sync(paris & nantes)}"
	kept, gone := create(t, paris, all, `{"name":"debian"}`), create(t, paris, all, `{"name":"release"}`)
	nantes.Cut(t)
	noticed(t, e, nantes)
	type report struct {
		ID           string
		Ended        *string
		Ours, Theirs struct{ Types map[string]int } // what was created just before may be of the cut as well: it began when nantes was heard of last
		Overwritten  []struct {
			Path  string
			Value string
			By    struct{ Operation, Site string }
		}
		Lost      []struct{ Change, Deletion struct{ ID, Origin string } }
		Deletions []any
	}
	cutOf := func(s *env.Site) (c report) {
		var list []report
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/cuts", "").Must(t, 200).Body), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 {
			return c
		}
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/cuts/"+list[0].ID, "").Must(t, 200).Body), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	eventually(t, e, patience, "paris remembers that it is cut off from nantes", func() bool { return cutOf(paris).ID != "" })
	if a := paris.API(t, "GET /", "").Must(t, 200); !strings.Contains(a.Body, "Cut off from nantes") {
		t.Errorf("the overview of paris does not tell of the cut: %s", a.Body)
	}
	change := func(s *env.Site, id, body string) {
		s.Do(t, lab.Images, "PATCH /images/"+id, body, append(merge, "Scope", "{images: paris & nantes}")...).Must(t, 200)
	}
	change(paris, kept, `{"description":"of paris"}`)
	change(nantes, kept, `{"description":"of nantes"}`)
	change(nantes, gone, `{"description":"to be kept"}`)
	paris.Do(t, lab.Images, "DELETE /images/"+gone, "", "Scope", "{images: paris & nantes}").Must(t, 204)
	nantes.Heal(t)
	meet(t, e)
	for _, s := range []*env.Site{paris, nantes} {
		here, there := 1, 2
		if s == nantes {
			here, there = there, here
		}
		eventually(t, e, patience, s.Name()+" tells what came of the cut", func() bool {
			c := cutOf(s)
			return c.Ended != nil && c.Ours.Types["merge"] == here && c.Theirs.Types["merge"] == there && len(c.Overwritten) == 1 && len(c.Lost) == 1 && len(c.Deletions) == 1
		})
	}
	c := cutOf(paris)
	lost := c.Overwritten[0]
	if lost.Path != "/description" || lost.Value != "of "+lost.By.Site || c.Lost[0].Change.Origin != "nantes" || c.Lost[0].Deletion.Origin != "paris" {
		t.Errorf("paris tells %+v", c)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://" + paris.Config().API}
	paris.API(t, "POST /resources/"+kept+"/restore?service=images&kind=image", "path="+lost.Path+"&from="+lost.By.Operation, form...).Want(t, 200)
	eventually(t, e, patience, "the value that lost is back at both", func() bool {
		return paris.Do(t, lab.Images, "GET /images/"+kept, "").Must(t, 200).Text("description") == lost.Value &&
			nantes.Do(t, lab.Images, "GET /images/"+kept, "").Must(t, 200).Text("description") == lost.Value
	})
	back := paris.API(t, "GET /compose?back="+c.Lost[0].Change.ID, "").Must(t, 200)
	for _, part := range []string{"&#34;name&#34;: &#34;release&#34;", "&#34;description&#34;: &#34;to be kept&#34;", "sync(paris &amp; nantes)"} {
		if !strings.Contains(back.Body, part) {
			t.Errorf("what brings it back is without %s: %s", part, back.Body)
		}
	}
	filled := formOf(t, back.Body, "compose")
	filled.Set("do", "send")
	paris.API(t, "POST /compose", filled.Encode(), form...).Want(t, 200) // it leads on to the operation
	eventually(t, e, patience, "it is back at both, with the change that was lost", func() bool {
		for _, s := range []*env.Site{paris, nantes} {
			if got := s.Application(t, lab.Images, "GET /images", "").Must(t, 200).Body; strings.Count(got, `"release"`) != 1 || strings.Count(got, `"to be kept"`) != 1 {
				return false
			}
		}
		return true
	})
}

// formOf returns what a browser would send of a page's form, but for its buttons.
func formOf(t *testing.T, page, id string) url.Values {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	sent := url.Values{}
	attribute := func(n *html.Node, name string) (value string, there bool) {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val, true
			}
		}
		return "", false
	}
	text := func(n *html.Node) string {
		if n.FirstChild == nil {
			return ""
		}
		return n.FirstChild.Data
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		of, _ := attribute(n, "form")
		for p := n.Parent; of == "" && p != nil; p = p.Parent {
			if p.Type == html.ElementNode && p.Data == "form" {
				of, _ = attribute(p, "id")
				break
			}
		}
		name, named := attribute(n, "name")
		if of != id || !named {
			continue
		}
		value, _ := attribute(n, "value")
		typ, _ := attribute(n, "type")
		_, checked := attribute(n, "checked")
		switch {
		case n.Data == "textarea":
			sent.Add(name, text(n))
		case n.Data == "select":
			for o := range n.Descendants() {
				if _, selected := attribute(o, "selected"); selected {
					v, there := attribute(o, "value")
					if !there {
						v = text(o)
					}
					sent.Add(name, v)
				}
			}
		case n.Data == "input" && (checked || typ != "checkbox" && typ != "radio"):
			sent.Add(name, value)
		}
	}
	return sent
}
