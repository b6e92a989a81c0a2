package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
)

// differing are the fields in which two representations differ, less those of which the catalog says that they do.
func differing(k *engine.Kind, from, to []byte) (changed, gone []engine.Pointer) {
	e, err := tree.Difference(k, from, to)
	if err != nil {
		return nil, nil
	}
	after, _ := tree.Parse(k, to)
	e = tree.Without(k, e, tree.Says(after))
	link := func(p engine.Pointer) bool {
		return slices.ContainsFunc(k.Links, func(l engine.Link) bool { return l.At.Covers(p) })
	}
	changed = slices.DeleteFunc(tree.Sorted(e.Set), link)
	return changed, slices.DeleteFunc(slices.Clone(e.Unset), link)
}

// settle compares two reads of an object to which nothing was done in between.
func (r *run) settle(o *object, shown, again []byte) {
	changed, gone := differing(o.kind, shown, again)
	o.settling = append(append([]engine.Pointer{}, changed...), gone...)
	if len(o.settling) > 0 {
		r.untrue(o.kind, ignoring(o.kind, o.settling), "%s changed by themselves between two reads", words(o.settling))
	}
}

// twin makes another object of the same body. What the two show differently differs between replicas too.
func (r *run) twin(ctx context.Context, o *object, shown []byte) {
	before := len(r.report.Findings)
	other, too, ok := r.make(ctx, o.kind, r.Name())
	r.report.Findings = r.report.Findings[:before] // the first has told them
	if !ok {
		return
	}
	changed, gone := differing(o.kind, shown, too.Body)
	said, unsaid := differing(o.kind, o.sent, other.sent)
	known := slices.Concat(o.settling, said, unsaid)
	_, id := other.kind.Split(string(other.id))
	var own []engine.Pointer
	for _, p := range append(changed, gone...) {
		text, _ := valueAt(too.Body, p).(string)
		switch {
		case slices.Contains(known, p):
		case o.kind.ID.From == engine.IDFromPath && text == id:
			r.note(o.kind, fmt.Sprintf("id: {from: path, at: %s}", p), "the identifier that clients choose is shown at %s", p)
		case strings.Contains(text, "/"+id):
			r.untrue(o.kind, fmt.Sprintf("links: [{at: %s}]", p), "%s has the object's own address", p)
		default:
			own = append(own, p)
		}
	}
	if len(own) > 0 {
		r.untrue(o.kind, ignoring(o.kind, own), "two objects made alike differ in %s: so would replicas", words(own))
	}
}

// putBack changes the name as an agent corrects a difference, and looks what else that has changed.
func (r *run) putBack(ctx context.Context, o *object, shown engine.Reply) {
	k, e := o.kind, &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	if name, ok := valueAt(shown.Body, k.Label).(string); ok && !k.Ignored(k.Label) && !k.ID.At.Contains(k.Label) {
		e.Set[k.Label] = json.RawMessage(strconv.Quote(name + "-changed"))
	}
	call, err := plan.Correction(k, "application/merge-patch+json", e, shown, o.id)
	if err != nil {
		r.untrue(k, "", "it cannot be put back: %v", err)
		return
	}
	how := map[bool]string{true: "merge-patch", false: "put"}[k.MergePatch]
	if k.JSONPatch != "" {
		how = "json-patch"
	}
	reply, err := r.call(ctx, k, call.Method, call.Path, o.id, call.Body, call.Header)
	if err != nil || !fine(reply.Status) {
		r.untrue(k, "", "with \"correct: %s\" a difference cannot be mended: %s %s is refused: %s%s", how, call.Method, k.Item, excerpt(reply), orNothing(err))
		return
	}
	reply, _, err = r.eventually(ctx, func() (engine.Reply, error) {
		return r.call(ctx, k, "GET", k.Item, o.id, nil, nil)
	}, func(reply engine.Reply) bool { return plan.Shows(k, reply.Body, e) })
	if err != nil || reply.Status != 200 {
		r.untrue(k, "", "after %s %s it is not shown any more: %s%s", call.Method, k.Item, excerpt(reply), orNothing(err))
		return
	}
	if !plan.Shows(k, reply.Body, e) {
		r.untrue(k, "", "%s %s was answered with success, and %s is as before", call.Method, k.Item, k.Label)
	}
	known := func(p engine.Pointer) bool { return slices.Contains(o.settling, p) || e.Set[p] != nil }
	changed, dropped := differing(k, shown.Body, reply.Body)
	changed, dropped = slices.DeleteFunc(changed, known), slices.DeleteFunc(dropped, known)
	if len(dropped) > 0 {
		r.untrue(k, "", "%s %s drops %s, though it came with them as they were shown", call.Method, k.Item, words(dropped))
	}
	if len(changed) > 0 {
		r.untrue(k, ignoring(k, changed), "%s changed with a write of something else", words(changed))
	}
}

// ignoring is the list of a kind's ignored fields with more of them.
func ignoring(k *engine.Kind, more []engine.Pointer) string {
	all := slices.Concat(k.Ignore, more)
	slices.Sort(all)
	return "ignore: [" + words(slices.Compact(all)) + "]"
}

func words(pointers []engine.Pointer) string {
	texts := make([]string, len(pointers))
	for i, p := range pointers {
		texts[i] = string(p)
	}
	return strings.Join(texts, ", ")
}

// identifiers are places that usually have one.
func identifiers(document any) (places []engine.Pointer) {
	members, _ := document.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lower := strings.ToLower(name)
		if lower == "id" || lower == "uuid" || lower == "uid" || lower == "guid" || strings.HasSuffix(lower, "_id") {
			places = append(places, engine.Pointer("").Append(name))
		}
	}
	return places
}

// find is where a document shows a value, empty for nowhere.
func find(document any, value string, at engine.Pointer) engine.Pointer {
	members, object := document.(map[string]any)
	if !object {
		if shown, ok := tree.IDAt(map[string]any{"v": document}, "/v"); ok && shown == value {
			return at
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if place := find(members[name], value, at.Append(name)); place != "" {
			return place
		}
	}
	return ""
}
