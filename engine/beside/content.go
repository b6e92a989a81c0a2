package beside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
)

// doer sends requests to this site's application: an engine.Application.
type doer interface {
	Do(ctx context.Context, c engine.Call) (engine.Reply, error)
}

// copier copies what belongs to a resource beside its representation from other sites to this one's application, and compares it.
// Writes are absolute, so that all of it may be done once more. It is safe for concurrent use.
type copier struct {
	app    doer
	others engine.Forwarder
	name   func(engine.SiteID) engine.SiteName
	// served is told what the application answers to a write: it tells of its service.
	served  func(*engine.Kind, engine.Reply, error)
	timeout time.Duration // of reading a representation
	maxBlob int64
}

// copy copies all parts of the content from the first of some sites that gives it, and returns what was settled there before the first
// part was read. A *engine.Refusal says that it cannot be done, whatever is tried.
func (c *copier) copy(ctx context.Context, to engine.Call, key engine.ResourceID, from []engine.SiteID) (engine.Vector, error) {
	last := errors.New("copy the content: no site that has it can be reached")
	for _, site := range from {
		settled, err := c.copyFrom(ctx, to, key, site)
		if err == nil {
			return settled, nil
		}
		last = fmt.Errorf("copy the content from %s: %w", c.name(site), err)
		var refusal *engine.Refusal
		if errors.As(err, &refusal) { // this site's own: the next one has the same
			break
		}
	}
	return nil, last
}

func (c *copier) copyFrom(ctx context.Context, to engine.Call, key engine.ResourceID, from engine.SiteID) (settled engine.Vector, err error) {
	for i := range to.Kind.Content {
		there, err := c.copyPart(ctx, to, key, from, &to.Kind.Content[i])
		if err != nil {
			return nil, err
		}
		if i == 0 {
			settled = there
		}
	}
	return settled, nil
}

func (c *copier) copyPart(ctx context.Context, to engine.Call, key engine.ResourceID, from engine.SiteID, part *engine.Content) (there engine.Vector, err error) {
	k, local := to.Kind, to.Local
	a, there, err := c.ask(ctx, k, key, from, part)
	if err != nil || none(a) { // it has none
		return there, err
	}
	defer a.Content.Close()
	header := map[string]string{}
	for _, name := range engine.TravellingHeaders() {
		if value := a.Header.Get(name); value != "" {
			header[name] = value
		}
	}
	content := &bounded{Reader: a.Content, left: c.maxBlob}
	reply, err := c.app.Do(ctx, engine.Call{Kind: k, Method: part.Method, Path: part.Write, Local: local, Header: header, Content: content, Length: a.Length, As: to.As})
	switch {
	case content.left < 0:
		return there, &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: fmt.Sprintf(
			"%s is over %d bytes, the most that this site takes (limits.body); copy it by hand, then drop this operation", part.Read, c.maxBlob)}
	case content.broken != nil:
		return there, fmt.Errorf("read %s: %w", part.Read, content.broken)
	}
	c.served(k, reply, err)
	became := plan.Judge(engine.TypeAbsolute, reply, err)
	if became == plan.Conflict || became == plan.Refused { // an earlier copy may have come to its end
		a.Content.Close() // the other site lets nobody else in before
		has, before, known, err := c.hasTheSame(ctx, k, key, local, from, part)
		switch {
		case err != nil:
			return before, fmt.Errorf("write %s: %s; then %w", part.Write, plan.Tell(reply, nil), err)
		case !known || has:
			return before, nil
		}
	}
	switch became {
	case plan.Done:
		return there, nil
	case plan.Refused:
		return there, &engine.Refusal{Status: reply.Status, Type: "upstream", Detail: "the application refuses the content: " + plan.Tell(reply, nil)}
	}
	return there, fmt.Errorf("write %s: %s", part.Write, plan.Tell(reply, err))
}

// hasTheSame reports whether the application here has, as a part of the content, what another site has. It is not known where that
// site has none.
func (c *copier) hasTheSame(ctx context.Context, k *engine.Kind, key engine.ResourceID, local engine.LocalID, from engine.SiteID, part *engine.Content) (same bool, there engine.Vector, known bool, err error) {
	a, there, err := c.ask(ctx, k, key, from, part)
	if err != nil || none(a) {
		return false, there, false, err
	}
	want, err := hashed(a)
	if err != nil {
		return false, there, true, err
	}
	same, err = c.holds(ctx, k, local, *part, want)
	return same, there, true, err
}

