package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// configVariable has this program be an agent, standByVariable one that stands by.
const configVariable, standByVariable = "SKERRY_TEST_CONFIG", "SKERRY_TEST_STANDBY"

func TestMain(m *testing.M) {
	for variable, be := range map[string]func(string) error{configVariable: beAgent, slowVariable: beSlow} {
		if what := os.Getenv(variable); what != "" {
			if err := be(what); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func beAgent(config string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	renew := make(chan os.Signal, 1)
	signal.Notify(renew, syscall.SIGHUP)
	inherited, err := Inherit()
	if err != nil {
		return err
	}
	cfg, err := Load(config)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	return Run(ctx, cfg, "test", log, Life{Inherited: inherited, Renew: renew, Successor: func() *exec.Cmd { return exec.Command(os.Args[0]) },
		StandBy: os.Getenv(standByVariable) != ""})
}

// process is an agent in a process of its own, and those that take over from it.
type process struct {
	t      *testing.T
	folder string
	first  *exec.Cmd
	ended  chan error
}

// startProcess starts one whose configuration is in the folder.
func startProcess(t *testing.T, folder string, env ...string) *process {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{t: t, folder: folder, first: exec.Command(os.Args[0]), ended: make(chan error, 1)}
	p.first.Env = append(append(os.Environ(), configVariable+"="+filepath.Join(folder, "skerry.yaml")), env...)
	p.first.Stdout, p.first.Stderr = log, log
	if err := p.first.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.first.Wait() }()
	t.Cleanup(func() {
		_ = p.first.Process.Kill()
		if pid := p.pid(); pid > 0 && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(folder, "log"))
			t.Logf("the log:\n%s", b)
		}
	})
	return p
}

// pid is the process that has the data directory; 0: none has.
func (p *process) pid() int {
	b, _ := os.ReadFile(filepath.Join(p.folder, "data", "lock"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

func (p *process) log() string {
	b, _ := os.ReadFile(filepath.Join(p.folder, "log"))
	return string(b)
}

// freeAddress is one that nothing listens on: what dials gets its own from 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.77.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func put(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnotherProcessTakesOver lets clients of every kind ask without a pause while one process after another takes over: plain requests, such
// with scopes that the engine takes, over TLS, over HTTP/2, and of the API. None is refused or broken, a download that has begun ends, and each
// thing that was made is there once, at both sites. A configuration with a mistake in it changes nothing.
func TestAnotherProcessTakesOver(t *testing.T) {
	atNantes, atParis := &shelf{things: map[string]map[string]any{}}, &shelf{things: map[string]map[string]any{}}
	nantes, _ := startIn(t, t.TempDir(), "nantes", atNantes, "", "")
	invitation, secret, err := nantes.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/about":
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "about")
		case "/slow":
			_, _ = io.WriteString(w, "be")
			_ = http.NewResponseController(w).Flush()
			<-hold
			_, _ = io.WriteString(w, "gun")
		default:
			atParis.ServeHTTP(w, r)
		}
	}))
	defer upstream.Close()
	folder := t.TempDir()
	cert, key, roots := certificate(t)
	clear, locked, api := freeAddress(t), freeAddress(t), freeAddress(t)
	config := fmt.Sprintf(`
site: paris
data_dir: ./data
application: ./app.yaml
api: {listen: %q}
mesh: {listen: [/ip4/127.0.0.1/tcp/0], join: %q}
services: {shelf: {listen: %q, upstream: %q, credentials: {token_file: token}}, locked: {listen: %q, upstream: %q, tls: {cert: cert, key: key}}}
`, api, nantes.token(invitation, secret), clear, upstream.URL, locked, upstream.URL)
	put(t, folder, map[string]string{"app.yaml": things + "  locked: {paths: [/about]}\n", "token": "agent", "cert": cert, "key": key, "skerry.yaml": config})
	paris := startProcess(t, folder)
	ready := func() bool { return answers(api, "/readyz") }
	within(t, "paris is ready", ready)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	ask := func(name string, transport *http.Transport, method, url, body string, headers ...string) (answered *atomic.Int64) {
		answered = &atomic.Int64{}
		asking.Go(func() {
			defer transport.CloseIdleConnections()
			for ctx.Err() == nil {
				r, _ := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				for _, h := range headers {
					name, value, _ := strings.Cut(h, ": ")
					r.Header.Set(name, value)
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Errorf("%s, after %d answers: %v", name, answered.Load(), err)
					stop()
					return
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode > 299 {
					t.Errorf("%s, after %d answers: %d %q %v", name, answered.Load(), resp.StatusCode, b, err)
					stop()
					return
				}
				answered.Add(1)
			}
		})
		return answered
	}
	secure := &tls.Config{RootCAs: roots}
	counts := []*atomic.Int64{
		ask("plain", &http.Transport{}, "GET", "http://"+clear+"/about", ""),
		ask("plain with a body", &http.Transport{}, "POST", "http://"+clear+"/about", strings.Repeat("x", 10000)),
		ask("a scope", &http.Transport{}, "POST", "http://"+clear+"/things", `{"name":"a"}`, "Scope: {shelf: paris & nantes}"),
		ask("a list", &http.Transport{}, "GET", "http://"+clear+"/things", ""),
		ask("TLS", &http.Transport{TLSClientConfig: secure.Clone()}, "POST", "https://"+locked+"/about", "x"),
		ask("TLS and not plain", &http.Transport{TLSClientConfig: secure.Clone()}, "POST", "https://"+locked+"/about", "x", "Expect: 100-continue"),
		ask("HTTP/2", &http.Transport{TLSClientConfig: secure.Clone(), ForceAttemptHTTP2: true}, "GET", "https://"+locked+"/about", ""),
		ask("the API", &http.Transport{DisableKeepAlives: true}, "GET", "http://"+api+"/api/v1/sites", ""),
	}
	more := func() {
		t.Helper()
		for i, c := range counts {
			before := c.Load()
			within(t, fmt.Sprintf("client %d is answered", i), func() bool { return c.Load() > before+3 || ctx.Err() != nil })
		}
	}
	more()
	slow, err := http.Get("http://" + clear + "/slow")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Body.Close()
	for range 3 {
		before := paris.pid()
		if err := syscall.Kill(before, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		within(t, "another process has the data", func() bool { now := paris.pid(); return now != 0 && now != before || ctx.Err() != nil })
		more()
		within(t, "it is ready", func() bool { return ready() || ctx.Err() != nil })
	}
	select {
	case err := <-paris.ended:
		t.Errorf("the first process has ended before its last client was answered: %v", err)
	default:
	}
	close(hold)
	if b, err := io.ReadAll(slow.Body); err != nil || string(b) != "begun" {
		t.Errorf("the download: %q %v", b, err)
	}
	select {
	case err := <-paris.ended:
		if err != nil {
			t.Errorf("the first process: %v", err)
		}
	case <-time.After(30 * time.Second):
		_ = paris.first.Process.Signal(syscall.SIGQUIT) // the log then says what it waits for
		t.Fatalf("the first process does not end: %v", <-paris.ended)
	}

	put(t, folder, map[string]string{"skerry.yaml": config + "no_such_key: 1\n"})
	before := paris.pid()
	if err := syscall.Kill(before, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	within(t, "it is told why no process has taken over", func() bool { return strings.Contains(paris.log(), "this one goes on") })
	more()
	if paris.pid() != before {
		t.Error("a process with a broken configuration has the data")
	}
	stop()
	asking.Wait()
	if n := int(counts[2].Load()); !t.Failed() {
		within(t, "both sites have what was made", func() bool {
			return atParis.number() == n && atNantes.number() == n
		})
	}
}

func (s *shelf) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.things)
}

