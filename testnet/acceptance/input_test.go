package acceptance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/netns"
	"github.com/skerry/skerry/testnet/process"
	"github.com/skerry/skerry/testnet/site"
)

// TestBadScopesAndBodies sends what makes no sense, and looks that nothing has come of it.
func TestBadScopesAndBodies(t *testing.T) {
	s := env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: env.Lab(program),
		Extra: "limits: {body: 128KiB}\n"}
	e := env.New(t, s)
	paris := e.Site("paris")
	for _, c := range []struct {
		scope  string
		status int
		typ    string
	}{
		{"{images: paris & , nantes}", 400, "scope-syntax"},
		{"{images: paris & rome}", 422, "unknown-site"},
		{"{pictures: paris & nantes}", 422, "unknown-service"},
		{"{images: (paris % nantes) & paris}", 422, "scope-type"},
	} {
		problem(t, prompt(t, paris, "POST /images", `{"name":"x"}`, "Scope", c.scope), c.status, c.typ)
	}
	a := prompt(t, paris, "POST /images", `{"name":"x"}`, "Scope", "{images: paris & , nantes}")
	if !strings.Contains(a.Text("detail"), "^") || a.Fields()["position"] == nil {
		t.Errorf("a syntax error is shown as %s", a.Body)
	}
	// Not so large that the server would close the connection rather than read what is left: that may reach a client before the answer.
	large := `{"name":"x","description":"` + strings.Repeat("x", 200<<10) + `"}`
	problem(t, prompt(t, paris, "POST /images", large, "Scope", both), 413, "too-large")
	if a := prompt(t, paris, "POST /images", `{"size":"big"}`, "Scope", both); a.Status != 422 || a.Header.Get("Skerry-Operation") != "" {
		t.Errorf("the refusal of the application came as %d %v %s", a.Status, a.Header, a.Body)
	}
	for _, x := range e.Sites() {
		if got := held(t, x); len(got) != 0 {
			t.Errorf("%s holds %v", x.Name(), got)
		}
	}
	if list, err := paris.Client().Operations(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("operations: %v, %v", list, err)
	}
}

// alone is a configuration for an agent of no environment, on a host of its own.
func alone(t *testing.T) (*netns.Host, *site.Config) {
	t.Helper()
	n, err := netns.New("paris")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &site.Config{Name: "paris", Dir: t.TempDir(), API: "127.0.0.1:8701",
		Mesh: []string{"/ip4/10.77.0.1/udp/4701/quic-v1", "/ip4/10.77.0.1/tcp/4701"}}
	c.Catalog = filepath.Join(c.Dir, "app.yaml")
	for i, s := range []string{lab.Images, lab.Networks, lab.Servers} {
		c.Services = append(c.Services, site.Service{Name: s, Listen: fmt.Sprintf("127.0.0.1:%d", 9701+i),
			Upstream: fmt.Sprintf("http://127.0.0.1:%d", 9801+i)})
	}
	if err := os.WriteFile(c.Catalog, lab.Catalog, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	return n.Host("paris"), c
}

// refused runs an agent that must not start and returns what it says.
func refused(t *testing.T, h *netns.Host, c *site.Config) string {
	t.Helper()
	p, err := process.Start("the agent", c.Log(), h.Command(program, "agent", "--config", c.File())...)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("the agent starts:\n%s", errors.Join(p.Kill(), p.Ended()))
	}
	out := process.Tail(p.Log(), 200)
	if strings.Contains(p.Ended().Error(), "status 0") {
		t.Errorf("the agent ends with status 0:\n%s", out)
	}
	return out
}

func TestMalformedConfiguration(t *testing.T) {
	h, c := alone(t)
	c.Extra = "aplication: x\nlimits: {body: much}\n"
	c.API = "nonsense"
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	out := refused(t, h, c)
	for _, want := range []string{`agent\.yaml:\d+:\d+: .*aplication`, `agent\.yaml:\d+:\d+: .*much`, `agent\.yaml:\d+:\d+: .*nonsense`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("nothing matches %s in\n%s", want, out)
		}
	}
}

func TestMalformedCatalog(t *testing.T) {
	h, c := alone(t)
	catalog := strings.Replace(string(lab.Catalog), "item: /images/{id}", "itm: /images/{id}", 1)
	catalog = strings.Replace(catalog, "to: networks.network", "to: networks.nothing", 1)
	if err := os.WriteFile(c.Catalog, []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	out := refused(t, h, c)
	for _, want := range []string{`app\.yaml:\d+:\d+: .*itm`, `app\.yaml:\d+:\d+: .*networks\.nothing`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("nothing matches %s in\n%s", want, out)
		}
	}
}

