package served

import (
	"time"

	"github.com/skerry/skerry/engine"
)

// Image is a resource of service images at paris and nantes.
func Image(id string, state engine.State, at time.Time) engine.ResourceRow {
	return engine.ResourceRow{
		ID: engine.ResourceID(id), Service: "images", Kind: "image", Collaboration: "replication", Local: engine.LocalID("img-" + id),
		State: state, CreatedAt: at, UpdatedAt: at,
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			"12D3KooWParis1111111111111111111111111111111111111": {Local: engine.LocalID("img-" + id), State: engine.StateConverged, Applied: 2},
			Nantes: {Local: "img-7", State: state, Applied: 1, Pending: 1, Reason: "not applied yet"},
		},
	}
}

// Operation is one that merges into a resource of service images, which nantes has applied.
func Operation(id, resource string, state engine.State) engine.OperationRow {
	return engine.OperationRow{
		ID: engine.OperationID(id), Resource: engine.ResourceID(resource), Type: engine.TypeMerge, Service: "images", Kind: "image",
		Method: "PATCH", Path: "/images/{id}", Scope: "{images: paris & nantes}", Origin: Nantes, User: "ada", IssuedAt: time.Now(),
		State: state, Parents: []engine.OperationID{"p1"}, Body: []byte(`{"name":"alpine"}`), Change: []byte(`{"set":{"/name":"alpine"}}`),
		Sites: map[engine.SiteID]engine.OperationStatus{
			Nantes: {State: engine.StateApplied, Status: 200, At: time.Now(), Attempts: 1},
			"12D3KooWParis1111111111111111111111111111111111111": {State: state, Status: 422, At: time.Now(), Attempts: 3, Error: "no"},
			"12D3KooWGone": {State: engine.StatePending},
		},
	}
}