// TestStandByTakesOver kills an agent outright while another one stands by on its data directory: that one serves then, has what was
// acknowledged, and goes on with it.
func TestStandByTakesOver(t *testing.T) {
	atNantes, atParis := &shelf{things: map[string]map[string]any{}}, &shelf{things: map[string]map[string]any{}}
	nantes, _ := startIn(t, t.TempDir(), "nantes", atNantes, "", "")
	invitation, secret, err := nantes.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(atParis)
	defer upstream.Close()
	data := t.TempDir()
	start := func(env ...string) (p *process, api, service string) {
		folder := t.TempDir()
		if err := os.Symlink(data, filepath.Join(folder, "data")); err != nil {
			t.Fatal(err)
		}
		api, service = freeAddress(t), freeAddress(t)
		put(t, folder, map[string]string{"app.yaml": things, "token": "agent", "skerry.yaml": fmt.Sprintf(`
site: paris
data_dir: ./data
application: ./app.yaml
api: {listen: %q}
mesh: {listen: [/ip4/127.0.0.1/tcp/0], join: %q}
services: {shelf: {listen: %q, upstream: %q, credentials: {token_file: token}}}
`, api, nantes.token(invitation, secret), service, upstream.URL)})
		return startProcess(t, folder, env...), api, service
	}
	first, api, service := start()
	within(t, "the first is ready", func() bool { return answers(api, "/readyz") })
	second, api2, service2 := start(standByVariable + "=1")
	within(t, "the second stands by", func() bool { return strings.Contains(second.log(), "standing by") })
	if answers(api2, "/readyz") {
		t.Error("the second serves beside the first")
	}
	ask := func(method, url, body, scope string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/merge-patch+json")
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		}
		if scope != "" {
			r.Header.Set("Scope", scope)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode > 299 {
			t.Fatalf("%s %s: %d", method, url, resp.StatusCode)
		}
		return resp
	}
	id := ask("POST", service+"/things", `{"name":"a"}`, "{shelf: paris & nantes}").Header.Get("Skerry-Resource")
	if err := first.first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	within(t, "the second serves", func() bool { return answers(api2, "/readyz") })
	t.Logf("the second serves after %s", time.Since(begin))
	if !answers(api2, "/api/v1/resources/"+id) {
		t.Error("what was acknowledged is lost")
	}
	ask("PATCH", service2+"/things/"+id, `{"name":"b"}`, "")
	within(t, "nantes has what was changed after that", func() bool {
		atNantes.mu.Lock()
		defer atNantes.mu.Unlock()
		for _, thing := range atNantes.things {
			if thing["name"] == "b" {
				return true
			}
		}
		return false
	})
}

// answers reports whether an address answers with success.
func answers(address, path string) bool {
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
