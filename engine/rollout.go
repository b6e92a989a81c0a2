package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// While a catalog is rolled out, the sites of a placement may have different rules for one kind. An operation that finds what
// its caller saw runs anywhere; whatever the rules decide about waits until they are the same everywhere, for two sites
// would decide differently.

// digestRules returns a digest of the rules of a kind, equal for two sites if and only if their rules are.
func digestRules(k *Kind) (string, error) {
	b, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("digest the rules of %s.%s: %w", k.Service, k.Name, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// late reports whether a step follows from the rules of the kind, and not from its operation alone.
func late(h *History, st Standing, step Step) bool {
	if len(step.Operations) == 0 { // it only takes note of what others have published
		return false
	}
	o := step.Operations[0]
	switch step.Kind {
	case StepCorrect, StepSkip:
		return true
	case StepVacuous:
		return o.Type != TypeDelete && o.Type != TypePlace
	case StepRun:
		return o.Type != TypeCreate && o.Type != TypeDelete && !h.sawTheSame(o, st)
	}
	return false
}

// hurryRules has what waits looked at again when the rules of a site are others than before.
func (s *Site) hurryRules() {
	s.mesh.mu.Lock()
	changed := s.mesh.rulesChanged
	s.mesh.rulesChanged = false
	s.mesh.mu.Unlock()
	if changed {
		s.queue.hurry(func(j job) bool { return j.document != "" })
	}
}

// holdMismatch has a resource wait while the rules of its kind differ, where the next step follows from them. The caller
// holds r.mu, and r.view is loaded.
func (s *Site) holdMismatch(ctx context.Context, r *resource, late bool) (wait bool, err error) {
	w := (*Waiting)(nil)
	if late {
		w = s.mismatch(r.view)
	}
	if w == nil && r.view.waits != nil && r.view.waits.State == QueueMismatch {
		r.view.wait(nil)
	}
	if w == nil {
		return false, nil
	}
	return true, s.hold(ctx, r, w)
}

// mismatch says which sites of the placement have other rules for the kind than others, as far as is known here; nil when
// none has.
func (s *Site) mismatch(v *view) *Waiting {
	name := string(v.about.Service) + "." + string(v.about.Kind)
	digests := map[SiteName]string{}
	differ := map[string]bool{}
	s.mesh.mu.RLock()
	for _, id := range v.correspondents() {
		if record := s.mesh.sites[id]; record.Rules[name] != "" {
			digests[record.Name] = record.Rules[name]
			differ[record.Rules[name]] = true
		}
	}
	s.mesh.mu.RUnlock()
	if len(differ) < 2 {
		return nil
	}
	var words []string
	for _, site := range slices.Sorted(maps.Keys(digests)) {
		words = append(words, fmt.Sprintf("%s has %s", site, digests[site]))
	}
	w := &Waiting{State: QueueMismatch, Since: s.cfg.Now(), Reason: fmt.Sprintf(
		"catalog-mismatch: the rules of %s are not the same at all sites (%s); give all of them the same catalog", name, strings.Join(words, ", "))}
	if v.waits != nil && v.waits.State == w.State && v.waits.Reason == w.Reason {
		w.Since = v.waits.Since
	}
	return w
}
