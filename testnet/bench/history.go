package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers the driver "sqlite3"

	"github.com/skerry/skerry/testnet/env"
)

// oneEpoch is how many operations one document takes, less some room: as long as there are no more, nothing of them is compacted.
const oneEpoch = 200

// longHistory measures what one resource that is changed again and again takes on the disk for each operation: while all are kept one
// by one, and after epochs of them.
func longHistory(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		l := creates(paris, "long", twoSites, 1)
		l.Requests = 1
		if _, err := l.run(ctx); err != nil {
			return err
		}
		if _, err := until(ctx, time.Now(), 10*time.Millisecond, time.Minute, func() (bool, error) { return madeAt(ctx, 1, nantes) }); err != nil {
			return err
		}
		ids, err := identifiers(ctx, paris)
		if err != nil {
			return err
		}
		b.report.table(fmt.Sprintf("One resource at two sites, changed %d times at each", b.Changes/2), "documents of a site", "bytes", "bytes an operation")
		n := 1
		change := func(until int) error {
			for n < until {
				part := min(100, until-n)
				for i, s := range []*env.Site{paris, nantes} {
					begin := n
					l := load{dial: s.Host().DialContext, address: images, callers: 1, For: time.Hour, status: 200, Requests: (part + i) / 2}
					l.request = func(i int) []byte {
						return request("PATCH", "/images/"+ids[0], fmt.Sprintf(`{"description":"%s %d"}`, s.Name(), begin+i))
					}
					if _, err := l.run(ctx); err != nil {
						return err
					}
				}
				n += part
			}
			return nil
		}
		for _, m := range []struct {
			what string
			n    int
		}{{"all operations kept", oneEpoch}, {"after epochs", b.Changes}} {
			if err := change(m.n); err != nil {
				return err
			}
			bytes, err := settledBytes(ctx, paris, nantes)
			if err != nil {
				return err
			}
			b.report.row(fmt.Sprintf("%s (%d)", m.what, m.n), fmt.Sprint(bytes), fmt.Sprint(bytes/int64(m.n)))
		}
		return nil
	}, "paris", "nantes")
}

// settledBytes waits until the documents of both sites change no more, and returns what they take at the larger one.
func settledBytes(ctx context.Context, sites ...*env.Site) (most int64, err error) {
	var before int64
	since := time.Now()
	_, err = until(ctx, since, time.Second, 5*time.Minute, func() (bool, error) {
		most = 0
		var all int64
		for _, s := range sites {
			n, err := documentBytes(ctx, s.Config().Data())
			if err != nil {
				return false, err
			}
			all, most = all+n, max(most, n)
		}
		if all != before {
			before, since = all, time.Now()
		}
		return time.Since(since) > 5*time.Second, nil
	})
	return most, err
}

// documentBytes adds up what a site's database has of the documents of resources: changes with their signatures, and checkpoints.
func documentBytes(ctx context.Context, dir string) (n int64, err error) {
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: filepath.Join(dir, "skerry.db")}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT coalesce(sum(length(bytes) + length(signature)), 0) FROM changes) +
		(SELECT coalesce(sum(length(bytes)), 0) FROM checkpoints)`).Scan(&n)
	return n, err
}
