package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// dialer connects to an address, perhaps in another namespace.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// load is callers that each send one request after the other over a connection of their own.
type load struct {
	dial    dialer
	address string
	callers int
	// For is how long they go on; Requests, if not zero, how many they send together at most.
	For      time.Duration
	Requests int
	// request returns the bytes of the i-th request of all.
	request func(i int) []byte
	// status is what every answer has to have.
	status int
	// lines keeps connections for the next run; nil: they are closed.
	lines *lines
}

// lines are connections that stay open.
type lines struct {
	mu   sync.Mutex
	free []line // guarded by mu
}

type line struct {
	net.Conn
	in *bufio.Reader
}

// take returns one, with nil for none.
func (l *lines) take() (c line) {
	if l == nil {
		return c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free) - 1; n >= 0 {
		c, l.free = l.free[n], l.free[:n]
	}
	return c
}

// give takes one back.
func (l *lines) give(c line) {
	if l == nil {
		c.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, c)
}

func (l *lines) close() {
	for c := l.take(); c.Conn != nil; c = l.take() {
		c.Close()
	}
}

// result is what a load saw.
type result struct {
	took  []time.Duration // sorted
	wall  time.Duration
	total int
}

func (r result) rate() float64 { return float64(r.total) / r.wall.Seconds() }

// percentile returns the p-th percentile, p from 0 to 100.
func (r result) percentile(p float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, int(p/100*float64(len(r.took))))]
}

// run runs the load and returns the first error of any caller.
func (l load) run(ctx context.Context) (result, error) {
	var (
		next    atomic.Int64
		mu      sync.Mutex // guards all and errs
		all     []time.Duration
		errs    []error
		callers sync.WaitGroup
	)
	ctx, cancel := context.WithTimeout(ctx, l.For)
	defer cancel()
	begin := time.Now()
	for range l.callers {
		callers.Go(func() {
			took, err := l.call(ctx, &next)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				errs = append(errs, err)
				cancel()
			}
		})
	}
	callers.Wait()
	slices.Sort(all)
	r := result{took: all, wall: time.Since(begin), total: len(all)}
	if len(errs) > 0 {
		return r, errs[0]
	}
	return r, nil
}

// call is one caller. It ends between two requests.
func (l load) call(ctx context.Context, next *atomic.Int64) ([]time.Duration, error) {
	conn := l.lines.take()
	if conn.Conn == nil {
		dialled, err := l.dial(context.WithoutCancel(ctx), "tcp", l.address)
		if err != nil {
			return nil, err
		}
		conn = line{dialled, bufio.NewReader(dialled)}
	}
	whole := false
	defer func() {
		if whole {
			l.lines.give(conn)
		} else {
			conn.Close()
		}
	}()
	in := conn.in
	var took []time.Duration
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if l.Requests > 0 && i >= l.Requests {
			break
		}
		request := l.request(i)
		begin := time.Now()
		if err := conn.SetDeadline(begin.Add(30 * time.Second)); err != nil {
			return took, err
		}
		if _, err := conn.Write(request); err != nil {
			return took, err
		}
		status, err := readAnswer(in)
		if err != nil {
			return took, fmt.Errorf("request %d: %w", i, err)
		}
		if status != l.status {
			return took, fmt.Errorf("request %d was answered %d: %.300s", i, status, request)
		}
		took = append(took, time.Since(begin))
	}
	whole = true
	return took, nil
}

// readAnswer reads one answer of HTTP/1.1 and throws its body away. It knows what servers send to who keeps a
// connection, and costs a tenth of net/http's client, which would measure itself.
func readAnswer(in *bufio.Reader) (status int, err error) {
	length, chunked := int64(-1), false
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			if len(line) < 12 {
				return 0, fmt.Errorf("the answer begins with %q", line)
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, fmt.Errorf("the answer begins with %q", line)
			}
			continue
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	switch {
	case chunked:
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(in)); err != nil {
			return 0, err
		}
		_, err = in.Discard(2) // the empty line after the last chunk
		return status, err
	case length >= 0:
		_, err = in.Discard(int(length))
		return status, err
	case status == http.StatusNoContent:
		return status, nil
	}
	return 0, errors.New("an answer without a length")
}

// request builds the bytes of a request with a JSON body, header being whole lines.
func request(method, path, body string, header ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: bench\r\n", method, path)
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		media := "application/json"
		if method == http.MethodPatch {
			media = "application/merge-patch+json"
		}
		fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", media, len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}
