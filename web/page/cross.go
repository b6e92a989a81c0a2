package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
)

// holdings names what the sites of a resource hold.
func holdings(r api.Resource) string {
	if r.Collaboration == engine.Cross {
		return "Parts"
	}
	return "Replicas"
}

// partOf tells which part of a cross resource a site holds, with its share of what is divided.
func partOf(r api.Replica) string {
	if r.Part == 0 {
		return ""
	}
	text := fmt.Sprint(r.Part)
	var shares []string
	for _, p := range slices.Sorted(maps.Keys(r.Share)) {
		shares = append(shares, fmt.Sprintf("%s %s", p, r.Share[p]))
	}
	if len(shares) > 0 {
		text += ": " + strings.Join(shares, ", ")
	}
	return text
}
