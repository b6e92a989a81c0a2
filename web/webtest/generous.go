package webtest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
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
	for i, at := range [][3]float64{{0, 0, 1}, {-7, 3, 1}, {4, 19, 0}, {-10, -4, 1}} {
		s.members[i].Coordinate = &vivaldi.Coordinate{Vector: at, Height: 0.4, Error: 0.1}
	}
	s.SetObjects(engine.Object{Local: "legacy"}, engine.Object{Local: "5f0c6a9e", Label: "debian-12"}, engine.Object{Local: "77d0b1c4", Label: "rescue"})
	s.invitations = []engine.Invitation{
		{ID: "inv-4f1a", Issuer: s.self, Uses: 1, CreatedAt: start.Add(-4 * time.Minute), ExpiresAt: start.Add(56 * time.Minute)},
		{ID: "inv-02cc", Issuer: Nantes, Uses: 0, CreatedAt: start.Add(-90 * time.Hour), ExpiresAt: start.Add(-89 * time.Hour)},
		{ID: "inv-9e70", Issuer: s.self, Uses: 3, Revoked: true, CreatedAt: start.Add(-5 * time.Hour), ExpiresAt: start.Add(19 * time.Hour)},
	}
	s.fill(start)
	s.worries(start)
	s.hooked(start)
	s.remember(start)
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
	s.AddResource(engine.ResourceRow{ID: "gone-1", Label: "release", Service: "images", Kind: "image", Collaboration: engine.Replication, State: engine.StateDeleted,
		CreatedAt: start.Add(-5 * time.Hour), UpdatedAt: start.Add(-4 * time.Hour), Sites: map[engine.SiteID]engine.ReplicaStatus{s.self: {State: engine.StateDeleted, Applied: 3}, Nantes: {State: engine.StateDeleted, Applied: 3}}})
	s.addEvent("site.down", "rennes", `{"last_seen":"17 minutes ago"}`, start.Add(-17*time.Minute))
}

