package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A create whose identifier the application assigns cannot be looked for by it after a crash. Where the catalog names a field
// for that, the agent writes there which request made the object, behind whatever the client has put there. Nobody but the
// agent ever sees it: App.Present takes it off.

const (
	markerBegins = "[skerry "
	markerEnds   = "]"
)

// TrimMarker returns what the field of a marker shows to everybody else.
func TrimMarker(text string) string {
	for strings.HasSuffix(text, markerEnds) {
		i := strings.LastIndex(text, markerBegins)
		if i < 0 {
			break
		}
		text = strings.TrimSuffix(text[:i], " ")
	}
	return text
}

// HasMarker reports whether the text of a field ends with the marker of a request.
func HasMarker(text, request string) bool {
	return request != "" && strings.HasSuffix(text, markerBegins+request+markerEnds)
}

// isMarked reports whether a representation has the marker of some request.
func (k *Kind) isMarked(body []byte) bool {
	tree, err := parseJSON(body)
	if err != nil {
		return false
	}
	v, _ := valueAt(tree, k.Marker)
	text, _ := v.(string)
	return TrimMarker(text) != text
}

// marks reports whether o writes a marker.
func (s *Site) marks(k *Kind, o *Operation) bool {
	_, ok := s.marked(k, o, string(o.ID))
	return ok
}

// marked returns the body of o with the marker of a request in it, ok false where it writes none: its kind has no marker, or needs
// none, or its body no place for one. A body that is too large to be looked into has none.
func (s *Site) marked(k *Kind, o *Operation, request string) (body []byte, ok bool) {
	if k.Marker == "" || o.Type != TypeCreate || o.Method != http.MethodPost || k.Natural() || k.HonoursKey {
		return nil, false
	}
	body, err := s.document(o)
	if err != nil || body == nil {
		return nil, false
	}
	return k.mark(body, request)
}

// mark returns the body of a create with the marker of a request in it, ok false when there is no place for it.
func (k *Kind) mark(body []byte, request string) (marked []byte, ok bool) {
	tree, err := parseJSON(body)
	if _, object := tree.(map[string]any); err != nil || !object {
		return body, false
	}
	v, there := valueAt(tree, k.Marker)
	text, isText := v.(string)
	switch {
	case there && v != nil && !isText:
		return body, false
	case text != "":
		text += " "
	}
	return compact(setAt(tree, k.Marker, text+markerBegins+request+markerEnds)), true
}

// unmarked makes a representation without a text in the marker's place the same as one with an empty text there.
func (k *Kind) unmarked(tree any) {
	if k.Marker == "" {
		return
	}
	if v, ok := valueAt(tree, k.Marker); ok && (v == nil || v == "") {
		unsetAt(tree, k.Marker)
	}
}

// found is what became of the search for a marked object.
type found int

const (
	foundIt     found = iota
	foundNone         // it is certain that there is none
	foundLater        // look again later
	foundUnsure       // looking does not tell
)

// find looks for what a request has made that went out at a time and has had no answer. It may have been under way until now,
// so none counts as certain only after as long as an answer may take.
func (s *Site) find(ctx context.Context, k *Kind, request string, sent time.Time) (Reply, found, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	list, err := s.cfg.App.Find(ctx, k, request)
	switch {
	case errors.Is(err, ErrUntellable):
		return Reply{}, foundUnsure, err
	case err != nil:
		return Reply{}, foundLater, err
	case len(list) == 1:
		return list[0], foundIt, nil
	case len(list) > 1:
		return Reply{}, foundUnsure, fmt.Errorf("the application has %d objects of one marker", len(list))
	case s.cfg.Now().Sub(sent) < s.cfg.CallTimeout:
		return Reply{}, foundLater, errors.New("the application does not list what was to be made; it may be under way still")
	}
	return Reply{}, foundNone, nil
}

// sentAt is when the intent of an operation was declared last.
func (s *Site) sentAt(ctx context.Context, id OperationID) (time.Time, error) {
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("list open intents: %w", err)
	}
	if i := slices.IndexFunc(intents, func(i Intent) bool { return i.Operation == id }); i >= 0 {
		return intents[i].OpenedAt, nil
	}
	return time.Time{}, nil
}

// mayHaveMarked reports whether a create that this process has not sent may have left its marker: an earlier one has left it unsent, as far as
// this one knows, or a lost run may have sent it, since a site does not know by itself that it was set back to a backup.
func (s *Site) mayHaveMarked(r *resource, k *Kind, o *Operation) bool {
	if !s.marks(k, o) {
		return false
	}
	if _, left := s.leftOver.Load(r.id); left {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view == nil || s.mayHaveBeen(r.view.correspondents())
}

// lookForMarked settles a create that may have been sent before: it looks for its marker.
func (s *Site) lookForMarked(ctx context.Context, r *resource, k *Kind, o *Operation, step Step) (settled, again bool, err error) {
	request, err := s.idempotencyKey(ctx, r, o, step)
	if err != nil {
		return true, false, err
	}
	sent, err := s.sentAt(ctx, o.ID)
	if err != nil {
		return true, false, err
	}
	reply, what, why := s.find(ctx, k, request, sent)
	switch what {
	case foundIt:
		if step.Kind == StepMake && sent.IsZero() { // a lost run has made it, of what that knew
			again, err := s.adopt(ctx, r, k, o, reply.Local, step, nil)
			return true, again, err
		}
		return true, false, s.succeed(ctx, r, k, o, reply, reply.Local, step)
	case foundNone:
		return false, false, nil
	case foundUnsure:
		if sent.IsZero() && errors.Is(why, ErrUntellable) {
			return false, false, nil
		}
		return true, false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Blocks: true, Error: why.Error()})
	}
	if err := s.note(ctx, r, o, Reply{}, why); err != nil {
		return true, true, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if again := sent.Add(s.cfg.CallTimeout); again.After(r.notBefore) && again.Sub(s.cfg.Now()) <= s.cfg.CallTimeout {
		r.notBefore = again // before that, nothing new can come of it but that it is there
	}
	return true, true, nil
}
