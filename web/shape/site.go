package shape

import (
	"fmt"
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
	// Relay is the site through which it is reached; empty: none.
	Relay string `json:"relay"`
	// Hole says that it is reached itself, through a hole that the two have made in their NATs.
	Hole bool `json:"hole"`
	// ClockAhead is in milliseconds, negative when its clock is behind; nil: not compared yet. Of the site that tells it is how far its machine's
	// clock is ahead of the middle one of those that it hears, by which it goes.
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
	// Revoked says that its key is not trusted any more: nobody talks to it.
	Revoked bool `json:"revoked"`
	// Rules are digests of the rules of each kind, by service.kind.
	Rules        map[string]string `json:"rules"`
	AgentVersion string            `json:"agent_version"`
	Addresses    []string          `json:"addresses"`
	JoinedAt     time.Time         `json:"joined_at,omitzero"`
	// CertifiedBy is the key of the authority that has signed its certificate, CertifiedName what people call that; CertifiedUntil is when
	// it ends; nil: never.
	CertifiedBy    string     `json:"certified_by"`
	CertifiedName  string     `json:"-"`
	CertifiedUntil *time.Time `json:"certified_until"`
	// Queues tells, by service, whether requests to its application go out: all of the answering site, of others those
	// that are paused.
	Queues map[string]Queue `json:"queues"`
	// Uses is what it has of the site that tells; nil of that one itself.
	Uses *Uses `json:"uses"`
	// State is how the site is, as it has told all; nil: it has told nothing yet.
	State *SiteState `json:"bulletin"`
}

// Uses is what a member has of the site that tells.
type Uses struct {
	Streams   int   `json:"streams"`           // open to and from it
	Bytes     int64 `json:"bytes_in_flight"`   // of its letters, that are being taken in
	Resources int   `json:"resources"`         // that both share
	Refused   int   `json:"resources_refused"` // new ones of it that were one too many, since the agent started
	Forks     int   `json:"forks"`             // lines in which it has signed two different changes under one number
	Bodies    int64 `json:"bytes_of_bodies"`   // that the large bodies of its operations take on disk
}

// ClockFarOff says in words that a site's clock is off by more than a second, empty when it is not.
func (s *Site) ClockFarOff() string {
	if s.ClockAhead == nil {
		return ""
	}
	off := time.Duration(*s.ClockAhead * float64(time.Millisecond))
	which := "ahead"
	if off < 0 {
		off, which = -off, "behind"
	}
	switch {
	case off <= time.Second:
		return ""
	case s.Self:
		return fmt.Sprintf("this machine's clock is %v %s of the other sites': what is done here is dated by theirs; set it by NTP", off.Round(100*time.Millisecond), which)
	}
	return fmt.Sprintf("its clock is %v %s: each site goes by the middle one of the clocks that it hears; set it by NTP", off.Round(100*time.Millisecond), which)
}

// soon is how long before its end a certificate is shown to end.
const soon = 30 * 24 * time.Hour

// Ending says in words that the site's certificate ends soon, or has ended; empty: neither.
func (s *Site) Ending(now time.Time) string {
	switch {
	case s.CertifiedUntil == nil || s.RemovedAt != nil || now.Add(soon).Before(*s.CertifiedUntil):
		return ""
	case now.Before(*s.CertifiedUntil):
		return fmt.Sprintf("its certificate ends at %s: nobody talks to it then; an authority of the mesh can give it another (skerry sites certify)",
			s.CertifiedUntil.UTC().Format(time.DateTime))
	}
	return fmt.Sprintf("its certificate has ended at %s, and nobody talks to it: an authority of the mesh can give it another (skerry sites certify)",
		s.CertifiedUntil.UTC().Format(time.DateTime))
}

// SiteOf tells of a member; queues are those that are known of it.
func SiteOf(m engine.Member, queues map[string]Queue) Site {
	s := Site{
		Name: string(m.Name), PeerID: string(m.ID), Services: Texts(m.Services), Application: m.Application, Catalog: m.Catalog,
		AgentVersion: m.Version, Addresses: append([]string{}, m.Addresses...), JoinedAt: m.Joined, Queues: queues,
		CertifiedBy: string(m.Certified), CertifiedUntil: Moment(m.Until), Rules: m.Rules, Cloned: m.Cloned, RestoredAt: Instant(m.Rejoined), RemovedAt: Moment(m.Removed), Revoked: m.Revoked,
	}
	if m.ApplicationVersion != "" {
		s.ApplicationVersion = &m.ApplicationVersion
	}
	if s.Rules == nil {
		s.Rules = map[string]string{}
	}
	return s
}

// MarkSelf notes that it is the site that tells, whose machine's clock is so far ahead of the one by which the site goes.
func (s *Site) MarkSelf(now time.Time, ahead time.Duration) {
	zero, ms := 0.0, float64(ahead.Microseconds())/1000
	s.Self, s.Reachable, s.RTT, s.LastSeen, s.ClockAhead = true, true, &zero, &now, &ms
}

// Met takes in what the site that tells knows of the way there, and what both share; relay is what the site is called
// through which it is reached, here and there are the coordinates, nil where they have none.
func (s *Site) Met(way engine.SiteStatus, relay string, has engine.Shared, here, there *vivaldi.Coordinate) {
	s.Uses = &Uses{Streams: way.Streams, Bytes: way.Bytes, Resources: has.Resources, Refused: has.Refused, Forks: has.Forks, Bodies: has.Bodies}
	s.Relay, s.Hole = relay, way.Hole
	s.Reachable, s.LastSeen = way.Reachable, Moment(way.LastSeen)
	if way.RTT > 0 {
		ms, ahead := float64(way.RTT.Microseconds())/1000, float64(way.Ahead.Microseconds())/1000
		s.RTT, s.ClockAhead = &ms, &ahead
	}
	if here != nil && there != nil {
		ms := float64(here.Distance(*there).Microseconds()) / 1000
		s.EstimatedRTT = &ms
	}
}
