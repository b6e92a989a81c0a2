package demo

import (
	"fmt"

	"github.com/skerry/skerry/testnet/process"
)

// ports gives out ports of loopback: the ones in the documentation where they are free, others where not.
type ports struct {
	given   map[int]bool
	replace []string // what had to be replaced, for people
}

// port returns the port that is wanted, or another one where it is in use. Somebody else may take the wanted one before it is used; the child says so then.
func (p *ports) port(want int, what string) (int, error) {
	got := want
	if p.given[want] || !process.Free(want) {
		others, err := process.Ports(1)
		if err != nil {
			return 0, err
		}
		got = others[0]
		p.replace = append(p.replace, fmt.Sprintf("port %d is in use: %s is at %d", want, what, got))
	}
	p.given[got] = true
	return got, nil
}
