package issue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// ErrUnread: what the application shows has not been read, and tells what an operation sets.
var ErrUnread = errors.New("what the application shows has not been read")

// Edit computes what an operation sets, whose body is there. Reads gives what the application shows, where that is needed, or ErrUnread, which
// comes back. An application may understand what we do not: its effect is opaque to us then.
func Edit(k *engine.Kind, o *engine.Operation, before merge.Fold, reads func() ([]byte, error)) error {
	if o.Type == engine.TypePatch && merge.Effect(k, o) != nil {
		o.Edit = &engine.Edit{} // what it sets is seen once it has run
		return nil
	}
	edit, err := merge.EditOf(k, o.Type, o.Body, before, reads)
	switch {
	case errors.Is(err, ErrUnread):
		return ErrUnread
	case errors.Is(err, engine.ErrTooLarge):
		return &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
			Detail: "the body is nested too deep, or amounts to too much, to be looked into; nothing has happened"}
	case err != nil && o.Type == engine.TypeReplace:
		o.Type = engine.TypeAbsolute
	case err != nil:
		o.Type = engine.TypeAction
	}
	o.Edit = edit
	if o.Edit == nil && (o.Type == engine.TypeCreate || o.Type == engine.TypeReplace || o.Type == engine.TypeMerge || o.Type == engine.TypePatch) {
		o.Edit = &engine.Edit{}
	}
	return nil
}

// Found makes of a PUT that was to create a resource, and that has found an object, a create as the collection takes it: the other sites may have no
// object, and an application need not make one by a PUT.
func Found(k *engine.Kind, o *engine.Operation, status int) {
	if o.Method != http.MethodPut || k.ID.From == engine.IDFromPath || status == http.StatusCreated {
		return
	}
	if body, err := tree.Creating(k, o.Body); err == nil {
		o.Method, o.Path, o.Body = http.MethodPost, k.Collection, body
	}
}

// Division tells how what a request sets is divided, nil: nothing is.
func Division(v *view.View, grows []engine.SiteID) *merge.Division {
	return v.History.Division(v.SettledAt(v.Self).Has, grows...)
}

// Witness completes what an operation sets by what the application showed before and after it; before is what was
// set then.
func Witness(v *view.View, o *engine.Operation, grows []engine.SiteID, before merge.Fold, shown, shows []byte) {
	was := o.Edit
	plan.Witness(v.Kind, o, before, shown, shows)
	d := Division(v, grows)
	d.Base(o, before)
	d.Restate(o)
	if TooLarge(o) != nil {
		o.Edit = was // more than an operation can carry: its effect stays undeclared
	}
	unseen := o.Edit.Empty() && merge.Effect(v.Kind, o) != nil && shows == nil
	if o.Type == engine.TypePatch && (unseen || o.Edit == nil) {
		o.Type = engine.TypeAction
	}
}

// Marked returns the body of o with the marker of a request in it, ok false where it writes none: its kind has no marker, or needs none, or
// its body no place for one.
func Marked(k *engine.Kind, o *engine.Operation, request string) (body []byte, ok bool) {
	if k.Marker == "" || o.Type != engine.TypeCreate || o.Method != "POST" || k.Natural() || k.HonoursKey || len(o.Body) == 0 {
		return nil, false
	}
	return tree.Mark(k, o.Body, request)
}

// Marks reports whether an operation writes a marker.
func Marks(k *engine.Kind, o *engine.Operation) bool {
	_, ok := Marked(k, o, string(o.ID))
	return ok
}

// Restore makes a request one that sets the value at a path again which was superseded. Shown is what the application shows, empty where it shows
// nothing; unread says why.
func Restore(v *view.View, o *engine.Operation, at engine.Pointer, lost engine.Superseded, shown []byte, unread error) error {
	if len(shown) == 0 {
		return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: unread, Detail: fmt.Sprintf(
			"the application's service %s does not show %s; nothing has happened", v.Kind.Service, v.About.Key)}
	}
	set := &engine.Edit{}
	tokens, arranges := tree.TokensOf(lost.Value)
	switch {
	case lost.Value == nil:
		set.Unset = []engine.Pointer{at}
	case arranges && lost.Rule == merge.ByPlace:
		tree.SetOrder(set, at, tokens)
	default:
		set.Set = map[engine.Pointer]json.RawMessage{at: json.RawMessage(lost.Value)}
	}
	if err := Setting(v, o, set, shown); err != nil {
		return &engine.Refusal{Status: http.StatusConflict, Type: "restore", Err: err,
			Detail: fmt.Sprintf("the representation of %s is not JSON: write it anew instead", v.About.Key)}
	}
	return nil
}
