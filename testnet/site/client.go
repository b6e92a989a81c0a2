package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Client asks the REST API of one agent. It is safe for concurrent use.
type Client struct {
	Base string // http://HOST:PORT
	HTTP *http.Client
}

// Invitation is what lets sites in.
type Invitation struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// Seen is one site as another one sees it.
type Seen struct {
	Name      string   `json:"name"`
	PeerID    string   `json:"peer_id"`
	Self      bool     `json:"self"`
	Reachable bool     `json:"reachable"`
	RTT       *float64 `json:"rtt_ms"`
	Relay     string   `json:"relay"`
	Hole      bool     `json:"hole"`
}

// Resource is one replicated resource as a site lists it.
type Resource struct {
	ID      string             `json:"id"`
	Service string             `json:"service"`
	Kind    string             `json:"kind"`
	State   string             `json:"state"`
	Reason  string             `json:"reason"`
	Sites   map[string]Replica `json:"sites"`
}

// Replica is what a site knows of the copy of a resource at one site.
type Replica struct {
	LocalID string `json:"local_id"`
	State   string `json:"state"`
	Applied int    `json:"applied"`
	Pending int    `json:"pending"`
}

// Operation is one operation as a site shows it.
type Operation struct {
	ID       string                     `json:"id"`
	Resource string                     `json:"resource"`
	Type     string                     `json:"type"`
	Method   string                     `json:"method"`
	Origin   string                     `json:"origin"`
	State    string                     `json:"state"`
	Sites    map[string]OperationAtSite `json:"sites"`
}

// OperationAtSite is the state of an operation at one site.
type OperationAtSite struct {
	State  string `json:"state"`
	Status int    `json:"status"`
	Error  string `json:"error"`
}

// Call sends one request below the base and decodes the answer into out, unless that is nil. Answers over 299 are
// errors that carry the detail of the problem.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode > 299 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, detail(b))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s %s: %w in %.200q", method, path, err, b)
	}
	return nil
}

// detail returns what a problem document says, or the beginning of what was sent in its place.
func detail(b []byte) string {
	var p struct{ Detail, Title string }
	if json.Unmarshal(b, &p) == nil && p.Detail+p.Title != "" {
		return strings.TrimSpace(p.Title + ": " + p.Detail)
	}
	return strings.TrimSpace(fmt.Sprintf("%.200s", b))
}

// Invite makes an invitation for so many sites.
func (c *Client) Invite(ctx context.Context, uses int) (v Invitation, err error) {
	err = c.Call(ctx, http.MethodPost, "/api/v1/invitations", map[string]any{"expires": "1h", "uses": uses}, &v)
	return v, err
}

// Sites lists the sites of the mesh.
func (c *Client) Sites(ctx context.Context) (v []Seen, err error) {
	err = c.Call(ctx, http.MethodGet, "/api/v1/sites", nil, &v)
	return v, err
}

// Isolated reports whether the site rehearses a cut.
func (c *Client) Isolated(ctx context.Context) (bool, error) {
	var a struct{ Isolated bool }
	err := c.Call(ctx, http.MethodGet, "/api/v1/mesh/isolation", nil, &a)
	return a.Isolated, err
}

// Isolate cuts the agent off from its peers, or ends that.
func (c *Client) Isolate(ctx context.Context, isolated bool) error {
	return c.Call(ctx, http.MethodPost, "/api/v1/mesh/isolation", map[string]bool{"isolated": isolated}, nil)
}

// Resources lists the first thousand resources, newest first.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	var v struct{ Items []Resource }
	err := c.Call(ctx, http.MethodGet, "/api/v1/resources?limit=1000", nil, &v)
	return v.Items, err
}

// Operations lists the first thousand operations, newest first; those of one resource unless that is empty.
func (c *Client) Operations(ctx context.Context, resource string) ([]Operation, error) {
	var v struct{ Items []Operation }
	err := c.Call(ctx, http.MethodGet, "/api/v1/operations?limit=1000&resource="+resource, nil, &v)
	return v.Items, err
}

// Ready waits until the agent says that it is ready. It gives up when ctx ends or when ended returns an error.
func (c *Client) Ready(ctx context.Context, ended func() error) error {
	return c.Answers(ctx, "/readyz", ended)
}

// Answers waits until a path is answered with success, likewise.
func (c *Client) Answers(ctx context.Context, path string, ended func() error) error {
	return poll(ctx, ended, func() error { return c.Call(ctx, http.MethodGet, path, nil, nil) })
}

// Reach waits until the agent says that it reaches all of the named sites, likewise.
func (c *Client) Reach(ctx context.Context, names []string, ended func() error) error {
	return poll(ctx, ended, func() error {
		seen, err := c.Sites(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(seen, func(s Seen) bool { return s.Name == name && s.Reachable }) {
				return fmt.Errorf("it does not reach %s", name)
			}
		}
		return nil
	})
}

func poll(ctx context.Context, ended, ok func() error) error {
	for {
		err := ok()
		if err == nil {
			return nil
		}
		if gone := ended(); gone != nil {
			return gone
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