// ask asks another site for a part of the content, which the caller closes, and for what was settled there before it was read. There
// may be none; then there is nothing to close.
func (c *copier) ask(ctx context.Context, k *engine.Kind, key engine.ResourceID, from engine.SiteID, part *engine.Content) (r engine.Reply, there engine.Vector, err error) {
	a, err := c.others.Forward(ctx, from, engine.Request{
		Kind: k, Type: engine.TypeContent, Method: http.MethodGet, Path: part.Read, Target: string(key), Placement: []engine.SiteID{from},
	})
	if err != nil { // a refusal of the other agent is none of this one's
		return r, nil, fmt.Errorf("read %s: %v", part.Read, err)
	}
	r = engine.Reply{Status: a.Status, Header: a.Header, Body: a.Body, Content: a.Content, Length: a.Length}
	if r.Content == nil {
		r.Content, r.Length = io.NopCloser(bytes.NewReader(a.Body)), int64(len(a.Body))
	}
	switch {
	case isProblem(a) || !none(r) && a.Status/100 != 2:
		err = fmt.Errorf("read %s: %s", part.Read, plan.Tell(engine.Reply{Status: a.Status, Body: a.Body}, nil))
	default:
		if err = json.Unmarshal([]byte(a.Header.Get(engine.HeaderSettled)), &there); err != nil {
			err = fmt.Errorf("read %s: %s: %w", part.Read, engine.HeaderSettled, err)
		}
	}
	if err != nil || none(r) {
		r.Content.Close()
	}
	return r, there, err
}

// isProblem reports whether an answer is a problem that the other agent has, and not its application (RFC 9457).
func isProblem(a engine.Answer) bool {
	var p struct {
		Type string `json:"type"`
	}
	return strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(a.Body, &p) == nil &&
		strings.HasPrefix(p.Type, "/problems/")
}

// none reports whether an application has answered that there is no content.
func none(r engine.Reply) bool { return r.Status == http.StatusNoContent || r.Gone() }

// holds reports whether the application here has these bytes as a part of the content of an object. An error says that it cannot tell now.
func (c *copier) holds(ctx context.Context, k *engine.Kind, local engine.LocalID, part engine.Content, want engine.BlobRef) (bool, error) {
	if busy, err := c.busy(ctx, k, local, &part); err != nil {
		return false, err
	} else if busy {
		return false, fmt.Errorf("read %s: the application is still taking it in", part.Read)
	}
	reply, err := c.app.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: part.Read, Local: local, Header: map[string]string{"Accept": "*/*"}, Stream: true})
	switch {
	case err != nil:
		return false, fmt.Errorf("read %s: %w", part.Read, err)
	case none(reply) || reply.Status != http.StatusOK:
		if reply.Content != nil {
			reply.Content.Close()
		}
		if none(reply) {
			return false, nil
		}
		return false, fmt.Errorf("read %s: %s", part.Read, plan.Tell(reply, nil))
	}
	has, err := hashed(reply)
	return has == want, err
}

// busy reports whether the application shows that a part of the content is being put in its place.
func (c *copier) busy(ctx context.Context, k *engine.Kind, local engine.LocalID, part *engine.Content) (bool, error) {
	if len(part.Busy) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	shown, err := c.app.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local, Header: map[string]string{"Accept": "application/json"}})
	if err != nil {
		return false, fmt.Errorf("read %s: %w", k.Item, err)
	}
	return shown.Status == http.StatusOK && plan.Busy(part, shown.Body), nil
}

// hashed reads the body of an answer to its end.
func hashed(r engine.Reply) (engine.BlobRef, error) {
	h := engine.NewBlobHasher()
	var body io.Reader = bytes.NewReader(r.Body)
	if r.Content != nil {
		defer r.Content.Close()
		body = r.Content
	}
	if _, err := io.Copy(h, body); err != nil {
		return engine.BlobRef{}, fmt.Errorf("read content: %w", err)
	}
	ref, _ := h.Sum()
	return ref, nil
}

// bounded fails once more than left bytes have come, and tells how its reader has.
type bounded struct {
	io.Reader
	left   int64
	broken error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, engine.ErrTooLarge
	}
	if err != nil && err != io.EOF {
		b.broken = err
	}
	return n, err
}
