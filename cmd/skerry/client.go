package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	callTimeout = 90 * time.Second // issuing an operation may wait for the application
	maxAnswer   = 256 << 20
)

// client talks to the REST API of one agent.
type client struct {
	base string // without a slash at the end
	http *http.Client
	// token is what the agent knows the caller by, empty for none; cookie is the same for a call that a person has logged in for.
	token, cookie string
}

// access is how a client shows who it is and knows the agent.
type access struct{ token, file, ca string }

// newClient takes a URL, or host:port.
func newClient(base string, a access) (*client, error) {
	text := base
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("%q is no address of an agent: give --api a URL such as http://127.0.0.1:8700", text)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = callTimeout // the body of a stream may take for ever
	c := &client{base: strings.TrimRight(u.String(), "/"), http: &http.Client{Transport: transport}, token: a.token}
	if a.file != "" {
		if c.token, err = readToken(a.file); err != nil {
			return nil, err
		}
	}
	if ip := net.ParseIP(u.Hostname()); c.token != "" && u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usagef("a token for %s would travel in clear: give --api an address with https", base)
	}
	if a.ca != "" {
		if transport.TLSClientConfig, err = trusting(a.ca); err != nil {
			return nil, err
		}
	}
	return c, nil
}

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

// problem is an answer in the form of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Error has the sentence for people first, then the type, which scripts and the documentation know it by.
func (p *problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%s (%s)", text, p.Type[strings.LastIndexByte(p.Type, '/')+1:])
}

// get returns the JSON of an answer to GET.
func (c *client) get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil)
}

// post sends body as JSON, nothing for nil, and returns the JSON of the answer.
func (c *client) post(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPost, path, body)
}

// put sends body as JSON and returns the JSON of the answer.
func (c *client) put(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPut, path, body)
}

// delete has what is at path deleted; there is no answer but that it was done.
func (c *client) delete(ctx context.Context, path string) error {
	return c.tell(ctx, http.MethodDelete, path)
}

// tell makes a call that says all it has to say in its path, and has no answer but that it was done.
func (c *client) tell(ctx context.Context, method, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := c.send(ctx, method, path, nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (c *client) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
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
	res, err := c.send(ctx, method, path, sent, nil)
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

// send returns an answer of success whose body the caller closes, and any other as an error.
func (c *client) send(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
	return c.request(ctx, method, "/api/v1"+path, body, header)
}

// request is send for what is at a whole path, such as /metrics.
func (c *client) request(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
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
	var p problem
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || media != "application/problem+json" || json.Unmarshal(b, &p) != nil || p.Type == "" {
		return nil, c.stranger(res)
	}
	return nil, &p
}

// unreachableError says that the agent gave no answer.
type unreachableError struct{ error }

// unreachable says what to do about an agent that does not answer.
func (c *client) unreachable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return &unreachableError{fmt.Errorf("the agent at %s does not answer: see its log", c.base)}
	}
	why := err
	var dial *net.OpError
	var no syscall.Errno
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		return &unreachableError{fmt.Errorf("the certificate of %s cannot be trusted (%w): name the authority's with --ca", c.base, certificate.Err)}
	}
	if errors.As(err, &no) {
		why = no
	} else if errors.As(err, &dial) {
		why = dial.Err
	}
	return &unreachableError{fmt.Errorf(
		"no agent answers at %s (%w): start one with \"skerry agent --config FILE\", or name another with --api or SKERRY_API", c.base, why)}
}

// stranger says what to do about an answer that no agent gives.
func (c *client) stranger(res *http.Response) error {
	return fmt.Errorf("what answers at %s is no Skerry agent (%s, %s): check --api and SKERRY_API", c.base, res.Status,
		res.Header.Get("Content-Type"))
}

// decode decodes an answer.
func decode[T any](b json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("the agent's answer makes no sense: %w", err)
	}
	return v, nil
}
