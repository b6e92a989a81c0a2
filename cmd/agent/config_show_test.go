package agent

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestInvariantAShownConfigurationHasNoSecret shows one that has all kinds of values: the invitation is not among them.
func TestInvariantAShownConfigurationHasNoSecret(t *testing.T) {
	folder := write(t, map[string]string{"token": "t0p-secret",
		"app.yaml": "application: a\nservices: {a: {kinds: {thing: {collection: /things, item: '/things/{id}', id: {from: body, at: /id}}}}}\n",
		"skerry.yaml": `
site: paris
data_dir: ./paris
application: ./app.yaml
api: {listen: "127.0.0.1:0", trusted_proxies: [10.0.0.0/8]}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
accept: [{from: lyon, operations: [read]}]
limits: {answer_timeout: 90s}
log: {level: debug}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9", credentials: {token_file: token}}}
`})
	cfg, err := Load(filepath.Join(folder, "skerry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Mesh.Join = "an-invitation"
	b, err := json.Marshal(cfg.show())
	if err != nil {
		t.Fatal(err)
	}
	shown := string(b)
	for _, secret := range []string{"an-invitation", "t0p-secret"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown: %s", secret, shown)
		}
	}
	for _, want := range []string{`"Site":"paris"`, `"Join":"(hidden)"`, `"AnswerTimeout":"1m30s"`, `"AskTimeout":"5s"`, `"Level":"DEBUG"`, `"TrustedProxies":["10.0.0.0/8"]`,
		`"TokenFile":"` + filepath.Join(folder, "token") + `"`, `"From":"lyon"`, `"Upstream":"http://127.0.0.1:9"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not shown: %s", want, shown)
		}
	}
	if cfg.Mesh.Join != "an-invitation" {
		t.Error("showing a configuration has changed it")
	}
}
