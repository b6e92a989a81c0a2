package handbook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry says what becomes of blocks of commands: a test runs them, or there is a reason why none does.
type entry struct {
	page string // below the root, with slashes
	// begins is what a block begins with, after the line that says where. Without it an entry is about all blocks of the page that have no entry of their own.
	begins string
	// runner is a folder, and the function there that calls Follow or Blocks with this name.
	runner string
	// why no test runs them.
	why string
}

// ledger has every block of commands in README.md and docs. Runners take from it what they run, in this order.
var ledger = []entry{
	{page: "docs/tutorial.md", runner: "testnet/handbook TestPages"},
	{page: "docs/broken-site.md", runner: "testnet/handbook TestPages"},
	{page: "docs/backup.md", runner: "testnet/handbook TestPages"},
	{page: "docs/remove-site.md", runner: "testnet/handbook TestPages"},
	{page: "docs/upgrade.md", runner: "testnet/handbook TestPages"},
	{page: "docs/mesh.md", runner: "testnet/handbook TestPages"},
	{page: "docs/metrics.md", runner: "testnet/handbook TestPages"},

	{page: "docs/own-application.md", runner: "testnet/handbook TestPagesOfOneSite"},
	{page: "docs/catalog.md", runner: "testnet/handbook TestPagesOfOneSite"},
	{page: "docs/access.md", runner: "testnet/handbook TestPagesOfOneSite"},
	{page: "docs/conformance.md", runner: "testnet/handbook TestPagesOfOneSite"},

	{page: "docs/clusters.md", runner: "testnet/handbook TestClusters"},
	{page: "docs/kubernetes.md", runner: "testnet/handbook TestClusters"},

	{page: "docs/k3s.md", runner: "testnet/handbook TestK3s"},

	{page: "docs/install.md", runner: "testnet/release followInstall"},

	{page: "docs/openstack.md", runner: "testnet/openstack page"},
	{page: "docs/openstack.md", begins: "ROLE=", runner: "testnet/openstack rightsOfUsers"},

	{page: "docs/nat.md", runner: "testnet/acceptance TestDoctorSaysWhySitesDoNotMeet"},

	{page: "docs/walk-through.md", runner: "testnet/demo TestPageHasTheWalkThrough"},

	{page: "README.md", begins: "curl -H 'Scope: ", runner: "testnet/acceptance TestDemo"},
	{page: "docs/scope-lang.md", begins: "curl -H 'Scope: ", runner: "testnet/acceptance TestDemo"},
	{page: "docs/cross.md", begins: "curl -H 'Scope: ", runner: "testnet/acceptance TestDemo"},
	{page: "docs/cross.md", begins: "skerry resources place", why: "testnet/acceptance TestChapters asks the API for both through cuts, cmd/skerry TestScripts says what is sent"},

	{page: "README.md", begins: "make demo", why: "make test runs this test; testnet/acceptance TestDemo runs the demo, and TestTargetsAreThere asks make"},
	{page: "README.md", begins: "skerry init", runner: "testnet/handbook TestInitAndAgent"},
	{page: "docs/install.md", begins: "podman load", runner: "testnet/release podman"},
	{page: "docs/install.md", begins: "skerry agent --config /etc/skerry/agent.yaml --standby", runner: "testnet/release standsBy"},
	{page: "docs/k3s.md", begins: "$ mkdir -p ~/.kube", why: "takes k3s, which Debian does not have; TestK3s puts a kubeconfig of the same form there"},
	{page: "docs/kubernetes.md", begins: "make demo", why: "testnet/kubernetes TestDemo runs the demo with these arguments"},
	{page: "docs/openstack.md", begins: "skerry exec --scope '{compute: dc1, image: dc2}'", why: "testnet/openstack TestNova has the same with a flavour and an image of its own"},
	{page: "docs/openstack.md", begins: "skerry exec --scope '{network: dc1 & dc2}'", why: "testnet/openstack TestNova has the same at sites of that name"},
	{page: "docs/supply-chain.md", begins: "git clone", why: "takes the network, cargo's nightly toolchain and cmake"},
}

// entryOf is the one that a block of a page has in the ledger.
func entryOf(page string, b Block) (found entry, err error) {
	commands := b.Commands
	if len(b.At) > 0 {
		_, commands, _ = strings.Cut(commands, "\n")
	}
	for _, e := range ledger {
		if e.page == page && (found.page == "" || len(e.begins) > len(found.begins)) && strings.HasPrefix(commands, e.begins) {
			found = e
		}
	}
	if found.page == "" {
		return found, fmt.Errorf("%s:%d: no test runs this, and testnet/handbook/ledger.go has no reason:\n%s", page, b.Line, b.Commands)
	}
	return found, nil
}

// Blocks reads what a runner runs: its pages in the order of the ledger, and of each the blocks that are its own. There is at least one on each.
func Blocks(root, runner string, each func(page string, b Block) error) error {
	seen := map[string]bool{}
	for _, e := range ledger {
		if e.runner != runner || seen[e.page] {
			continue
		}
		seen[e.page] = true
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.page)))
		if err != nil {
			return err
		}
		blocks, err := Parse(string(source))
		if err != nil {
			return fmt.Errorf("%s: %w", e.page, err)
		}
		own := 0
		for _, b := range blocks {
			switch found, err := entryOf(e.page, b); {
			case err != nil:
				return err
			case found.runner == runner:
				own++
				if err := each(e.page, b); err != nil {
					return err
				}
			}
		}
		if own == 0 {
			return fmt.Errorf("%s has nothing for %s", e.page, runner)
		}
	}
	if len(seen) == 0 {
		return fmt.Errorf("the ledger has nothing for %s", runner)
	}
	return nil
}

// Follow runs the blocks of a runner, of which there are a fewest number, each at every machine that it names. It compares what they show with what the
// page says that they show.
func Follow(t *testing.T, root, runner string, fewest int, run func(at, commands string) (output string, err error)) {
	t.Helper()
	blocks := 0
	err := Blocks(root, runner, func(page string, b Block) error {
		if len(b.At) == 0 {
			return fmt.Errorf("%s:%d: a block begins with \"# at MACHINE\"", page, b.Line)
		}
		blocks++
		for _, at := range b.At {
			output, err := run(at, b.Commands)
			if err != nil {
				return fmt.Errorf("%s:%d at %s: %w\n%s\n%s", page, b.Line, at, err, b.Commands, output)
			}
			if want := b.Missing(output); want != "" {
				return fmt.Errorf("%s:%d at %s does not show %q in its turn, but\n%s", page, b.Line, at, want, output)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if blocks < fewest {
		t.Errorf("%s has %d blocks only", runner, blocks)
	}
}
