package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// prefix begins the names of hostile members, and of what they may make.
const prefix = "mallory-"

// Orders say what the members are to do.
type Orders struct {
	// Token lets Members of them in, which are numbered from First on. Address is where they listen, from Port on.
	Token   string
	Members int
	First   int
	Address string
	Port    int
	Seed    uint64
	// Only has those attacks done whose name contains it; empty: all.
	Only string
	// Parts is in how many documents of others each of them is to have a part before they begin.
	Parts int
	// Pause is how long they wait between two attacks.
	Pause time.Duration
	// Secrets are resources in which the members have no part. Who knows a resource knows what its document begins with; what is in it
	// is what must not get out.
	Secrets []Secret
	// Key is the name of a key that all honest sites have; empty: there is none.
	Key string
}

// Secret is a resource of the honest sites, and a text that its content has.
type Secret struct{ Resource, Content string }

// Done is told of each attack, one JSON object a line.
type Done struct {
	Attack string
	By     string
	Error  string
	// Forked says that it has told two sites of a line in two ways, up to then.
	Forked bool
}

var (
	// errGained says that the member got what it had no right to.
	errGained = errors.New("it gained what is not its own")
	// errNothing says that it was not tried.
	errNothing = errors.New("there is nothing yet to do it with")
)

// shut reports whether a site does not let the member in any more.
func shut(err error) bool { return errors.Is(err, errShut) }

// try has a member do one thing, for as long as that may take once it is ready for it.
func try(ctx context.Context, a attack, m *Member, o *Orders) error {
	if a.ready != nil {
		a.ready(m)
	}
	ctx, cancel := context.WithTimeout(ctx, attackTime)
	defer cancel()
	return a.do(ctx, m, o)
}

const (
	// attackTime bounds one attack, whatever happens: what it signs takes seconds on busy cores.
	attackTime = 20 * time.Second
	// waitTime is how long an attack waits for what the other site may not do.
	waitTime = 3 * time.Second
)

// Run has the members join and do harm until ctx ends. It writes what they did to out, first a line with their names.
func Run(ctx context.Context, o Orders, out io.Writer) error {
	lines := json.NewEncoder(out)
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	var members []*Member
	for i := range o.Members {
		m, err := join(ctx, o.Token, fmt.Sprint(prefix, o.First+i), o.Address, o.Port+o.First+i, rand.New(rand.NewPCG(o.Seed, uint64(i)+2)))
		if err != nil {
			return err
		}
		defer m.close()
		members = append(members, m)
		if err := lines.Encode(Done{Attack: "join", By: string(m.id)}); err != nil {
			return err
		}
	}
	chosen := chosen(o.Only)
	if len(chosen) == 0 {
		return fmt.Errorf("there is no attack %q", o.Only)
	}
	for _, m := range members {
		for len(m.given()) < o.Parts {
			if rest(ctx, 50*time.Millisecond) != nil {
				return nil
			}
		}
	}
	away := map[*Member]time.Time{}
	once := func(a attack, m *Member) error {
		done := Done{Attack: a.name, By: string(m.id)}
		err := try(ctx, a, m, &o)
		if done.Forked = m.forked; err != nil {
			if done.Error = err.Error(); shut(err) {
				away[m] = time.Now().Add(10 * time.Second)
			}
		}
		return errors.Join(err, lines.Encode(done))
	}
	left := slices.Clone(chosen) // what nobody has got through with yet
	for len(left) > 0 {
		left = slices.DeleteFunc(left, func(a attack) bool {
			return slices.ContainsFunc(members, func(m *Member) bool { return rest(ctx, o.Pause) == nil && once(a, m) == nil })
		})
		if ctx.Err() != nil {
			return nil
		}
	}
	for rest(ctx, o.Pause) == nil {
		m, a := members[rng.IntN(len(members))], chosen[rng.IntN(len(chosen))]
		if time.Now().After(away[m]) {
			_ = once(a, m) // it is told
		}
	}
	return nil
}
