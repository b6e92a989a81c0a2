package webtest

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// The keys of the sites of Generous.
const (
	Nantes   engine.SiteID = "12D3KooWNantes22222222222222222222222222222222222"
	Toulouse engine.SiteID = "12D3KooWToulouse3333333333333333333333333333333333"
	Rennes   engine.SiteID = "12D3KooWRennes44444444444444444444444444444444444"
)

// Generous is a site with something of everything: three other sites, one of them cut off, resources and
// operations in every state, events and invitations.
func Generous() *Site {
	s := Empty()
	start := s.Clock()
	s.AddMember("nantes", Nantes, engine.SiteStatus{Reachable: true, RTT: 8420 * time.Microsecond, LastSeen: start.Add(-400 * time.Millisecond)})
	s.AddMember("toulouse", Toulouse, engine.SiteStatus{Reachable: true, RTT: 21300 * time.Microsecond, LastSeen: start.Add(-700 * time.Millisecond)})
	s.AddMember("rennes", Rennes, engine.SiteStatus{RTT: 12 * time.Millisecond, LastSeen: start.Add(-17 * time.Minute)})
	s.members[3].Catalog = "71be0c22aa10f3d"
	s.invitations = []engine.Invitation{
		{ID: "inv-4f1a", Issuer: s.self, Uses: 1, CreatedAt: start.Add(-4 * time.Minute), ExpiresAt: start.Add(56 * time.Minute)},
		{ID: "inv-02cc", Issuer: Nantes, Uses: 0, CreatedAt: start.Add(-90 * time.Hour), ExpiresAt: start.Add(-89 * time.Hour)},
		{ID: "inv-9e70", Issuer: s.self, Uses: 3, Revoked: true, CreatedAt: start.Add(-5 * time.Hour), ExpiresAt: start.Add(19 * time.Hour)},
	}
	s.fill(start)
	s.worries(start)
	return s
}

func (s *Site) fill(start time.Time) {
	names := []string{"alpine", "debian", "fedora", "ubuntu", "arch", "nixos", "freebsd", "openwrt"}
	for i := range 64 {
		at := start.Add(-time.Duration(64-i) * 47 * time.Minute)
		id := engine.ResourceID(fmt.Sprintf("%s-%d", names[i%len(names)], 300+i))
		sites := map[engine.SiteID]engine.ReplicaStatus{
			s.self: {Local: engine.LocalID(fmt.Sprintf("img-%d", i+1)), State: engine.StateConverged, Applied: 1 + i%4},
			Nantes: {Local: engine.LocalID(fmt.Sprintf("img-%d", i+40)), State: engine.StateConverged, Applied: 1 + i%4},
		}
		if i%3 == 0 {
			sites[Toulouse] = engine.ReplicaStatus{Local: engine.LocalID(fmt.Sprintf("img-%d", i+7)), State: engine.StateConverged, Applied: 1 + i%4}
		}
		state, reason := engine.StateConverged, ""
		if i > 60 {
			sites[Rennes] = engine.ReplicaStatus{State: engine.StateConverging, Pending: 2, Reason: "rennes cannot be reached"}
			state, reason = engine.StateConverging, "rennes has not applied 2 operations: it cannot be reached"
		}
		if i == 9 {
			state = engine.StateDeleted
		}
		s.AddResource(engine.ResourceRow{
			ID: id, Service: "images", Kind: "image", Collaboration: "replication", Local: sites[s.self].Local, State: state, Reason: reason,
			CreatedAt: at, UpdatedAt: at.Add(3 * time.Second), Sites: sites,
		})
		outcomes := map[engine.SiteID]engine.OperationStatus{}
		opState := engine.StateApplied
		for site, r := range sites {
			o := engine.OperationStatus{State: engine.StateApplied, Status: 201, At: at.Add(time.Duration(len(site)+i%9*3) * time.Millisecond), Attempts: 1}
			if r.State == engine.StateConverging {
				o = engine.OperationStatus{State: engine.StatePending}
				opState = engine.StatePending
			}
			outcomes[site] = o
		}
		op := engine.OperationID(fmt.Sprintf("019aa3ef-%04x-7000-8000-%012x", i, 0x5eaf00d+i*7919))
		s.AddOperation(engine.OperationRow{
			ID: op, Resource: id, Type: engine.TypeCreate, Service: "images", Kind: "image", Method: "POST", Path: "/images",
			Scope: "{images: paris & nantes}", Origin: s.self, User: "ada", IssuedAt: at, State: opState, Sites: outcomes,
			Body: []byte(fmt.Sprintf(`{"name":%q,"size":%d,"tags":["base"]}`, names[i%len(names)], i*1000)), Change: []byte(fmt.Sprintf(`{"set":{"/name":%q}}`, names[i%len(names)])),
		})
		s.addEvent("operation.accepted", string(op), fmt.Sprintf(`{"resource":%q}`, id), at)
		s.addEvent("operation.converged", string(op), fmt.Sprintf(`{"resource":%q,"took_ms":%d}`, id, 20+i), at.Add(30*time.Millisecond))
		for _, site := range []string{"paris", "nantes", "toulouse"} {
			s.shown[site+"/images/"+string(id)] = fmt.Sprintf(`{"id":%q,"name":%q,"size":%d,"tags":["base"],"updated_at":"%s"}`, id, names[i%len(names)], i*1000, site)
		}
	}
	s.addEvent("site.down", "rennes", `{"last_seen":"17 minutes ago"}`, start.Add(-17*time.Minute))
}

