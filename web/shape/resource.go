package shape

import (
	"encoding/json"
	"slices"
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
	// Since is from when on nobody can know the state; zero: it is known.
	Since     time.Time `json:"since,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Replica is what is known here of one site's replica.
type Replica struct {
	LocalID string `json:"local_id"`
	State   string `json:"state"`
	Applied int    `json:"applied"`
	Pending int    `json:"pending"`
	Reason  string `json:"reason"`
	// Since is from when on nobody can know the state; zero: it is known.
	Since time.Time `json:"since,omitzero"`
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
		at := Replica{string(s.Local), string(s.State), s.Applied, s.Pending, s.Reason, time.Time{}, s.Drifted, pauseOf(s.Paused), s.Held, s.Part, s.Share}
		if since, silent := n.Silent[id]; silent && s.State == engine.StateConverged {
			at.State, at.Reason, at.Since = string(engine.StateUnknown), "no answer since then", since
		}
		v.Sites[n.Of(id)] = at
	}
	if state, reason, since := n.StateOf(&r); state == engine.StateUnknown {
		v.State, v.Reason, v.Since = string(state), reason, since
	}
	return v
}

// StateOf is the state of a resource, as far as anybody can know it now, and why. Since is from when on nobody can.
func (n Names) StateOf(r *engine.ResourceRow) (state engine.State, reason string, since time.Time) {
	if r.State != engine.StateConverged {
		return r.State, r.Reason, since
	}
	var silent []string
	for id, s := range r.Sites {
		at, is := n.Silent[id]
		if !is || s.State == engine.StateLeaving {
			continue
		}
		silent = append(silent, n.Of(id))
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	if len(silent) == 0 {
		return r.State, r.Reason, since
	}
	slices.Sort(silent)
	return engine.StateUnknown, "converged when " + List(silent) + " answered last", since
}
