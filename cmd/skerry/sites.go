package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// site is one site as the API tells it.
type site struct {
	Name               string     `json:"name"`
	PeerID             string     `json:"peer_id"`
	Self               bool       `json:"self"`
	Reachable          bool       `json:"reachable"`
	RTT                *float64   `json:"rtt_ms"`
	LastSeen           *time.Time `json:"last_seen"`
	Services           []string   `json:"services"`
	Application        string     `json:"application"`
	ApplicationVersion string     `json:"application_version"`
	AgentVersion       string     `json:"agent_version"`
	Addresses          []string   `json:"addresses"`
	JoinedAt           time.Time  `json:"joined_at"`
}

func (s *site) way() string {
	switch {
	case s.Self:
		return "this site"
	case s.Reachable:
		return "reachable"
	}
	return "unreachable"
}

func (s *site) rtt() string {
	if s.RTT == nil || s.Self || !s.Reachable {
		return ""
	}
	return milliseconds(*s.RTT)
}

func milliseconds(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func (s *site) seen() time.Time {
	if s.LastSeen == nil {
		return time.Time{}
	}
	return *s.LastSeen
}

type sitesCommand struct {
	List sitesList `cmd:"" default:"withargs" help:"List the sites (the default)."`
	Show sitesShow `cmd:"" help:"Show one site."`
}

func (sitesCommand) Help() string { return sitesList{}.Help() }

type sitesList struct{ paging }

func (sitesList) Help() string {
	return `The sites of the mesh, which of them this one reaches, and how far they are.

Examples:

    skerry sites
    skerry sites --watch
    skerry sites -o json | jq -r '.[] | select(.reachable | not) | .name'`
}

func (c *sitesList) Run(ctx context.Context, p *program) error {
	l := listing[site]{
		paging: c.paging, path: "/sites",
		columns: []column{{"SITE", 0, 0}, {"STATE", 0, 0}, {"ROUND TRIP", 0, 0}, {"SEEN", 0, 0}, {"APPLICATION", 0, 1}, {"SERVICES", 12, 2}},
		row: func(s site) []string {
			return []string{s.Name, s.way(), s.rtt(), ago(p.now(), s.seen()), strings.TrimSpace(s.Application + " " + s.ApplicationVersion),
				strings.Join(s.Services, " ")}
		},
		key: func(s site) string { return s.PeerID },
		stable: func(s site) site {
			s.RTT, s.LastSeen = nil, nil
			return s
		},
	}
	return l.run(ctx, p)
}

type sitesShow struct {
	Name string `arg:"" help:"Name of the site, or its peer id."`
}

func (sitesShow) Help() string {
	return `Examples:

    skerry sites show nantes
    skerry sites show nantes -o json`
}

func (c *sitesShow) Run(ctx context.Context, p *program) error {
	l := listing[site]{path: "/sites"}
	items, _, err := l.fetch(ctx, p.api)
	if err != nil {
		return err
	}
	var names []string
	for _, b := range items {
		s, err := decode[site](b)
		if err != nil {
			return err
		}
		if s.Name != c.Name && s.PeerID != c.Name {
			names = append(names, s.Name)
			continue
		}
		if p.json {
			return p.printJSON(b)
		}
		fields(p.out, "site", s.Name, "state", s.way(), "peer id", s.PeerID, "round trip", s.rtt(),
			"last seen", moment(p.now(), s.seen()), "application", strings.TrimSpace(s.Application+" "+s.ApplicationVersion),
			"services", strings.Join(s.Services, " "), "agent", s.AgentVersion, "joined", moment(p.now(), s.JoinedAt),
			"addresses", strings.Join(s.Addresses, "\n"))
		return nil
	}
	return fmt.Errorf("there is no site %q: the mesh has %s", c.Name, strings.Join(names, ", "))
}
