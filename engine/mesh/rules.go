package mesh

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// While a catalog is rolled out, the sites of a placement may have different rules for one kind. An operation that finds what
// its caller saw runs anywhere; whatever the rules decide about waits until they are the same everywhere, for two sites
// would decide differently.

// Digest returns a digest of the rules of a kind, equal for two sites if and only if their rules are.
func Digest(k *engine.Kind) (string, error) {
	b, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("digest the rules of %s: %w", RuleName(k.Service, k.Name), err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// RuleName is the key of a kind among the rules of a site's record.
func RuleName(service engine.ServiceName, kind engine.KindName) string {
	return string(service) + "." + string(kind)
}

// Mismatch says for people which of some sites have other rules for a kind than others, as far as they have told; empty:
// none has.
func (s *State) Mismatch(service engine.ServiceName, kind engine.KindName, sites []engine.SiteID) string {
	name := RuleName(service, kind)
	digests, differ := map[engine.SiteName]string{}, map[string]bool{}
	for _, id := range sites {
		record, _ := s.Site(id)
		if d := record.Rules[name]; d != "" {
			digests[record.Name], differ[d] = d, true
		}
	}
	if len(differ) < 2 {
		return ""
	}
	var words []string
	for _, site := range slices.Sorted(maps.Keys(digests)) {
		words = append(words, fmt.Sprintf("%s has %s", site, digests[site]))
	}
	return fmt.Sprintf("catalog-mismatch: the rules of %s are not the same at all sites (%s); give all of them the same catalog",
		name, strings.Join(words, ", "))
}

// Distance estimates the round trip between two sites from where they say that they are; ok is false where one has not.
func (s *State) Distance(a, b engine.SiteID) (rtt time.Duration, ok bool) {
	x, _ := s.Site(a)
	y, _ := s.Site(b)
	switch {
	case a == b:
		return 0, true
	case x.Coordinate == nil || y.Coordinate == nil:
		return 0, false
	}
	return x.Coordinate.Distance(*y.Coordinate), true
}
