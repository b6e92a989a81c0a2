package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/client"
)

// site is one site, as it is told here.
type site struct{ client.Site }

// uses says in words what the site has of the one that was asked, empty for that one.
func (s *site) uses() string {
	if s.Uses == nil {
		return ""
	}
	text := fmt.Sprintf("%d resources shared, %d streams, %d bytes being taken in", s.Uses.Resources, s.Uses.Streams, s.Uses.Bytes)
	if s.Uses.Bodies > 0 {
		text += fmt.Sprintf(", %s of large bodies on disk", engine.Bytes(s.Uses.Bodies))
	}
	if s.Uses.Refused > 0 {
		text += fmt.Sprintf("; %d new resources of it refused: it has as many here as may be", s.Uses.Refused)
	}
	if s.Uses.Forks > 0 {
		text += fmt.Sprintf("; it has signed two different changes under one number, in %d lines: its key is not to be trusted, revoke it", s.Uses.Forks)
	}
	return text
}

// halted lists the services that do not get the agent's requests, with the reason where why is set.
func (s *site) halted(p *program, why bool) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		q := s.Queues[name]
		if q.State == "running" {
			continue
		}
		text := name + " " + q.State
		if why {
			if q.Waiting > 0 {
				text += fmt.Sprintf(", %d waiting", q.Waiting)
			}
			if q.Since != nil {
				text += " since " + moment(p.now(), *q.Since)
			}
			text += ": " + q.Reason
		}
		list = append(list, text)
	}
	if why {
		return strings.Join(list, "\n")
	}
	return strings.Join(list, ", ")
}

func (s *site) way() string {
	switch {
	case s.Self:
		return "this site"
	case s.Reachable && s.Relay != "":
		return "reachable through " + s.Relay
	case s.Reachable && s.Hole:
		return "reachable through a hole in NATs"
	case s.Reachable:
		return "reachable"
	}
	return "unreachable"
}

// standing is the way to the site, and what keeps its application from what other sites do.
func (s *site) standing(p *program) string {
	if s.Cloned {
		return s.way() + ", cloned"
	}
	if s.Revoked {
		return s.way() + ", revoked"
	}
	if s.RemovedAt != nil {
		return s.way() + ", removed"
	}
	if s.Uses != nil && s.Uses.Forks > 0 {
		return s.way() + ", not to be trusted: it has forked its lines"
	}
	if halted := s.halted(p, false); halted != "" {
		return s.way() + ", " + halted
	}
	return s.way()
}

// removed is when the site was taken out of the mesh, empty when it was not.
func (s *site) removed(p *program) string {
	if s.RemovedAt == nil {
		return ""
	}
	return moment(p.now(), *s.RemovedAt)
}

// restored is when the site found that it was restored from a backup, empty when it was not.
func (s *site) restored(p *program) string {
	if s.RestoredAt == nil {
		return ""
	}
	return moment(p.now(), *s.RestoredAt)
}

// certified is when the site's certificate ends, empty when it does not.
func (s *site) certified(p *program) string {
	if s.CertifiedUntil == nil {
		return ""
	}
	return moment(p.now(), *s.CertifiedUntil)
}

func (s *site) rtt() string {
	if s.RTT == nil || s.Self || !s.Reachable {
		return ""
	}
	return milliseconds(*s.RTT)
}

// estimated is the round trip that the coordinates of both sites tell, also while the site cannot be reached.
func (s *site) estimated() string {
	if s.EstimatedRTT == nil {
		return ""
	}
	return milliseconds(*s.EstimatedRTT)
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
	List    sitesList    `cmd:"" default:"withargs" help:"List the sites (the default)."`
	Show    sitesShow    `cmd:"" help:"Show one site."`
	Doctor  sitesDoctor  `cmd:"" help:"Say of each two sites how they meet or, where they do not, why and what would help."`
	Resume  sitesResume  `cmd:"" help:"Have a site try its application again, after what kept its agent out was put right."`
	Preview sitesPreview `cmd:"" help:"Show what a site is about to do at its application."`
	Confirm sitesConfirm `cmd:"" help:"Let the deletions run that a site holds."`
	Reject  sitesReject  `cmd:"" help:"Bring back what deletions of others take away at a site."`
	Certify sitesCertify `cmd:"" help:"Let a site in by its key, give it another name, or let it stay for longer."`
	Retire  sitesRetire  `cmd:"" aliases:"remove" help:"Take a site out of the mesh for good, once it has brought in what it had accepted."`
	Revoke  sitesRevoke  `cmd:"" help:"Trust the key of a site no more, at once and for good."`
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
		columns: []column{{"SITE", 0, 0}, {"STATE", 0, 0}, {"DECISIONS", 0, 1}, {"BACKLOG", 0, 1}, {"ROUND TRIP", 0, 0}, {"SEEN", 0, 0}, {"APPLICATION", 0, 2}, {"SERVICES", 12, 3}},
		row: func(s site) []string {
			decisions, backlog := "", ""
			if s.State != nil {
				decisions, backlog = fmt.Sprint(s.State.Decisions), fmt.Sprint(s.State.Backlog)
			}
			return []string{s.Name, s.standing(p), decisions, backlog, s.rtt(), ago(p.now(), s.seen()), strings.TrimSpace(s.Application + " " + s.ApplicationVersion),
				strings.Join(s.Services, " ")}
		},
		key: func(s site) string { return s.PeerID },
		stable: func(s site) site {
			s.RTT, s.EstimatedRTT, s.LastSeen, s.Uses, s.State = nil, nil, nil, nil, nil
			s.Queues = maps.Clone(s.Queues)
			for name, q := range s.Queues {
				q.Waiting = 0
				s.Queues[name] = q
			}
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
		s, err := client.Decode[site](b)
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
		showSite(p, s)
		return nil
	}
	return fmt.Errorf("there is no site %q: the mesh has %s", c.Name, strings.Join(names, ", "))
}

