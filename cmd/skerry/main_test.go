package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skerry/skerry/testnet/lab"
)

// noon is when the scripts run.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ask": ask, "own-process": main})
}

// ask is a client that knows nothing of scopes: "ask [-H HEADER] URL" prints what it gets. It uses the proxy of the environment for
// everything, as curl does, and trusts the authorities of SSL_CERT_FILE alone.
func ask() {
	args := os.Args[1:]
	r, err := http.NewRequest(http.MethodGet, args[len(args)-1], nil)
	if err != nil {
		panic(err)
	}
	if args[0] == "-H" {
		name, value, _ := strings.Cut(args[1], ": ")
		r.Header.Set(name, value)
	}
	roots := x509.NewCertPool()
	if b, err := os.ReadFile(os.Getenv("SSL_CERT_FILE")); err == nil {
		roots.AppendCertsFromPEM(b)
	}
	resp, err := (&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Proxy: func(r *http.Request) (*url.URL, error) {
		proxy := os.Getenv(r.URL.Scheme + "_proxy")
		if proxy == "" || os.Getenv("no_proxy") != "" {
			return nil, nil
		}
		return url.Parse(proxy)
	}}).RoundTrip(r)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b, _ := io.ReadAll(resp.Body)
	fmt.Printf("%d %s\n", resp.StatusCode, bytes.TrimSpace(b))
}

// TestScripts runs each script of testdata against its own fake agent.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "", // writes what is printed into the scripts: read the difference
		Setup: func(e *testscript.Env) error {
			agent := startFake()
			e.Defer(agent.Close)
			e.Setenv("SKERRY_API", agent.URL)
			e.Values["agent"] = agent
			e.Setenv("IMAGES", agent.images.URL)
			e.Setenv("NAMED", strings.Replace(agent.images.URL, "127.0.0.1", "localhost", 1))
			e.Setenv("ELSEWHERE", agent.elsewhere.URL)
			e.Setenv("VAULT", agent.vault.URL)
			e.Setenv("STRANGE", agent.strange.URL)
			live, err := lab.New(lab.Config{Data: filepath.Join(e.WorkDir, "lab")})
			if err != nil {
				return err
			}
			e.Defer(func() { _ = live.Close() })
			servers := httptest.NewServer(live.Service(lab.Images))
			e.Defer(servers.Close)
			e.Setenv("LAB", servers.URL)
			secured := startSecured()
			e.Defer(secured.Close)
			e.Setenv("SECURED", secured.URL)
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw})
			if err := os.WriteFile(filepath.Join(e.WorkDir, "ca.pem"), ca, 0o600); err != nil {
				return err
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"asked":  asked,
			"calm":   func(ts *testscript.TestScript, _ bool, args []string) { ts.Value("agent").(*fakeAgent).calm = args[0] },
			"exits":  exits,
			"skerry": skerry,
		},
	})
}

// asked checks what the last command asked the agent for: "asked METHOD PATH [BODY]".
func asked(ts *testscript.TestScript, neg bool, args []string) {
	agent := ts.Value("agent").(*fakeAgent)
	want := args[0] + " " + args[1]
	if len(args) > 2 {
		want += " " + args[2]
	}
	if got := agent.last(); (got == want) == neg {
		ts.Fatalf("the agent was asked %s, want %s", got, want)
	}
}

// skerry runs the program in this process: "skerry ARGS…" wants exit status 0.
func skerry(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, append([]string{"0"}, args...))
}

// exits runs the program, with what the variable INPUT has as its input, \n for the end of a line, and checks its exit status: "exits STATUS ARGS…".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	got := run(args[1:], surroundings{in: strings.NewReader(strings.ReplaceAll(ts.Getenv("INPUT"), `\n`, "\n")), out: ts.Stdout(), errs: ts.Stderr(), getenv: ts.Getenv, now: clock,
		environ: func() []string {
			return append(os.Environ(), "no_proxy=*", "MINE=1", "SSL_CERT_FILE="+ts.Getenv("SSL_CERT_FILE"))
		}})
	if (strconv.Itoa(got) == args[0]) == neg {
		ts.Fatalf("exit status is %d", got)
	}
}

func TestScriptsAreThere(t *testing.T) {
	if all, err := filepath.Glob("testdata/*.txtar"); err != nil || len(all) < 8 {
		t.Errorf("scripts: %v, %v", all, err)
	}
}
