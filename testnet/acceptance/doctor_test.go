package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/handbook"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/doctor"
)

// TestDoctorSaysWhySitesDoNotMeet: of each two sites it is said why they do not meet, by what each of them has tried, and what is said to help
// does. Paris is reached by all. Nantes is behind a NAT, lyon behind one and announces what leads nowhere, brest has a firewall.
func TestDoctorSaysWhySitesDoNotMeet(t *testing.T) {
	behind := []string{"nantes", "lyon"}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "lyon", "brest"}, NAT: behind, Symmetric: behind, Application: env.Lab(program),
		Prepare: func(s *env.Site) error {
			switch s.Name() {
			case "paris":
				s.Config().MeshExtra = "  relay: true\n"
			case "lyon":
				s.Config().MeshExtra = "  announce: [/ip4/10.77.0.99/udp/4701/quic-v1]\n"
			case "brest":
				return s.Host().Close(4701)
			}
			return nil
		}})
	paris, brest := e.Site("paris"), e.Site("brest")
	said := func(at *env.Site, a, b string, state doctor.State, codes string, parts ...string) {
		t.Helper()
		e.Eventually(t, patience, fmt.Sprintf("%s says that %s and %s are %s: %s", at.Name(), a, b, state, codes), func() error {
			var w api.Ways
			if err := at.Client().Call(t.Context(), "GET", "/api/v1/ways", nil, &w); err != nil {
				return err
			}
			i := slices.IndexFunc(w.Items, func(p doctor.Pair) bool { return p.A == a && p.B == b })
			if i < 0 {
				return errors.New("the pair is not told")
			}
			p := w.Items[i]
			var got []string
			text := strings.Join(p.Help, "\n")
			for _, c := range p.Causes {
				got = append(got, c.Code)
				text += "\n" + c.Why
			}
			slices.Sort(got)
			if state == doctor.Relayed && len(got) > 0 {
				got = nil // who has called has tried the other; that one tries in its time
			}
			if p.State != state || strings.Join(got, " ") != codes {
				return fmt.Errorf("they are %s for %v:\n%s\n%+v", p.State, got, text, p.Tries)
			}
			for _, part := range parts {
				if !strings.Contains(text, part) {
					return fmt.Errorf("%q is not said:\n%s\n%+v", part, text, p.Tries)
				}
			}
			return nil
		})
	}
	const nat, wrong = "nantes is behind a NAT (others see it at 10.77.0.2) and announces nothing", "lyon announces /ip4/10.77.0.99/udp/4701/quic-v1, and nothing answers there"
	const relay = "mesh.relay: true at paris"
	said(paris, "lyon", "nantes", doctor.Relayed, "")

	paris.Stop(t)
	paris.Config().MeshExtra = ""
	paris.Start(t)
	said(paris, "lyon", "nantes", doctor.Apart, "nat wrong-address", nat, wrong, "others see it at 10.77.0.3", relay)
	said(paris, "brest", "nantes", doctor.Apart, "firewall nat", nat, "the agent of brest runs, and nothing answers nantes at /ip4/10.77.0.4/", "let UDP 4701 and TCP 4701 in", relay)
	said(paris, "brest", "lyon", doctor.Apart, "firewall wrong-address")
	said(e.Site("nantes"), "brest", "lyon", doctor.Unknown, "not-asked") // it reaches neither
	said(paris, "lyon", "paris", doctor.Direct, "")

	// As docs/nat.md has it, where addresses are others.
	if err := handbook.Blocks(filepath.Join("..", ".."), "testnet/acceptance TestDoctorSaysWhySitesDoNotMeet", func(_ string, b handbook.Block) error {
		argv := paris.Host().Command("env", "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "SKERRY_API="+paris.Client().Base, "bash", "-c", b.Commands)
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
		var status *exec.ExitError
		if !errors.As(err, &status) || status.ExitCode() != 1 {
			return fmt.Errorf("%w: %s", err, out)
		}
		if want := b.Missing(strings.NewReplacer("10.77.0.2", "198.51.100.7", "4701", "4700").Replace(string(out))); want != "" {
			return fmt.Errorf("it does not show %q in its turn, but\n%s", want, out)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	// Of one site.
	argv := paris.Host().Command(program, "sites", "doctor", "nantes", "--api", paris.Client().Base)
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 || !strings.Contains(string(out), nat) || !strings.Contains(string(out), "2 of 3 pairs of sites do not meet") {
		t.Errorf("skerry sites doctor nantes: %v\n%s", err, out)
	}

	// What is said to help does.
	if err := brest.Host().Open(); err != nil {
		t.Fatal(err)
	}
	said(paris, "brest", "nantes", doctor.Direct, "")

	brest.Stop(t)
	said(paris, "brest", "paris", doctor.Apart, "stopped", "the machine of brest answers paris at /ip4/10.77.0.4/tcp/4701, and no agent listens there", "systemctl start skerry")
}
