package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// What one receiver may take.
const (
	answerTime  = 10 * time.Second // until its answer begins
	answerBytes = 64 << 10         // of its answer, which says nothing to us
)

// NewClient returns the client that deliveries are made with: it follows no redirects, which could lead an event to an address
// that nobody has registered, and keeps few connections.
func NewClient() *http.Client {
	return &http.Client{
		Timeout:       answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 1, MaxIdleConns: maxHooks, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
	}
}

// sign is the header webhook-signature of Standard Webhooks: HMAC-SHA256 over id, timestamp and body.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// errGone: the receiver has asked not to be told any more.
var errGone = errors.New("the receiver answers 410 Gone")

// maxRest bounds what a receiver may ask for with Retry-After.
const maxRest = time.Hour

// restOf is how long a receiver wants to be left alone (RFC 9110, section 10.2.3), zero when it does not say.
func restOf(h http.Header, now time.Time) time.Duration {
	after := h.Get("Retry-After")
	rest := time.Duration(0)
	if seconds, err := strconv.Atoi(after); err == nil {
		rest = time.Duration(min(seconds, int(maxRest/time.Second))) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		rest = at.Sub(now)
	}
	return min(max(rest, 0), maxRest)
}

// post makes one attempt. Any answer of 2xx is success; status is 0 without an answer. After one that is not taken, rest is how
// long the receiver wants to be left alone.
func post(ctx context.Context, client *http.Client, target string, secret []byte, e Event, at time.Time) (status int, rest time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(e.Body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	r.Header.Set("User-Agent", "Skerry")
	r.Header.Set("Webhook-Id", e.ID)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("Webhook-Signature", sign(secret, e.ID, at, e.Body))
	resp, err := client.Do(r)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which the hook has already
	}
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	// Read to the end, so that the connection can be used again; what does not end is cut off with its connection.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerBytes))
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return resp.StatusCode, 0, nil
	case resp.StatusCode == http.StatusGone:
		return resp.StatusCode, 0, errGone
	}
	return resp.StatusCode, restOf(resp.Header, at), fmt.Errorf("the receiver answers %s", resp.Status)
}
