package glue

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/skerry/skerry/engine"
)

// ClientConfig is what a Client is made of.
type ClientConfig struct {
	Upstreams []Upstream
	// List tells where the answer to a GET on a kind's collection has its array, and how it goes on; nil, or a nil List: the
	// array that is the whole document, or the only one that is a member of it.
	List func(*engine.Kind) *List
	// Owners tells how objects of a kind say what they were made along with; nil: none does.
	Owners func(*engine.Kind) []Owner
	// Timeout bounds one request of Do, answer included (default 30 s). Of one whose Content is streamed, either way, it bounds
	// how long nothing moves, and the wait for the answer.
	Timeout time.Duration
	// HeaderTimeout bounds the wait for the header of an answer, of any request, after the request was sent (default
	// 5 min). Bodies take as long as they take.
	HeaderTimeout time.Duration
	// ContinueTimeout is how long a body whose client expects it waits for "100 Continue" (default 1 s); then it is sent.
	ContinueTimeout time.Duration
	// MaxReply is the most bytes of an answer that Do keeps (default 32 MiB).
	MaxReply int64
	// Dial opens the connections to the upstreams; nil: over the network. Simulations have wires of their own.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls this site's instance of the application, over HTTP. It implements engine.Application, is safe
// for concurrent use once Use was called, and holds idle connections until CloseIdle.
type Client struct {
	upstreams map[engine.ServiceName]*upstream
	known     atomic.Pointer[knownKinds]
	learning  sync.Mutex // held by who changes known
	config    ClientConfig
	ids       engine.Identifiers

	mu      sync.Mutex
	numeric map[kindName]bool // whether the application shows identifiers of the kind as numbers, as far as seen
	// prefixes is what the application shows before the path of an address, by the place of the link, as far as seen.
	prefixes map[string]string
}

var _ engine.Application = (*Client)(nil)

// NewClient returns a client for the services of one site. It opens no connection.
func NewClient(c ClientConfig) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.HeaderTimeout == 0 {
		c.HeaderTimeout = 5 * time.Minute
	}
	if c.ContinueTimeout == 0 {
		c.ContinueTimeout = time.Second
	}
	if c.MaxReply == 0 {
		c.MaxReply = 32 << 20
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: dialing, KeepAlive: 15 * time.Second}).DialContext
	}
	client := &Client{
		upstreams: map[engine.ServiceName]*upstream{}, numeric: map[kindName]bool{}, prefixes: map[string]string{}, config: c,
	}
	for _, u := range c.Upstreams {
		if u.URL == nil || u.URL.Host == "" || (u.URL.Scheme != "http" && u.URL.Scheme != "https") {
			return nil, fmt.Errorf("upstream of service %s: %v is not an absolute http or https URL", u.Service, u.URL)
		}
		if client.upstreams[u.Service] != nil {
			return nil, fmt.Errorf("service %s has two upstreams", u.Service)
		}
		client.upstreams[u.Service] = newUpstream(u, c)
		client.Learn(u.Service, u.Kinds)
	}
	return client, nil
}

// Use hands in the translation of identifiers. It must be called once, before any request: the engine that
// implements it is made with this client in hand.
func (c *Client) Use(ids engine.Identifiers) { c.ids = ids }

// Surround has something around each request. It must be called before any.
func (c *Client) Surround(a Around) {
	for _, u := range c.upstreams {
		u.around = a
	}
}

// CloseIdle closes idle connections.
func (c *Client) CloseIdle() {
	for _, u := range c.upstreams {
		u.transport.CloseIdleConnections()
		u.streams.CloseIdleConnections()
		if u.front != nil {
			u.front.CloseIdleConnections()
		}
	}
}

// Kind returns a kind of the catalog, nil when there is none.
func (c *Client) Kind(service engine.ServiceName, kind engine.KindName) *engine.Kind {
	return c.known.Load().kinds[kindName{service, kind}]
}

// Router returns the router of a service, nil for a service that has no upstream here.
func (c *Client) Router(s engine.ServiceName) *Router { return c.known.Load().routers[s] }

// Upstream returns where a service runs here and the connections to it; nil for a service that has no upstream here.
// The URL is not to be changed.
func (c *Client) Upstream(s engine.ServiceName) (*url.URL, http.RoundTripper) {
	u := c.upstreams[s]
	if u == nil {
		return nil, nil
	}
	return u.URL, u
}

