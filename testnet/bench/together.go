package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// racing compares a read that races two sites with a read of either, the slower at the end of a line of 50 ms there and back.
func racing(ctx context.Context, b *bench) error {
	s := env.Setup{Program: b.Program, Sites: three, Application: env.Lab(b.Program), Prepare: func(s *env.Site) error {
		if s.Name() == "toulouse" {
			return s.Host().Lengthen(25 * time.Millisecond)
		}
		return nil
	}}
	return b.environment(ctx, s, func(e *env.Env) error {
		id, err := makeImage(ctx, e.Site("nantes"), "{images: nantes & toulouse}")
		if err != nil {
			return err
		}
		if _, err := until(ctx, time.Now(), 10*time.Millisecond, time.Minute, func() (bool, error) { return madeAt(ctx, 1, e.Site("toulouse")) }); err != nil {
			return err
		}
		b.report.table("A read at paris of what nantes and toulouse have, toulouse 50 ms away, one caller", "scope", "p50", "p99")
		for _, location := range []string{"toulouse", "nantes", "nantes | toulouse", "toulouse | nantes"} {
			l := load{dial: e.Site("paris").Host().DialContext, address: images, callers: 1, For: b.For / 2, status: 200,
				request: func(int) []byte { return request("GET", "/images/"+id, "", "Scope: {images: "+location+"}") }}
			r, err := l.run(ctx)
			if err != nil {
				return err
			}
			b.report.row(strings.ReplaceAll(location, "|", `\|`), ms(r.percentile(50)), ms(r.percentile(99)))
		}
		return nil
	})
}

// ten are the sites of the largest aggregate.
var ten = []string{"paris", "nantes", "toulouse", "rennes", "lyon", "lille", "brest", "nice", "metz", "pau"}

// aggregation compares a read of a cross resource of ten parts with that of one part.
func aggregation(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris := e.Site("paris")
		image, err := makeImage(ctx, paris, "{images: *}")
		if err != nil {
			return err
		}
		a, err := paris.Request(ctx, lab.Servers, "POST /servers", `{"name":"group","count":100,"image":"`+image+`"}`, "Scope", "{servers: "+strings.Join(ten, " % ")+"}")
		if err != nil || a.Status != 201 {
			return fmt.Errorf("a create was answered %d: %s, %w", a.Status, a.Body, err)
		}
		path := "/servers/" + a.Text("id")
		_, err = until(ctx, time.Now(), 50*time.Millisecond, time.Minute, func() (bool, error) {
			a, err := paris.Request(ctx, lab.Servers, "GET "+path, "")
			return a.Status == 200 && a.Header.Get("Skerry-Missing") == "" && a.Fields()["count"] == 100.0, err
		})
		if err != nil {
			return err
		}
		b.report.table("A read at paris of one resource with ten parts", "read", "callers", "p50", "p99", "rate")
		for _, x := range []struct {
			name, scope string
			callers     int
		}{{"the part of paris", "Scope: {servers: paris}", 1}, {"the part of nantes", "Scope: {servers: nantes}", 1},
			{"all ten", "Scope: {servers: " + strings.Join(ten, " % ") + "}", 1}, {"all ten", "Scope: {servers: " + strings.Join(ten, " % ") + "}", 8}} {
			l := load{dial: paris.Host().DialContext, address: "127.0.0.1:9703", callers: x.callers, For: b.For / 2, status: 200,
				request: func(int) []byte { return request("GET", path, "", x.scope) }}
			r, err := l.run(ctx)
			if err != nil {
				return err
			}
			b.report.row(x.name, fmt.Sprint(x.callers), ms(r.percentile(50)), ms(r.percentile(99)), perSecond(r.rate()))
		}
		return nil
	}, ten...)
}

// explaining measures how often a second a site tells what a scope means.
func explaining(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		b.report.table("Explain at a site of three", "question", "callers", "p50", "p99", "rate")
		for _, x := range []struct{ name, scope, method, path, body string }{
			{"a scope", "{images: (paris & nantes) % toulouse ; around(paris, 10ms) | !paris}", "", "", ""},
			{"a request", "{servers: paris % nantes, images: nantes | paris}", "POST", "/servers", `{"name":"web","count":5,"image":"none"}`},
		} {
			body, err := json.Marshal(map[string]any{"scope": x.scope, "service": "servers", "method": x.method, "path": x.path, "body": json.RawMessage(orNull(x.body))})
			if err != nil {
				return err
			}
			for _, callers := range []int{1, 8} {
				l := load{dial: e.Site("paris").Host().DialContext, address: e.Site("paris").Config().API, callers: callers, For: b.For / 2, status: 200,
					request: func(int) []byte { return explain(e.Site("paris").Config().API, string(body)) }}
				r, err := l.run(ctx)
				if err != nil {
					return err
				}
				b.report.row(x.name, fmt.Sprint(callers), ms(r.percentile(50)), ms(r.percentile(99)), perSecond(r.rate()))
			}
		}
		return nil
	}, three...)
}

// explain is a request to the agent itself, which wants to be called by its name.
func explain(host, body string) []byte {
	return fmt.Appendf(nil, "POST /api/v1/scope/explain HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}
