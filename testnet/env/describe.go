package env

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/testnet/process"
	"github.com/skerry/skerry/testnet/site"
)

// shown bounds how many resources, operations and lines of log are written for one site.
const shown = 20

func (s *Site) describe(w io.Writer) {
	fmt.Fprintf(w, "\n=== %s ===\n", s.Name())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if s.agent != nil {
		s.describeAgent(ctx, w)
		fmt.Fprintf(w, "--- %s\n%s\n", s.config.Log(), process.Tail(s.config.Log(), shown))
	}
	if s.app != nil {
		if err := s.app.Ended(); err != nil {
			fmt.Fprintln(w, err)
		}
		fmt.Fprintf(w, "--- %s\n%s\n", s.applicationLog(), process.Tail(s.applicationLog(), shown))
	}
}

func (s *Site) describeAgent(ctx context.Context, w io.Writer) {
	if err := s.agent.Ended(); err != nil {
		fmt.Fprintln(w, err)
		return
	}
	c := s.Client()
	seen, err := c.Sites(ctx)
	if err != nil {
		fmt.Fprintln(w, "sites:", err)
		return
	}
	for _, x := range seen {
		fmt.Fprintf(w, "site %s self=%t reachable=%t\n", x.Name, x.Self, x.Reachable)
	}
	resources, err := c.Resources(ctx)
	if err != nil {
		fmt.Fprintln(w, "resources:", err)
	}
	operations, err := c.Operations(ctx, "")
	if err != nil {
		fmt.Fprintln(w, "operations:", err)
	}
	// What is not as it should be comes first, for there may be more than is shown.
	slices.SortStableFunc(resources, func(a, b site.Resource) int { return settled(a.State) - settled(b.State) })
	slices.SortStableFunc(operations, func(a, b site.Operation) int { return settled(a.State) - settled(b.State) })
	for _, r := range resources[:min(shown, len(resources))] {
		fmt.Fprintf(w, "resource %s %s/%s %s %q%s\n", r.ID, r.Service, r.Kind, r.State, r.Reason, replicas(r))
	}
	for _, o := range operations[:min(shown, len(operations))] {
		fmt.Fprintf(w, "operation %s %s of %s from %s: %s %v\n", o.ID, o.Type, o.Resource, o.Origin, o.State, o.Sites)
	}
}

// settled orders states: 1 for those that nothing is wrong with.
func settled(state string) int {
	if state == "converged" || state == "applied" {
		return 1
	}
	return 0
}

func replicas(r site.Resource) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Sites)) {
		x := r.Sites[name]
		fmt.Fprintf(&b, " %s:{%s %s %d/%d}", name, x.LocalID, x.State, x.Applied, x.Pending)
	}
	return b.String()
}
