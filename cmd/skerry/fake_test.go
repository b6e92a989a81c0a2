package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/web/shape"
)

// fakeAgent stands in for an agent: it answers as the REST API is described, out of memory, and remembers what it was
// asked.
type fakeAgent struct {
	*httptest.Server
	mu         sync.Mutex
	asked      []string
	sites      []map[string]any
	resources  []map[string]any // newest first
	operations []map[string]any
	events     []map[string]any // oldest first
	changed    chan struct{}    // closed and replaced when there is a new event
	cut        chan struct{}    // closed to end all streams
	calm       string           // how all is, where nothing waits for a person: unknown or converged
	// images is the listener of a service, elsewhere something that is none.
	images, elsewhere *httptest.Server
	// vault is a service of HTTPS, strange something of HTTPS that is none.
	vault, strange *httptest.Server
}

func before(d time.Duration) string { return noon.Add(-d).Format(time.RFC3339Nano) }

const (
	debian = "0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11"
	alpine = "0190a5c2-9ab0-7be2-8f00-5a3e2c1d0f99"
	opPut  = "0190a5c3-0a01-7d20-b1c9-1f6d1f0f2b77"
	opPost = "0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77"
)

func startFake() *fakeAgent {
	a := &fakeAgent{changed: make(chan struct{}), cut: make(chan struct{})}
	type m = map[string]any
	a.sites = []m{
		{"name": "paris", "peer_id": "12D3KooWParis", "self": true, "reachable": true, "rtt_ms": 0, "last_seen": before(0), "services": []string{"images", "servers"},
			"application": "lab", "application_version": nil, "restored_at": before(time.Hour), "cloned": true, "agent_version": "v0.1.0", "addresses": []string{"/ip4/127.0.0.1/udp/4701/quic-v1"}, "joined_at": before(72 * time.Hour)},
		{"name": "lyon", "peer_id": "12D3KooWLyon", "self": false, "reachable": false, "rtt_ms": 3, "last_seen": nil, "services": []string{}, "application": "lab", "addresses": []string{}},
		{"name": "nantes", "peer_id": "12D3KooWNantes", "self": false, "reachable": true, "rtt_ms": 4.25, "estimated_rtt_ms": 4.6, "last_seen": before(3 * time.Second), "services": []string{"images", "servers"},
			"application": "lab", "application_version": "2.1", "queues": m{"images": m{"state": "paused", "since": before(2 * time.Minute), "reason": "status 401 bad token", "waiting": 0, "next_try": nil}},
			"bulletin": m{"resources": m{"conflict": 2}, "operations": m{"pending": 4}, "backlog": 4, "oldest": before(5 * time.Minute), "decisions": 2, "failing": m{"images": "paused"}, "version": "v0.1.0", "dashboard": "", "at": before(time.Minute)}, "addresses": []string{"/ip4/127.0.0.1/udp/4702/quic-v1", "/ip4/127.0.0.1/tcp/4702"}, "joined_at": before(26 * time.Hour)},
	}
	a.resources = []m{
		{"id": alpine, "label": "alpine", "service": "images", "kind": "image", "collaboration": "replication", "state": "converging", "reason": "nantes has not applied 2 operations: it is unreachable",
			"created_at": before(90 * time.Second), "updated_at": before(time.Second), "sites": m{
				"paris":  m{"local_id": "7", "state": "converged", "applied": 3, "pending": 0, "reason": ""},
				"nantes": m{"local_id": "", "state": "converging", "applied": 1, "pending": 2, "reason": "unreachable"}}},
		{"id": debian, "label": "debian", "service": "images", "kind": "image", "collaboration": "replication", "state": "converged", "reason": "", "created_at": before(5 * time.Hour),
			"compacted": m{"operations": 768, "until": before(time.Hour)}, "sites": m{"paris": m{"local_id": "1", "state": "converged", "applied": 2, "pending": 0}, "nantes": m{"local_id": "4", "state": "converged", "applied": 2, "pending": 0}}},
	}
	a.operations = []m{
		{"id": opPut, "resource": alpine, "type": "replace", "service": "images", "kind": "image", "method": "PUT", "path": "/images/{id}", "scope": "", "origin": "paris", "user": "ada",
			"issued_at": before(40 * time.Second), "state": "uncertain", "actions": []string{"retry", "drop"}, "parents": []string{opPost}, "body": m{"name": "alpine", "size": 3}, "body_encoding": "json", "change": nil, "sites": m{
				"paris":  m{"state": "applied", "status": 200, "at": before(40 * time.Second), "attempts": 1, "error": ""},
				"nantes": m{"state": "uncertain", "status": 0, "at": before(10 * time.Second), "attempts": 3, "error": "no answer from the application within 30s\x1b[2J"}}},
		{"id": opPost, "resource": alpine, "type": "create", "service": "images", "kind": "image", "method": "POST", "path": "/images", "scope": "{images: paris & nantes}", "origin": "nantes",
			"user": "", "issued_at": before(90 * time.Second), "state": "applied", "parents": []string{}, "sites": m{
				"paris": m{"state": "applied", "status": 201, "at": before(89 * time.Second), "attempts": 1}, "nantes": m{"state": "applied", "status": 201, "at": before(90 * time.Second), "attempts": 1}}},
	}
	for i, e := range []m{{"type": "site.up", "subject": "nantes", "data": m{}}, {"type": "operation.accepted", "subject": opPost, "data": m{"resource": alpine}},
		{"type": "operation.applied", "subject": opPost, "data": m{"site": "paris", "status": 201}}} {
		a.addEvent(e, noon.Add(time.Duration(i-3)*time.Minute))
	}
	told := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Skerry-Resource", r.URL.Path)
			w.Header().Set("Skerry-After", "written"+strings.ReplaceAll(r.URL.Path, "/", "-"))
			if after := r.Header.Get("Skerry-After"); after != "" {
				fmt.Fprintf(w, "after %s ", after)
			}
			fmt.Fprintf(w, "%s got %s with scope %q at its own address: %t", what, r.RequestURI, r.Header.Get("Scope"), r.Host == r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		})
	}
	a.images, a.elsewhere = httptest.NewServer(told("images")), httptest.NewServer(told("another"))
	a.vault, a.strange = httptest.NewTLSServer(told("vault")), httptest.NewTLSServer(told("stranger"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/services", func(w http.ResponseWriter, r *http.Request) {
		everywhere := strings.Replace(a.images.URL, "127.0.0.1", "0.0.0.0", 1)
		a.answer(w, []m{{"name": "block-store", "url": "http://127.0.0.1:1", "kinds": []string{}}, {"name": "images", "url": everywhere, "kinds": []string{"image"}},
			{"name": "vault", "url": a.vault.URL, "kinds": []string{}}})
	})
	mux.HandleFunc("GET /api/v1/summary", func(w http.ResponseWriter, r *http.Request) {
		v := m{"site": "paris", "converged": false, "sentence": "1 resource needs attention, of 2. 2 decisions wait at other sites.", "isolated": false, "sites": 3, "reachable": 2,
			"resources": m{"conflict": 1, "converged": 1}, "operations": m{}, "oldest": nil, "decisions": 1, "elsewhere": 2, "worries": []m{
				{"about": "resource", "id": alpine, "label": "alpine", "service": "images", "kind": "image", "state": "conflict", "reason": "refused at nantes", "since": before(time.Minute)},
				{"about": "site", "id": "nantes", "label": "", "service": "", "kind": "", "state": "decide", "reason": "2 decisions wait for a person there"}}}
		if calm := a.calm; calm != "" {
			v["decisions"], v["elsewhere"], v["worries"], v["converged"], v["sentence"] = 0, 0, []m{}, calm == "converged", "All 2 resources are converged."
			if calm == "converged" {
				v["reachable"] = 3
			}
		}
		a.answer(w, v)
	})
	mux.HandleFunc("GET /api/v1/sites", func(w http.ResponseWriter, r *http.Request) { a.answer(w, a.sites) })
	mux.HandleFunc("GET /api/v1/ways", func(w http.ResponseWriter, r *http.Request) {
		if s := r.FormValue("site"); s == "lyno" {
			refuse(w, 422, "unknown-site", fmt.Sprintf("there is no site %q in this mesh", s))
			return
		}
		nat := []m{{"code": "nat", "why": "nantes is behind a NAT (others see it at 203.0.113.9) and announces nothing: nobody gets in"}}
		a.answer(w, m{"items": []m{
			{"a": "lyon", "b": "nantes", "state": "apart", "relay": "", "transport": "", "rtt_ms": nil, "causes": nat, "help": []string{"at nantes: set mesh.announce"}, "tries": []m{
				{"from": "lyon", "address": "/ip4/192.168.1.2/tcp/4700", "relay": "", "result": "timed-out", "other": "", "detail": "i/o timeout\x1b[2J", "at": before(time.Second)},
				{"from": "nantes", "address": "", "relay": "", "result": "no-relay", "other": "", "detail": "", "at": before(time.Second)}}},
			{"a": "nantes", "b": "paris", "state": "relayed", "relay": "lyon", "transport": "quic", "rtt_ms": 7, "causes": nat, "help": []string{}, "tries": []m{}},
			{"a": "lyon", "b": "paris", "state": "direct", "relay": "", "hole": true, "transport": "tcp", "rtt_ms": 3, "causes": []m{}, "help": []string{}, "tries": []m{}},
		}, "asked": []m{{"site": "lyon", "error": ""}, {"site": "nantes", "error": "nantes gave no certain answer"}}})
	})
	mux.HandleFunc("GET /api/v1/sites/{name}/preview", func(w http.ResponseWriter, r *http.Request) {
		v := m{"site": "paris", "at": before(0), "waiting": 0, "examined": 0, "steps": m{}, "held": 0, "ran": 0, "items": []m{}}
		if r.PathValue("name") == "nantes" {
			v = m{"site": "nantes", "at": before(0), "waiting": 3, "examined": 3, "steps": m{"delete": 2, "correct": 1}, "held": 2, "ran": 26, "items": []m{
				{"resource": debian, "service": "images", "kind": "image", "does": "delete", "operations": []string{opPut}, "set": []string{}, "unset": []string{}, "waits": "deleted while nantes was away"},
				{"resource": alpine, "service": "images", "kind": "image", "does": "correct", "operations": []string{opPost}, "set": []string{"/name"}, "unset": []string{"/tag"}, "waits": ""}}}
		}
		a.answer(w, v)
	})
	mux.HandleFunc("POST /api/v1/sites/{name}/reject", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, m{"site": r.PathValue("name"), "back": []m{{"operation": "o1", "resource": "debian", "service": "images", "kind": "image"}},
			"refused": []m{{"operation": "o2", "reason": "there is another image debian by now"}}})
	})
	mux.HandleFunc("POST /api/v1/sites/{name}/confirm", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, m{"site": r.PathValue("name"), "confirmed": 2})
	})
	mux.HandleFunc("GET /api/v1/resources", func(w http.ResponseWriter, r *http.Request) {
		if s := r.FormValue("site"); s != "" && s != "paris" && s != "nantes" {
			refuse(w, 422, "unknown-site", fmt.Sprintf("there is no site %q in this mesh", s))
			return
		}
		a.page(w, r, a.resources, func(v map[string]any) bool {
			return (r.FormValue("state") == "" && v["state"] != "deleted" || v["state"] == r.FormValue("state")) &&
				strings.Contains(v["id"].(string), r.FormValue("q"))
		})
	})
	mux.HandleFunc("GET /api/v1/resources/{id}", func(w http.ResponseWriter, r *http.Request) { a.one(w, r, a.resources) })
	mux.HandleFunc("POST /api/v1/resources/{id}/pause", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Site, Reason string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		if q.Site == "lyon" {
			refuse(w, 503, "unreachable", "lyon cannot be reached; nothing has happened")
			return
		}
		paused := m{"local_id": "", "state": "converging", "applied": 1, "pending": 2, "reason": "paused from paris: " + q.Reason,
			"paused": m{"by": "paris", "at": before(0), "reason": q.Reason}}
		a.answer(w, m{"id": alpine, "label": "alpine", "service": "images", "kind": "image", "collaboration": "replication", "state": "converging",
			"reason": "waiting for nantes; nantes: paused from paris: " + q.Reason, "created_at": before(90 * time.Second), "sites": m{
				"paris": m{"local_id": "7", "state": "converged", "applied": 3, "pending": 0, "reason": ""}, q.Site: paused}})
	})
	mux.HandleFunc("PATCH /api/v1/resources/{id}", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Sites, Add, Remove, Force []string
			Scope                     string
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		switch {
		case len(q.Sites) == 2:
			a.one(w, r, a.resources)
		case len(q.Add) > 0 && len(q.Force) == 0:
			refuse(w, 409, "actions", "an added site would begin without what /servers/{id}/start has done")
		default:
			w.WriteHeader(http.StatusAccepted)
			a.answer(w, m{"id": opPost, "resource": r.PathValue("id"), "type": "place", "service": "images", "kind": "image", "method": "", "path": "", "scope": "",
				"origin": "paris", "user": "", "issued_at": before(0), "state": "pending", "parents": []string{}, "sites": m{
					"paris": m{"state": "applied", "at": before(0)}, "toulouse": m{"state": "pending"}}})
		}
	})
	mux.HandleFunc("GET /api/v1/resources/{id}/division", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == alpine {
			refuse(w, 422, "scope-type", "image alpine has content beside it, which is not divided")
			return
		}
		a.answer(w, m{"parts": []m{{"sites": []string{"nantes"}, "share": m{"/count": 3}}, {"sites": []string{"paris"}, "share": m{"/count": 2}}}})
	})
	mux.HandleFunc("POST /api/v1/resources", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		a.answer(w, m{"resource": a.resources[0], "operation": "op-3"})
	})
	mux.HandleFunc("POST /api/v1/resources/{id}/restore", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, m{"operation": "op-2"})
	})
	mux.HandleFunc("POST /api/v1/resources/{id}/keep", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Site  string
			Force bool
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		if !q.Force {
			refuse(w, 409, "contention", "it was repaired 3 times and was changed again")
			return
		}
		a.answer(w, m{"operation": "op-1"})
	})
	compared := func(w http.ResponseWriter, r *http.Request) {
		sites := m{"paris": m{"error": ""}, "nantes": m{"error": ""}}
		left := []m{{"path": "/uid", "reason": "each site gives its object an identifier", "values": m{"paris": "a1", "nantes": "b2"}}}
		switch r.PathValue("id") {
		case "debian":
			a.answer(w, m{"equal": true, "sites": sites, "differences": []m{}, "left_out": left})
		case "web":
			a.answer(w, m{"equal": false, "sites": sites, "left_out": left, "differences": []m{
				{"path": "/init", "values": m{"paris": []string{"wait", "seed"}, "nantes": []string{"seed", "wait"}}}, {"path": "/name", "values": m{"paris": "web"}}}})
		default:
			a.answer(w, m{"equal": nil, "sites": m{"paris": m{"error": ""}, "nantes": m{"error": "no answer within 3s"}}, "differences": []m{}, "left_out": []m{}})
		}
	}
	mux.HandleFunc("GET /api/v1/resources/{id}/replicas", compared)
	mux.HandleFunc("GET /api/v1/conflicts/{id}/replicas", compared)
	mux.HandleFunc("POST /api/v1/resources/{id}/check", func(w http.ResponseWriter, r *http.Request) { a.one(w, r, a.resources) })
	mux.HandleFunc("POST /api/v1/resources/{id}/resume", func(w http.ResponseWriter, r *http.Request) { a.one(w, r, a.resources) })
	mux.HandleFunc("GET /api/v1/operations", func(w http.ResponseWriter, r *http.Request) {
		a.page(w, r, a.operations, func(v map[string]any) bool { return r.FormValue("state") == "" || v["state"] == r.FormValue("state") })
	})
	looks := 0
	mux.HandleFunc("GET /api/v1/operations/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch at := (m{"state": "pending", "status": 503, "at": before(4 * time.Second), "attempts": 12, "error": "it answered 503 Service Unavailable", "tries": []m{
			{"at": before(9 * time.Second), "status": 0, "error": "it cannot be reached (connection refused)"}, {"at": before(4 * time.Second), "status": 503, "error": "it answered 503 Service Unavailable"}}}); r.PathValue("id") {
		case "large": // it gets on with each look
			if looks++; looks == 2 {
				at = m{"state": "pending", "error": "fetching its body from paris", "fetched": 3 << 20}
			} else if looks > 2 {
				at = m{"state": "applied", "status": 201, "at": before(0), "attempts": 1}
			}
			fallthrough
		case "failing":
			a.answer(w, m{"id": r.PathValue("id"), "type": "create", "service": "images", "kind": "image", "method": "POST", "path": "/images", "origin": "paris", "issued_at": before(time.Minute),
				"state": at["state"], "parents": []string{}, "blob": m{"size": 12 << 20}, "next_try": before(-8 * time.Second), "sites": m{"nantes": at}})
		default:
			a.one(w, r, a.operations)
		}
	})
	mux.HandleFunc("POST /api/v1/operations/{id}/{verb}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != opPut {
			refuse(w, 409, "settled", "nothing is to be settled: the operation is applied")
			return
		}
		a.one(w, r, a.operations)
	})
	mux.HandleFunc("POST /api/v1/sites/{name}/resume", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "lyon" {
			refuse(w, 503, "unreachable", "lyon cannot be reached; nothing has happened")
			return
		}
		a.answer(w, a.sites[2])
	})
	exists := m{"id": "5f1d0c93a2b4e876", "about": "exists", "resource": alpine, "service": "images", "kind": "image", "site": "nantes", "operation": opPut,
		"type": "create", "status": 409, "since": before(40 * time.Second), "reason": "the application has an object of this identifier already",
		"rule": "an object that no replicated resource owns is never overwritten", "blocks": true, "actions": []string{"adopt", "retry", "drop"}, "accepted": nil}
	dropped := m{"id": "0c93a2b4e8765f1d", "about": "refused", "resource": debian, "service": "images", "kind": "image", "site": "nantes", "operation": opPost,
		"type": "merge", "status": 422, "since": before(2 * time.Hour), "reason": "this change is not made there: a person has given it up", "rule": "the application decides", "blocks": false,
		"actions": []string{"retry", "done"}, "accepted": m{"action": "drop", "by": "nantes", "at": before(time.Hour)}}
	mux.HandleFunc("GET /api/v1/conflicts", func(w http.ResponseWriter, r *http.Request) {
		a.page(w, r, []m{exists, dropped}, func(v map[string]any) bool { return (v["accepted"] != nil) == (r.FormValue("accepted") == "true") })
	})
	mux.HandleFunc("GET /api/v1/conflicts/{id}", func(w http.ResponseWriter, r *http.Request) {
		v := maps.Clone(exists)
		v["differences"], v["not_compared"] = []m{{"path": "/size", "here": 1, "wanted": 3}, {"path": "/name", "here": "old", "wanted": "alpine"}}, ""
		v["choices"] = shape.Conflict{About: "exists", Site: "nantes", Type: "create", Actions: []string{"adopt", "retry", "drop"}}.Choices()
		if r.PathValue("id") == dropped["id"] {
			v = maps.Clone(dropped)
			v["differences"], v["not_compared"] = nil, "nantes cannot be reached; nothing has happened"
		}
		a.one(w, r, []map[string]any{v})
	})
	mux.HandleFunc("POST /api/v1/conflicts/{id}/resolve", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Action string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		if q.Action == "dismiss" {
			refuse(w, 422, "settle", "\"dismiss\" is nothing that can be decided about this conflict now; it takes [adopt retry drop]")
			return
		}
		a.answer(w, m{"conflict": r.PathValue("id"), "action": q.Action, "site": "nantes", "operation": a.operations[1]})
	})
	mux.HandleFunc("GET /api/v1/relations", func(w http.ResponseWriter, r *http.Request) {
		node := func(key, state string, sites ...string) m {
			return m{"key": key, "service": "", "kind": "", "id": "", "shared": state != "", "state": state, "reason": "", "sites": append([]string{}, sites...)}
		}
		edge := func(from, to, at, relation, warning string) m {
			return m{"from": from, "to": to, "at": at, "relation": relation, "warning": warning}
		}
		a.answer(w, m{"root": r.FormValue("resource"), "next": "", "unknown": []string{"objects of nantes alone"},
			"nodes": []m{node("web", "converged", "paris", "nantes"), node("debian", "converged", "paris", "nantes"), node("front", "converging", "paris"),
				node("router", ""), node("monitor", "converged", "paris")},
			"edges": []m{edge("web", "debian", "/image", "requirement", ""), edge("web", "front", "/network", "reliance", "no replica at nantes"),
				edge("front", "router", "/router", "reliance", ""), edge("router", "front", "/network", "reliance", ""), edge("monitor", "web", "/watches/0", "reliance", "")}})
	})
	mux.HandleFunc("GET /api/v1/audit", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, m{"next": "", "items": []m{
			{"n": 2, "at": before(time.Minute), "account": "ada", "by": "token", "token": "deploy", "address": "192.0.2.7", "method": "POST", "path": "/api/v1/zones/w", "status": 403, "problem": "forbidden"},
			{"n": 1, "at": before(time.Hour), "account": "", "by": "loopback", "address": "127.0.0.1", "method": "POST", "path": "/api/v1/resources", "status": 202, "operation": "op-3"}}})
	})
	mux.HandleFunc("GET /api/v1/audit/verify", func(w http.ResponseWriter, r *http.Request) {
		v := m{"intact": true, "records": 2, "first": 1, "last": 2, "head": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "reason": ""}
		if r.FormValue("n") == "1" {
			v["intact"], v["reason"] = false, "record 1 has another hash than the one that was noted"
		}
		a.answer(w, v)
	})
	mux.HandleFunc("GET /api/v1/hooks", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, []m{{"id": "5d0c1f9e22a4b871", "url": "https://receiver.example/in", "events": []string{}, "state": "waiting", "delivered": 12, "given_up": 0, "next_try": nil},
			{"id": "77aa1f9e22a4b871", "url": "https://other.example", "events": []string{"operation.*", "site.down"}, "state": "failing", "delivered": 3, "given_up": 1, "next_try": before(-5 * time.Second)}})
	})
	mux.HandleFunc("POST /api/v1/hooks", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			URL    string
			Events []string
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.WriteHeader(http.StatusCreated)
		a.answer(w, m{"id": "5d0c1f9e22a4b871", "url": q.URL, "events": q.Events, "secret": "whsec_c2VjcmV0"})
	})
	mux.HandleFunc("DELETE /api/v1/hooks/{id}", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /api/v1/hooks/{id}/deliveries", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, m{"next": "", "items": []m{
			{"n": 13, "at": before(5 * time.Second), "event": "41", "type": "operation.applied", "attempt": 2, "status": 204, "took_ms": 12, "error": "", "result": "delivered"},
			{"n": 12, "at": before(10 * time.Second), "event": "41", "type": "operation.applied", "attempt": 1, "status": 0, "took_ms": 500, "error": "it cannot be reached (connection refused)", "result": "failed"}}})
	})
	mux.HandleFunc("GET /api/v1/tokens", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, []m{{"id": "5d0c1f9e22a4b871", "name": "metrics", "role": "viewer", "account": "", "created_at": before(time.Hour), "expires_at": before(-time.Hour)},
			{"id": "11aa1f9e22a4b871", "name": "deploy", "role": "operator", "account": "ada", "created_at": before(50 * time.Hour), "expires_at": before(-240 * time.Hour)}})
	})
	mux.HandleFunc("POST /api/v1/tokens", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		a.answer(w, m{"id": "5d0c1f9e22a4b871", "name": "metrics", "role": "viewer", "account": "", "token": "skt_secret", "created_at": before(0), "expires_at": before(-720 * time.Hour)})
	})
	mux.HandleFunc("POST /api/v1/links", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		a.answer(w, m{"path": "/login?once=secret", "expires_at": before(-10 * time.Minute)})
	})
	mux.HandleFunc("DELETE /api/v1/tokens/{id}", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /api/v1/sites/{name}/{how}", func(w http.ResponseWriter, r *http.Request) {
		for _, s := range a.sites {
			if s["name"] == r.PathValue("name") {
				s["removed_at"], s["revoked"] = before(time.Minute), r.PathValue("how") == "revoke"
				w.WriteHeader(202)
				return
			}
		}
		refuse(w, 422, "unknown-site", "there is no site \""+r.PathValue("name")+"\" in this mesh")
	})
	mux.HandleFunc("PUT /api/v1/sites/{name}/certificate", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "lyon" {
			refuse(w, 403, "authority", "this site is no authority of the mesh: do it at one that is; the authorities are nantes")
			return
		}
		certified := maps.Clone(a.sites[2])
		certified["certified_by"], certified["certified_until"] = "12D3KooWParis", noon.Add(8760*time.Hour).Format(time.RFC3339)
		a.answer(w, certified)
	})
	mux.HandleFunc("GET /api/v1/authorities", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, []m{{"key": "12D3KooWOff", "site": "", "self": false}, {"key": "12D3KooWParis", "site": "paris", "self": true}})
	})
	mux.HandleFunc("POST /api/v1/authorities", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		a.answer(w, []m{})
	})
	mux.HandleFunc("DELETE /api/v1/authorities/{key}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("key") == "lyon" {
			refuse(w, 409, "authority", "lyon ranks above paris")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /api/v1/authorities/requests", func(w http.ResponseWriter, r *http.Request) { a.answer(w, m{"request": "skq1:x"}) })
	mux.HandleFunc("POST /api/v1/authorities/answers", func(w http.ResponseWriter, r *http.Request) { a.answer(w, m{"records": 1}) })
	mux.HandleFunc("GET /api/v1/zones", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, []m{{"name": "west", "sites": []string{"nantes", "paris"}, "by": "paris", "at": before(time.Hour)}})
	})
	mux.HandleFunc("PUT /api/v1/zones/{name}", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Sites []string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		a.answer(w, m{"name": r.PathValue("name"), "sites": q.Sites, "by": "paris", "at": before(0)})
	})
	mux.HandleFunc("DELETE /api/v1/zones/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != "west" {
			refuse(w, 404, "not-found", "there is no such thing at this site")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /api/v1/invitations", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		a.answer(w, m{"id": "7f3a", "token": "skr1:bWVzaA", "uses": 1, "expires_at": noon.Add(time.Hour).Format(time.RFC3339)})
	})
	mux.HandleFunc("POST /api/v1/scope/explain", a.explain)
	mux.HandleFunc("GET /api/v1/events/log", func(w http.ResponseWriter, r *http.Request) {
		newest := slices.Clone(a.events)
		slices.Reverse(newest)
		end, err := strconv.Atoi(r.FormValue("before"))
		a.page(w, r, newest, func(v map[string]any) bool {
			id, _ := strconv.Atoi(v["id"].(string))
			return err != nil || id < end
		})
	})
	mux.HandleFunc("GET /api/v1/events", a.stream)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		a.mu.Lock()
		a.asked = append(a.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, strings.TrimPrefix(r.RequestURI, "/api/v1"), body)))
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	return a
}

