package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadAnswer(t *testing.T) {
	stream := bufio.NewReader(strings.NewReader("" +
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" +
		"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\n\r\n" +
		"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n" +
		"HTTP/1.1 200 OK\r\n\r\n"))
	for _, want := range []int{200, 201, 204, 404} {
		if got, err := readAnswer(stream); got != want || err != nil {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	}
	if got, err := readAnswer(stream); err == nil {
		t.Errorf("an answer without a length was read as %d", got)
	}
	if got, err := readAnswer(bufio.NewReader(strings.NewReader("hello, who is there?\r\n\r\n"))); err == nil {
		t.Errorf("garbage was read as %d", got)
	}
}

func TestLoadSendsWhatItCounts(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		b, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasPrefix(string(b), `{"name":`) || r.Header.Get("Scope") != "here" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer s.Close()
	l := load{dial: new(net.Dialer).DialContext, address: s.Listener.Addr().String(), callers: 4, For: 10 * time.Second, Requests: 100, status: 200,
		request: func(i int) []byte { return request("POST", "/", fmt.Sprintf(`{"name":"%d"}`, i), "Scope: here") }}
	r, err := l.run(context.Background())
	if err != nil || r.total != 100 || asked.Load() != 100 {
		t.Fatalf("counted %d, %d arrived, %v", r.total, asked.Load(), err)
	}
	if r.percentile(50) > r.percentile(99) || r.percentile(50) <= 0 {
		t.Errorf("p50 is %s, p99 %s", r.percentile(50), r.percentile(99))
	}
	l.status = 201
	if _, err := l.run(context.Background()); err == nil {
		t.Error("a wrong status went unnoticed")
	}
}
