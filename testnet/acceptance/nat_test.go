package acceptance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/site"
)

// relayed returns an environment of paris, which relays, with nantes and lyon behind a NAT each.
func relayed(t *testing.T, symmetric ...string) *env.Env {
	t.Helper()
	return env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "lyon"}, NAT: []string{"nantes", "lyon"}, Symmetric: symmetric,
		Application: env.Lab(program), Prepare: func(s *env.Site) error {
			if s.Name() == "paris" {
				s.Config().MeshExtra = "  relay: true\n"
			}
			return nil
		}})
}

// relay returns through whom one site says that it reaches another, and whether it reaches it.
func relay(t testing.TB, at *env.Site, other string) (by string, reached bool) {
	t.Helper()
	s := seen(t, at, other)
	return s.Relay, s.Reachable
}

// seen is what one site says of another.
func seen(t testing.TB, at *env.Site, other string) site.Seen {
	t.Helper()
	sites, err := at.Client().Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sites, func(s site.Seen) bool { return s.Name == other })
	if i < 0 {
		t.Fatalf("%s knows no site %s", at.Name(), other)
	}
	return sites[i]
}

// TestTwoSitesBehindNATsMeetThroughAThird: what two of them share converges through a member that relays, and while that one is cut off, both say that
// they do not reach each other.
func TestTwoSitesBehindNATsMeetThroughAThird(t *testing.T) {
	e := relayed(t, "nantes", "lyon")
	paris, nantes, lyon := e.Site("paris"), e.Site("nantes"), e.Site("lyon")
	meet(t, e)
	for _, pair := range [][2]*env.Site{{nantes, lyon}, {lyon, nantes}} {
		e.Eventually(t, patience, "through paris", func() error {
			if by, reached := relay(t, pair[0], pair[1].Name()); !reached || by != "paris" {
				return fmt.Errorf("%s reaches %s: %t, through %q", pair[0].Name(), pair[1].Name(), reached, by)
			}
			return nil
		})
	}
	create(t, nantes, "{images: sync(nantes & lyon)}", `{"name":"debian"}`)
	// A scope that the other one answers.
	prompt(t, nantes, "GET /images", "", "Scope", "{images: lyon}").Must(t, 200)

	paris.Cut(t)
	e.Eventually(t, patience, "both notice", func() error {
		for _, s := range []*env.Site{nantes, lyon} {
			for _, other := range e.Sites() {
				if _, reached := relay(t, s, other.Name()); reached && other != s {
					return fmt.Errorf("%s reaches %s", s.Name(), other.Name())
				}
			}
		}
		return nil
	})
	late := create(t, nantes, "{images: nantes & lyon}", `{"name":"late"}`)
	paris.Heal(t)
	e.Eventually(t, patience, "lyon has what was made meanwhile", func() error {
		if a := prompt(t, lyon, "GET /images/"+late, ""); a.Status != 200 {
			return fmt.Errorf("lyon answers %d", a.Status)
		}
		return nil
	})
}

// TestTwoSitesBehindNATsMakeHoles: NATs that keep ports let two sites reach each other themselves, once a relay has brought them together.
// Then they do without it.
func TestTwoSitesBehindNATsMakeHoles(t *testing.T) {
	e := relayed(t)
	nantes, lyon := e.Site("nantes"), e.Site("lyon")
	meet(t, e)
	e.Eventually(t, patience, "nantes and lyon reach each other themselves", func() error {
		for _, pair := range [][2]*env.Site{{nantes, lyon}, {lyon, nantes}} {
			if s := seen(t, pair[0], pair[1].Name()); !s.Reachable || s.Relay != "" || !s.Hole {
				return fmt.Errorf("%s reaches %s: %t, through %q, through a hole: %t", pair[0].Name(), pair[1].Name(), s.Reachable, s.Relay, s.Hole)
			}
			if s := seen(t, pair[0], "paris"); s.Hole {
				return fmt.Errorf("%s is told to reach paris through a hole", pair[0].Name())
			}
		}
		return nil
	})
	e.Site("paris").Cut(t)
	create(t, nantes, "{images: sync(nantes & lyon)}", `{"name":"debian"}`)
}

// TestAnAnnouncedNameOutlivesAnAddress: nantes, which nobody reaches from outside, finds paris again by the name that paris announces, after
// paris has got another address while it was down.
func TestAnAnnouncedNameOutlivesAnAddress(t *testing.T) {
	const before, after = "10.77.0.1", "10.77.0.101"
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, NAT: []string{"nantes"}, Application: env.Lab(program),
		Prepare: func(s *env.Site) error {
			if s.Name() == "paris" {
				s.Config().MeshExtra = "  announce: [/dns/paris.skerry.example/udp/4701/quic-v1]\n"
				return nil
			}
			return s.Host().Names(before + " paris.skerry.example\n")
		}})
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	paris.Stop(t)
	paris.Move(t, after)
	if err := nantes.Host().Names(after + " paris.skerry.example\n"); err != nil {
		t.Fatal(err)
	}
	paris.Start(t)
	meet(t, e)
	create(t, nantes, "{images: sync(paris & nantes)}", `{"name":"debian"}`)
}
