package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/process"
)

// elsewhere compares a read that a scope sends to another site.
func (b *bench) elsewhere(ctx context.Context, s, there *env.Site, lua *process.Process) error {
	scoped := request("GET", "/images/1", "", `Scope: {"images": "nantes"}`)
	ways := []way{{"HAProxy with Lua, to the application there", "127.0.0.1:9713", scoped, []int{lua.PID()}},
		{"skerry, over the mesh", images, scoped, []int{s.Agent().PID(), there.Agent().PID()}}}
	all, err := b.inTurn(ctx, s.Host().DialContext, 1, ways)
	if err != nil {
		return err
	}
	b.report.table(fmt.Sprintf("A read that its scope sends to another site, one caller, medians of %d turns; ratios are to HAProxy with Lua", turns),
		"way", "p50", "ratio", "p99", "processor a request, at both sites")
	for i, w := range ways {
		b.report.row(w.name, us(medianOf(all[i].results, 50)), all[i].of(all[0], percentileIn(50)), us(medianOf(all[i].results, 99)), all[i].cost())
	}
	return nil
}

func ratio(x, of time.Duration) string { return fmt.Sprintf("%.2f", x.Seconds()/of.Seconds()) }

// gibibyte is how much bulk moves each way.
const gibibyte = 1 << 30

// bulk compares how fast large bodies pass, and what memory that takes.
func (b *bench) bulk(ctx context.Context, s *env.Site, proxies [2]*process.Process) error {
	l, err := s.Host().Listen("127.0.0.1:9802")
	if err != nil {
		return err
	}
	application := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(gibibyte))
		_, _ = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.LimitReader(zeros{}, gibibyte)}, make([]byte, 1<<20))
	})}
	served := make(chan error, 1)
	go func() { served <- application.Serve(l) }()
	defer func() { application.Close(); <-served }()
	ways := []struct {
		name, address string
		pid           int
	}{{"direct", "127.0.0.1:9802", 0}, {"HAProxy", "127.0.0.1:9714", proxies[0].PID()}, {"HAProxy with Lua", "127.0.0.1:9715", proxies[1].PID()}, {"skerry", "127.0.0.1:9702", s.Agent().PID()}}
	took, grown := make([][2][]time.Duration, len(ways)), make([]int64, len(ways))
	for range rounds {
		for i, w := range ways {
			before, err := leastOf(w.pid)
			if err != nil {
				return err
			}
			for way, method := range []string{"GET", "PUT"} {
				var body io.Reader
				if method == "PUT" {
					body = io.LimitReader(zeros{}, gibibyte)
				}
				d, err := send(ctx, s.HTTP(), method, "http://"+w.address+"/bulk", "", body, gibibyte*int64(way), io.Discard)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				took[i][way] = append(took[i][way], d)
			}
			if w.pid != 0 {
				most, err := memoryOf(w.pid, "VmHWM:")
				if err != nil {
					return err
				}
				grown[i] = max(grown[i], most-before)
			}
		}
	}
	b.report.table(fmt.Sprintf("A body of 1 GiB, median of %d rounds", rounds), "way", "down", "of HAProxy", "up", "of HAProxy", "memory that it took more")
	middle := func(d []time.Duration) time.Duration { d = slices.Sorted(slices.Values(d)); return d[len(d)/2] }
	for i, w := range ways {
		down, up := middle(took[i][0]), middle(took[i][1])
		more := ""
		if w.pid != 0 {
			more = mib(grown[i])
		}
		b.report.row(w.name, rate(gibibyte, down), ratio(middle(took[1][0]), down), rate(gibibyte, up), ratio(middle(took[1][1]), up), more)
	}
	return nil
}

// leastOf forgets the most memory that a process has had until now, and returns what it has; nothing of process 0.
func leastOf(pid int) (int64, error) {
	if pid == 0 {
		return 0, nil
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return 0, err
	}
	return memoryOf(pid, "VmRSS:")
}

// idleConnections are so many as HAProxy, which wants two files for each, may have where a process may have 20,000.
const idleConnections = 9_000

// idleConnections tells what connections cost over which a request has passed and nothing comes any more.
func (b *bench) idleConnections(ctx context.Context, s *env.Site, proxies [2]*process.Process) error {
	b.report.table(fmt.Sprintf("%d connections that are idle after one request", idleConnections), "way", "memory of each")
	for _, w := range []way{{"HAProxy", "127.0.0.1:9712", nil, []int{proxies[0].PID()}}, {"HAProxy with Lua", "127.0.0.1:9713", nil, []int{proxies[1].PID()}},
		{"skerry", images, nil, []int{s.Agent().PID()}}} {
		before, err := memoryOf(w.pids[0], "VmRSS:")
		if err != nil {
			return err
		}
		var conns []net.Conn
		l := load{dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := s.Host().DialContext(ctx, network, address)
			if err == nil {
				conns = append(conns, conn)
				conn = open{conn}
			}
			return conn, err
		}, address: w.address, callers: 1, For: time.Minute, Requests: 1, status: 200, request: func(int) []byte { return request("GET", "/x", "") }}
		for range idleConnections {
			if _, err = l.run(ctx); err != nil {
				break
			}
		}
		after, err2 := memoryOf(w.pids[0], "VmRSS:")
		for _, c := range conns {
			c.Close()
		}
		if err = errors.Join(err, err2); err != nil {
			return fmt.Errorf("%s, connection %d: %w", w.name, len(conns), err)
		}
		b.report.row(w.name, fmt.Sprintf("%.1f KiB", float64(after-before)/1024/idleConnections))
	}
	return nil
}

