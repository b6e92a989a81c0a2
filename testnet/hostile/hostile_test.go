package hostile

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

var (
	seed    = flag.Uint64("hostile.seed", 0, "what the members do follows from this, as far as they decide it; 0: another one each time")
	lasts   = flag.Duration("hostile.for", 20*time.Second, "how long the members do harm")
	members = flag.Int("hostile.members", 6, "how many members there are: a site lets one in no more for a while that it has had enough of")
	only    = flag.String("hostile.only", "", "do those attacks only whose name contains this")
	pause   = flag.Duration("hostile.pause", 50*time.Millisecond, "how long the members wait between two attacks")
)

// program is the path of skerry, built for this run.
var program string

// TestMain makes the test binary the hostile program as well, which runs on a host of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hostile" {
		if err := command(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	env.Main(m, &program)
}

func command(orders string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := os.ReadFile(orders)
	if err != nil {
		return err
	}
	var o Orders
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	return Run(ctx, o, os.Stdout)
}

// TestInvariantAHostileMemberHarmsOnlyWhatItMayWrite has members do all that they can think of to three honest sites that serve clients
// meanwhile.
func TestInvariantAHostileMemberHarmsOnlyWhatItMayWrite(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./testnet/hostile -hostile.seed %d -hostile.for %v -hostile.only %q", *seed, *lasts, *only)
	w := open(t)
	w.secrets()
	w.theirOwn()
	w.attack()
	w.serve(*lasts)
	w.bounded()
	w.endAttack()
	w.agree()
	w.mesh()
	w.named()
	w.report()
}
