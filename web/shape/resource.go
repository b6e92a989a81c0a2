package shape

import (
	"encoding/json"
	"time"

	"github.com/skerry/skerry/engine"
)

// Resource is one resource that several sites share.
type Resource struct {
	ID            string             `json:"id"`
	Service       string             `json:"service"`
	Kind          string             `json:"kind"`
	Label         string             `json:"label"` // what people call it; empty when nothing says so
	Collaboration string             `json:"collaboration"`
	Sites         map[string]Replica `json:"sites"` // by site name
	State         string             `json:"state"`
	Reason        string             `json:"reason"` // why it is not converged
	CreatedAt     time.Time          `json:"created_at"`
	UpdatedAt     time.Time          `json:"updated_at"`
}

// Replica is what is known here of one site's replica.
type Replica struct {
	LocalID string `json:"local_id"`
	State   string `json:"state"`
	Applied int    `json:"applied"`
	Pending int    `json:"pending"`
	Reason  string `json:"reason"`
	// Drifted says that its application shows something else than the others, or than it did, and no operation did that.
	Drifted bool   `json:"drifted"`
	Paused  *Pause `json:"paused"` // nil: it is not
	Held    bool   `json:"held"`   // a deletion waits there to be confirmed
	// Part is the number, from 1, of the part of a cross resource that the site holds; Share are the values that it is to show of
	// what is divided, by path.
	Part  int                                `json:"part,omitempty"`
	Share map[engine.Pointer]json.RawMessage `json:"share,omitempty"`
}

// Pause is why a replica is left as it is.
type Pause struct {
	By     string    `json:"by"` // the site where it was asked for
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

func pauseOf(p *engine.Pause) *Pause {
	if p == nil {
		return nil
	}
	return &Pause{string(p.By), p.At, p.Reason}
}

// Resource tells of a resource and its replicas.
func (n Names) Resource(r engine.ResourceRow) Resource {
	v := Resource{
		ID: string(r.ID), Service: string(r.Service), Kind: string(r.Kind), Label: r.Label, Collaboration: string(r.Collaboration),
		Sites: make(map[string]Replica, len(r.Sites)), State: string(r.State), Reason: r.Reason,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	for id, s := range r.Sites {
		v.Sites[n.Of(id)] = Replica{string(s.Local), string(s.State), s.Applied, s.Pending, s.Reason, s.Drifted, pauseOf(s.Paused), s.Held, s.Part, s.Share}
	}
	return v
}
