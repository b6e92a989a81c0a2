package webtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Self implements api.Mesh.
func (s *Site) Self() engine.SiteID { return s.self }

// Members implements api.Mesh.
func (s *Site) Members() []engine.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.members)
}

// Chosen implements api.Operator: what is called taken is at another site.
func (s *Site) Chosen(_ context.Context, _ *engine.Kind, id string) (engine.SiteID, bool, error) {
	if err := s.fault("Chosen"); err != nil || id != "taken" {
		return "", false, err
	}
	return s.Members()[1].ID, false, nil
}

// Zones implements api.Mesh.
func (s *Site) Zones() []engine.Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.zones)
}

// SetZone implements api.Mesh.
func (s *Site) SetZone(_ context.Context, name engine.ZoneName, sites []engine.SiteID) error {
	if err := s.fault("SetZone"); err != nil {
		return err
	}
	if err := s.DeleteZone(context.Background(), name); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = append(s.zones, engine.Zone{Name: name, Sites: sites, By: s.self, At: s.Clock()})
	slices.SortFunc(s.zones, func(a, b engine.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// DeleteZone implements api.Mesh.
func (s *Site) DeleteZone(_ context.Context, name engine.ZoneName) error {
	if err := s.fault("DeleteZone"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.zones)
	s.zones = slices.DeleteFunc(s.zones, func(z engine.Zone) bool { return z.Name == name })
	if len(s.zones) == before {
		return fmt.Errorf("zone %s: %w", name, engine.ErrNotFound)
	}
	return nil
}

// RemoveSite implements api.Mesh.
func (s *Site) RemoveSite(_ context.Context, id engine.SiteID) error {
	return s.takeOut("RemoveSite", id, false)
}

// RevokeSite implements api.Mesh.
func (s *Site) RevokeSite(_ context.Context, id engine.SiteID) error {
	return s.takeOut("RevokeSite", id, true)
}

func (s *Site) takeOut(method string, id engine.SiteID, revoked bool) error {
	if err := s.fault(method); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.members {
		if s.members[i].ID == id {
			s.members[i].Removed, s.members[i].Revoked = s.Clock(), revoked
			return nil
		}
	}
	return fmt.Errorf("remove site %s: %w", id, engine.ErrNotFound)
}

// Certify implements api.Mesh.
func (s *Site) Certify(_ context.Context, id engine.SiteID, name engine.SiteName, until time.Time) error {
	if err := s.fault("Certify"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.members, func(m engine.Member) bool { return m.ID == id })
	if i < 0 {
		s.members = append(s.members, engine.Member{ID: id, Joined: s.Clock()})
		i = len(s.members) - 1
	}
	s.members[i].Name, s.members[i].Until, s.members[i].Certified = cmp.Or(name, s.members[i].Name), until, s.self
	return nil
}

// Authorities implements api.Mesh.
func (s *Site) Authorities() []engine.SiteID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]engine.SiteID{s.self}, s.authorities...)
}

// Order implements api.Mesh: authorities are added and removed.
func (s *Site) Order(_ context.Context, o engine.Order) error {
	if err := s.fault("Order"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Add != "" {
		s.authorities = append(s.authorities, o.Add)
		return nil
	}
	before := len(s.authorities)
	s.authorities = slices.DeleteFunc(s.authorities, func(id engine.SiteID) bool { return id == o.Remove })
	if len(s.authorities) == before {
		return fmt.Errorf("remove authority %s: %w", o.Remove, engine.ErrNotFound)
	}
	return nil
}

// Request implements api.Mesh: the text says what was asked for.
func (s *Site) Request(by engine.SiteID, o engine.Order) (string, error) {
	return fmt.Sprintf("skq1:%s:%+v", by, o), s.fault("Request")
}

// Apply implements api.Mesh: an answer has one record.
func (s *Site) Apply(context.Context, string) (int, error) { return 1, s.fault("Apply") }

// Distances implements api.Mesh: measured from here, estimated where both sites have a coordinate.
func (s *Site) Distances() func(a, b engine.SiteID) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, at := maps.Clone(s.status), map[engine.SiteID]*vivaldi.Coordinate{}
	for _, m := range s.members {
		at[m.ID] = m.Coordinate
	}
	return func(a, b engine.SiteID) (time.Duration, bool) {
		if b == s.self {
			a, b = b, a
		}
		switch {
		case a == s.self && status[b].RTT > 0:
			return status[b].RTT, true
		case at[a] != nil && at[b] != nil:
			return at[a].Distance(*at[b]), true
		}
		return 0, false
	}
}

// Invite implements api.Mesh.
func (s *Site) Invite(_ context.Context, expires time.Duration, uses int, term time.Duration) (engine.Invitation, []byte, error) {
	if err := s.fault("Invite"); err != nil {
		return engine.Invitation{}, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := engine.Invitation{
		ID: "inv-" + strconv.Itoa(len(s.invitations)+1), Issuer: s.self, Uses: uses, CreatedAt: s.Clock(), ExpiresAt: s.Clock().Add(expires), Term: int64(term / time.Second),
	}
	s.invitations = append(s.invitations, i)
	return i, []byte("c2VjcmV0LXRoYXQtaXMtdG9sZC1vbmNl"), nil
}

// Invitations implements api.Mesh.
func (s *Site) Invitations() []engine.Invitation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.invitations)
}

// Revoke implements api.Mesh.
func (s *Site) Revoke(_ context.Context, id string) error {
	if err := s.fault("Revoke"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.invitations {
		if s.invitations[i].ID == id {
			s.invitations[i].Revoked = true
			return nil
		}
	}
	return fmt.Errorf("invitation %s: %w", id, engine.ErrNotFound)
}

// Status implements api.Network.
func (s *Site) Status() map[engine.SiteID]engine.SiteStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := map[engine.SiteID]engine.SiteStatus{}
	for id, v := range s.status {
		if id == s.self {
			continue
		}
		if s.isolated {
			v.Reachable = false
		}
		st[id] = v
	}
	return st
}

// Ways implements api.Network.
func (s *Site) Ways() map[engine.SiteID]engine.Way {
	ways := map[engine.SiteID]engine.Way{}
	for id, st := range s.Status() {
		w := engine.Way{SiteStatus: st}
		if st.Reachable {
			w.Transport, w.Seen = "quic", "/ip4/192.0.2.7/udp/4700/quic-v1"
		} else {
			w.Tries = []engine.Try{{Address: "/ip4/192.0.2.8/tcp/4700", Result: engine.TryRefused, Detail: "connection refused", At: s.Clock()}, {Result: engine.TryNoRelay, At: s.Clock()}}
		}
		ways[id] = w
	}
	return ways
}

// Announced implements api.Network.
func (s *Site) Announced() []string { return []string{"/dns/paris.example.org/udp/4700/quic-v1"} }

// Correction implements api.Network: the clock is right.
func (s *Site) Correction() time.Duration { return 0 }

// SetIsolated implements api.Network.
func (s *Site) SetIsolated(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isolated = on
}

// Isolated implements api.Network.
func (s *Site) Isolated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isolated
}
