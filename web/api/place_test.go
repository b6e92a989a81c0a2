package api_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestPlace(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian"
	resp, _ := f.Do("PATCH", at, `{"add":["toulouse"],"remove":["nantes"]}`)
	if resp.StatusCode != 202 || resp.Header.Get("Location") != "/api/v1/operations/op-place" || resp.Header.Get("Skerry-Operation") != "op-place" {
		t.Errorf("answered %d %v", resp.StatusCode, resp.Header)
	}
	sites, _ := f.Want(200, "GET", at, "")["sites"].(map[string]any)
	if sites["toulouse"] == nil || sites["nantes"] != nil || len(sites) != 2 {
		t.Errorf("it lives at %v", sites)
	}
	if v := f.Want(200, "PATCH", at, `{"sites":["paris","toulouse"]}`, "Skerry-Force", "actions"); v["id"] != "debian" {
		t.Errorf("what is so already is answered with %v", v)
	}
	f.Problem(422, "unknown-site", "lyno", "PATCH", at, `{"sites":["lyno"]}`)
	f.Problem(422, "placement", "needs a site", "PATCH", at, `{"sites":[]}`)
	f.Problem(400, "bad-request", "name the sites", "PATCH", at, `{}`)
	f.Problem(400, "bad-request", "not both", "PATCH", at, `{"sites":["paris"],"add":["nantes"]}`)
	f.Problem(400, "bad-request", "no warning", "PATCH", at, `{"add":["nantes"],"force":["everything"]}`)
}

// TestPlaceInParts divides a resource by a scope, and makes it one again. The shares are told before.
func TestPlaceInParts(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian"
	if got := fmt.Sprint(f.Want(200, "GET", at+"/division?scope="+url.QueryEscape("(paris & toulouse) % nantes"), "")); got != "map[parts:[map[share:map[/count:3] sites:[paris toulouse]] map[share:map[/count:2] sites:[nantes]]]]" {
		t.Errorf("it would be divided as %s", got)
	}
	for _, c := range []struct{ text, is string }{{"paris % nantes", "cross"}, {"{images: paris & nantes}", "replication"}} {
		f.Want(202, "PATCH", at, `{"scope":"`+c.text+`"}`)
		if v := f.Want(200, "GET", at, ""); v["collaboration"] != c.is {
			t.Errorf("%s: it is %v", c.text, v["collaboration"])
		}
	}
	f.Problem(400, "bad-request", "one of them", "PATCH", at, `{"scope":"paris","add":["nantes"]}`)
	f.Problem(400, "scope-syntax", "", "PATCH", at, `{"scope":"paris %"}`)
	f.Problem(422, "scope-type", "divided with", "PATCH", at, `{"scope":"paris ^ nantes"}`)
	f.Problem(400, "bad-request", "give a scope", "GET", at+"/division", "")
}

// TestPlaceWhereItFits places a server where its network is not: a flat network is its site's own.
func TestPlaceWhereItFits(t *testing.T) {
	f := served.Start(t)
	for _, network := range []string{"flat", "shared"} {
		f.Site.Show("paris", "networks", network, `{"type":"`+network+`"}`)
		related(f, "networks", "network", network, []engine.SiteID{self})
		related(f, "servers", "server", "on-"+network, []engine.SiteID{self}, "reliance networks.network/"+network)
	}
	f.Problem(422, "scope-type", `placing server on-flat at nantes refers to network "flat"`, "PATCH", "/api/v1/resources/on-flat", `{"add":["nantes"]}`)
	f.Want(202, "PATCH", "/api/v1/resources/on-shared", `{"sites":["paris","nantes"]}`)
}

// TestPlaceElsewhere asks the sites that have what this one has not.
func TestPlaceElsewhere(t *testing.T) {
	f := served.Start(t)
	if v := f.Want(202, "PATCH", "/api/v1/resources/elsewhere", `{"add":["paris"]}`); v["id"] != "op-there" {
		t.Errorf("answered %v", v)
	}
	f.Problem(503, "unreachable", "cannot be reached", "PATCH", "/api/v1/resources/nowhere", `{"add":["paris"]}`)
}

// TestPlaceAdopts adds a site to an object that this site's application has and nobody replicates, where it is clear which.
func TestPlaceAdopts(t *testing.T) {
	f := served.Start(t)
	f.Problem(503, "unreachable", "cannot be reached", "PATCH", "/api/v1/resources/legacy", `{"add":["nantes"]}`)
	f.Problem(503, "unreachable", "cannot be reached", "PATCH", "/api/v1/resources/legacy?service=images&kind=image", `{"sites":["nantes"]}`)
	if v := f.Want(202, "PATCH", "/api/v1/resources/legacy?service=images&kind=image", `{"add":["nantes"]}`); v["id"] != "op-adopt" {
		t.Errorf("answered %v", v)
	}
}
