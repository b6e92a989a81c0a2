package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
)

// kindSet is what a site knows of the kinds of its application. It is never changed: what is learnt makes another one.
type kindSet struct {
	all   []*Kind
	by    map[kindKey]*Kind
	rules map[string]string // digests of this site's rules, by "service.kind"
	// replicated and translated tell, by kind, whether any resource is replicated here, and whether any has another
	// identifier here than its meta-identifier. They only ever become true.
	replicated, translated map[kindKey]*atomic.Bool
}

// Learn takes in kinds that the application has got since the agent was started; those that are known stay as they are. Their service is
// one that has kinds already. What other sites have sent of them, and was refused, comes again.
func (s *Site) Learn(ctx context.Context, kinds []*Kind) error {
	news, err := s.learn(ctx, kinds)
	if err != nil || !news || !s.InMesh() {
		return err
	}
	return s.Announce(ctx, s.ownRecord())
}

func (s *Site) learn(ctx context.Context, kinds []*Kind) (news bool, err error) {
	s.learning.Lock()
	defer s.learning.Unlock()
	old := s.known.Load()
	next := &kindSet{slices.Clone(old.all), map[kindKey]*Kind{}, map[string]string{}, map[kindKey]*atomic.Bool{}, map[kindKey]*atomic.Bool{}}
	maps.Copy(next.by, old.by)
	maps.Copy(next.rules, old.rules)
	maps.Copy(next.replicated, old.replicated)
	maps.Copy(next.translated, old.translated)
	for _, k := range kinds {
		key := kindKey{k.Service, k.Name}
		if next.by[key] != nil {
			continue
		}
		if s.gates[k.Service] == nil { // at the start only
			s.gates[k.Service] = newGate()
		}
		digest, err := digestRules(k)
		if err != nil {
			return false, err
		}
		next.all, next.by[key], next.rules[string(k.Service)+"."+string(k.Name)] = append(next.all, k), k, digest
		next.replicated[key], next.translated[key] = new(atomic.Bool), new(atomic.Bool)
		rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{Service: k.Service, Kind: k.Name, Limit: 1})
		if err != nil {
			return false, fmt.Errorf("read the index of %s.%s: %w", k.Service, k.Name, err)
		}
		if len(rows) > 0 {
			next.replicated[key].Store(true)
			next.translated[key].Store(!k.Natural())
		}
		news = true
	}
	s.known.Store(next)
	return news, nil
}
