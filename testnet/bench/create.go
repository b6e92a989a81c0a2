package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

const allThree = "Scope: {images: paris & nantes & toulouse}"

var three = []string{"paris", "nantes", "toulouse"}

// images is where a site's agent and its application serve images.
const (
	images            = "127.0.0.1:9701"
	imagesApplication = "127.0.0.1:9801"
)

// createRates measures replicated creates until they are acknowledged, that is durable at their origin.
func createRates(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris := e.Site("paris")
		b.report.table("Replicated create at three sites, until acknowledged (durable at the origin)",
			"callers", "p50", "p99", "rate", "then applied at all after")
		local := load{dial: paris.Host().DialContext, address: imagesApplication, callers: 1, For: b.For / 2, status: 201,
			request: func(i int) []byte { return request("POST", "/images", fmt.Sprintf(`{"name":"local %d"}`, i)) }}
		r, err := local.run(ctx)
		if err != nil {
			return err
		}
		b.report.row("1, application alone", ms(r.percentile(50)), ms(r.percentile(99)), perSecond(r.rate()), "")
		made := 0
		for _, callers := range []int{1, 8, 64} {
			l := creates(paris, fmt.Sprintf("rate %d", callers), allThree, callers)
			l.For = b.For
			r, err := l.run(ctx)
			if err != nil {
				return err
			}
			made += r.total
			lag, err := until(ctx, time.Now(), 10*time.Millisecond, 5*time.Minute, func() (bool, error) {
				return madeAt(ctx, made, e.Site("nantes"), e.Site("toulouse"))
			})
			if err != nil {
				return fmt.Errorf("after %d creates: %w", made, err)
			}
			b.report.row(fmt.Sprint(callers), ms(r.percentile(50)), ms(r.percentile(99)), perSecond(r.rate()), ms(lag))
		}
		return nil
	}, three...)
}

// creates is a load that makes images with a scope at a site.
func creates(s *env.Site, name, scope string, callers int) load {
	return load{dial: s.Host().DialContext, address: images, callers: callers, For: time.Hour, status: 201,
		request: func(i int) []byte {
			return request("POST", "/images", fmt.Sprintf(`{"name":"%s %d","size":%d}`, name, i, i), scope)
		}}
}

// madeAt reports whether the applications of the sites have made so many images, or more.
func madeAt(ctx context.Context, n int, sites ...*env.Site) (bool, error) {
	for _, s := range sites {
		c, err := counts(ctx, s)
		if err != nil || c.Done["POST /images"] < n {
			return false, err
		}
	}
	return true, nil
}

func counts(ctx context.Context, s *env.Site) (c lab.Counts, err error) {
	a, err := s.RequestApplication(ctx, lab.Images, "GET /-/requests", "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Body), &c)
	}
	return c, err
}

// convergence measures creates one after the other, until they are acknowledged and until the last of three applications has each.
func convergence(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error { return b.oneByOne(ctx, e, "three sites side by side", 300) }, three...)
}

// farApart is convergence where each site is 50 ms from each other one, one way.
func farApart(ctx context.Context, b *bench) error {
	s := env.Setup{Program: b.Program, Sites: three, Application: env.Lab(b.Program),
		Prepare: func(s *env.Site) error { return s.Host().Lengthen(25 * time.Millisecond) }}
	return b.environment(ctx, s, func(e *env.Env) error { return b.oneByOne(ctx, e, "three sites 50 ms apart", 100) })
}

// oneByOne makes images at paris and all others, the next one when all have the last.
func (b *bench) oneByOne(ctx context.Context, e *env.Env, where string, n int) error {
	var acknowledged, everywhere result
	for i := range n {
		l := creates(e.Site("paris"), fmt.Sprint("converge ", i), allThree, 1)
		l.Requests = 1
		begin := time.Now()
		r, err := l.run(ctx)
		if err != nil {
			return err
		}
		took, err := until(ctx, begin, 200*time.Microsecond, time.Minute, func() (bool, error) { return madeAt(ctx, i+1, e.Sites()...) })
		if err != nil {
			return err
		}
		acknowledged.took, everywhere.took = append(acknowledged.took, r.took...), append(everywhere.took, took)
	}
	slices.Sort(acknowledged.took)
	slices.Sort(everywhere.took)
	b.report.table(fmt.Sprintf("%d creates one after the other, %s", n, where), "until", "p50", "p99")
	b.report.row("acknowledged", ms(acknowledged.percentile(50)), ms(acknowledged.percentile(99)))
	b.report.row("applied at all", ms(everywhere.percentile(50)), ms(everywhere.percentile(99)))
	return nil
}
