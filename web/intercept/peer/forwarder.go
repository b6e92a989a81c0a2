package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// Forwarder implements engine.Forwarder: it hands operations to the peer handlers of other sites. Meta-identifiers
// travel, nothing is translated.
type Forwarder struct {
	membership engine.Membership
	peer       http.RoundTripper
	timeout    time.Duration
	limit      int64
}

var _ engine.Forwarder = (*Forwarder)(nil)

// NewForwarder returns a forwarder over peer, as in Config. One request takes at most timeout (40 s when zero: longer
// than the other site's engine gives its application); one with a large body as long as it gets on.
func NewForwarder(m engine.Membership, peer http.RoundTripper, timeout time.Duration) *Forwarder {
	if timeout == 0 {
		timeout = 40 * time.Second
	}
	return &Forwarder{membership: m, peer: peer, timeout: timeout, limit: 32 << 20}
}

// Forward implements engine.Forwarder.
func (f *Forwarder) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (a engine.Answer, err error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(f.timeout, cancel)
	defer func() {
		if a.Content == nil {
			timer.Stop()
			cancel()
		}
	}()
	target := r.Target
	if target == "" && r.Within != "" {
		target = engine.Inside(r.Within, "")
	}
	path, ok := glue.ExpandPath(r.Path, target)
	if !ok {
		return engine.Answer{}, fmt.Errorf("forward %s %s: no path can carry the identifier %q: %w", r.Method, r.Path, r.Target, engine.ErrRefused)
	}
	header := http.Header{}
	if r.Credentials != nil && r.Credentials.Header != nil {
		header = r.Credentials.Header.Clone()
	}
	glue.StripAgent(header)
	glue.RemoveHopByHop(header)
	header.Del("Content-Length")
	for name, value := range r.Header {
		header.Set(name, value)
	}
	header.Set(HeaderService, string(r.Kind.Service))
	header.Set(HeaderVia, JoinSites(append(slices.Clip(r.Via), f.membership.Self())))
	for name, value := range map[string]string{
		HeaderOperation: string(r.Operation), HeaderPlacement: JoinPlacement(r.Placement, r.Parts), HeaderUser: r.User, "Scope": r.Scope, engine.HeaderAfter: engine.JoinAfters(r.After),
		HeaderAgreement: string(r.Agreement),
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	if r.Again {
		header.Set(HeaderAgain, "1")
	}
	if !r.Since.IsZero() {
		header.Set(HeaderSince, strconv.FormatInt(r.Since.UnixMicro(), 10))
	}
	if r.ExactlyOne {
		header.Set(HeaderOne, "1")
	}
	if r.Wait > 0 {
		header.Set("Prefer", "wait="+strconv.Itoa(int(r.Wait/time.Second)))
	}
	if r.Type == engine.TypeContent {
		header.Set(HeaderContent, "1")
	}
	if r.Forced {
		header.Add(HeaderForce, engine.ForceActions)
	}
	if r.ForcedReliance {
		header.Add(HeaderForce, engine.ForceReliedOn)
	}
	req := (&http.Request{
		Method: r.Method, Header: header, Host: string(to), ContentLength: int64(len(r.Body)),
		URL: glue.Target(&url.URL{Scheme: "http", Host: string(to)}, path, r.Query),
	}).WithContext(ctx)
	// Without GetBody: nothing below sends a body a second time.
	if r.Large != nil {
		body, err := r.Large.Open()
		if err != nil {
			return engine.Answer{}, fmt.Errorf("forward %s %s: %w: %w", r.Method, r.Path, engine.ErrUnreachable, err)
		}
		req.Body, req.ContentLength = &sentBody{body: body, timer: timer, limit: f.timeout}, r.Large.Size()
	} else if len(r.Body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
	}
	resp, err := f.peer.RoundTrip(req)
	if err != nil {
		return engine.Answer{}, fmt.Errorf("forward %s %s to %s: %w", r.Method, r.Path, to, err)
	}
	var body []byte
	streams := r.Type == engine.TypeContent && resp.StatusCode == http.StatusOK
	if !streams {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, f.limit+1))
		if err == nil && int64(len(body)) > f.limit {
			err = engine.ErrTooLarge
		}
		if err != nil {
			return engine.Answer{}, fmt.Errorf("forward %s %s to %s: read the answer: %w", r.Method, r.Path, to, err)
		}
	}
	a = engine.Answer{
		Status: resp.StatusCode, Header: resp.Header, Body: body, Site: to,
		Operation: engine.OperationID(resp.Header.Get(HeaderOperation)),
		Resource:  engine.ResourceID(resp.Header.Get("Skerry-Resource")),
	}
	if name := resp.Header.Get("Skerry-Site"); name != "" {
		for _, m := range f.membership.Members() {
			if string(m.Name) == name {
				a.Site = m.ID
			}
		}
	}
	if streams {
		timer.Stop()
		a.Content, a.Length = &heldBody{resp.Body, cancel}, resp.ContentLength
	}
	return a, nil
}

// sentBody is a large body on its way to another site. While it is read it waits for the client, which may take its time; the
// other site may not, though it hands on what it has got before it answers.
type sentBody struct {
	body  io.ReadCloser
	timer *time.Timer
	limit time.Duration
	sent  int64
}

// slowest is how many bytes of a body a second an application takes at least before the request counts as given up.
const slowest = 1 << 20

func (b *sentBody) Read(p []byte) (int, error) {
	b.timer.Stop()
	n, err := b.body.Read(p)
	b.sent += int64(n)
	b.timer.Reset(b.limit + time.Duration(b.sent/slowest)*time.Second)
	return n, err
}

func (b *sentBody) Close() error { return b.body.Close() }

// heldBody is the body of an answer whose request ends with it.
type heldBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *heldBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
