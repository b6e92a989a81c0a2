package probe

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

var (
	program string
	runs    = flag.Int("probe.runs", 1, "how many runs, with one seed after the other")
	seed    = flag.Uint64("probe.seed", 1, "the first seed")
	steps   = flag.Int("probe.steps", 120, "how many things clients ask for in a run")
	kills   = flag.Int("probe.kills", 12, "how many agents are killed meanwhile")
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serving {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	env.Main(m, &program)
}

// TestProbe lets random clients loose while agents are killed and sites cut off. In the end what was acknowledged is at every site once, nothing
// belongs to nothing, and what is converged is what direct clients are shown.
func TestProbe(t *testing.T) {
	for i := range *runs {
		one := *seed + uint64(i)
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			t.Logf("go test ./testnet/probe -run TestProbe -probe.seed %d", one)
			random := rand.New(rand.NewPCG(one, 0))
			e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "lyon"}[:2+random.IntN(2)], Application: application(), Extra: "looks: {after: 60ms}\n"})
			p := &probe{t: t, env: e, random: random, cut: map[string]bool{}, down: map[string]chan error{}}
			p.run(*steps, *kills)
			e.Eventually(t, patience, "all sites come to rest", p.atRest)
			p.judge()
		})
	}
}
