package acceptance

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// TestIPv6Alone: sites that have no IPv4 between them join by an invitation, and notice a cut and
// its end.
func TestIPv6Alone(t *testing.T) {
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: env.Lab(program),
		Prepare: func(s *env.Site) error {
			if err := s.Host().OnlyIPv6(); err != nil {
				return err
			}
			at := "/ip6/" + s.Host().Address
			if s.Name() == "nantes" {
				at = "/ip6/::" // on all of its interfaces, whose addresses it tells
			}
			s.Config().Mesh = []string{at + "/udp/4701/quic-v1", at + "/tcp/4701"}
			return nil
		}})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	create(t, paris, "{images: sync(paris & nantes)}", `{"name":"debian"}`)
	prompt(t, paris, "GET /images", "", "Scope", "{images: nantes}").Must(t, 200)

	nantes.Cut(t)
	e.Eventually(t, patience, "paris notices", func() error {
		if _, reached := relay(t, paris, "nantes"); reached {
			return fmt.Errorf("paris reaches nantes")
		}
		return nil
	})
	late := create(t, nantes, both, `{"name":"late"}`)
	nantes.Heal(t)
	e.Eventually(t, patience, "paris has what was made meanwhile", func() error {
		if a := prompt(t, paris, "GET /images/"+late, ""); a.Status != 200 {
			return fmt.Errorf("paris answers %d", a.Status)
		}
		return nil
	})
}
