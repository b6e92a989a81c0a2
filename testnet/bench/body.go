package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// bodyOf returns size bytes that are made as they are read, always the same.
func bodyOf(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }

// send sends a request with a body, which may be nil, and has the answer's body read by take. It returns how long that took.
func send(ctx context.Context, c *http.Client, method, url, scope string, body io.Reader, size int64, take io.Writer) (time.Duration, error) {
	if body != nil {
		body = struct{ io.Reader }{body} // of which net/http knows no length by itself
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, err
	}
	r.ContentLength = size
	r.Header.Set("Content-Type", "application/octet-stream")
	if scope != "" {
		r.Header.Set("Scope", scope)
	}
	begin := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode > 299 {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return 0, fmt.Errorf("%s %s was answered %d: %s", method, url, resp.StatusCode, b)
	}
	_, err = io.Copy(take, resp.Body)
	return time.Since(begin), err
}

// makeImage makes an image at a site and returns its identifier.
func makeImage(ctx context.Context, s *env.Site, scope string) (string, error) {
	a, err := s.Request(ctx, lab.Images, "POST /images", `{"name":"large"}`, "Scope", scope)
	if err == nil && a.Status != 201 {
		err = fmt.Errorf("a create was answered %d: %s", a.Status, a.Body)
	}
	return a.Text("id"), err
}

// largeBody replicates a body to two sites: how fast, and what the agents take in memory.
func largeBody(ctx context.Context, b *bench) error {
	size := b.Body << 20
	return b.sites(ctx, func(e *env.Env) error {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		id, err := makeImage(ctx, paris, "{images: paris & nantes}")
		if err != nil {
			return err
		}
		b.report.table(fmt.Sprintf("A body of %d MiB, replicated to two sites", b.Body), "what", "measured")
		begin := time.Now()
		took, err := send(ctx, paris.HTTP(), "PUT", "http://"+images+"/images/"+id+"/file", "", bodyOf(size), size, io.Discard)
		if err != nil {
			return err
		}
		b.report.row("until acknowledged (durable and applied at the origin)", fmt.Sprintf("%s, %s", took.Round(time.Millisecond), rate(size, took)))
		hash := sha256.New()
		all, err := until(ctx, begin, 20*time.Millisecond, 30*time.Minute, func() (bool, error) {
			a, err := nantes.RequestApplication(ctx, lab.Images, "GET /images", "")
			return strings.Contains(a.Body, fmt.Sprintf(`"size":%d,`, size)), err
		})
		if err != nil {
			return err
		}
		b.report.row("until the other site's application has it, from the beginning", fmt.Sprintf("%s, %s", all.Round(time.Millisecond), rate(size, all)))
		b.report.row("of that after the acknowledgement", fmt.Sprintf("%s, %s", (all-took).Round(time.Millisecond), rate(size, all-took)))
		if _, err := send(ctx, nantes.HTTP(), "GET", "http://"+images+"/images/"+id+"/file", "", nil, 0, hash); err != nil {
			return err
		}
		want := sha256.New()
		if _, err := io.Copy(want, bodyOf(size)); err != nil {
			return err
		}
		if got, want := hex.EncodeToString(hash.Sum(nil)), hex.EncodeToString(want.Sum(nil)); got != want {
			return fmt.Errorf("nantes shows a body with the digest %s, want %s", got, want)
		}
		for _, s := range e.Sites() {
			peak, err := peak(s)
			if err != nil {
				return err
			}
			b.report.row("most memory that the agent of "+s.Name()+" has had", mib(peak))
		}
		return nil
	}, "paris", "nantes")
}

func rate(size int64, took time.Duration) string {
	return fmt.Sprintf("%.0f MiB/s", float64(size)/(1<<20)/took.Seconds())
}

// peak returns the most resident memory that a site's agent has had, in bytes.
func peak(s *env.Site) (int64, error) { return memory(s, "VmHWM:") }

// memory returns a line of what the kernel tells of an agent's memory, in bytes.
func memory(s *env.Site, name string) (int64, error) { return memoryOf(s.Agent().PID(), name) }

// memoryOf is the same of any process.
func memoryOf(pid int, name string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has ended", pid)
}
