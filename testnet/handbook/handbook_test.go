package handbook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/netns"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// root is that of this tree.
var root = filepath.Join("..", "..")

// patience bounds what would never come; a loaded machine may be slow.
const patience = 5 * time.Minute

// copies stands in for scp, which would take accounts and keys: the folders of all machines are beside each other.
const copies = `#!/bin/sh
for last; do :; done
case "$last" in 10.77.0.1:) to=paris ;; 10.77.0.2:) to=nantes ;; *) exit 1 ;; esac
while [ $# -gt 1 ]; do cp "$1" "../$to/"; shift; done
`

// machine is where blocks are run.
type machine struct {
	host   *netns.Host
	folder string
	// left are the groups of processes that blocks have left running.
	left []int
}

// machines are two, with a folder each.
func machines(t *testing.T) map[string]*machine {
	t.Helper()
	n, err := netns.New("paris", "nantes")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	machines := map[string]*machine{}
	for _, name := range []string{"paris", "nantes"} {
		machines[name] = &machine{host: n.Host(name), folder: filepath.Join(dir, name)}
		if err := os.Mkdir(machines[name].folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for name, m := range machines {
			if t.Failed() {
				log, _ := os.ReadFile(filepath.Join(m.folder, "agent.log"))
				t.Logf("the agent of %s:\n%s", name, log)
			}
			for _, group := range m.left {
				_ = syscall.Kill(-group, syscall.SIGKILL) // it may have ended
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return machines
}

// TestPages follows docs/tutorial.md on two machines, and then the pages that go on with them.
func TestPages(t *testing.T) {
	follow(t, machines(t), "testnet/handbook TestPages", 38)
}

// TestPagesOfOneSite follows those that begin with an application, and go on with the site that is made for it.
func TestPagesOfOneSite(t *testing.T) {
	m := machines(t)
	if out, err := m["paris"].run(t.Context(), filepath.Dir(program), application); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m["nantes"].secured(t)
	follow(t, m, "testnet/handbook TestPagesOfOneSite", 10)
}

// TestInitAndAgent runs what README.md has for an application of one's own: somebody answers what is asked, and the agent serves until it is stopped.
func TestInitAndAgent(t *testing.T) {
	m := machines(t)["paris"]
	if out, err := m.run(t.Context(), filepath.Dir(program), application); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err := Blocks(root, "testnet/handbook TestInitAndAgent", func(_ string, b Block) error {
		out, err := m.run(t.Context(), filepath.Dir(program), answered(b.Commands)+serving)
		if err == nil && !regexp.MustCompile(`(?s)paris .*this site.*wrote .*agent\.yaml.*wrote .*catalog\.yaml.*stopped: 0\n$`).MatchString(out) {
			err = errors.New("it does not make a site that serves until it is stopped")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answered has somebody answer what a block asks, and leaves its last command running.
func answered(commands string) string {
	return "{ " + commands + "\n} > said 2>&1 <<'END' &\nparis\nhttp://127.0.0.1:9801\nEND\n"
}

// serving waits until the agent serves, asks it, and stops it.
const serving = `curl -s --retry 60 --retry-all-errors --retry-delay 1 --fail http://127.0.0.1:8700/readyz > /dev/null || { cat said; exit 1; }
skerry sites
kill $(pgrep -P $!)
wait $! && status=0 || status=$?
cat said
echo "stopped: $status"
`

// secured starts an agent whose API is as docs/access.md has it beyond loopback, with a certificate of an authority of its own.
func (m *machine) secured(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "access.md"))
	if err != nil {
		t.Fatal(err)
	}
	api := regexp.MustCompile("(?s)```yaml\n(api:\n  listen: 0.*?)```").FindSubmatch(page)
	if api == nil {
		t.Fatal("docs/access.md has no API beyond loopback")
	}
	if err := os.WriteFile(filepath.Join(m.folder, "api.yaml"), api[1], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.host.Names("127.0.0.1 localhost nantes.skerry.example\n"); err != nil {
		t.Fatal(err)
	}
	if out, err := m.run(t.Context(), filepath.Dir(program), application+"\n"+securing); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const securing = `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -keyout ca.key -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=nantes -keyout key.pem -out request.pem
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -extfile <(echo subjectAltName=DNS:nantes.skerry.example)
skerry init . --site nantes --openapi http://127.0.0.1:9801/openapi.yaml
sed -i '/^api:/,/^mesh:/{/^mesh:/!d}' agent.yaml
cat api.yaml >> agent.yaml
openssl rand -base64 18 | skerry accounts --file accounts add first --role admin
skerry config check agent.yaml
skerry agent --config agent.yaml > agent.log 2>&1 &
curl -s --retry 60 --retry-all-errors --retry-delay 1 --fail --cacert ca.pem https://nantes.skerry.example:8700/readyz`

// application is what the tutorial starts as well.
const application = `skerry lab --images 127.0.0.1:9801 --networks 127.0.0.1:9802 --servers 127.0.0.1:9803 --data lab > lab.log 2>&1 &
curl -s --retry 60 --retry-connrefused --retry-delay 1 http://127.0.0.1:9801/images`

// follow runs the blocks of a runner on machines.
func follow(t *testing.T, machines map[string]*machine, runner string, fewest int) {
	t.Helper()
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "scp"), []byte(copies), 0o755); err != nil {
		t.Fatal(err)
	}
	Follow(t, root, runner, fewest, func(at, commands string) (string, error) {
		if machines[at] == nil {
			return "", errors.New("there is no such machine")
		}
		return machines[at].run(t.Context(), tools+":"+filepath.Dir(program), commands)
	})
}

// run runs a block in a shell and returns what that shows. What the block leaves running goes on.
func (m *machine) run(ctx context.Context, path, commands string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	output, err := os.CreateTemp(m.folder, ".output-")
	if err != nil {
		return "", err
	}
	defer output.Close()
	argv := m.host.Command("env", "PATH="+path+":"+os.Getenv("PATH"), "HOME="+m.folder, "bash", "-eu", "-o", "pipefail", "-c", commands)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.Stdout, c.Stderr = m.folder, output, output // a file, so that Wait does not wait for what is left running
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return "", err
	}
	m.left = append(m.left, c.Process.Pid)
	err = c.Wait()
	text, readErr := os.ReadFile(output.Name())
	if err == nil {
		err = readErr
	}
	return string(text), err
}
