package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/process"
)

// forwarding compares requests that paris forwards to nantes with requests that go to nantes themselves, over the same link.
func forwarding(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) (err error) {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		// The same application where the link ends.
		at := nantes.Host().Address
		direct, err := process.Start("lab on the link", filepath.Join(nantes.Config().Dir, "direct.log"), nantes.Host().Command(b.Program, "lab",
			"--data", filepath.Join(nantes.Config().Dir, "direct"), "--images", at+":9901", "--networks", at+":9902", "--servers", at+":9903")...)
		if err != nil {
			return err
		}
		defer func() { _ = direct.Stop(10 * time.Second) }()
		_, err = until(ctx, time.Now(), 20*time.Millisecond, 30*time.Second, func() (bool, error) {
			conn, err := paris.Host().DialContext(ctx, "tcp", at+":9901")
			if err != nil {
				return false, nil // not yet
			}
			return true, conn.Close()
		})
		if err != nil {
			return err
		}
		const list = "/images?name=none" // an empty list, which is not aggregated
		results := make([][]result, 2)
		for range rounds {
			for i, l := range []load{
				{address: at + ":9901", request: func(int) []byte { return request("GET", list, "") }},
				{address: images, request: func(int) []byte { return request("GET", list, "", "Scope: {images: nantes}") }},
			} {
				l.dial, l.callers, l.For, l.status = paris.Host().DialContext, 1, b.For/2, 200
				r, err := l.run(ctx)
				if err != nil {
					return err
				}
				results[i] = append(results[i], r)
			}
		}
		b.report.table("Forwarded to another site, one caller, median of 3 rounds", "way", "p50", "p99", "added p50", "added p99")
		p50, p99 := medianOf(results[0], 50), medianOf(results[0], 99)
		for i, way := range []string{"direct, over the same link", "forwarded"} {
			x, y := medianOf(results[i], 50), medianOf(results[i], 99)
			b.report.row(way, us(x), us(y), us(x-p50), us(y-p99))
		}
		return b.throughput(ctx, paris, nantes)
	}, "paris", "nantes")
}

// throughput compares a body that is forwarded with a copy over a TCP connection, both over the link alone: neither is written to a
// disk on its way down.
func (b *bench) throughput(ctx context.Context, paris, nantes *env.Site) error {
	size := b.Body << 19
	l, err := nantes.Host().Listen(nantes.Host().Address + ":9999")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return // the listener is closed
		}
		defer conn.Close()
		_, _ = io.Copy(conn, io.LimitReader(zeros{}, size)) // what is missing fails the other end
	}()
	begin := time.Now()
	conn, err := paris.Host().DialContext(ctx, "tcp", nantes.Host().Address+":9999")
	if err != nil {
		return err
	}
	defer conn.Close()
	if n, err := io.Copy(io.Discard, conn); err != nil || n != size {
		return fmt.Errorf("%d bytes were copied: %w", n, err)
	}
	plain := time.Since(begin)

	id, err := makeImage(ctx, nantes, "")
	if err != nil {
		return err
	}
	url := "http://" + images + "/images/" + id + "/file"
	up, err := send(ctx, paris.HTTP(), "PUT", url, "{images: nantes}", io.LimitReader(zeros{}, size), size, io.Discard)
	if err != nil {
		return err
	}
	down, err := send(ctx, paris.HTTP(), "GET", url, "{images: nantes}", nil, 0, io.Discard)
	if err != nil {
		return err
	}
	b.report.table(fmt.Sprintf("A body of %d MiB between two sites", size>>20), "way", "took", "rate", "of the copy")
	for _, x := range []struct {
		way  string
		took time.Duration
	}{{"plain TCP copy", plain}, {"forwarded, read by the client", down}, {"forwarded, sent by the client and written by the application", up}} {
		b.report.row(x.way, ms(x.took), rate(size, x.took), fmt.Sprintf("%.2f", plain.Seconds()/x.took.Seconds()))
	}
	for _, s := range []*env.Site{paris, nantes} {
		peak, err := peak(s)
		if err != nil {
			return err
		}
		b.report.row("most memory that the agent of "+s.Name()+" has had", mib(peak), "", "")
	}
	return nil
}

// zeros are as many as are read.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
