package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

const twoSites = "Scope: {images: paris & nantes}"

// catchUp measures how long two sites take to show the same after a cut with many operations on each side: half of them
// creates, half changes of images that both sites had before, each side of another field.
func catchUp(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		const shared = 100
		l := creates(paris, "shared", twoSites, 8)
		l.Requests = shared
		if _, err := l.run(ctx); err != nil {
			return err
		}
		if _, err := until(ctx, time.Now(), 10*time.Millisecond, time.Minute, func() (bool, error) { return madeAt(ctx, shared, nantes) }); err != nil {
			return err
		}
		ids, err := identifiers(ctx, paris)
		if err != nil {
			return err
		}
		if err := nantes.Host().Cut(); err != nil {
			return err
		}
		half := b.Cut / 2
		b.report.table(fmt.Sprintf("Catching up after a cut with %d operations on each side", b.Cut), "what", "took")
		for _, side := range []struct {
			site  *env.Site
			field string
		}{{paris, "description"}, {nantes, "status"}} {
			l := creates(side.site, "during the cut at "+side.site.Name(), twoSites, 8)
			l.Requests = half
			made, err := l.run(ctx)
			if err != nil {
				return err
			}
			l.status = 200
			l.request = func(i int) []byte {
				return request("PATCH", "/images/"+ids[i%len(ids)], fmt.Sprintf(`{"%s":"%s %d"}`, side.field, side.site.Name(), i))
			}
			changed, err := l.run(ctx)
			if err != nil {
				return err
			}
			b.report.row("working at "+side.site.Name()+" during the cut", ms(made.wall+changed.wall))
		}
		begin := time.Now()
		if err := nantes.Host().Heal(); err != nil {
			return err
		}
		took, err := until(ctx, begin, 50*time.Millisecond, 10*time.Minute, func() (bool, error) {
			p, err := fingerprint(ctx, paris)
			if err != nil || len(p) < shared+2*half {
				return false, err
			}
			n, err := fingerprint(ctx, nantes)
			return slices.Equal(p, n), err
		})
		if err != nil {
			return err
		}
		b.report.row("from the end of the cut until both applications show the same", ms(took))
		return nil
	}, "paris", "nantes")
}

// identifiers lists the images of a site as clients call them.
func identifiers(ctx context.Context, s *env.Site) ([]string, error) {
	a, err := s.Request(ctx, lab.Images, "GET /images", "")
	if err != nil {
		return nil, err
	}
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		return nil, fmt.Errorf("%w in %.200s", err, a.Body)
	}
	var ids []string
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids, nil
}

// fingerprint lists what a site's application holds, sorted, without what differs by nature.
func fingerprint(ctx context.Context, s *env.Site) ([]string, error) {
	a, err := s.RequestApplication(ctx, lab.Images, "GET /images", "")
	if err != nil {
		return nil, err
	}
	var list []struct{ Name, Description, Status string }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		return nil, fmt.Errorf("%w in %.200s", err, a.Body)
	}
	var all []string
	for _, i := range list {
		all = append(all, strings.Join([]string{i.Name, i.Description, i.Status}, "\x00"))
	}
	slices.Sort(all)
	return all, nil
}