func showSite(p *program, s site) {
	fields(p.out, "site", s.Name, "state", s.way(), "peer id", s.PeerID, "round trip", s.rtt(), "estimated", s.estimated(),
		"last seen", moment(p.now(), s.seen()), "application", strings.TrimSpace(s.Application+" "+s.ApplicationVersion),
		"services", strings.Join(s.Services, " "), "queues", s.halted(p, true), "restored", s.restored(p), "removed", s.removed(p), "agent", s.AgentVersion, "joined", moment(p.now(), s.JoinedAt),
		"uses", s.uses(), "let in by", s.CertifiedBy, "until", s.certified(p),
		"addresses", strings.Join(s.Addresses, "\n"))
}

type sitesResume struct {
	Name    string `arg:"" help:"Name of the site, or its peer id."`
	Service string `placeholder:"NAME" help:"Only this service of its application."`
}

func (sitesResume) Help() string {
	return `A service that does not let the agent in with its own credentials (401, 403) is paused at that site: what other
sites did waits there. A service that does not work is failing. Both are tried again by themselves, one request at a time
and at growing intervals; this tries at once. When that one gets through, all that waits follows.

Examples:

    skerry sites show nantes
    skerry sites resume nantes
    skerry sites resume nantes --service images`
}

func (c *sitesResume) Run(ctx context.Context, p *program) error {
	body := map[string]string{}
	if c.Service != "" {
		body["service"] = c.Service
	}
	b, err := p.api.Post(ctx, "/sites/"+url.PathEscape(c.Name)+"/resume", body)
	if err != nil {
		return err
	}
	return printSite(p, b)
}

// printSite shows the site that an answer is about.
func printSite(p *program, b json.RawMessage) error {
	if p.json {
		return p.printJSON(b)
	}
	s, err := client.Decode[site](b)
	if err != nil {
		return err
	}
	showSite(p, s)
	return nil
}

type sitesCertify struct {
	Site     string        `arg:"" help:"Name of the site or its peer id; of a new one its peer id."`
	Name     string        `placeholder:"NAME" help:"What it is to be called; without it as before."`
	ValidFor time.Duration `placeholder:"DURATION" help:"How long the certificate is good; without it it has no end."`
}

func (sitesCertify) Help() string {
	return `A site belongs to the mesh, and has its name, by a certificate that an authority of the mesh signs. An invitation gives one by
itself; this gives one by hand, at an authority. A site that has one joins through any member, without an invitation. Once it has
ended nobody talks to the site, until it has another.

Examples:

    skerry sites certify 12D3KooWEcrJ… --name lyon
    skerry sites certify lyon --name lugdunum
    skerry sites certify lyon --valid-for 8760h`
}

func (c *sitesCertify) Run(ctx context.Context, p *program) error {
	body := map[string]string{}
	if c.Name != "" {
		body["name"] = c.Name
	}
	if c.ValidFor != 0 {
		body["valid_for"] = c.ValidFor.String()
	}
	b, err := p.api.Put(ctx, "/sites/"+url.PathEscape(c.Site)+"/certificate", body)
	if err != nil {
		return err
	}
	return printSite(p, b)
}

type sitesRetire struct {
	Name string `arg:"" help:"Name of the site, or its peer id."`
}

func (sitesRetire) Help() string {
	return `No scope means the site any more, and every resource that it shares drops it. It brings in what it has accepted and has not
told yet, and is a member until then, for at most a week. Its objects stay in its application and are its own. There is no way
back: to join again it begins with an empty data directory and an invitation. It takes an authority of the mesh.

For a site that was stolen or broken into, revoke its key instead.

Examples:

    skerry sites retire nantes`
}

func (c *sitesRetire) Run(ctx context.Context, p *program) error {
	return p.api.Tell(ctx, http.MethodPost, "/sites/"+url.PathEscape(c.Name)+"/retire")
}

type sitesRevoke struct {
	Name string `arg:"" help:"Name of the site, or its peer id."`
}

func (sitesRevoke) Help() string {
	return `Who hears of it ends the connections of that site at once, and takes nothing from it any more: neither operations nor requests.
What other sites had heard of it before counts; what it had accepted and told nobody is lost to them. Every resource that it shares
drops it. There is no way back. It takes an authority of the mesh.

For a site that is merely not needed any more, retire it instead: it brings in what it had accepted.

Examples:

    skerry sites revoke nantes`
}

func (c *sitesRevoke) Run(ctx context.Context, p *program) error {
	return p.api.Tell(ctx, http.MethodPost, "/sites/"+url.PathEscape(c.Name)+"/revoke")
}
