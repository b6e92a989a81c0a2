package issue

import (
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// Setting makes o, which is being made, a request that sets an edit where the application shows a representation.
func Setting(v *view.View, o *engine.Operation, set *engine.Edit, shown []byte) error {
	call, err := plan.Correction(v.Kind, v.History.MergeType(), set, engine.Reply{Status: http.StatusOK, Body: shown}, "")
	if err != nil {
		return err
	}
	o.Method, o.Path, o.Body = call.Method, call.Path, call.Body
	o.Header = map[string]string{"Content-Type": call.Header["Content-Type"]}
	switch {
	case v.Kind.MergePatch:
		o.Type = engine.TypeMerge
	case v.Kind.JSONPatch != "":
		o.Type = engine.TypePatch
	default:
		o.Type = engine.TypeReplace
	}
	return nil
}

// Keeping is the operation that sets all that a representation, a tree, shows. It changes the tree.
func Keeping(k *engine.Kind, root any, before merge.Fold, id engine.OperationID) (*engine.Operation, error) {
	tree.WithoutOwn(k, root)
	body := tree.Compact(root)
	edit, err := merge.EditOf(k, engine.TypeReplace, body, merge.Fold{}, nil)
	if err != nil {
		return nil, fmt.Errorf("what the representation sets: %w", err)
	}
	shown := before.Paths()
	for _, p := range tree.Sorted(shown) {
		if edit.Set[p] == nil && !k.Ignored(p) {
			edit.Unset = append(edit.Unset, p)
		}
	}
	o := &engine.Operation{ID: id, Type: engine.TypeReplace, Method: http.MethodPut, Path: k.Item, Body: body,
		Header: map[string]string{"Content-Type": "application/json"}, Edit: edit, Keep: true}
	switch {
	case k.MergePatch:
		o.Type = engine.TypeMerge
		o.Method, o.Header["Content-Type"] = tree.MergeForm(k)
		o.Body, err = tree.MergePatch(k, edit, body)
	case k.JSONPatch != "":
		o.Type, o.Method, o.Header["Content-Type"] = engine.TypePatch, http.MethodPatch, k.JSONPatch
		o.Body, err = tree.JSONPatch(k, edit, before.Representation())
	}
	return o, err
}

// Rebase makes the request of an operation that is issued again set on what the others show what it has set, and nothing else: what it
// was sent to is not what they have. It gives o, which is being made, another body.
func Rebase(v *view.View, o *engine.Operation) {
	fold := v.History.Whole(merge.Any)
	if o.Type != engine.TypeReplace && o.Type != engine.TypePatch || o.Edit.Empty() || o.Edit.Whole || !fold.Exists {
		return
	}
	now := *o
	if err := Setting(v, &now, o.Edit, fold.Representation()); err != nil {
		return
	}
	if now.Type == engine.TypeReplace {
		edit, err := merge.EditOf(v.Kind, now.Type, now.Body, fold, nil)
		if err != nil {
			return
		}
		now.Edit = edit
	}
	if len(now.Body) <= engine.MaxInlineBody && TooLarge(&now) == nil {
		now.Blob = nil
		*o = now
	}
}
