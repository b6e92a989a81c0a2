package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// policy lets pages load what this server serves and nothing else, and run no script or style of their own text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard sets the headers of every answer and refuses what a foreign web page made a browser send.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		r := c.Request()
		if !s.hosts[r.Host] {
			return &engine.Refusal{Status: http.StatusMisdirectedRequest, Type: "host", Detail: fmt.Sprintf(
				"this address does not answer to the host name %q; use the address that the site's configuration gives", r.Host)}
		}
		if err := s.cross.Check(r); err != nil {
			return &engine.Refusal{Status: http.StatusForbidden, Type: "cross-origin",
				Detail: "a page of another origin may not change anything here", Err: err}
		}
		if r.Body != nil && r.Body != http.NoBody { // a body may not come in for ever
			if err := http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(bodyTime)); err == nil {
				defer func() { _ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) }()
			}
		}
		return next(c)
	}
}

// bodyTime is how long the body of a call may take.
const bodyTime = time.Minute

// allowedHosts lists the Host headers that mean this server: the address as configured, further names, and, when the address is
// a loopback one, the other names of loopback. A name that resolves to loopback is not among them: a foreign site could own it.
func allowedHosts(listen string, more []string) (map[string]bool, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", listen, err)
	}
	names := []string{host}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	hosts := map[string]bool{}
	for _, m := range more {
		if _, _, err := net.SplitHostPort(m); err == nil {
			hosts[m] = true
		} else {
			names = append(names, strings.Trim(m, "[]"))
		}
	}
	for _, n := range names {
		hosts[net.JoinHostPort(n, port)] = true
		if port == "80" || port == "443" {
			if ip := net.ParseIP(n); ip != nil && ip.To4() == nil {
				n = "[" + n + "]"
			}
			hosts[n] = true
		}
	}
	return hosts, nil
}