func (s *Site) worries(start time.Time) {
	s.AddResource(engine.ResourceRow{
		ID: "web-frontend", Service: "servers", Kind: "server", Collaboration: "replication", Local: "srv-12", State: engine.StateDegraded,
		Reason: `nantes: the application refused this change: it answered "quota of 8 CPUs exceeded" (422 Unprocessable Entity)`, CreatedAt: start.Add(-50 * time.Minute), UpdatedAt: start.Add(-9 * time.Minute),
		Relations: []engine.Relation{
			{Target: engine.Target{Service: "images", Kind: "image", ID: "alpine-300"}, At: "/image", Type: engine.RelationRequirement},
			{Target: engine.Target{Service: "networks", Kind: "network", ID: "backbone"}, At: "/network", Type: engine.RelationReliance},
		},
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			s.self: {Local: "srv-12", State: engine.StateConverged, Applied: 3}, Toulouse: {Local: "srv-3", State: engine.StateConverged, Applied: 3},
			Nantes: {Local: "srv-5", State: engine.StateDegraded, Applied: 2, Reason: `the application refused this change: it answered "quota of 8 CPUs exceeded" (422 Unprocessable Entity)`},
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
			Nantes:   {State: engine.StateRejected, Status: 422, At: start.Add(-9*time.Minute + 39*time.Millisecond), Attempts: 1, Error: `it answered "quota of 8 CPUs exceeded" (422 Unprocessable Entity)`},
			Rennes:   {State: engine.StatePending, Attempts: 0},
		},
	})
	s.AddOperation(engine.OperationRow{
		ID: "019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6", Resource: "web-frontend", Type: engine.TypeAction, Service: "servers", Kind: "server", Method: "POST", Path: "/servers/{id}/start",
		Scope: "{servers: paris & nantes & toulouse}", Origin: Nantes, User: "", IssuedAt: start.Add(-90 * time.Second), State: engine.StateUncertain,
		Sites: map[engine.SiteID]engine.OperationStatus{
			Nantes:   {State: engine.StateApplied, Status: 202, At: start.Add(-90*time.Second + 9*time.Millisecond), Attempts: 1},
			s.self:   {State: engine.StateUncertain, At: start.Add(-90*time.Second + 5*time.Second), Attempts: 1, Error: "it did not answer in time"},
			Toulouse: {State: engine.StateSuperseded, At: start.Add(-90*time.Second + 40*time.Millisecond)},
		},
	})
	s.AddOperation(engine.OperationRow{
		ID: "019aa3f0-8c22-7e53-9c70-22c3d4e5f607", Resource: "alpine-300", Type: engine.TypeAction, Service: "images", Kind: "image", Method: "PUT", Path: "/images/{id}/file",
		Origin: Nantes, User: "ada", IssuedAt: start.Add(-70 * time.Second), State: engine.StatePending, Blob: &engine.BlobRef{Hash: "b10b", Size: 700 << 20},
		Sites: map[engine.SiteID]engine.OperationStatus{
			Nantes: {State: engine.StateApplied, Status: 204, At: start.Add(-69 * time.Second), Attempts: 1},
			s.self: {State: engine.StatePending, At: start.Add(-3 * time.Second), Attempts: 2, Fetched: 259 << 20, Error: "fetching its body from nantes: 37 % of 700.0 MiB", Tries: []engine.Attempt{
				{At: start.Add(-40 * time.Second), Error: "it cannot be reached (connection refused)"}, {At: start.Add(-20 * time.Second), Status: 503, Error: `it answered "starting" (503 Service Unavailable)`}}},
			Toulouse: {State: engine.StatePending},
		},
	})
	s.addEvent("operation.rejected", "019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", `{"site":"nantes","status":422}`, start.Add(-9*time.Minute))
	s.addEvent("conflict.found", "backbone", `{"sites":["paris","toulouse"]}`, start.Add(-2*time.Minute))
	s.disagree(start)
	s.steered(start)
	s.shown["paris/servers/web-frontend"] = `{"id":"web-frontend","cpus":12,"image":"alpine-300","power":"on","admin_password":"a","updated_at":"1"}`
	s.shown["toulouse/servers/web-frontend"] = s.shown["paris/servers/web-frontend"]
	s.shown["nantes/servers/web-frontend"] = `{"id":"web-frontend","cpus":8,"image":"alpine-300","power":"on","admin_password":"a","labels":{},"updated_at":"2"}`
}

// disagree adds what waits for a person, and a value that lost.
func (s *Site) disagree(start time.Time) {
	s.preview = []engine.FieldDifference{
		{Path: "/cpus", Base: []byte(`4`), Here: []byte(`8`), Wanted: []byte(`12`)},
		{Path: "/labels/tier", Here: nil, Wanted: []byte(`"front"`)},
	}
	for _, c := range []engine.Conflict{
		{ID: "c0a1d7a7e5510e42", Kind: engine.ConflictDrift, Resource: "debian-301", Service: "images", KindName: "image", Site: Nantes,
			Operation: "019aa3ef-0001-7000-8000-000005eb0efc", Type: engine.TypeCreate, Since: start.Add(-31 * time.Minute),
			Reason: "nantes shows another size than the others, and no operation did that", Actions: []engine.Action{engine.ActionKeep, engine.ActionDismiss}},
		{ID: "5f1d0c93a2b4e876", Kind: engine.ConflictName, Resource: "backbone", Service: "networks", KindName: "network", Site: Toulouse,
			Type: engine.TypeCreate, Since: start.Add(-2 * time.Hour), Blocks: true,
			Reason: "another network has the name backbone at toulouse: it was created there earlier, during a cut", Actions: []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}},
		{ID: "8c02e91b44d6a3f0", Kind: engine.ConflictRefused, Resource: "web-frontend", Service: "servers", KindName: "server", Site: Nantes, Status: 422,
			Operation: "019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", Type: engine.TypeMerge, Since: start.Add(-9 * time.Minute), Reason: `the application refused this change: it answered "quota of 8 CPUs exceeded" (422 Unprocessable Entity)`,
			Actions: []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionDismiss}},
		{ID: "e7130ba95c2f4d18", Kind: engine.ConflictUncertain, Resource: "web-frontend", Service: "servers", KindName: "server", Site: s.self, Blocks: true,
			Operation: "019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6", Type: engine.TypeAction, Since: start.Add(-85 * time.Second),
			Reason: "nobody knows whether the action start ran: it did not answer in time", Actions: []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}},
	} {
		s.AddConflict(c)
	}
}

