package engine

import (
	"context"
	"encoding/json"
	"fmt"
)

// maxSummary is the most bytes of a summary. A longer representation is cut down to what the catalog aggregates.
const maxSummary = 8 << 10

// summary is what this site tells the others that its part of a cross resource shows, for the time when they cannot reach it.
// It has no sensitive fields, and none that are ignored unless the catalog says how those of all parts become one. What was told last
// stays when a look has seen nothing new.
func (v *view) summary(mine Replica, now *Observed, representation []byte) json.RawMessage {
	if v.history.spread == nil || now.Hash == "" {
		return mine.Summary
	}
	tree, err := parseJSON(representation)
	if err != nil {
		return mine.Summary
	}
	for _, p := range v.kind.Sensitive {
		unsetAt(tree, p)
	}
	var short any = map[string]any{}
	for _, rule := range v.kind.rules() {
		if value, ok := valueAt(tree, rule.At); ok {
			short = setAt(short, rule.At, value)
		}
	}
	for _, p := range v.kind.Ignore {
		unsetAt(tree, p)
	}
	for _, rule := range v.kind.rules() {
		if value, ok := valueAt(short, rule.At); ok {
			tree = setAt(tree, rule.At, value)
		}
	}
	if whole := compact(tree); len(whole) <= maxSummary {
		return whole
	}
	if s := compact(short); len(s) <= maxSummary {
		return s
	}
	return mine.Summary
}

// LastShown returns what is known here of what the parts of a cross resource showed last, by site. ErrNotFound: the document is
// not here.
func (s *Site) LastShown(ctx context.Context, id DocumentID) (map[SiteID]json.RawMessage, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return nil, fmt.Errorf("what parts showed last: %w", err)
	}
	known := map[SiteID]json.RawMessage{}
	for _, site := range v.placement().Sites {
		if shown := v.lastShown(site); shown != nil {
			known[site] = shown
		}
	}
	return known, nil
}

// lastShown is a site's summary, nil for none. Where the site has settled something since it looked, what is divided is its share of
// that: how a part is divided needs no look.
func (v *view) lastShown(site SiteID) json.RawMessage {
	r := v.replica(site)
	if r.Summary == nil || r.Observed != nil {
		return r.Summary
	}
	st := v.standingAt(site)
	settled := pick{in: func(o *Operation) bool { return st.shows(o) && !st.Refused(o) }, fact: st.Executed}
	parts := v.history.placementOf(settled.in).Parts
	if parts.of(site) < 0 {
		return r.Summary
	}
	at := spread{self: site, fields: v.history.spread.fields}
	return at.put(at.share(foldOf(v.history, settled), parts), r.Summary)
}
