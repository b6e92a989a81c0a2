package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/process"
)

// Both the application and the proxy to compare with are nginx: nothing on the way is slower than what is measured.
const nginxConfig = `
daemon off; worker_processes 2; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 16384; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  upstream application { server 127.0.0.1:9801; keepalive 512; keepalive_requests 100000000; }
  server { listen 9801; default_type application/json; location / { return 200 '%[2]s'; } }
  server { listen 127.0.0.1:9711;
    location / { proxy_pass http://application; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`

// The catalog has a kind, so that requests are looked at as they are in use.
const passCatalog = `
application: pass
services:
  images:
    kinds:
      image: {collection: /images, item: "/images/{id}", id: {from: body, at: /id}}
  bulk: {paths: [/bulk]}
`

const haproxyConfig = `
global
  maxconn 9900%[1]s
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:%[2]d%[3]s
  default_backend here
backend here
  server application 127.0.0.1:9801
backend elsewhere
  server application %[4]s:9801
frontend bulk
  bind 127.0.0.1:%[5]d
  default_backend bulk
backend bulk
  server bulk 127.0.0.1:9802
`

// scopeInLua reads which site a scope names for the service, and no more: what a proxy has to do at least that obeys scopes.
const scopeInLua = `
core.register_action("scope", {"http-req"}, function(transaction)
  local header = transaction.http:req_get_headers()["scope"]
  local where = "here"
  if header and header[0] then
    for service, location in header[0]:gmatch('"([^"]+)"%s*:%s*"([^"]+)"') do
      if service == "images" and location ~= "paris" then where = "elsewhere" end
    end
  end
  transaction:set_var("req.where", where)
end)
`

// way is what a request can go through.
type way struct {
	name, address string
	request       []byte
	pids          []int // of the processes that pass it on; nil: nobody is asked what it costs
}

const rounds = 3

// passThrough compares requests that concern one site alone, and such as are about another one, with what users would have do that else.
func passThrough(ctx context.Context, b *bench) error {
	part := func(name string, measure func() error) error {
		if len(b.Part) > 0 && !slices.Contains(b.Part, name) {
			return nil
		}
		return measure()
	}
	application := env.Application{
		Catalog:  []byte(passCatalog),
		Services: map[string]int{"images": 9801, "bulk": 9802},
		Health:   "/",
		Command:  nginx,
	}
	s := env.Setup{Program: b.Program, Sites: []string{"paris", "nantes"}, Application: application, Extra: "limits: {connections: {all: 16384}}\n"}
	return errors.Join(b.environment(ctx, s, func(e *env.Env) (err error) {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		dir, err := os.MkdirTemp("", "skerry-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		var proxies [2]*process.Process
		for i, lua := range []bool{false, true} {
			if proxies[i], err = haproxy(ctx, paris, nantes.Host().Address, dir, 9712+i, lua); err != nil {
				return err
			}
			defer func() { _ = proxies[i].Kill() }()
		}
		return errors.Join(part("plain", func() error { return b.compare(ctx, paris, proxies) }),
			part("elsewhere", func() error { return b.elsewhere(ctx, paris, nantes, proxies[1]) }),
			part("bulk", func() error { return b.bulk(ctx, paris, proxies) }),
			part("connections", func() error { return b.idleConnections(ctx, paris, proxies) }))
	}), part("reads", func() error {
		return b.sites(ctx, func(e *env.Env) error { return b.replicatedReads(ctx, e) }, "paris", "nantes")
	}),
		part("healing", func() error {
			return b.sites(ctx, func(e *env.Env) error { return b.whileHealing(ctx, e) }, "paris", "nantes")
		}))
}

// nginx writes the configuration and returns what runs it.
func nginx(dir string) []string {
	answer := `{"id":"1","text":"` + strings.Repeat("x", 236) + `"}` // 256 bytes in all
	path := filepath.Join(dir, "nginx.conf")
	// What could not be written nginx reports as what it cannot read.
	_ = os.WriteFile(path, fmt.Appendf(nil, nginxConfig, dir, answer), 0o600)
	return []string{"nginx", "-c", path, "-e", filepath.Join(dir, "error.log")}
}

// haproxy starts HAProxy at a site, beside another one whose application it reaches by its address; with Lua it reads scopes.
func haproxy(ctx context.Context, s *env.Site, elsewhere, dir string, port int, lua bool) (*process.Process, error) {
	load, use := "", ""
	if lua {
		script := filepath.Join(dir, "scope.lua")
		if err := os.WriteFile(script, []byte(scopeInLua), 0o600); err != nil {
			return nil, err
		}
		load, use = "\n  lua-load "+script, "\n  http-request lua.scope\n  use_backend %[var(req.where)]"
	}
	path := filepath.Join(dir, fmt.Sprintf("haproxy-%d.cfg", port))
	if err := os.WriteFile(path, fmt.Appendf(nil, haproxyConfig, load, port, use, elsewhere, port+2), 0o600); err != nil {
		return nil, err
	}
	p, err := process.Start("HAProxy", filepath.Join(dir, "haproxy.log"), s.Host().Command("haproxy", "-db", "-f", path)...)
	if err != nil {
		return nil, err
	}
	for {
		conn, err := s.Host().DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			return p, nil
		}
		if ended := p.Ended(); ended != nil || ctx.Err() != nil {
			return nil, errors.Join(ended, ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// compare has requests pass that are plain.
func (b *bench) compare(ctx context.Context, s *env.Site, proxies [2]*process.Process) (err error) {
	plain, scoped := request("GET", "/images/1", ""), request("GET", "/images/1", "", `Scope: {"images": "paris"}`)
	ways := []way{
		{"direct", "127.0.0.1:9801", plain, nil},
		{"nginx", "127.0.0.1:9711", plain, nil},
		{"HAProxy", "127.0.0.1:9712", plain, []int{proxies[0].PID()}},
		{"HAProxy with Lua, scope read", "127.0.0.1:9713", scoped, []int{proxies[1].PID()}},
		{"skerry", "127.0.0.1:9701", plain, []int{s.Agent().PID()}},
		{"skerry, scope of its own site", "127.0.0.1:9701", scoped, []int{s.Agent().PID()}},
	}
	const lua = 3
	for _, callers := range []int{1, 32, 512} {
		all, err := b.inTurn(ctx, s.Host().DialContext, callers, ways)
		if err != nil {
			return err
		}
		b.report.table(fmt.Sprintf("Pass-through, answers of 256 bytes, %d connections, medians of %d turns; ratios are to HAProxy with Lua", callers, turns),
			"way", "requests", "ratio", "p50", "ratio", "p99", "ratio", "processor a request", "ratio")
		for i, w := range ways {
			cost := ""
			if w.pids != nil {
				cost = all[i].of(all[lua], costIn)
			}
			b.report.row(w.name, perSecond(rateOf(all[i].results)), all[i].of(all[lua], rateIn), us(medianOf(all[i].results, 50)), all[i].of(all[lua], percentileIn(50)),
				us(medianOf(all[i].results, 99)), all[i].of(all[lua], percentileIn(99)), all[i].cost(), cost)
		}
	}
	return nil
}

// rateOf is the median of the rates.
func rateOf(results []result) float64 {
	var rates []float64
	for _, r := range results {
		rates = append(rates, r.rate())
	}
	return median(rates)
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

func medianOf(results []result, p float64) time.Duration {
	var all []time.Duration
	for _, r := range results {
		all = append(all, r.percentile(p))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