func (s *Site) worries(start time.Time) {
	s.AddResource(engine.ResourceRow{
		ID: "web-frontend", Service: "servers", Kind: "server", Collaboration: "replication", Local: "srv-12", State: engine.StateDegraded,
		Reason: "nantes refused the change of its flavour (422): quota of 8 CPUs exceeded", CreatedAt: start.Add(-50 * time.Minute), UpdatedAt: start.Add(-9 * time.Minute),
		Relations: []engine.Relation{
			{Target: engine.Target{Service: "images", Kind: "image", ID: "alpine-300"}, At: "/image", Type: engine.RelationRequirement},
			{Target: engine.Target{Service: "networks", Kind: "network", ID: "backbone"}, At: "/network", Type: engine.RelationReliance},
		},
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			s.self: {Local: "srv-12", State: engine.StateConverged, Applied: 3}, Toulouse: {Local: "srv-3", State: engine.StateConverged, Applied: 3},
			Nantes: {Local: "srv-5", State: engine.StateDegraded, Applied: 2, Reason: "rejected: quota of 8 CPUs exceeded"},
		},
	})
	s.AddResource(engine.ResourceRow{
		ID: "backbone", Service: "networks", Kind: "network", Collaboration: "replication", Local: "net-2", State: engine.StateConflict,
		Reason: "created on both sides of a cut with different placements; toulouse holds the later one", CreatedAt: start.Add(-3 * time.Hour), UpdatedAt: start.Add(-2 * time.Hour),
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			s.self: {Local: "net-2", State: engine.StateConverged, Applied: 1}, Toulouse: {State: engine.StateConflict, Applied: 0, Reason: "another object has the name"},
		},
	})
	s.Refer(glue.Referrer{Target: engine.Target{Service: "servers", Kind: "server", ID: "srv-77"}, By: engine.Relation{
		Target: engine.Target{Service: "networks", Kind: "network", ID: "backbone"}, At: "/network", Type: engine.RelationReliance}})
	s.AddOperation(engine.OperationRow{
		ID: "019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", Resource: "web-frontend", Type: engine.TypeMerge, Service: "servers", Kind: "server", Method: "PATCH", Path: "/servers/{id}",
		Scope: "", Origin: s.self, User: "grace", IssuedAt: start.Add(-9 * time.Minute), State: engine.StateRejected,
		Parents: []engine.OperationID{"019aa3ef-0039-7000-8000-0000060f1b3c", "019aa3ef-003a-7000-8000-0000060f3a2b"},
		Body:    []byte(`{"cpus":12,"admin_password":"hunter2","labels":{"tier":"front"}}`), Change: []byte(`{"set":{"/cpus":12,"/admin_password":"hunter2","/labels/tier":"front"}}`),
		Sites: map[engine.SiteID]engine.OperationStatus{
			s.self:   {State: engine.StateApplied, Status: 200, At: start.Add(-9*time.Minute + 14*time.Millisecond), Attempts: 1},
			Toulouse: {State: engine.StateApplied, Status: 200, At: start.Add(-9*time.Minute + 61*time.Millisecond), Attempts: 1},
			Nantes:   {State: engine.StateRejected, Status: 422, At: start.Add(-9*time.Minute + 39*time.Millisecond), Attempts: 1, Error: "quota of 8 CPUs exceeded"},
			Rennes:   {State: engine.StatePending, Attempts: 0},
		},
	})
	s.AddOperation(engine.OperationRow{
		ID: "019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6", Resource: "web-frontend", Type: engine.TypeAction, Service: "servers", Kind: "server", Method: "POST", Path: "/servers/{id}/start",
		Scope: "{servers: paris & nantes & toulouse}", Origin: Nantes, User: "", IssuedAt: start.Add(-90 * time.Second), State: engine.StateUncertain,
		Sites: map[engine.SiteID]engine.OperationStatus{
			Nantes:   {State: engine.StateApplied, Status: 202, At: start.Add(-90*time.Second + 9*time.Millisecond), Attempts: 1},
			s.self:   {State: engine.StateUncertain, At: start.Add(-90*time.Second + 5*time.Second), Attempts: 1, Error: "the application did not answer within 5 s"},
			Toulouse: {State: engine.StateSuperseded, At: start.Add(-90*time.Second + 40*time.Millisecond)},
		},
	})
	s.addEvent("operation.rejected", "019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", `{"site":"nantes","status":422}`, start.Add(-9*time.Minute))
	s.addEvent("conflict.found", "backbone", `{"sites":["paris","toulouse"]}`, start.Add(-2*time.Minute))
	s.shown["paris/servers/web-frontend"] = `{"id":"web-frontend","cpus":12,"image":"alpine-300","power":"on","admin_password":"a","updated_at":"1"}`
	s.shown["toulouse/servers/web-frontend"] = s.shown["paris/servers/web-frontend"]
	s.shown["nantes/servers/web-frontend"] = `{"id":"web-frontend","cpus":8,"image":"alpine-300","power":"on","admin_password":"a","labels":{},"updated_at":"2"}`
}
