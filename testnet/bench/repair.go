package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/site"
)

// differing is how many of the many resources are changed during the cut.
const differing = 10

// repair measures what it costs to find and mend the few documents in which two sites with many differ after a cut.
func repair(ctx context.Context, b *bench, paris, nantes *env.Site) error {
	resources, err := paris.Client().Resources(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range resources[:min(differing, len(resources))] {
		ids = append(ids, r.ID)
	}
	// Until then each site still tells the other what its application shows, and that differs as well.
	looked, err := until(ctx, time.Now(), time.Second, 30*time.Minute, func() (bool, error) {
		return allConverged(ctx, paris, nantes)
	})
	if err != nil {
		return err
	}
	b.report.row("until both say that all have converged", looked.Round(time.Millisecond).String())
	if err := nantes.Host().Cut(); err != nil {
		return err
	}
	for i, id := range ids {
		l := creates([]*env.Site{paris, nantes}[i%2], "", "", 1)
		l.Requests, l.status = 1, http.StatusOK
		l.request = func(int) []byte { return request("PATCH", "/images/"+id, `{"description":"changed during the cut"}`) }
		if _, err := l.run(ctx); err != nil {
			return errors.Join(err, nantes.Host().Heal())
		}
	}
	if _, err := until(ctx, time.Now(), 50*time.Millisecond, time.Minute, func() (bool, error) { return apart(ctx, paris, nantes) }); err != nil {
		return errors.Join(err, nantes.Host().Heal())
	}
	before, err := compared(ctx, paris, nantes)
	if err != nil {
		return errors.Join(err, nantes.Host().Heal())
	}
	begin := time.Now()
	if err := nantes.Host().Heal(); err != nil {
		return err
	}
	took, err := until(ctx, begin, 20*time.Millisecond, 10*time.Minute, func() (bool, error) {
		for len(ids) > 0 {
			for _, s := range []*env.Site{paris, nantes} {
				list, err := s.Client().Operations(ctx, ids[0])
				if err != nil || len(list) < 2 || slices.ContainsFunc(list, func(o site.Operation) bool { return o.State != "applied" }) {
					return false, err
				}
			}
			ids = ids[1:]
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	after, err := compared(ctx, paris, nantes)
	if err != nil {
		return err
	}
	n := after.number - before.number
	b.report.row(fmt.Sprintf("after a cut in which %d were changed: until both sites show them", differing), ms(took))
	b.report.row("of that one comparison of all documents, reading them included", ms(time.Duration((after.seconds-before.seconds)/n*float64(time.Second))))
	b.report.row("its size on the wire, and its round trips", fmt.Sprintf("%.0f bytes, %.1f", (after.bytes-before.bytes)/n, (after.roundTrips-before.roundTrips)/n))
	return nil
}

// apart reports whether none of the sites reaches another: until then a connection may outlive the cut, and nothing be compared.
func apart(ctx context.Context, sites ...*env.Site) (bool, error) {
	for _, s := range sites {
		seen, err := s.Client().Sites(ctx)
		if err != nil || slices.ContainsFunc(seen, func(o site.Seen) bool { return !o.Self && o.Reachable }) {
			return false, err
		}
	}
	return true, nil
}

// comparisons are what agents have spent on finding out what differs.
type comparisons struct{ number, seconds, bytes, roundTrips float64 }

// compared adds up what the metrics of agents tell.
func compared(ctx context.Context, sites ...*env.Site) (c comparisons, err error) {
	for _, s := range sites {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Client().Base+"/metrics", nil)
		if err != nil {
			return c, err
		}
		answer, err := s.Client().HTTP.Do(r)
		if err != nil {
			return c, err
		}
		text, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			return c, err
		}
		for line := range strings.Lines(string(text)) {
			for name, into := range map[string]*float64{"seconds_count": &c.number, "seconds_sum": &c.seconds, "bytes_sum": &c.bytes, "round_trips_sum": &c.roundTrips} {
				var v float64
				if n, _ := fmt.Sscanf(line, "skerry_comparison_"+name+" %g", &v); n == 1 {
					*into += v
				}
			}
		}
	}
	return c, nil
}
