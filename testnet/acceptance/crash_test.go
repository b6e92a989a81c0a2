package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/lab"
)

// TestKilledWhileWriting kills the agents again and again while four clients write at paris. Whatever was acknowledged is
// at both sites in the end, once.
func TestKilledWhileWriting(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	var (
		mu           sync.Mutex // guards acknowledged
		acknowledged []string
		writers      sync.WaitGroup
	)
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%d-%d", w, i)
				a, err := paris.Request(t.Context(), lab.Images, "POST /images", `{"name":"`+name+`"}`, "Scope", both)
				if err == nil && a.Status == 201 {
					mu.Lock()
					acknowledged = append(acknowledged, name)
					mu.Unlock()
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 6 {
		victim := e.Sites()[round%2] // where the writes come in, and where they are passed on to
		// At another number of writes each time, so at another instruction.
		until := count() + 5 + random.IntN(40)
		eventually(t, e, patience, "writing goes on", func() bool { return count() >= until })
		victim.Kill(t)
		victim.Start(t)
	}
	close(stop)
	writers.Wait()

	e.Eventually(t, patience, "both sites hold the same", func() error {
		p, n := held(t, paris), held(t, nantes)
		if !slices.Equal(p, n) {
			return fmt.Errorf("paris holds %d, nantes %d: only paris %v, only nantes %v", len(p), len(n), without(p, n), without(n, p))
		}
		return nil
	})
	names := held(t, paris)
	if twice := repeated(names); len(twice) > 0 {
		t.Errorf("made more than once: %v", twice)
	}
	if lost := without(acknowledged, names); len(lost) > 0 {
		t.Errorf("acknowledged and lost: %v", lost)
	}
	t.Logf("%d acknowledged, %d made", len(acknowledged), len(names))
}

// without returns what is in x and not in y, up to ten of it.
func without(x, y []string) []string {
	var rest []string
	for _, s := range x {
		if !slices.Contains(y, s) && len(rest) < 10 {
			rest = append(rest, s)
		}
	}
	return rest
}

// repeated returns what a sorted list has more than once.
func repeated(sorted []string) []string {
	var twice []string
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			twice = append(twice, sorted[i])
		}
	}
	return twice
}
