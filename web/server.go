package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/page"
	"github.com/skerry/skerry/web/static"
)

// Config is what a Server is handed.
type Config struct {
	api.Config
	// Listen is the address that clients reach the server at, host:port.
	Listen string
	// Hosts are further host names that clients reach the server under, with a port or without.
	Hosts []string
	// Proxies are those whose X-Forwarded-For tells the client's address.
	Proxies []netip.Prefix
	// HeadTimeout is how long the head of a request may take, Idle how long a connection may have none (10 s, 2 min).
	HeadTimeout, Idle time.Duration
}

// Server answers on a site's API address. It is safe for concurrent use.
type Server struct {
	api   *api.API
	page  *page.Page
	echo  *echo.Echo
	hosts map[string]bool
	cross *http.CrossOriginProtection
	auth  *auth.Guard
	log   *slog.Logger
	now   func() time.Time

	headTimeout, idle time.Duration
}

// New makes a server; nothing runs before Serve or Run.
func New(c Config) (*Server, error) {
	hosts, err := allowedHosts(c.Listen, c.Hosts)
	if err != nil {
		return nil, err
	}
	a, err := api.New(c.Config)
	if err != nil {
		return nil, err
	}
	s := &Server{api: a, page: page.New(a), echo: echo.New(), hosts: hosts, cross: http.NewCrossOriginProtection(), auth: c.Auth, log: c.Log, now: c.Now,
		headTimeout: cmp.Or(c.HeadTimeout, 10*time.Second), idle: cmp.Or(c.Idle, 2*time.Minute)}
	e := s.echo
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	if len(c.Proxies) > 0 {
		trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
		for _, p := range c.Proxies {
			trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}))
		}
		e.IPExtractor = echo.ExtractIPFromXFFHeader(trust...)
	}
	e.HTTPErrorHandler = s.fail
	e.Pre(s.observe, s.recover, s.guard)
	e.Use(s.identify, s.audit, s.authorize)
	a.Mount(e)
	static.Mount(e)
	s.page.Mount(e)
	if err := undeclared(e.Routes()); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// API is what answers the calls.
func (s *Server) API() *api.API { return s.api }

// Routes lists the calls that the server has.
func (s *Server) Routes() []*echo.Route { return s.echo.Routes() }

// Run does what goes on beside requests until ctx ends; then open streams end. Serve calls it.
func (s *Server) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.api.Run(ctx) })
	g.Go(func() error { return s.auditMesh(ctx) })
	return g.Wait()
}

// Serve answers on l until ctx ends, lets requests under way finish, and closes l. It returns nil when it ended
// because ctx did.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ConnContext:       auth.WithOwner,
		ReadHeaderTimeout: s.headTimeout,
		IdleTimeout:       s.idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // connections that strangers break off
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := Attend(ctx, h, l); err != nil {
			return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
		}
		return nil
	})
	g.Go(func() error {
		if err := s.Run(ctx); err != nil {
			return fmt.Errorf("follow the site's events: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// fail answers with an error that a handler returned.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed { // a stream broke off; its client knows
		return
	}
	r := c.Request()
	if wantsPage(r) {
		err = s.page.Fail(c, err)
		if err == nil || c.Response().Committed {
			return
		}
	}
	s.api.WriteRefusal(c.Response(), r, err)
}

// observe measures requests by route. Streams are left out: they last as long as their client stays.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			s.fail(err, c)
		}
		if c.Response().Header().Get("Content-Type") == "text/event-stream" {
			return nil
		}
		route := c.Path()
		if route == "" {
			route = "none"
		}
		s.api.Observe(c.Request().Method, route, strconv.Itoa(c.Response().Status), time.Since(start))
		return nil
	}
}

// recover turns a panic into a refusal, so that one request's defect stays its own.
func (s *Server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				err = fmt.Errorf("answer %s: panic: %v", c.Path(), p)
			}
		}()
		return next(c)
	}
}
