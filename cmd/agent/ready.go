package agent

import (
	"errors"
	"sync"
)

// readiness is why the agent does not serve yet or any more. The zero value says that it is starting. It is safe for
// concurrent use.
type readiness struct {
	mu   sync.Mutex
	told bool
	why  error
}

var errStarting = errors.New("the agent is starting")

func (r *readiness) set(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told, r.why = true, why
}

func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told {
		return errStarting
	}
	return r.why
}