// Dial connects to a service that runs here, as its requests do that say nothing of who asks. It takes five seconds, or ten with TLS, at most.
func (c *Client) Dial(ctx context.Context, s engine.ServiceName) (net.Conn, error) {
	u := c.upstreams[s]
	address, name := u.URL.Host, u.URL.Hostname()
	if u.URL.Port() == "" {
		address = net.JoinHostPort(name, u.URL.Scheme) // which is also what its port is called
	}
	ctx, cancel := context.WithTimeout(ctx, dialing)
	defer cancel()
	conn, err := c.config.Dial(ctx, "tcp", address)
	if err != nil || u.URL.Scheme == "http" {
		return conn, err
	}
	config := &tls.Config{}
	if u.TLS != nil {
		config = u.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = name
	}
	secure := tls.Client(conn, config)
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), dialing)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("speak TLS with %s: %w", address, err)
	}
	return secure, nil
}

// dialing bounds how long it takes to connect, and to agree on TLS.
const dialing = 5 * time.Second

// Refuser returns what writes refusals as a service would, nil where they are problems.
func (c *Client) Refuser(s engine.ServiceName) Refuser {
	if d := c.Dialect(s); d != nil {
		return d
	}
	if u, ok := c.upstreams[s]; ok {
		return u.Refuser
	}
	return nil
}

// Dialect returns what there is to know of a service's API beyond the catalog, nil for nothing.
func (c *Client) Dialect(s engine.ServiceName) Dialect {
	if u := c.upstreams[s]; u != nil {
		return u.Dialect
	}
	return nil
}

// Classify tells the kind and the type of an operation by this site's own catalog. Path has {id} in the identifier's
// place.
func (c *Client) Classify(service engine.ServiceName, method, path string, header map[string]string) (engine.KindName, engine.Type, bool) {
	h := http.Header{}
	for name, value := range header {
		h.Set(name, value)
	}
	r := c.Router(service)
	if r == nil {
		return "", "", false
	}
	m, ok := r.Match(method, strings.Replace(path, "{id}", "id", 1), h)
	if !ok || !m.Canonical || m.Type == "" {
		return "", "", false
	}
	return m.Kind.Name, m.Type, true
}

// Do implements engine.Application. A POST on a collection with a Local puts that identifier into the body: that is how
// kinds whose identifiers are settable have the same one everywhere. Redirects are not followed. Of an answer
// that is longer than the limit to a request that changes something only status and header are kept, since it has
// happened; other answers of that length are ErrTooLarge.
func (c *Client) Do(ctx context.Context, call engine.Call) (r engine.Reply, err error) {
	ctx, watch := bounded(ctx, c.config.Timeout)
	defer func() {
		if r.Content == nil {
			watch.end()
		}
	}()
	if call.Content != nil {
		call.Content = &watchedBody{call.Content, watch}
	}
	up, resp, err := c.send(ctx, call)
	for errors.Is(err, errStale) && call.Content == nil { // each time it was a connection that had been kept, and is not any more
		up, resp, err = c.send(ctx, call)
	}
	if no := (*NoRights)(nil); errors.As(err, &no) { // as if the application had said so: it concerns that user alone
		return engine.Reply{Status: http.StatusForbidden, Header: http.Header{}, Body: []byte(no.Why)}, nil
	}
	if err != nil {
		return engine.Reply{}, fmt.Errorf("call %s %s: %w", call.Method, call.Path, err)
	}
	r = engine.Reply{Status: resp.StatusCode, Header: resp.Header}
	if d := up.impersonator(); d != nil && call.As != nil && r.Status == http.StatusUnauthorized && d.Refused(call.As) {
		r.Status = http.StatusForbidden
	}
	if call.Stream && resp.StatusCode == http.StatusOK {
		RemoveHopByHop(r.Header)
		r.Content, r.Length = &watchedAnswer{watchedBody{resp.Body, watch}, resp.Body}, resp.ContentLength
		return r, nil
	}
	defer resp.Body.Close()
	r.Within, _ = call.Kind.Split(string(call.Local))
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return engine.Reply{}, fmt.Errorf("call %s %s: the application switched protocols unasked", call.Method, call.Path)
	}
	r.Body, err = io.ReadAll(io.LimitReader(resp.Body, c.config.MaxReply+1))
	switch {
	case err != nil:
		return engine.Reply{}, fmt.Errorf("call %s %s: read the answer: %w", call.Method, call.Path, err)
	case int64(len(r.Body)) > c.config.MaxReply && Safe(call.Method):
		return engine.Reply{}, fmt.Errorf("call %s %s: answer over %d bytes: %w", call.Method, call.Path, c.config.MaxReply, engine.ErrTooLarge)
	case int64(len(r.Body)) > c.config.MaxReply:
		r.Body = nil
		dropDigests(r.Header)
	}
	RemoveHopByHop(r.Header)
	if r.Status == http.StatusInternalServerError && up.Dialect != nil && up.Dialect.Refuses(r.Body) {
		r.Status = http.StatusUnprocessableEntity
	}
	r.Closed = r.Status == http.StatusForbidden && up.Dialect != nil && up.Dialect.Closed(r.Body)
	r.Local = c.localOf(call, r)
	return r, nil
}

