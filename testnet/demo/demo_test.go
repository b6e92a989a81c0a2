package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/skerry/skerry/testnet/handbook"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/site"
)

// TestMain makes the test binary the program that the demo starts: a true lab, and an agent that only knows how an
// agent is started and joined. The acceptance tests run the demo with the true agent.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "agent":
		err = standIn(os.Args[3])
	case len(os.Args) > 1 && os.Args[1] == "lab":
		c := lab.Command{Data: os.Args[3], ImagesURL: os.Args[5], Images: os.Args[7], Networks: os.Args[9], Servers: os.Args[11]}
		err = c.Run(context.Background())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func standIn(config string) error {
	b, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var c struct {
		Site        string
		DataDir     string `yaml:"data_dir"`
		Application string
		API         struct{ Listen string }
		Mesh        struct {
			Listen   []string
			JoinFile string `yaml:"join_file"`
		}
		Services map[string]struct{ Listen, Upstream string }
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return err
	}
	_, err = os.Stat(c.DataDir)
	if err != nil && c.Site != "paris" {
		if token, err := os.ReadFile(c.Mesh.JoinFile); err != nil || string(token) != "skr1:good\n" {
			return fmt.Errorf("no invitation: %q, %w", token, err)
		}
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /api/v1/links", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"path":"/login?once=secret"}`)
	})
	mux.HandleFunc("POST /api/v1/invitations", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"1","token":"skr1:good"}`)
	})
	mux.HandleFunc("GET /api/v1/sites", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"name":"paris","reachable":true},{"name":"nantes","reachable":true},{"name":"toulouse","reachable":true}]`)
	})
	l, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return err
	}
	return http.Serve(l, mux)
}

// output is what a demo prints, readable while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

// run starts a demo and waits until it says that it runs. The function it returns ends it.
func run(t *testing.T, c Start) (*output, func() error) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	out := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx, os.Args[0], out) }()
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "Running;"); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-ended:
			cancel()
			t.Fatalf("it ended early: %v\n%s", err, out)
		default:
		}
		if time.Now().After(deadline) {
			cancel()
			t.Fatalf("it does not run:\n%s", out)
		}
	}
	return out, func() error {
		cancel()
		return <-ended
	}
}

func TestDemoRunsAndLeavesNothing(t *testing.T) {
	out, end := run(t, Start{App: appLab, Sites: 3})
	text := out.String()
	for _, want := range []string{"paris", "nantes", "toulouse", "demo cut nantes", "demo heal nantes", "{images: paris & nantes}"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output does not have %q", want)
		}
	}
	dir := regexp.MustCompile(`Data in (\S+)`).FindStringSubmatch(text)[1]
	images := regexp.MustCompile(`paris +http://\S+ +(http://\S+)`).FindStringSubmatch(text)
	s, err := readState()
	if err != nil || len(s.Sites) != 3 || images == nil {
		t.Fatalf("state %+v, %v; images %v", s, err, images)
	}
	if err := end(); err == nil {
		t.Error("the stand-in is ended by a signal, which the demo must tell")
	}
	if _, err := readState(); err != errNoDemo {
		t.Errorf("after the end: %v", err)
	}
	_ = os.RemoveAll(dir) // kept because of that error
	if resp, err := http.Get(s.Sites[0].API + "/readyz"); err == nil {
		resp.Body.Close()
		t.Error("an agent is still there")
	}
}

func TestSecondDemoIsRefused(t *testing.T) {
	_, end := run(t, Start{App: appLab, Sites: 1, Data: t.TempDir()})
	err := (&Start{App: appLab, Sites: 1}).run(t.Context(), os.Args[0], io.Discard)
	if err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("got %v", err)
	}
	_ = end() // the stand-in's signal
}

func TestKeptDataStartAgain(t *testing.T) {
	data := t.TempDir()
	_, end := run(t, Start{App: appLab, Sites: 2, Data: data})
	_ = end() // the stand-in's signal
	if err := os.Remove(filepath.Join(data, "nantes", "invitation")); err != nil {
		t.Fatal(err)
	}
	_, end = run(t, Start{App: appLab, Sites: 2, Data: data})
	_ = end()
}

func TestDeadAgentIsTold(t *testing.T) {
	out, end := run(t, Start{App: appLab, Sites: 2, Data: t.TempDir()})
	killAgent(t, "nantes/agent.yaml")
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "Start it again with"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was told:\n%s", out)
		}
	}
	_ = end()
}

// killAgent kills the child of this process whose command line ends so.
func killAgent(t *testing.T, suffix string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, _ := os.ReadFile(f) // it may have ended
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/cmdline", &pid); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(strings.TrimRight(string(b), "\x00"), suffix) && parentOf(pid) == os.Getpid() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no child of mine ends in %q", suffix)
}

func parentOf(pid int) (parent int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
	if i := bytes.LastIndexByte(b, ')'); i > 0 {
		var state string
		_, _ = fmt.Sscan(string(b[i+1:]), &state, &parent) // two fields that are always there
	}
	return parent
}

func TestPortsInUseAreReplaced(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	want := taken.Addr().(*net.TCPAddr).Port
	p := &ports{given: map[int]bool{}}
	got, err := p.port(want, "the mesh of paris")
	if err != nil || got == want || len(p.replace) != 1 || !strings.Contains(p.replace[0], "the mesh of paris") {
		t.Errorf("got %d, %v, notes %q", got, err, p.replace)
	}
	again, err := p.port(got, "something else")
	if err != nil || again == got {
		t.Errorf("%d was given twice (%v)", got, err)
	}
}

