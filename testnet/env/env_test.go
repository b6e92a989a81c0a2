package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/lab"
)

// TestMain makes the test binary the program that the environment starts: a true lab, and an agent that is started and
// joined as one and passes everything to the application. The acceptance tests use the true agent.
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	text := string(b)
	if strings.Contains(text, "site: paris") == strings.Contains(text, "join_file:") {
		return errors.New("the first site founds the mesh, the others join it")
	}
	upstream, err := url.Parse(regexp.MustCompile(`upstream: (\S+)`).FindStringSubmatch(text)[1])
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /api/v1/invitations", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"1","token":"skr1:good"}`)
	})
	mux.HandleFunc("GET /api/v1/sites", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"name":"paris","reachable":true},{"name":"nantes","reachable":true}]`)
	})
	mux.Handle("/images", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }})
	ended := make(chan error, 2)
	for _, address := range []string{"127.0.0.1:9701", "127.0.0.1:8701"} { // who is ready listens
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() { ended <- http.Serve(l, mux) }()
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func setup(sites ...string) Setup {
	return Setup{Program: os.Args[0], Sites: sites, Application: Lab(os.Args[0])}
}

func TestSitesAreApart(t *testing.T) {
	e := New(t, setup("paris", "nantes"))
	paris, nantes := e.Site("paris"), e.Site("nantes")
	a := paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`).Must(t, 201)
	if got := paris.Application(t, lab.Images, "GET /images/"+a.Text("id"), "").Must(t, 200); got.Text("name") != "debian" {
		t.Errorf("the application of paris has %s", got.Body)
	}
	if got := nantes.Do(t, lab.Images, "GET /images", "").Must(t, 200); got.Body != "[]" {
		t.Errorf("nantes has %s", got.Body)
	}
	paris.Cut(t)
	paris.Do(t, lab.Images, "GET /images", "").Must(t, 200)
	paris.Heal(t)
}

func TestKillAndStart(t *testing.T) {
	e := New(t, setup("paris"))
	paris := e.Site("paris")
	paris.Kill(t)
	if _, err := paris.Request(t.Context(), lab.Images, "GET /images", ""); err == nil {
		t.Error("a killed agent answers")
	}
	paris.Application(t, lab.Images, "GET /images", "").Must(t, 200)
	paris.Start(t)
	paris.Do(t, lab.Images, "GET /images", "").Must(t, 200)
	paris.Stop(t)
}

func TestApplicationStopsAndStarts(t *testing.T) {
	e := New(t, setup("paris"))
	paris := e.Site("paris")
	paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`).Must(t, 201)
	must(t, paris.StopApplication())
	paris.Do(t, lab.Images, "GET /images", "").Must(t, 502)
	must(t, paris.StartApplication(t.Context()))
	if got := paris.Do(t, lab.Images, "GET /images", "").Must(t, 200); !strings.Contains(got.Body, "debian") {
		t.Errorf("its data are gone: %s", got.Body)
	}
}

// TestAgain: the next test has the same hosts and applications with what these hold, and other agents.
func TestAgain(t *testing.T) {
	e := New(t, setup("paris", "nantes"))
	paris := e.Site("paris")
	paris.Do(t, lab.Images, "POST /images", `{"name":"debian"}`).Must(t, 201)
	paris.Cut(t)
	must(t, e.Rest())
	if paris.Ended() == nil {
		t.Error("its agent goes on")
	}
	left := paris.Config().Data() + "/left"
	must(t, os.MkdirAll(paris.Config().Data(), 0o700))
	must(t, os.WriteFile(left, nil, 0o600))
	prepared := 0
	next := setup("paris", "nantes")
	next.Prepare = func(*Site) error { prepared++; return nil }
	must(t, e.Again(t.Context(), next))
	if got := e.Site("paris").Do(t, lab.Images, "GET /images", "").Must(t, 200); !strings.Contains(got.Body, "debian") {
		t.Errorf("the application holds %s", got.Body)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) || prepared != 2 {
		t.Errorf("what an agent left: %v; %d sites are prepared", err, prepared)
	}
}

func TestAgentThatWillNotStartIsShown(t *testing.T) {
	s := setup("paris")
	s.Extra = "# join_file: none\n"
	e, err := Open(t.Context(), t.TempDir(), s)
	if err == nil || !strings.Contains(err.Error(), "the first site founds the mesh") {
		t.Errorf("got %v, want the words of its log", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestDescribeTellsOfEverySite(t *testing.T) {
	e := New(t, setup("paris", "nantes"))
	e.Site("nantes").Kill(t)
	var b strings.Builder
	e.Describe(&b)
	for _, want := range []string{"=== paris", "site paris self=false reachable=true", "=== nantes", "signal: killed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %s", want, b.String())
		}
	}
	e.Eventually(t, time.Second, "nothing", func() error { return nil })
}
