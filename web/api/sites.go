package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Site is one site of the mesh.
type Site struct {
	Name      string   `json:"name"`
	PeerID    string   `json:"peer_id"`
	Self      bool     `json:"self"`
	Reachable bool     `json:"reachable"`
	RTT       *float64 `json:"rtt_ms"` // milliseconds; nil: not measured yet
	// EstimatedRTT is told by coordinates alone, in milliseconds; nil: this site or that one has none yet.
	EstimatedRTT *float64   `json:"estimated_rtt_ms"`
	LastSeen     *time.Time `json:"last_seen"` // nil: never
	// ClockAhead is in milliseconds, negative when its clock is behind; nil: not compared yet.
	ClockAhead *float64 `json:"clock_ahead_ms"`
	Services   []string `json:"services"`
	// Application is the catalog's name, ApplicationVersion what the site's configuration says; nil: nothing.
	Application        string  `json:"application"`
	ApplicationVersion *string `json:"application_version"`
	Catalog            string  `json:"catalog"` // digest
	// RestoredAt is when its agent found that it was restored from a backup; nil: it was not since it was started. Cloned says
	// that two agents run with its key: both have stopped writing.
	RestoredAt *time.Time `json:"restored_at"`
	Cloned     bool       `json:"cloned"`
	// RemovedAt is when it was taken out of the mesh, which it has not left yet; nil: it was not.
	RemovedAt *time.Time `json:"removed_at"`
	// Rules are digests of the rules of each kind, by service.kind.
	Rules        map[string]string `json:"rules"`
	AgentVersion string            `json:"agent_version"`
	Addresses    []string          `json:"addresses"`
	JoinedAt     time.Time         `json:"joined_at,omitzero"`
	// Queues tells, by service, whether requests to its application go out: all of the answering site, of others those
	// that are paused.
	Queues map[string]Queue `json:"queues"`
}

// ClockFarOff says in words that the clocks of two sites disagree by more than a second, empty when they do not.
func (s *Site) ClockFarOff() string {
	if s.ClockAhead == nil {
		return ""
	}
	ahead := time.Duration(*s.ClockAhead * float64(time.Millisecond))
	switch rounded := ahead.Abs().Round(100 * time.Millisecond); {
	case ahead > time.Second:
		return fmt.Sprintf("its clock is %v ahead: of two concurrent writes, its own win", rounded)
	case ahead < -time.Second:
		return fmt.Sprintf("its clock is %v behind: of two concurrent writes, its own lose", rounded)
	}
	return ""
}

// Sites lists the members, this site first, then by name.
func (a *API) Sites() []Site {
	self, status, now := a.Mesh.Self(), a.Network.Status(), a.Now()
	sites, members := []Site{}, a.Mesh.Members()
	var here *vivaldi.Coordinate
	if i := slices.IndexFunc(members, func(m engine.Member) bool { return m.ID == self }); i >= 0 {
		here = members[i].Coordinate
	}
	for _, m := range members {
		s := Site{
			Name: string(m.Name), PeerID: string(m.ID), Self: m.ID == self,
			Services: []string{}, Application: m.Application, Catalog: m.Catalog, AgentVersion: m.Version,
			Addresses: append([]string{}, m.Addresses...), JoinedAt: m.Joined,
			Queues: a.queues(m),
		}
		if m.ApplicationVersion != "" {
			s.ApplicationVersion = &m.ApplicationVersion
		}
		for _, name := range m.Services {
			s.Services = append(s.Services, string(name))
		}
		if s.Rules = m.Rules; s.Rules == nil {
			s.Rules = map[string]string{}
		}
		s.Cloned, s.RestoredAt = m.Cloned, instant(m.Rejoined)
		if !m.Removed.IsZero() {
			s.RemovedAt = &m.Removed
		}
		if s.Self {
			zero := 0.0
			s.Reachable, s.RTT, s.LastSeen, s.ClockAhead = true, &zero, &now, &zero
		} else if st, ok := status[m.ID]; ok {
			s.Reachable = st.Reachable
			if st.RTT > 0 {
				ms, ahead := float64(st.RTT.Microseconds())/1000, float64(st.Ahead.Microseconds())/1000
				s.RTT, s.ClockAhead = &ms, &ahead
			}
			if !st.LastSeen.IsZero() {
				s.LastSeen = &st.LastSeen
			}
		}
		if here != nil && m.Coordinate != nil && !s.Self {
			ms := float64(here.Distance(*m.Coordinate).Microseconds()) / 1000
			s.EstimatedRTT = &ms
		}
		sites = append(sites, s)
	}
	slices.SortFunc(sites, func(x, y Site) int {
		if x.Self != y.Self {
			if x.Self {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Name, y.Name)
	})
	return sites
}

// names translates between the keys that documents hold and the names that people use.
type names struct {
	byID   map[engine.SiteID]string
	byName map[string]engine.SiteID
}

func (a *API) names() names {
	n := names{map[engine.SiteID]string{}, map[string]engine.SiteID{}}
	for _, m := range a.Mesh.Members() {
		n.byID[m.ID] = string(m.Name)
		n.byName[string(m.Name)] = m.ID
	}
	return n
}

// of returns the name of a site, or its key when no member has it (any more).
func (n names) of(id engine.SiteID) string {
	if name, ok := n.byID[id]; ok && name != "" {
		return name
	}
	return string(id)
}

// id finds a site by name or key; empty stays empty.
func (n names) id(name string) (engine.SiteID, error) {
	if name == "" {
		return "", nil
	}
	if id, ok := n.byName[name]; ok {
		return id, nil
	}
	if _, ok := n.byID[engine.SiteID(name)]; ok {
		return engine.SiteID(name), nil
	}
	return "", refuse(422, "unknown-site", "there is no site %q in this mesh", name)
}