func TestCutHealAndStatus(t *testing.T) {
	var asked []string
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // what is missing shows in asked
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(b))
		if r.URL.Path == "/api/v1/sites" {
			_ = json.NewEncoder(w).Encode([]map[string]any{{"name": "paris", "self": true, "reachable": true},
				{"name": "nantes", "reachable": false}, {"name": "toulouse", "reachable": true}})
		}
	}))
	defer agent.Close()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	lock, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := isolate(t.Context(), "paris", true, io.Discard); err == nil || !strings.Contains(err.Error(), "still starting") {
		t.Errorf("before it is ready: %v", err)
	}
	s := state{PID: os.Getpid(), Sites: []stateSite{{Name: "paris", API: agent.URL}}}
	if err := s.publish(lock); err != nil {
		t.Fatal(err)
	}
	for _, isolated := range []bool{true, false} {
		if err := isolate(t.Context(), "paris", isolated, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`POST /api/v1/mesh/isolation {"isolated":true}`, `POST /api/v1/mesh/isolation {"isolated":false}`}
	if strings.Join(asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("the agent was asked %q", asked)
	}
	if err := isolate(t.Context(), "rome", true, io.Discard); err == nil || !strings.Contains(err.Error(), "there are paris") {
		t.Errorf("for an unknown site: %v", err)
	}
	var out bytes.Buffer
	if err := status(t.Context(), &out); err != nil || !strings.Contains(out.String(), "toulouse; not nantes") {
		t.Errorf("status: %v\n%s", err, out.String())
	}
}

// TestHealWaits: for both ways between the healed site and each other one that is not cut off itself.
func TestHealWaits(t *testing.T) {
	s := state{}
	var looks int // at what paris reaches
	enough := func() {}
	for _, name := range []string{"paris", "nantes", "toulouse"} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/api/v1/mesh/isolation":
				_ = json.NewEncoder(w).Encode(map[string]bool{"isolated": name == "toulouse"})
			case name == "paris":
				if looks++; looks > 4 {
					enough()
				}
				_ = json.NewEncoder(w).Encode([]site.Seen{{Name: "nantes", Reachable: looks > 2}, {Name: "toulouse"}})
			default:
				_ = json.NewEncoder(w).Encode([]site.Seen{{Name: "paris", Reachable: true}})
			}
		}))
		defer agent.Close()
		s.Sites = append(s.Sites, stateSite{Name: name, API: agent.URL})
	}
	if err := s.rejoin(t.Context(), s.Sites[1]); err != nil || looks != 3 {
		t.Errorf("it waited for %d looks: %v", looks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough = cancel
	if err := s.rejoin(ctx, s.Sites[2]); err == nil || err.Error() != "paris does not reach toulouse" {
		t.Errorf("of a site that stays away it says %v", err)
	}
}

// TestPageHasTheWalkThrough: what it prints for three sites on free ports, word for word.
func TestPageHasTheWalkThrough(t *testing.T) {
	b, err := os.ReadFile("../../docs/walk-through.md")
	if err != nil {
		t.Fatal(err)
	}
	members, _, err := plan("", 3, "", applications[appLab])
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range members { // whatever ports are free here
		m.config.API = fmt.Sprintf("127.0.0.1:%d", 8701+i)
		for j := range m.config.Services {
			m.config.Services[j].Listen = fmt.Sprintf("127.0.0.1:%d", 9701+10*i+j)
		}
	}
	var want strings.Builder
	var commands []string
	for i, s := range steps(applications[appLab], members, "bin/skerry") {
		fmt.Fprintf(&want, "%d. %s\n\n", i+1, s.what)
		commands = append(commands, s.commands)
		for line := range strings.Lines("```sh\n" + s.commands + "\n```\n") {
			want.WriteString(strings.Repeat(" ", len(fmt.Sprintf("%d. ", i+1))) + line)
		}
		want.WriteString("\n")
	}
	if !strings.Contains(string(b), want.String()) {
		t.Errorf("docs/walk-through.md does not have this:\n%s", want.String())
	}
	var there []string
	err = handbook.Blocks(filepath.Join("..", ".."), "testnet/demo TestPageHasTheWalkThrough", func(_ string, b handbook.Block) error {
		there = append(there, b.Commands)
		return nil
	})
	if err != nil || !slices.Equal(there, commands) {
		t.Errorf("docs/walk-through.md has the commands %q, %v", there, err)
	}
}

func TestCommandLine(t *testing.T) {
	for line, check := range map[string]func(c Command) bool{
		"":                    func(c Command) bool { return c.Start.Sites == 3 && c.Start.App == "lab" },
		"--sites 5 --app lab": func(c Command) bool { return c.Start.Sites == 5 },
		"cut nantes":          func(c Command) bool { return c.Cut.Site == "nantes" },
		"heal nantes":         func(c Command) bool { return c.Heal.Site == "nantes" },
	} {
		var c Command
		k, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Parse(strings.Fields(line)); err != nil || !check(c) {
			t.Errorf("%q: %+v, %v", line, c, err)
		}
	}
}
