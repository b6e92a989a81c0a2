package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// spreadServers makes a group of five, which is three here and two there, and one group of five to whoever asks; it is changed,
// and read during a cut.
func spreadServers(t *testing.T, e *env.Env) {
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	image := create(t, paris, both, `{"name":"of a group"}`)
	converge(t, e, paris, image)

	made := paris.Do(t, lab.Servers, "POST /servers", `{"name":"group","count":5,"image":"`+image+`"}`, "Scope", "{servers: paris % nantes}").Must(t, 201)
	id := made.Text("id")
	wantCount(t, "the answer to the create", made, 5)
	wantCount(t, "paris at once", paris.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200), 5)
	shares(t, e, 3, 2)
	eventually(t, e, patience, "nantes knows of its part", func() bool {
		return nantes.Do(t, lab.Servers, "GET /servers/"+id, "").Header.Get("Skerry-Missing") == ""
	})
	for _, s := range e.Sites() {
		scope := []string(nil)
		if s == toulouse {
			scope = []string{"Scope", "{servers: paris % nantes}"}
		}
		a := missing(t, e, "", func() env.Answer { return s.Do(t, lab.Servers, "GET /servers/"+id, "", scope...) })
		wantCount(t, s.Name(), a, 5)
	}
	list := missing(t, e, "", func() env.Answer {
		return toulouse.Do(t, lab.Servers, "GET /servers", "", "Scope", "{servers: paris % nantes}")
	})
	if all, err := images(list.Body); err != nil || strings.Count(list.Body, `"group"`) != 1 || all[id]["count"] != 5.0 {
		t.Errorf("the list of both is %s, %v", list.Body, err)
	}

	wantCount(t, "the answer to the change", nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"count":8}`, merge...).Must(t, 200), 8)
	shares(t, e, 4, 4)
	converge(t, e, paris, id)
	converge(t, e, nantes, id)

	nantes.Cut(t)
	a := paris.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200)
	wantCount(t, "paris during the cut", a, 8)
	if missing := a.Header.Get("Skerry-Missing"); missing != "nantes" {
		t.Errorf("paris says that %q is missing", missing)
	}
	paris.Do(t, lab.Servers, "PATCH /servers/"+id, `{"count":11}`, merge...).Must(t, 200)
	nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"description":"changed at nantes"}`, merge...).Must(t, 200)
	heal(t, e, nantes)
	shares(t, e, 6, 5)
	eventually(t, e, patience, "both parts show what was changed on each side", func() bool {
		a := paris.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200)
		return a.Fields()["count"] == 11.0 && a.Text("description") == "changed at nantes" && a.Header.Get("Skerry-Missing") == ""
	})

	paris.Do(t, lab.Servers, "DELETE /servers/"+id, "").Must(t, 204)
	shares(t, e)
}

// crossAndBack divides a group of five that is replicated, while nantes is cut off and goes on with the whole, and makes it one again likewise.
func crossAndBack(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	image := create(t, paris, both, `{"name":"of a group"}`)
	converge(t, e, paris, image)
	id := paris.Do(t, lab.Servers, "POST /servers", `{"name":"group","count":5,"image":"`+image+`"}`, "Scope", "{servers: paris & nantes}").Must(t, 201).Text("id")
	shares(t, e, 5, 5)
	converge(t, e, paris, id)
	place := func(scope string) {
		t.Helper()
		if err := paris.Client().Call(t.Context(), "PATCH", "/api/v1/resources/"+id, map[string]string{"scope": scope}, nil); err != nil {
			t.Fatal(err)
		}
	}
	all := func(count float64) {
		t.Helper()
		for _, s := range []*env.Site{paris, nantes} {
			eventually(t, e, patience, fmt.Sprint(s.Name(), " shows ", count), func() bool {
				a := s.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200)
				return a.Fields()["count"] == count && a.Header.Get("Skerry-Missing") == ""
			})
			converge(t, e, s, id)
		}
	}

	nantes.Cut(t)
	place("paris % nantes")
	shares(t, e, 3, 5) // nantes does not know yet
	wantCount(t, "paris during the cut", paris.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200), 5)
	nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"count":7}`, merge...).Must(t, 200)
	paris.Do(t, lab.Servers, "PATCH /servers/"+id, `{"description":"changed at paris"}`, merge...).Must(t, 200)
	shares(t, e, 3, 7)
	heal(t, e, nantes)
	shares(t, e, 4, 3)
	all(7)

	nantes.Cut(t)
	place("paris & nantes")
	shares(t, e, 7, 3)
	wantCount(t, "the answer of nantes", nantes.Do(t, lab.Servers, "PATCH /servers/"+id, `{"count":12}`, merge...).Must(t, 200), 12)
	shares(t, e, 7, 6)
	heal(t, e, nantes)
	shares(t, e, 12, 12)
	all(12)
	for _, s := range []*env.Site{paris, nantes} {
		if a := s.Do(t, lab.Servers, "GET /servers/"+id, "").Must(t, 200); a.Text("description") != "changed at paris" {
			t.Errorf("%s shows %s", s.Name(), a.Body)
		}
	}
	paris.Do(t, lab.Servers, "DELETE /servers/"+id, "").Must(t, 204)
	shares(t, e)
}

func wantCount(t *testing.T, who string, a env.Answer, count float64) {
	t.Helper()
	if a.Fields()["count"] != count {
		t.Errorf("%s: want %v in all: %s", who, count, a.Body)
	}
}

// shares waits until the applications of paris and nantes hold parts of the group of these sizes; without any, until they hold none.
func shares(t *testing.T, e *env.Env, counts ...float64) {
	t.Helper()
	for i, name := range []string{"paris", "nantes"} {
		e.Eventually(t, patience, name+" holds its share", func() error {
			all, err := images(e.Site(name).Application(t, lab.Servers, "GET /servers", "").Must(t, 200).Body)
			if err != nil {
				return err
			}
			var got []any
			for _, server := range all {
				if server["name"] == "group" {
					got = append(got, server["count"])
				}
			}
			if len(counts) == 0 && len(got) == 0 || len(counts) > 0 && len(got) == 1 && got[0] == counts[i] {
				return nil
			}
			return fmt.Errorf("it holds %v, want one of %v", got, counts)
		})
	}
}