func (a *fakeAgent) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) == 0 {
		return "nothing"
	}
	return a.asked[len(a.asked)-1]
}

// addEvent writes an event and tells those who wait.
func (a *fakeAgent) addEvent(e map[string]any, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e["id"], e["specversion"], e["source"], e["time"] = strconv.Itoa(len(a.events)+1), "1.0", "/sites/paris", at.Format(time.RFC3339)
	a.events = append(a.events, e)
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *fakeAgent) answer(w http.ResponseWriter, v any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, typ, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "/problems/" + typ, "title": http.StatusText(status), "status": status, "detail": detail})
}

// page answers with limit rows after the cursor, which is the number of rows before the page, or, of events, an id.
func (a *fakeAgent) page(w http.ResponseWriter, r *http.Request, rows []map[string]any, keep func(map[string]any) bool) {
	a.mu.Lock()
	rows = slices.DeleteFunc(slices.Clone(rows), func(v map[string]any) bool { return !keep(v) })
	a.mu.Unlock()
	skip, _ := strconv.Atoi(r.FormValue("cursor"))
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil || limit < 1 || limit > 1000 {
		refuse(w, 400, "bad-request", "limit is "+r.FormValue("limit"))
		return
	}
	rows, next := rows[min(skip, len(rows)):], ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = strconv.Itoa(skip + limit)
		if strings.HasSuffix(r.URL.Path, "/log") {
			next = rows[limit-1]["id"].(string)
		}
	}
	a.answer(w, map[string]any{"items": rows, "next": next})
}