func (c *Client) send(ctx context.Context, call engine.Call) (*upstream, *http.Response, error) {
	req, up, err := c.request(ctx, call)
	if err != nil {
		return up, nil, err
	}
	connected := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	req = req.WithContext(httptrace.WithClientTrace(ctx, trace))
	var resp *http.Response
	if up.front == nil && !Safe(call.Method) && !up.keeps() {
		resp, err = up.over(up.once, req)
	} else {
		resp, err = up.RoundTrip(req)
	}
	if err != nil && !connected {
		err = fmt.Errorf("%w: %w", engine.ErrUnreachable, err)
	}
	return up, resp, err
}

func (c *Client) request(ctx context.Context, call engine.Call) (*http.Request, *upstream, error) {
	up := c.upstreams[call.Kind.Service]
	if up == nil {
		return nil, nil, fmt.Errorf("%w: no upstream for service %s", engine.ErrUnreachable, call.Kind.Service)
	}
	header := http.Header{}
	credentials, err := up.account(call.Credentials)
	if err != nil {
		return nil, nil, err
	}
	for name, values := range credentials {
		header[http.CanonicalHeaderKey(name)] = values
	}
	StripAgent(header)
	RemoveHopByHop(header)
	for _, name := range []string{"Content-Length", "Host", "Expect", "Idempotency-Key", "Accept-Encoding", "Range", "If-Range"} {
		header.Del(name)
	}
	for name, value := range call.Header {
		header.Set(name, value)
	}
	if call.As != nil {
		if err := up.actFor(ctx, header, call.As); err != nil {
			return nil, nil, err
		}
	}
	path, ok := ExpandPath(call.Path, string(call.Local))
	if !ok {
		return nil, nil, fmt.Errorf("%w: no path can carry the identifier %q", engine.ErrUnsendable, call.Local)
	}
	if err := sendable(call); err != nil {
		return nil, nil, err
	}
	query, body := call.Query, call.Body
	if call.Content != nil && looksInto(call, header) {
		if body, err = io.ReadAll(call.Content); err != nil {
			return nil, nil, fmt.Errorf("%w: read the body: %w", engine.ErrUnreachable, err)
		}
		call.Content = nil
	}
	if c.Translates(call.Kind) {
		find := c.toLocal(call.Credentials)
		container, _ := call.Kind.Split(string(call.Local))
		spots := c.spots(ctx, call.Kind, container)
		if query, err = replaceQuery(ctx, spots, query, find); err == nil && isJSON(header) {
			body, err = translation{id: find, link: c.localLink}.body(ctx, spots, mediaType(header), body)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if _, own := call.Kind.Split(string(call.Local)); call.Method == http.MethodPost && own != "" && call.Kind.ID.Settable && call.Kind.ID.At != "" && !strings.Contains(call.Path, "{id}") {
		if body, err = c.settle(ctx, call, body); err != nil {
			return nil, nil, err
		}
	}
	if call.Content == nil && represents(call, header) {
		body = Bare(call.Kind, body)
	}
	req := &http.Request{
		Method: call.Method, Header: header, Host: up.URL.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL: Target(up.URL, path, query), ContentLength: int64(len(body)),
	}
	// Without GetBody, so that nothing below sends a body a second time.
	if call.Content != nil {
		req.Body, req.ContentLength = io.NopCloser(call.Content), call.Length
	} else if len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	if _, ok := header["User-Agent"]; !ok {
		header.Set("User-Agent", "skerry")
	}
	if _, ok := header["Accept"]; !ok {
		header.Set("Accept", "application/json, */*;q=0.1")
	}
	if up.Dialect != nil { // what is called from here is read here
		header.Set("Accept", up.Dialect.Accept())
	}
	if call.Key != "" {
		SetKey(header, call.Key)
	}
	return req, up, nil
}

// sendable says why no HTTP message can carry what a request says: of what another site has signed this site's own listeners have seen
// nothing. The transport would say so as if the connection were at fault.
func sendable(call engine.Call) error {
	for name, value := range call.Header {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("%w: the header %.60q", engine.ErrUnsendable, name)
		}
	}
	for what, text := range map[string]string{"method": call.Method, "path": call.Path, "query": call.Query} {
		if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return fmt.Errorf("%w: its %s has a control character or a space", engine.ErrUnsendable, what)
		}
	}
	return nil
}