func TestPortInUse(t *testing.T) {
	h, c := alone(t)
	hold, err := process.Start("lab", filepath.Join(c.Dir, "lab.log"), h.Command(program, "lab", "--data", filepath.Join(c.Dir, "lab"),
		"--images", c.Services[0].Listen, "--networks", "127.0.0.1:1001", "--servers", "127.0.0.1:1002")...)
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Kill()
	held := &site.Client{Base: "http://" + c.Services[0].Listen, HTTP: h.Client()}
	for deadline := time.Now().Add(patience); held.Call(t.Context(), "GET", "/images", nil, nil) != nil; {
		if time.Now().After(deadline) {
			t.Fatal(hold.Ended())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if out := refused(t, h, c); !strings.Contains(out, c.Services[0].Listen) {
		t.Errorf("the address in use is not named:\n%s", out)
	}
}

func TestSecondAgentOnOneDataDirectory(t *testing.T) {
	e := labAt(t, "paris")
	paris := e.Site("paris")
	second := *paris.Config()
	second.Dir = t.TempDir()
	// The same data directory with other addresses: nothing else is in the way.
	text := strings.NewReplacer(":8701", ":8801", ":9701", ":9751", ":9702", ":9752", ":9703", ":9753", "/4701", "/4801",
		second.Data(), paris.Config().Data()).Replace(second.YAML())
	if err := os.WriteFile(second.File(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := refused(t, paris.Host(), &second); !strings.Contains(out, paris.Config().Data()) {
		t.Errorf("the directory is not named:\n%s", out)
	}
	prompt(t, paris, "POST /images", `{"name":"still here"}`).Must(t, 201)
}

// TestGarbageFromStrangers throws random bytes at the mesh port of a site.
func TestGarbageFromStrangers(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	garbage := make([]byte, 16<<10)
	random := rand.NewChaCha8([32]byte{1})
	for range 50 {
		_, _ = random.Read(garbage) // never fails
		for _, network := range []string{"tcp", "udp"} {
			conn, err := nantes.Host().DialContext(t.Context(), network, paris.Host().Address+":4701")
			if err != nil {
				t.Fatal(err)
			}
			throw(conn, garbage[:1200])
			throw(conn, garbage)
			_ = conn.Close()
		}
	}
	create(t, paris, both, `{"name":"debian"}`)
	e.Eventually(t, patience, "the sites go on", func() error {
		if got := held(t, nantes); len(got) != 1 {
			return fmt.Errorf("nantes holds %v", got)
		}
		return nil
	})
}

// throw writes without caring whether the other end still listens.
func throw(conn net.Conn, b []byte) {
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write(b)
}

// TestFullDisk fills the disk of one agent, and makes room again.
func TestFullDisk(t *testing.T) {
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: env.Lab(program),
		Prepare: func(s *env.Site) error { return smallDisk(t, s) }})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	body := func(i int) string {
		return fmt.Sprintf(`{"name":"%03d","description":%q}`, i, strings.Repeat("x", 40<<10))
	}
	made, full := 0, false
	for i := 0; i < 1000 && !full; i++ {
		switch a := prompt(t, paris, "POST /images", body(i), "Scope", both); a.Status {
		case 201:
			made++
		default:
			problem(t, a, 507, "storage")
			full = true
		}
	}
	if !full || made == 0 {
		t.Fatalf("%d images were made, full: %t", made, full)
	}
	if n := len(held(t, paris)); n != made {
		t.Errorf("%d images were acknowledged, the application holds %d: something was half done", made, n)
	}
	prompt(t, paris, "GET /images", "").Must(t, 200)
	if a := paris.API(t, "GET /healthz", ""); a.Status != 200 {
		t.Errorf("the agent is not well: %d %s", a.Status, a.Body)
	}
	if err := syscall.Mount("tmpfs", paris.Config().Data(), "tmpfs", syscall.MS_REMOUNT, "size=128m"); err != nil {
		t.Fatal(err)
	}
	eventually(t, e, patience, "with room it goes on", func() bool {
		return paris.Do(t, lab.Images, "POST /images", `{"name":"after"}`, "Scope", both).Status == 201
	})
	e.Eventually(t, patience, "nantes has all of it", func() error {
		if p, n := held(t, paris), held(t, nantes); len(p) != made+1 || len(n) != made+1 {
			return fmt.Errorf("paris holds %d, nantes %d, acknowledged were %d", len(p), len(n), made+1)
		}
		return nil
	})
}

// smallDisk gives the agent of paris a disk of 6 MiB of its own, before it starts.
func smallDisk(t *testing.T, s *env.Site) error {
	if s.Name() != "paris" {
		return nil
	}
	data := s.Config().Data()
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=6m,mode=0700"); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, 0); err != nil {
			t.Error(err)
		}
	})
	return nil
}