// open is a connection that stays open when a caller has no more use for it.
type open struct{ net.Conn }

// Close implements net.Conn.
func (open) Close() error { return nil }

// replicatedReads tells what a read takes longer of what is replicated, at a site that has it.
func (b *bench) replicatedReads(ctx context.Context, e *env.Env) error {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	must := func(a env.Answer, err error) (env.Answer, error) {
		if err == nil && a.Status > 299 {
			err = fmt.Errorf("a create was answered %d: %s", a.Status, a.Body)
		}
		return a, err
	}
	plain, err := must(paris.Request(ctx, lab.Networks, "POST /networks", `{"name":"plain"}`))
	if err != nil {
		return err
	}
	if _, err = must(paris.Request(ctx, lab.Servers, "PUT /keys/same", `{"name":"same"}`, "Scope", "{servers: paris & nantes}")); err != nil {
		return err
	}
	translated, err := must(nantes.Request(ctx, lab.Images, "POST /images", `{"name":"translated"}`, "Scope", "{images: paris & nantes}"))
	if err != nil {
		return err
	}
	id := translated.Text("id")
	if _, err = until(ctx, time.Now(), 10*time.Millisecond, time.Minute, func() (bool, error) { return allConverged(ctx, paris, nantes) }); err != nil {
		return err
	}
	const networks, servers = "127.0.0.1:9702", "127.0.0.1:9703"
	read := func(path string) []byte { return request("GET", path, "") }
	pids := []int{paris.Agent().PID()}
	ways := []way{
		{"passes", networks, read("/networks/" + plain.Text("id")), pids},
		{"replicated, of one name everywhere", servers, read("/keys/same"), pids},
		{"replicated, its identifier translated", images, read("/images/" + id), pids},
	}
	all, err := b.inTurn(ctx, paris.Host().DialContext, 1, ways)
	if err != nil {
		return err
	}
	b.report.table(fmt.Sprintf("A read of what is replicated, at a site that has it, one caller, medians of %d turns", turns),
		"read", "p50", "more than what passes", "p99", "processor a request")
	for i, w := range ways {
		more := make([]float64, turns)
		for turn := range more {
			more[turn] = percentileIn(50)(all[i], turn) - percentileIn(50)(all[0], turn)
		}
		b.report.row(w.name, us(medianOf(all[i].results, 50)), us(time.Duration(median(more)*1e9)), us(medianOf(all[i].results, 99)), all[i].cost())
	}
	return nil
}

// whileHealing tells what requests that pass wait for while the agent takes in what another site has made during a cut. HAProxy has the same
// application behind it at the same time: what the machine has no time for meets both.
func (b *bench) whileHealing(ctx context.Context, e *env.Env) error {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	dir, err := os.MkdirTemp("", "skerry-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy, err := haproxy(ctx, paris, nantes.Host().Address, dir, 9712, false)
	if err != nil {
		return err
	}
	defer func() { _ = proxy.Kill() }()
	plain, err := paris.Request(ctx, lab.Networks, "POST /networks", `{"name":"plain"}`)
	if err != nil {
		return err
	}
	passing := func(d time.Duration) (both [2]result, err error) { // the bulk of HAProxy's configuration has the port of networks
		type outcome struct {
			way int
			result
			error
		}
		outcomes := make(chan outcome, 2)
		for i, address := range []string{"127.0.0.1:9714", "127.0.0.1:9702"} {
			l := load{dial: paris.Host().DialContext, address: address, callers: 1, For: d, status: 200, request: func(int) []byte { return request("GET", "/networks/"+plain.Text("id"), "") }}
			go func() { r, err := l.run(ctx); outcomes <- outcome{i, r, err} }()
		}
		for range both {
			o := <-outcomes
			both[o.way], err = o.result, errors.Join(err, o.error)
		}
		return both, err
	}
	quiet, err := passing(b.For)
	if err != nil {
		return err
	}
	if err = nantes.Host().Cut(); err != nil {
		return err
	}
	l := creates(nantes, "during the cut", twoSites, 16)
	l.Requests = b.Idle
	if _, err = l.run(ctx); err != nil {
		return errors.Join(err, nantes.Host().Heal())
	}
	if err = nantes.Host().Heal(); err != nil {
		return err
	}
	begin := time.Now()
	var busy [2]result
	took, err := until(ctx, begin, 0, 30*time.Minute, func() (bool, error) {
		more, err := passing(time.Second)
		for i := range busy {
			busy[i].took = append(busy[i].took, more[i].took...)
		}
		if err != nil {
			return false, err
		}
		return madeAt(ctx, b.Idle, paris)
	})
	if err != nil {
		return err
	}
	b.report.table(fmt.Sprintf("What passes while %d resources heal, which took %s; one caller each", b.Idle, took.Round(time.Millisecond)), "way", "p50 before", "p99 before", "p50 meanwhile", "p99 meanwhile", "p99 added")
	for i, name := range []string{"HAProxy", "skerry"} {
		slices.Sort(busy[i].took)
		b.report.row(name, us(quiet[i].percentile(50)), us(quiet[i].percentile(99)), us(busy[i].percentile(50)), us(busy[i].percentile(99)), us(busy[i].percentile(99)-quiet[i].percentile(99)))
	}
	return nil
}
