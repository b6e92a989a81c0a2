package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// Both the application and the proxy to compare with are nginx: nothing on the way is slower than what is measured.
const nginxConfig = `
daemon off; worker_processes 2; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  upstream application { server 127.0.0.1:9801; keepalive 64; keepalive_requests 100000000; }
  server { listen 127.0.0.1:9801; default_type application/json; location / { return 200 '%[2]s'; } }
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
`

// ways are what a request can go through, direct first.
var ways = []struct{ name, address string }{
	{"direct", "127.0.0.1:9801"},
	{"nginx", "127.0.0.1:9711"},
	{"skerry", "127.0.0.1:9701"},
}

const rounds = 3

// passThrough compares requests without a scope.
func passThrough(ctx context.Context, b *bench) error {
	application := env.Application{
		Catalog:  []byte(passCatalog),
		Services: map[string]int{"images": 9801},
		Health:   "/",
		Command:  nginx,
	}
	s := env.Setup{Program: b.Program, Sites: []string{"paris"}, Application: application}
	return b.environment(ctx, s, func(e *env.Env) error { return b.compare(ctx, e.Site("paris")) })
}

// nginx writes the configuration and returns what runs it.
func nginx(dir string) []string {
	answer := `{"id":"1","text":"` + strings.Repeat("x", 236) + `"}` // 256 bytes in all
	path := filepath.Join(dir, "nginx.conf")
	// What could not be written nginx reports as what it cannot read.
	_ = os.WriteFile(path, fmt.Appendf(nil, nginxConfig, dir, answer), 0o600)
	return []string{"nginx", "-c", path, "-e", filepath.Join(dir, "error.log")}
}

func (b *bench) compare(ctx context.Context, s *env.Site) error {
	rates, alone := make([][]float64, len(ways)), make([][]result, len(ways))
	// Rounds in turn, so that what else the machine does meets all of them.
	for range rounds {
		for i, w := range ways {
			l := load{dial: s.Host().DialContext, address: w.address, For: b.For / 2, status: 200,
				request: func(int) []byte { return request("GET", "/images/1", "") }}
			l.callers = 32
			many, err := l.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			l.callers = 1
			one, err := l.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			rates[i], alone[i] = append(rates[i], many.rate()), append(alone[i], one)
		}
	}
	b.report.table("Pass-through, answers of 256 bytes, median of 3 rounds",
		"way", "32 connections", "of direct", "one: p50", "one: p99", "added p50", "added p99")
	direct := median(rates[0])
	p50, p99 := medianOf(alone[0], 50), medianOf(alone[0], 99)
	for i, w := range ways {
		x, y := medianOf(alone[i], 50), medianOf(alone[i], 99)
		b.report.row(w.name, perSecond(median(rates[i])), fmt.Sprintf("%.2f", median(rates[i])/direct), us(x), us(y), us(x-p50), us(y-p99))
	}
	return nil
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
