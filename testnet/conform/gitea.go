package conform

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skerry/skerry/engine"
	agents "github.com/skerry/skerry/testnet/site"
)

//go:embed gitea.yaml
var giteaCatalog []byte

// giteaUser and giteaPassword are those of the one user of each Gitea.
const giteaUser, giteaPassword = "tester", "a password for tests"

// giteaAsks is what that user sends with each request.
var giteaAsks = "Basic " + base64.StdEncoding.EncodeToString([]byte(giteaUser+":"+giteaPassword))

// giteaProgram is Gitea's package; with these tags it has SQLite in it. Its build takes minutes.
const (
	giteaProgram = "code.gitea.io/gitea"
	giteaTags    = "-tags=sqlite,sqlite_unlock_notify"
)

var gitea = Application{
	Name: "gitea", Title: "Gitea 1.26", Catalog: giteaCatalog,
	About: "[Gitea](https://about.gitea.com), unmodified, built from its module, with SQLite, one user and one repository. It counts identifiers for itself, and changes with `PATCH` alone. One of a hook takes away a branch filter, events and credentials that it does not name.",
	Bodies: map[string]Body{
		"forge/organization": {Text: []byte(`{"username":"x","full_name":"ada","description":"first","location":"here"}`), Fields: []engine.Pointer{"/full_name", "/description"}},
		"forge/tag":          {Text: []byte(`{"name":"x","color":"#00aabb","description":"first"}`), Fields: []engine.Pointer{"/name", "/description"}},
		"forge/label":        {Text: []byte(`{"name":"x","color":"#00aabb","description":"first"}`), Fields: []engine.Pointer{"/name", "/description"}},
		"forge/milestone":    {Text: []byte(`{"title":"x","description":"first"}`)},
		"forge/issue":        {Text: []byte(`{"title":"x","body":"first","ref":"main"}`), Fields: []engine.Pointer{"/title", "/body"}},
		"forge/issue/label":  {Text: []byte(`{"labels":["bug"]}`)},
		"forge/issue/lock":   {Text: []byte(`{"lock_reason":"Resolved"}`)},
		"forge/hook":         {Text: []byte(`{"type":"gitea","name":"x","branch_filter":"main","config":{"url":"http://127.0.0.1:9/x","content_type":"json"},"events":["issues","push","release"],"active":false}`), Fields: []engine.Pointer{"/name", "/branch_filter"}, Lists: []engine.Pointer{"/events"}},
		"forge/release":      {Text: []byte(`{"tag_name":"{name}","name":"first","body":"begun"}`), Fields: []engine.Pointer{"/name", "/body"}},
	},
	Header: http.Header{"Authorization": {giteaAsks}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		if _, err := exec.LookPath("git"); err != nil {
			return nil, nil, fmt.Errorf("gitea needs git: %w", err)
		}
		program, module, err := built(ctx, "gitea", giteaProgram, "CGO_ENABLED=1", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+giteaTags))
		if err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/api/healthz", func(address string) ([]string, error) {
			return furnishGitea(ctx, program, module, dir, address)
		})
		if err == nil {
			client := &agents.Client{Base: at, HTTP: &http.Client{Transport: authorized{http.DefaultClient, giteaAsks}}}
			err = client.Call(ctx, http.MethodPost, "/api/v1/user/repos", map[string]any{"name": "demo", "auto_init": true, "default_branch": "main"}, nil)
			if err == nil {
				err = client.Call(ctx, http.MethodPost, "/api/v1/repos/tester/demo/labels", map[string]any{"name": "bug", "color": "ee0000"}, nil)
			}
		}
		return map[string]string{"forge": at}, stop, err
	},
}

// furnishGitea writes the configuration of a Gitea, makes its database and its user, and returns what runs it. What it shows besides what is built in
// it, such as the names of licences, lies in its module.
func furnishGitea(ctx context.Context, program, module, dir, address string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", giteaProgram)
	cmd.Dir = module
	source, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the module of Gitea: %w", err)
	}
	host, port, _ := strings.Cut(address, ":")
	config := filepath.Join(dir, "app.ini")
	err = os.WriteFile(config, fmt.Appendf(nil, `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = %s
HTTP_PORT = %s
ROOT_URL = http://%s/
STATIC_ROOT_PATH = %s
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
# The one user sends the password with each request.
PASSWORD_HASH_ALGO = pbkdf2$1$50
[log]
LEVEL = Warn
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[actions]
ENABLED = false
`, host, port, address, bytes.TrimSpace(source)), 0o600)
	if err != nil {
		return nil, err
	}
	with := []string{program, "--work-path", dir, "--config", config}
	for _, args := range [][]string{{"migrate"}, {"admin", "user", "create", "--admin", "--username", giteaUser, "--password", giteaPassword, "--email", "tester@example.org", "--must-change-password=false"}} {
		if out, err := exec.CommandContext(ctx, program, append(with[1:len(with):len(with)], args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("gitea %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return append(with, "web"), nil
}