// steered adds what somebody has had a hand in: a cross resource, a pause, held deletions, a queue that does not get on.
func (s *Site) steered(start time.Time) {
	share := func(n string) map[engine.Pointer]json.RawMessage {
		return map[engine.Pointer]json.RawMessage{"/count": []byte(n)}
	}
	s.AddResource(engine.ResourceRow{
		ID: "fleet", Service: "servers", Kind: "server", Collaboration: engine.Cross, Local: "srv-40", State: engine.StateConverging,
		Reason: "rennes cannot be reached", CreatedAt: start.Add(-6 * time.Hour), UpdatedAt: start.Add(-17 * time.Minute),
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			s.self:   {Local: "srv-40", State: engine.StateConverged, Applied: 2, Part: 1, Share: share("4")},
			Nantes:   {Local: "srv-9", State: engine.StateConverged, Applied: 2, Part: 2, Share: share("2"), Paused: &engine.Pause{By: "paris", At: start.Add(-time.Hour), Reason: "moving racks"}},
			Toulouse: {Local: "srv-7", State: engine.StateConverged, Applied: 2, Part: 3, Share: share("12")},
			Rennes:   {State: engine.StateConverging, Applied: 1, Pending: 1, Part: 4, Share: share("3"), Reason: "rennes cannot be reached"},
		},
	})
	for i := range 3 {
		s.AddResource(engine.ResourceRow{
			ID: engine.ResourceID(fmt.Sprintf("old-%d", i+1)), Service: "networks", Kind: "network", Collaboration: engine.Replication, Local: engine.LocalID(fmt.Sprintf("net-%d", 30+i)),
			State: engine.StateConverging, Reason: "paris holds its deletion until somebody confirms it", CreatedAt: start.Add(-40 * time.Hour), UpdatedAt: start.Add(-12 * time.Minute),
			Sites: map[engine.SiteID]engine.ReplicaStatus{
				s.self: {Local: engine.LocalID(fmt.Sprintf("net-%d", 30+i)), State: engine.StateConverging, Applied: 1, Pending: 1, Held: true}, Nantes: {State: engine.StateConverged, Applied: 2},
			},
		})
		s.deleted(engine.OperationID(fmt.Sprintf("o-old-%d", i+1)), engine.ResourceID(fmt.Sprintf("old-%d", i+1)), start, engine.StateHeld)
	}
	for i := range 2 {
		id := engine.OperationID(fmt.Sprintf("o-gone-%d", i+1))
		s.deleted(id, engine.ResourceID(fmt.Sprintf("gone-%d", i+1)), start, engine.StateApplied)
		s.ran = append(s.ran, id)
	}
	s.queues["networks"] = engine.QueueStatus{State: engine.QueueFailing, Since: start.Add(-3 * time.Minute), Reason: "it cannot be reached (connection refused)", Waiting: 3, Next: start.Add(20 * time.Second)}
}

// deleted adds a deletion that ann has asked for at nantes while paris was away.
func (s *Site) deleted(id engine.OperationID, resource engine.ResourceID, start time.Time, here engine.State) { // everywhere else it has run
	s.AddOperation(engine.OperationRow{ID: id, Resource: resource, Type: engine.TypeDelete, Service: "networks", Kind: "network", Method: "DELETE", Path: "/networks/" + string(resource),
		Origin: Nantes, User: "ann", IssuedAt: start.Add(-13 * time.Minute), State: here, Sites: map[engine.SiteID]engine.OperationStatus{
			s.self: {State: here, At: start.Add(-12 * time.Minute)}, Nantes: {State: engine.StateApplied, Status: 204, At: start.Add(-13 * time.Minute)}}})
}
