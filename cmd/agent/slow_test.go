package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowVariable has this program be a client that is slow on many connections: to an address, from another one, and how many.
const slowVariable = "SKERRY_TEST_SLOW"

// slowly is what slow clients say first, and whether they go on with that byte by byte: nothing, a head, a body, one that they ask for, or one whose
// answer they do not take. Of twenty, one each has a body or an answer: those reach the application, which is not what is tried here.
func slowly(n int) (first string, goesOn bool) {
	switch n % 20 {
	case 0:
		return "GET /large HTTP/1.1\r\nHost: x\r\n\r\n", false
	case 1:
		return "POST /about HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", true
	case 2:
		return "POST /about HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", true // which net/http gets
	case 3, 5, 7, 9:
		return "", false
	}
	return "GET /about HTTP/1.1\r\nHost: x\r\nX-Long: ", true
}

// beSlow opens the connections, says that they are open, and goes on with all of them until its input ends.
func beSlow(what string) error {
	var to, from string
	var number int
	if _, err := fmt.Sscan(what, &to, &from, &number); err != nil {
		return err
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	var conns []net.Conn
	for len(conns) < number {
		c, err := dialer.Dial("tcp", to)
		if err != nil {
			return fmt.Errorf("after %d connections: %w", len(conns), err)
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		first, _ := slowly(len(conns))
		_, _ = io.WriteString(c, first) // which may have been refused
		conns = append(conns, c)
	}
	fmt.Println("open")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for {
		for i, c := range conns {
			if _, goesOn := slowly(i); goesOn {
				_, _ = c.Write([]byte("x"))
			}
		}
		select {
		case <-ended:
			return nil
		case <-time.After(time.Second):
		}
	}
}

// TestSlowConnections opens 20,000 connections that are slow in every way there is, ten times as many as there may be, and goes on with all of
// them: a well-behaved client is answered all the while, each time on a new connection. (With the default bound a program with the race detector
// has more goroutines than that can follow.)
func TestSlowConnections(t *testing.T) {
	large := strings.Repeat("x", 8<<20)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			_, _ = io.WriteString(w, large)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "about")
	}))
	t.Cleanup(upstream.Close) // after the agent, which has it at work
	folder := t.TempDir()
	service, api := freeAddress(t), freeAddress(t)
	put(t, folder, map[string]string{"app.yaml": "application: lab\nservices: {shelf: {paths: [/about]}}\n", "skerry.yaml": fmt.Sprintf(`
site: paris
data_dir: ./data
application: ./app.yaml
api: {listen: %q}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {shelf: {listen: %q, upstream: %q}}
limits: {connections: {all: 2000}, answer_timeout: 5m}
`, api, service, upstream.URL)})
	startProcess(t, folder)
	within(t, "the agent is ready", func() bool { return answers(api, "/readyz") })

	each := 10_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if most := int(files.Max) - 100; most < each {
		each = most
		t.Logf("this machine lets a process have %d files: there are %d connections, not 20,000", files.Max, 2*each)
	}
	open := make(chan error, 2)
	for i := range 2 {
		slow := exec.Command(os.Args[0])
		slow.Env = append(os.Environ(), slowVariable+"="+service+" 127.0.78."+strconv.Itoa(i+1)+" "+strconv.Itoa(each))
		slow.Stderr = os.Stderr
		in, err := slow.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := slow.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := slow.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			if err := slow.Wait(); err != nil {
				t.Error(err)
			}
		})
		go func() {
			_, err := bufio.NewReader(out).ReadString('\n')
			open <- err
		}()
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute}
	asked := 0
	ask := func() {
		t.Helper()
		resp, err := client.Get("http://" + service + "/about")
		if err != nil {
			t.Fatalf("after %d answers: %v", asked, err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != "about" {
			t.Fatalf("after %d answers: %d %q %v", asked, resp.StatusCode, b, err)
		}
		asked++
	}
	for n := 0; n < 2; {
		select {
		case err := <-open:
			if err != nil {
				t.Fatal(err)
			}
			n++
		default:
			ask()
		}
	}
	t.Logf("%d answers while the connections were opened", asked)
	for range 100 {
		ask()
	}
	resp, err := http.Get("http://" + api + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`skerry_service_connections `, `skerry_service_connections_refused_total{why="gave-way"} `, `skerry_service_connections_refused_total{why="full"} `} {
		_, after, found := strings.Cut(string(metrics), "\n"+name)
		value, _, _ := strings.Cut(after, "\n")
		n, err := strconv.ParseFloat(value, 64)
		if !found || err != nil || n == 0 && !strings.Contains(name, "full") {
			t.Errorf("%s is %q", name, value)
		}
		t.Logf("%s%s", name, value)
	}
}
