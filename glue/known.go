package glue

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// knownKinds are the kinds of all services. They are never changed: what is learnt makes others.
type knownKinds struct {
	routers map[engine.ServiceName]*Router
	kinds   map[kindName]*engine.Kind
	of      map[engine.ServiceName][]*engine.Kind
}

// Learn takes in kinds that a service has got; those that are known stay as they are.
func (c *Client) Learn(service engine.ServiceName, kinds []*engine.Kind) {
	c.learning.Lock()
	defer c.learning.Unlock()
	next := &knownKinds{map[engine.ServiceName]*Router{}, map[kindName]*engine.Kind{}, map[engine.ServiceName][]*engine.Kind{}}
	if old := c.known.Load(); old != nil {
		maps.Copy(next.routers, old.routers)
		maps.Copy(next.kinds, old.kinds)
		maps.Copy(next.of, old.of)
	}
	all := slices.Clone(next.of[service])
	for _, k := range kinds {
		if next.kinds[nameOf(k)] == nil {
			next.kinds[nameOf(k)], all = k, append(all, k)
		}
	}
	next.of[service], next.routers[service] = all, NewRouter(all)
	c.known.Store(next)
}

// Kinds returns those of a service; they are not to be changed.
func (c *Client) Kinds(service engine.ServiceName) []*engine.Kind { return c.known.Load().of[service] }
