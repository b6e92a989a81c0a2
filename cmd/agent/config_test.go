package agent

import (
	"errors"
	"flag"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/meter"
)

var updateConfig = flag.Bool("update-config", false, "write the golden report of the configuration anew")

// write puts files into a new folder and returns it. Files not given have some content.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// loadText loads a configuration beside an app.yaml; with returns the folder of both.
func loadText(t *testing.T, text string) (Config, string, error) {
	t.Helper()
	folder := write(t, map[string]string{"skerry.yaml": text, "app.yaml": "application: a\nservices: {a: {}}"})
	c, err := Load(filepath.Join(folder, "skerry.yaml"))
	return c, folder, err
}

const smallest = `
site: paris
data_dir: ./paris
application: ./app.yaml
services:
  images: {listen: "127.0.0.1:9701", upstream: "http://127.0.0.1:9801"}
`

func TestConfigOfALargerBodyThanAny(t *testing.T) {
	_, _, err := loadText(t, smallest+"limits: {body: 65GiB}\n")
	if err == nil || !strings.Contains(err.Error(), ":7:16: no body can have more than 64.0 GiB") {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := loadText(t, smallest+"limits: {body: 64GiB}\n"); err != nil {
		t.Error(err)
	}
}

func TestConfigDefaults(t *testing.T) {
	c, folder, err := loadText(t, smallest)
	if err != nil {
		t.Fatal(err)
	}
	c.places = places{}
	want := Config{
		Site: "paris", DataDir: filepath.Join(folder, "paris"), Application: filepath.Join(folder, "app.yaml"),
		API:      API{Listen: "127.0.0.1:8700"},
		Mesh:     Mesh{Listen: []string{"/ip4/0.0.0.0/udp/4700/quic-v1", "/ip4/0.0.0.0/tcp/4700"}},
		Services: c.Services,
		Limits: Limits{Body: 5 << 30, AnswerTimeout: time.Minute, AskTimeout: 5 * time.Second,
			Head: 64 << 10, HeadTimeout: 10 * time.Second, Idle: 2 * time.Minute, Bodies: 64 << 20, BodyStall: time.Minute,
			Connections: Connections{All: 8192, Client: 1024}, Streams: Streams{All: 128, Viewer: 32},
			Kept:       Kept{All: Room{10_000, 2 << 30}, Caller: Room{1000, 256 << 20}, Anonymous: Room{1000, 64 << 20}},
			Deletions:  Deletions{Late: time.Minute, Number: 100, Share: 0.2, Window: time.Hour},
			Operations: Operations{Keep: 30 * 24 * time.Hour, Number: 1_000_000}},
		Looks:       Looks{After: 250 * time.Millisecond, Every: time.Hour},
		Correlation: Correlation{Headers: []string{"Traceparent", "X-Request-Id", "X-Openstack-Request-Id", "X-B3-Traceid"}, TTL: time.Hour},
		Log:         Log{Level: slog.LevelInfo},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if images := c.Services["images"]; len(c.Services) != 1 || !reflect.DeepEqual(images, Service{Listen: "127.0.0.1:9701", Upstream: "http://127.0.0.1:9801"}) {
		t.Errorf("the services are %+v", c.Services)
	}
}

func TestApplicationVersion(t *testing.T) {
	if c, _, err := loadText(t, smallest+"application_version: \"2.1 (lab)\"\n"); err != nil || c.ApplicationVersion != "2.1 (lab)" {
		t.Errorf("%q, %v", c.ApplicationVersion, err)
	}
	for _, wrong := range []string{strings.Repeat("x", 65), "2\\n1"} {
		if _, _, err := loadText(t, smallest+"application_version: \""+wrong+"\"\n"); err == nil || !strings.Contains(err.Error(), "at most 64 bytes") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestConfigWithEveryKey(t *testing.T) {
	const peer = "/ip4/192.0.2.7/udp/4701/quic-v1/p2p/12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi"
	folder := write(t, map[string]string{"ca.pem": "", "cert.pem": "", "key.pem": "", "token": " s3cret\n", "app.yaml": "", "c.yaml": `
site: paris-1.fr
data_dir: /var/lib/skerry
encryption_key: /run/skerry/key
application: app.yaml
api: {listen: "0.0.0.0:0", tls: {cert: cert.pem, key: key.pem}, accounts: token, hosts: [skerry.example, "10.0.0.1:8443"], trusted_proxies: [10.0.0.9]}
mesh:
  listen: [/ip4/127.0.0.1/udp/0/quic-v1, /ip6/::1/tcp/4701]
  join: "skr1:abc"
  peers: [` + peer + `]
  announce: [/ip4/198.51.100.7/udp/14700/quic-v1, /dns4/paris.example/tcp/443/wss, paris.example]
  relay: true
services:
  images:
    listen: 0.0.0.0:9701
    upstream: https://images.example:9801/
    tls: {cert: cert.pem, key: key.pem, client_ca: ca.pem}
    upstream_tls: {ca: ca.pem, cert: cert.pem, key: key.pem, insecure_skip_verify: false}
    credentials: {token_file: token}
    front_proxy: {cert: cert.pem, key: key.pem, sites: [nantes]}
    trusted_proxies: [192.0.2.0/24, "2001:db8::1"]
  servers:
    listen: 127.0.0.1:9702
    upstream: https://127.0.0.1:9802
    upstream_tls: {insecure_skip_verify: true}
    credentials: {header: X-Auth-Token, value_file: ./token}
limits: {body: 64KiB, answer_timeout: 1m30s, ask_timeout: 500ms, clock_skew: 10m, deletions: {late: 10m, number: 5, share: 2.5%, window: 2h},
  operations: {keep: 48h, number: 1000}, head: 8KiB, head_timeout: 5s, idle: 1m, bodies: 16MiB, body_stall: 20s,
  connections: {all: 100, client: 10}, streams: {all: 10, viewer: 2},
  members: {streams: 100, in_flight: 4MiB, memory: 64MiB, resources: 1000, bodies: 1GiB},
  kept: {all: {number: 9, bytes: 9MiB}, caller: {number: 3, bytes: 3MiB}, anonymous: {number: 1, bytes: 1MiB}}}
looks: {after: 2s, every: 10m}
correlation: {headers: [X-Trace], ttl: 5m}
log: {level: debug, format: json}
access_log: {file: access.log, format: common, one_of: 100}
traces: {endpoint: "https://collector.example/", sample: 2.5%, headers: {authorization: ./token}, ca: ca.pem}
`})
	c, err := Load(filepath.Join(folder, "c.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	if c.Site != "paris-1.fr" || c.DataDir != "/var/lib/skerry" || c.EncryptionKey != "/run/skerry/key" || c.API.Listen != "0.0.0.0:0" || c.API.TLS == nil ||
		c.API.Accounts != filepath.Join(folder, "token") || !slices.Equal(c.API.Hosts, []string{"skerry.example", "10.0.0.1:8443"}) || c.API.URL() != "https://0.0.0.0:0" {
		t.Errorf("got %+v", c)
	}
	if want := (Correlation{Headers: []string{"X-Trace"}, TTL: 5 * time.Minute}); !reflect.DeepEqual(c.Correlation, want) {
		t.Errorf("correlation is %+v", c.Correlation)
	}
	if want := (Mesh{Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip6/::1/tcp/4701"}, Join: "skr1:abc", Peers: []string{peer},
		Announce: []string{"/ip4/198.51.100.7/udp/14700/quic-v1", "/dns4/paris.example/tcp/443/wss", "paris.example"}, Relay: true}); !reflect.DeepEqual(c.Mesh, want) {
		t.Errorf("the mesh is %+v", c.Mesh)
	}
	want := Service{
		Listen: "0.0.0.0:9701", Upstream: "https://images.example:9801",
		TLS:            &ListenerTLS{at("cert.pem"), at("key.pem"), at("ca.pem")},
		UpstreamTLS:    &UpstreamTLS{at("ca.pem"), at("cert.pem"), at("key.pem"), false},
		Credentials:    &Credentials{TokenFile: at("token")},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::1/128")},
		FrontProxy:     &FrontProxy{at("cert.pem"), at("key.pem"), []engine.SiteName{"nantes"}},
	}
	if images := c.Services["images"]; !reflect.DeepEqual(images, want) {
		t.Errorf("images is %+v", images)
	}
	if servers := c.Services["servers"]; !servers.UpstreamTLS.InsecureSkipVerify || servers.TLS != nil {
		t.Errorf("servers is %+v", servers)
	}
	if c.Limits != (Limits{65536, 90 * time.Second, 500 * time.Millisecond, 8192, 5 * time.Second, time.Minute, 16 << 20, 20 * time.Second,
		Connections{100, 10}, Streams{10, 2}, Kept{Room{9, 9 << 20}, Room{3, 3 << 20}, Room{1, 1 << 20}}, 10 * time.Minute, Members{100, 4 << 20, 64 << 20, 1000, 1 << 30}, Deletions{10 * time.Minute, 5, 0.025, 2 * time.Hour},
		Operations{48 * time.Hour, 1000}}) || c.Log != (Log{slog.LevelDebug, true}) ||
		c.Looks != (Looks{2 * time.Second, 10 * time.Minute}) {
		t.Errorf("got %+v, %+v and %+v", c.Limits, c.Log, c.Looks)
	}
	if want := (AccessLog{at("access.log"), meter.Common, 100}); c.AccessLog == nil || *c.AccessLog != want {
		t.Errorf("the access log is %+v", c.AccessLog)
	}
	if want := (&Traces{"https://collector.example/v1/traces", 0.025, map[string]string{"Authorization": at("token")}, at("ca.pem")}); !reflect.DeepEqual(c.Traces, want) {
		t.Errorf("traces are %+v", c.Traces)
	}
	if got := *c.Services["images"].Credentials; got.TokenFile == "" || got.Header+got.ValueFile != "" {
		t.Errorf("the credentials of images are %+v", got)
	}
	if got := *c.Services["servers"].Credentials; got.TokenFile != "" || got.Header != "X-Auth-Token" || got.ValueFile == "" {
		t.Errorf("the credentials of servers are %+v", got)
	}
}

// TestConfigReport loads a configuration with a bit of everything that can be wrong.
func TestConfigReport(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "wrong.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, folder, err := loadText(t, string(b))
	var problems *strictyaml.Error
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	got, golden := strings.ReplaceAll(err.Error(), folder+"/", "")+"\n", filepath.Join("testdata", "wrong.golden")
	got = strings.ReplaceAll(got, folder, ".")
	if *updateConfig {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(got, "s3cret") {
		t.Error("the report shows a secret")
	}
}

func TestConfigIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestConfigNeedsItsServices(t *testing.T) {
	c, folder, err := loadText(t, smallest+"  imges: {listen: \"127.0.0.1:9702\", upstream: \"http://127.0.0.1:9802\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := glue.ParseCatalog("app.yaml", []byte("application: lab\nservices: {images: {}, servers: {}, networks: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	err = Check(c, catalog)
	if err == nil {
		t.Fatal("the services do not fit and nothing was said")
	}
	want := `skerry.yaml:5:1: the service "networks" of the application lab is not configured
skerry.yaml:5:1: the service "servers" of the application lab is not configured
skerry.yaml:7:3: the application lab has no service "imges", it has images, networks, servers; did you mean "images"?`
	if got := strings.ReplaceAll(err.Error(), folder+"/", ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	catalog, err = glue.ParseCatalog("app.yaml", []byte("application: lab\nservices: {images: {}, imges: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(c, catalog); err != nil {
		t.Error(err)
	}
}

func TestInvitation(t *testing.T) {
	folder := write(t, map[string]string{"token": "skr1:abc\n"})
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, test := range []struct {
		mesh       Mesh
		want, fail string
	}{
		{Mesh{}, "", ""},
		{Mesh{Join: "skr1:xyz"}, "skr1:xyz", ""},
		{Mesh{JoinFile: at("token")}, "skr1:abc", ""},
		{Mesh{JoinFile: at("none")}, "", "no such file"},
	} {
		got, err := test.mesh.Invitation()
		if got != test.want || (err == nil) != (test.fail == "") || err != nil && !strings.Contains(err.Error(), test.fail) {
			t.Errorf("%+v gives %q, %v", test.mesh, got, err)
		}
	}
}

// FuzzLoad looks for a configuration that makes loading panic, or that is accepted without what an agent needs.
func FuzzLoad(f *testing.F) {
	wrong, err := os.ReadFile(filepath.Join("testdata", "wrong.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(wrong))
	f.Add(smallest)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := strictyaml.Parse("c.yaml", []byte(text))
		if err != nil {
			return
		}
		r := configReader{folder: "/", config: defaults()}
		r.read(d.Root())
		if d.Err() != nil {
			return
		}
		c := r.config
		if c.Site == "" || c.DataDir == "" || c.Application == "" || c.API.Listen == "" || len(c.Mesh.Listen) == 0 ||
			c.Limits.Body <= 0 || c.Limits.AnswerTimeout <= 0 || c.Limits.AskTimeout <= 0 {
			t.Fatalf("got %+v", c)
		}
		for _, s := range c.Services {
			if s.Listen == "" || s.Upstream == "" {
				t.Fatalf("service %+v", s)
			}
		}
	})
}

func TestConfigOfAnAPIThatMoreMayReach(t *testing.T) {
	folder := write(t, map[string]string{"app.yaml": "", "c.pem": "", "k.pem": "", "accounts": ""})
	const tls, accounts = "tls: {cert: c.pem, key: k.pem}", "accounts: accounts"
	for text, want := range map[string]string{
		"{}":                              "",
		"{" + tls + "}":                   "",
		"{" + tls + ", " + accounts + "}": "",
		"{" + accounts + "}":              ":6:17: without \"tls\" passwords would travel in clear",
		"{listen: '192.0.2.1:8700'}":      ":6:15: beyond loopback (such as 127.0.0.1:8700) the API needs \"tls\" and \"accounts\"",
		"{listen: '192.0.2.1:8700', " + tls + "}":                              "the API needs \"tls\" and \"accounts\"",
		"{listen: 'paris.example:8700', " + tls + ", " + accounts + "}":        "",
		"{listen: ':8700', " + tls + ", " + accounts + "}":                     "is all addresses of this machine: give \"hosts\"",
		"{listen: '[::]:8700', " + tls + ", " + accounts + "}":                 "is all addresses of this machine: give \"hosts\"",
		"{listen: ':8700', hosts: [a.example], " + tls + ", " + accounts + "}": "",
		"{hosts: ['https://a.example']}":                                       "expected a host name such as",
		"{hosts: ['*.example']}":                                               "expected a host name such as",
		"{hosts: ['a.example:8700', '[::1]:8700', '::1']}":                     "",
	} {
		if err := os.WriteFile(filepath.Join(folder, "skerry.yaml"), []byte(smallest[1:]+"api: "+text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(filepath.Join(folder, "skerry.yaml"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
