package webtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/problem"
)

func kinds() map[engine.ServiceName][]*engine.Kind {
	kind := func(s engine.ServiceName, k engine.KindName) *engine.Kind {
		return &engine.Kind{
			Service: s, Name: k, Collection: "/" + string(s), Item: "/" + string(s) + "/{id}",
			ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Ignore: []engine.Pointer{"/updated_at"}, MergePatch: true,
		}
	}
	server := kind("servers", "server")
	server.Sensitive = []engine.Pointer{"/admin_password"}
	server.Divide = []engine.Pointer{"/count"}
	server.Refs = []engine.Ref{
		{At: "/image", Service: "images", Kind: "image", Relation: "requirement"},
		{At: "/network", Service: "networks", Kind: "network", Relation: "reliance"},
	}
	server.Operations = []engine.NamedOperation{{Name: "start", Method: "POST", Path: "/servers/{id}/start"}}
	network := kind("networks", "network")
	network.ID.Settable = true // a create may say what it is called
	return map[engine.ServiceName][]*engine.Kind{
		"images": {kind("images", "image")}, "networks": {network}, "servers": {server},
	}
}

// service is the interception handler of a service as far as the API meets it: a GET with a one-site scope answers
// what that site shows; a write with a scope becomes an operation; one without goes to the application, which
// echoes it.
func (s *Site) service(name engine.ServiceName) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, location, bound := strings.Cut(r.Header.Get("Scope"), ":")
		site := strings.TrimSpace(location)
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/hang":
			<-r.Context().Done()
		case r.URL.Path == "/abort":
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/refuse":
			problem.Write(w, 409, "name-taken", "the name is taken", nil)
		case r.URL.Path == "/echo":
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.Header().Set("X-Saw-Scope", r.Header.Get("Scope"))
			w.Header().Set("X-Saw-Key", r.Header.Get("Idempotency-Key"))
			w.Header().Set("Skerry-Site", "paris")
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write(body)
		case r.Method == http.MethodGet && bound:
			s.read(w, r, string(name), site)
		case r.Method == http.MethodPost && r.Header.Get("Scope") != "":
			s.create(w, r, name, body)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"no such thing"}`)
		}
	})
}

func (s *Site) read(w http.ResponseWriter, r *http.Request, service, site string) {
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	s.mu.Lock()
	body, known := s.shown[site+"/"+service+"/"+id]
	var reachable bool
	for _, m := range s.members {
		if string(m.Name) == site {
			reachable = m.ID == s.self || s.status[m.ID].Reachable && !s.isolated
		}
	}
	s.mu.Unlock()
	switch {
	case !reachable:
		problem.Write(w, http.StatusServiceUnavailable, "unreachable", "site "+site+" cannot be reached; nothing has happened", nil)
	case body == "hang":
		<-r.Context().Done()
	case !known || body == "":
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Skerry-Site", site)
		_, _ = io.WriteString(w, body)
	}
}

func (s *Site) create(w http.ResponseWriter, r *http.Request, name engine.ServiceName, body []byte) {
	s.mu.Lock()
	n := len(s.operations)
	id := engine.OperationID(fmt.Sprintf("019aa3f0-0000-7000-8000-%012d", n))
	now := s.Clock()
	s.mu.Unlock()
	resource := engine.ResourceID(fmt.Sprintf("%s-%d", strings.TrimSuffix(string(name), "s"), n))
	kind := s.kinds[name][0].Name
	s.AddResource(engine.ResourceRow{
		ID: resource, Service: name, Kind: kind, Collaboration: "replication", Local: engine.LocalID(resource),
		State: engine.StateConverging, Reason: "nantes has not applied the creation yet", CreatedAt: now, UpdatedAt: now,
		Sites: map[engine.SiteID]engine.ReplicaStatus{s.self: {Local: engine.LocalID(resource), State: engine.StateConverged, Applied: 1}},
	})
	s.AddOperation(engine.OperationRow{
		ID: id, Resource: resource, Type: engine.TypeCreate, Service: name, Kind: kind, Method: r.Method, Path: r.URL.Path,
		Scope: r.Header.Get("Scope"), Origin: s.self, IssuedAt: now, State: engine.StatePending, Body: body,
		Sites: map[engine.SiteID]engine.OperationStatus{s.self: {State: engine.StateApplied, Status: 201, At: now.Add(time.Millisecond), Attempts: 1}},
	})
	s.AddEvent("operation.accepted", string(id), `{"resource":"`+string(resource)+`"}`)
	w.Header().Set("Skerry-Operation", string(id))
	w.Header().Set("Skerry-Resource", string(resource))
	w.Header().Set("Skerry-Site", "paris")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// referring lists what Refer has named.
func (s *Site) referring(_ context.Context, t engine.Target, _ *engine.Credentials) ([]glue.Referrer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.referrers[t], s.fault("Referring")
}

// madeAlong lists what Make has named.
func (s *Site) madeAlong(_ context.Context, t engine.Target, _ *engine.Credentials) ([]glue.Referrer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[t], s.fault("Made")
}

// Make says that this site's application has made an object along with a resource.
func (s *Site) Make(owner engine.Target, r glue.Referrer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[owner] = append(s.made[owner], r)
}

// Refer says that an object of this site's application refers to a resource.
func (s *Site) Refer(r glue.Referrer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.referrers[r.By.Target] = append(s.referrers[r.By.Target], r)
}
