package client

import "time"

// Site is one site of the mesh, as the one that was asked sees it.
type Site struct {
	Name               string           `json:"name"`
	PeerID             string           `json:"peer_id"`
	Self               bool             `json:"self"`
	Reachable          bool             `json:"reachable"`
	RTT                *float64         `json:"rtt_ms"`
	EstimatedRTT       *float64         `json:"estimated_rtt_ms"`
	LastSeen           *time.Time       `json:"last_seen"`
	Relay              string           `json:"relay"`
	Hole               bool             `json:"hole"`
	Services           []string         `json:"services"`
	Application        string           `json:"application"`
	ApplicationVersion string           `json:"application_version"`
	RestoredAt         *time.Time       `json:"restored_at"`
	Cloned             bool             `json:"cloned"`
	RemovedAt          *time.Time       `json:"removed_at"`
	Revoked            bool             `json:"revoked"`
	AgentVersion       string           `json:"agent_version"`
	Addresses          []string         `json:"addresses"`
	JoinedAt           time.Time        `json:"joined_at"`
	CertifiedBy        string           `json:"certified_by"`
	CertifiedUntil     *time.Time       `json:"certified_until"`
	Queues             map[string]Queue `json:"queues"`
	Uses               *Uses            `json:"uses"`
	State              *Bulletin        `json:"bulletin"`
}

// Uses is what a site has of the one that was asked.
type Uses struct {
	Streams   int   `json:"streams"`
	Bytes     int64 `json:"bytes_in_flight"`
	Bodies    int64 `json:"bytes_of_bodies"`
	Resources int   `json:"resources"`
	Refused   int   `json:"resources_refused"`
	Forks     int   `json:"forks"`
}

// Queue tells whether a site's requests to one service of its application go out.
type Queue struct {
	State   string     `json:"state"`
	Since   *time.Time `json:"since"`
	Reason  string     `json:"reason"`
	Waiting int        `json:"waiting"`
}

// Bulletin is how a site is, as it has told all.
type Bulletin struct {
	Resources  map[string]int    `json:"resources"`
	Operations map[string]int    `json:"operations"`
	Backlog    int               `json:"backlog"`
	Oldest     *time.Time        `json:"oldest"`
	Decisions  int               `json:"decisions"`
	Failing    map[string]string `json:"failing"`
	Version    string            `json:"version"`
	Dashboard  string            `json:"dashboard"`
	At         time.Time         `json:"at"`
}