func (a *fakeAgent) one(w http.ResponseWriter, r *http.Request, rows []map[string]any) {
	a.mu.Lock()
	i := slices.IndexFunc(rows, func(v map[string]any) bool { return v["id"] == r.PathValue("id") })
	a.mu.Unlock()
	if i < 0 {
		refuse(w, 404, "not-found", "there is no such thing at this site")
		return
	}
	a.answer(w, rows[i])
}

func (a *fakeAgent) explain(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Scope, Service, Method, Path string }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	type m = map[string]any
	none := m{"canonical": "", "tree": []any{}, "alternatives": []any{}, "plan": nil, "errors": []any{}, "warnings": []any{}}
	switch {
	case ask.Service == "image":
		refuse(w, 422, "unknown-service", `there is no service "image" in application lab`)
	case strings.Contains(ask.Scope, ", "):
		none["errors"] = []m{{"type": "scope-syntax", "position": 17, "detail": "{images: paris & , nantes}\n                 ^ expected a site, found \",\""}}
		a.answer(w, none)
	default:
		a.answer(w, m{"canonical": "{images: paris & nantes}",
			"tree":         []m{{"service": "images", "location": m{"op": "&", "args": []m{{"site": "paris"}, {"site": "nantes"}}}}},
			"alternatives": []m{{"mode": "replicate", "sites": []string{"paris", "nantes"}, "reachable": true, "rtt_ms": 0}},
			"plan": m{"summary": "The image is created here, at paris, and then at nantes.", "steps": []m{
				{"site": "paris", "does": "runs it and answers", "reachable": true, "rtt_ms": 0, "waits_for": []string{}, "accepts": "yes", "why": "it is its own", "as": "caller"},
				{"site": "nantes", "does": "applies it", "reachable": false, "rtt_ms": 0.4, "waits_for": []string{"paris"}, "accepts": "unknown", "why": "nantes cannot be reached", "as": "agent"}}},
			"errors": []any{}, "warnings": []string{"nantes is unreachable now: it applies the operation when it is back"}})
	}
}

// stream sends the events after Last-Event-ID, or from now on, until cut is closed.
func (a *fakeAgent) stream(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	sent, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil {
		sent = len(a.events)
	}
	cut := a.cut
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "retry: 1000\n: stream\n\n")
	for {
		a.mu.Lock()
		changed := a.changed
		for ; sent < len(a.events); sent++ {
			b, _ := json.Marshal(a.events[sent])
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", sent+1, a.events[sent]["type"], b)
		}
		a.mu.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}
