package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	callTimeout = 90 * time.Second // issuing an operation may wait for the application
	maxAnswer   = 256 << 20
)

// Options say how a client shows who it is, and how it knows the agent.
type Options struct {
	// Token is what the agent knows the caller by, empty for none. TokenFile is a file with one, which counts more.
	Token, TokenFile string
	// CA is a file with the authorities, in PEM, that the agent's certificate is checked with. Empty: the system's.
	CA string
}

// Client asks one agent. It is safe for concurrent use, but for Login and Logout.
type Client struct {
	base  string // without a slash at the end
	http  *http.Client
	token string
	// cookie takes the place of the token for one who has logged in.
	cookie string
}

// New takes the address of an agent: a URL, or host:port. It sends nothing.
func New(address string, o Options) (*Client, error) {
	text := address
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &AddressError{text: fmt.Sprintf("%q is no address of an agent", text)}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = callTimeout // the body of a stream may take for ever
	c := &Client{base: strings.TrimRight(u.String(), "/"), http: &http.Client{Transport: transport}, token: o.Token}
	if o.TokenFile != "" {
		if c.token, err = readToken(o.TokenFile); err != nil {
			return nil, err
		}
	}
	if ip := net.ParseIP(u.Hostname()); c.token != "" && u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &AddressError{text: fmt.Sprintf("a token for %s would travel in clear", address), InClear: true}
	}
	if o.CA != "" {
		if transport.TLSClientConfig, err = trusting(o.CA); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Base is the agent's address, as a URL without a slash at its end.
func (c *Client) Base() string { return c.base }

// Transport carries the client's requests. Whoever changes it takes a clone.
func (c *Client) Transport() *http.Transport { return c.http.Transport.(*http.Transport) }

// readToken returns the one word of a file.
func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	words := strings.Fields(string(b))
	if len(words) != 1 {
		return "", fmt.Errorf("%s holds no token, but %d words", path, len(words))
	}
	return words[0], nil
}

// trusting takes the certificates of the authorities in a file alone.
func trusting(ca string) (*tls.Config, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", ca)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Get returns the JSON of an answer to GET. Paths are those below /api/v1.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	return c.Call(ctx, http.MethodGet, with(path, query), nil)
}

// Post sends body as JSON, nothing for nil, and returns the JSON of the answer.
func (c *Client) Post(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.Call(ctx, http.MethodPost, path, body)
}

// Put sends body as JSON and returns the JSON of the answer.
func (c *Client) Put(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.Call(ctx, http.MethodPut, path, body)
}

// Delete has what is at path deleted; there is no answer but that it was done.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.Tell(ctx, http.MethodDelete, path)
}

// Tell makes a call that says all it has to say in its path, and has no answer but that it was done.
func (c *Client) Tell(ctx context.Context, method, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := c.request(ctx, method, below(path), nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Call sends body as JSON, nothing for nil, and returns the JSON of the answer.
func (c *Client) Call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(b)
	}
	res, err := c.request(ctx, method, below(path), sent, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(err)
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s is over %d MiB: ask for less", c.base, maxAnswer>>20)
	case !json.Valid(b):
		return nil, c.stranger(res)
	}
	return b, nil
}

// Whole returns the answer to GET of a whole path, such as /metrics, whatever form it has.
func (c *Client) Whole(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := c.request(ctx, http.MethodGet, with(path, query), nil, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(err)
	}
	return b, nil
}

func below(path string) string { return "/api/v1" + path }

func with(path string, query url.Values) string {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// request returns an answer of success whose body the caller closes, and any other as an error.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	var p Problem
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || media != "application/problem+json" || json.Unmarshal(b, &p) != nil || p.Type == "" {
		return nil, c.stranger(res)
	}
	return nil, &p
}

// Decode decodes an answer.
func Decode[T any](b json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("the agent's answer makes no sense: %w", err)
	}
	return v, nil
}
