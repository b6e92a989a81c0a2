package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// askedBy names who asked for an operation.
func askedBy(o shape.Operation) string {
	if o.User == "" {
		return "Somebody"
	}
	return o.User
}

// did says in words what an operation does.
func did(o shape.Operation) string {
	switch engine.Type(o.Type) {
	case engine.TypeCreate:
		return "created it"
	case engine.TypeDelete:
		return "deleted it"
	case engine.TypeReplace:
		return "replaced it"
	case engine.TypeMerge, engine.TypePatch:
		return "changed it"
	case engine.TypeAbsolute:
		return "put " + o.Path
	case engine.TypePlace:
		return placedIn(o)
	case engine.TypeAction:
		return "ran " + o.Method + " " + o.Path
	}
	return o.Type
}

// placedIn says what a change of placement does.
func placedIn(o shape.Operation) string {
	d, ok := o.Change.(shape.Divided)
	switch {
	case !ok:
		return "changed where it lives"
	case len(d.Parts) == 1:
		return "made it one replicated resource again"
	}
	parts := make([]string, len(d.Parts))
	for i, part := range d.Parts {
		parts[i] = strings.Join(part, " & ")
	}
	return "divided it between " + shape.List(parts)
}

// shownFields is how many fields a line of history tells.
const shownFields = 4

// sets tells the first of the fields that an operation sets.
func sets(o shape.Operation) string {
	c, ok := o.Change.(engine.Edit)
	if !ok {
		return ""
	}
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, fmt.Sprintf("%s = %s", p, clip(string(c.Set[p]), 40)))
	}
	for _, p := range slices.Sorted(maps.Keys(c.Add)) {
		parts = append(parts, fmt.Sprintf("%s + %s", p, c.Add[p].By))
	}
	for _, p := range c.Unset {
		parts = append(parts, string(p)+" removed")
	}
	if left := len(parts) - shownFields; left > 0 {
		parts = append(parts[:shownFields], fmt.Sprintf("and %d more", left))
	}
	return strings.Join(parts, ", ")
}

// outcomeTitle is what a site's mark in the history tells on hover.
func outcomeTitle(o shape.Outcome) string {
	var parts []string
	if !o.At.IsZero() {
		parts = append(parts, absolute(o.At))
	}
	if o.Status != 0 {
		parts = append(parts, fmt.Sprintf("answered %d", o.Status))
	}
	if o.Error != "" {
		parts = append(parts, o.Error)
	}
	return strings.Join(parts, ", ")
}

func pausedBy(p shape.Pause) string {
	s := "paused from " + p.By
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s + ", "
}
