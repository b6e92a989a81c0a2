package kubernetes

import (
	"strings"

	"github.com/skerry/skerry/engine"
)

// replicas is how many pods an object asks for. That is shared by the parts of one that is spread over sites.
const replicas = engine.Pointer("/spec/replicas")

// divided tells of a kind that is scaled by spec.replicas that this is divided, and that the counts in its status are those of all parts
// together.
func divided(k *engine.Kind, s *schema, all map[string]*schema) {
	counts := func(section string) []engine.Pointer {
		var found []engine.Pointer
		if s = s.resolved(all); s == nil || s.Properties[section] == nil {
			return nil
		}
		in := s.Properties[section].resolved(all)
		if in == nil {
			return nil
		}
		for _, name := range sortedNames(in.Properties) {
			if in.Properties[name].Type == "integer" && strings.HasSuffix(strings.ToLower(name), "replicas") {
				found = append(found, engine.Pointer("").Append(section).Append(name))
			}
		}
		return found
	}
	scaled := false
	for _, n := range k.Operations {
		scaled = scaled || strings.HasSuffix(n.Path, "/scale")
	}
	for _, p := range counts("spec") {
		if scaled && p == replicas {
			k.Divide = []engine.Pointer{p}
			for _, count := range counts("status") {
				k.Aggregate = append(k.Aggregate, engine.Aggregate{At: count, By: engine.AggregateSum})
			}
		}
	}
}