// looksInto reports whether a large body is JSON that is looked into: the identifiers in it may have to be others here.
func looksInto(call engine.Call, header http.Header) bool {
	return call.Length >= 0 && call.Length <= engine.MaxLooked && isJSON(header)
}

// settle puts the chosen identifier into the body of a create.
func (c *Client) settle(ctx context.Context, call engine.Call, body []byte) ([]byte, error) {
	if len(body) == 0 || !validObject(body) {
		return nil, fmt.Errorf("%w: the body that creates a %s is no JSON object, so its identifier cannot be set", engine.ErrUnsendable, call.Kind.Name)
	}
	_, own := call.Kind.Split(string(call.Local))
	raw := quote(own)
	if isInteger(own) {
		number, err := c.numbers(ctx, nameOf(call.Kind), call.Local, call.Credentials)
		if err != nil {
			return nil, err
		}
		if number {
			raw = []byte(own)
		}
	}
	out, ok := putAt(body, call.Kind.ID.At.Tokens(), raw)
	if !ok {
		return nil, fmt.Errorf("%w: the body that creates a %s has no place for an identifier at %s", engine.ErrUnsendable, call.Kind.Name, call.Kind.ID.At)
	}
	return out, nil
}

// localOf reads the identifier that a create was given: from the body where the catalog says, else from Location.
func (c *Client) localOf(call engine.Call, r engine.Reply) engine.LocalID {
	if r.Status < 200 || r.Status > 299 {
		return ""
	}
	if strings.Contains(call.Path, "{id}") {
		if call.Method == http.MethodPut {
			return call.Local
		}
		return ""
	}
	if call.Method != http.MethodPost {
		return ""
	}
	if id, ok := c.shownID(call.Kind, r.Body); ok {
		if container, _ := call.Kind.Split(string(call.Local)); container != "" {
			id = engine.Inside(container, id)
		}
		return engine.LocalID(id)
	}
	u, err := url.Parse(r.Header.Get("Location"))
	if err != nil {
		return ""
	}
	base := strings.TrimSuffix(c.upstreams[call.Kind.Service].URL.EscapedPath(), "/")
	for _, path := range []string{strings.TrimPrefix(u.EscapedPath(), base), u.EscapedPath()} {
		if m, ok := c.Router(call.Kind.Service).Match(http.MethodGet, path, nil); ok && m.Kind.Name == call.Kind.Name && m.Target != "" && !m.Below {
			return engine.LocalID(m.Target)
		}
	}
	return ""
}

// SetKey sends an Idempotency-Key. Its name is written in lower case on purpose: net/http takes a request with the
// canonical name for one that it may send again by itself, which only the engine decides.
func SetKey(h http.Header, key string) {
	h.Del("Idempotency-Key")
	if !strings.HasPrefix(key, `"`) {
		key = `"` + key + `"`
	}
	h["idempotency-key"] = []string{key}
}

// hopByHop are the headers that mean the connection, not the message (RFC 9110, section 7.6.1).
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// RemoveHopByHop removes the headers that mean the connection, and those that Connection names.
func RemoveHopByHop(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				h.Del(name)
			}
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// StripAgent removes what only agents say to each other and what carries a scope, apart from baggage.
func StripAgent(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Skerry-") {
			delete(h, name)
		}
	}
	delete(h, "Scope")
	delete(h, "X-Scope")
}
