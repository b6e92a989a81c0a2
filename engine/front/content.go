package front

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// content answers another site that was added: what this site's application holds of a resource beside its representation. The reader
// is told what was settled before it was read, and gets the last of it only when nothing has run here meanwhile: then it is certain
// what has gone into it. Else the body breaks off, and is asked for again.
func (f *Front) content(ctx context.Context, r engine.Request) (engine.Answer, error) {
	row, err := f.Site.Lookup(ctx, r.Kind, r.Target)
	if err != nil || row.Local == "" || len(r.Via) == 0 {
		return engine.Answer{}, f.notHere(r)
	}
	i := slices.IndexFunc(r.Kind.Content, func(c engine.Content) bool { return c.Read == r.Path })
	if i < 0 {
		return engine.Answer{}, &engine.Refusal{Status: http.StatusBadRequest, Type: "catalog-mismatch", Detail: fmt.Sprintf(
			"the catalog of %s says of no content at %s", f.name(f.self), r.Path)}
	}
	before, err := f.stands(ctx, row.Document, r.From())
	switch {
	case err != nil:
		return engine.Answer{}, err
	case !before.shares || before.local == "":
		return engine.Answer{}, f.notHere(r)
	}
	part := &r.Kind.Content[i]
	writing := &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "upstream", Detail: fmt.Sprintf(
		"the content of %s %s is being written at %s", r.Kind.Name, r.Target, f.name(f.self))}
	if before.busy {
		return engine.Answer{}, writing
	}
	if len(part.Busy) > 0 {
		shown, err := f.shown(ctx, r.Kind, before.local)
		if err != nil || shown.Status == http.StatusOK && plan.Busy(part, shown.Body) {
			writing.Err = err
			return engine.Answer{}, writing
		}
	}
	reply, err := f.App.Do(ctx, engine.Call{Kind: r.Kind, Method: http.MethodGet, Path: r.Path, Local: before.local,
		Header: map[string]string{"Accept": "*/*"}, Stream: true})
	if err != nil {
		return engine.Answer{}, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
			Detail: fmt.Sprintf("the application's service %s at %s gave no answer", r.Kind.Service, f.name(f.self))}
	}
	same := func() error {
		now, err := f.stands(ctx, row.Document, r.From())
		if err == nil && !now.same(before) {
			err = errChanged
		}
		return err
	}
	settled, err := json.Marshal(before.settled)
	if err == nil && reply.Content == nil {
		err = same()
	}
	if err != nil {
		if reply.Content != nil {
			_ = reply.Content.Close() // nothing of it was used
		}
		writing.Err = err
		return engine.Answer{}, writing
	}
	header := reply.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(engine.HeaderSettled, string(settled))
	a := engine.Answer{Status: reply.Status, Header: header, Body: reply.Body, Length: reply.Length, Site: f.self}
	if reply.Content != nil {
		a.Content = newUnchanged(reply.Content, same)
	}
	return a, nil
}

// standing is how far this site had come with a resource when its content was read.
type standing struct {
	shares  bool // the site that asks has a part in it
	busy    bool // something is under way
	local   engine.LocalID
	made    uint64
	settled engine.Vector
}

func (s standing) same(t standing) bool {
	return !s.busy && !t.busy && s.local == t.local && s.made == t.made && maps.Equal(s.settled, t.settled)
}

// stands tells how far this site has come with a resource. Its local identifier is empty while there is nothing whole to read.
func (f *Front) stands(ctx context.Context, id engine.DocumentID, asks engine.SiteID) (s standing, err error) {
	err = f.Site.Look(ctx, id, func(r *replica.Replica) {
		part := r.Part(asks)
		s = standing{shares: part == view.PartMember || part == view.PartLeaving, busy: r.Busy() || r.Own != nil, made: r.Mine.Made, settled: r.Me.Settled.Clone()}
		if !r.Me.Bare {
			s.local = r.Mine.Local
		}
	})
	return s, err
}

var errChanged = errors.New("it has changed while it was read")

// unchanged is content whose last byte comes only if nothing has changed while it was read.
type unchanged struct {
	io.Closer
	from *bufio.Reader
	same func() error
	// certain says that the rest may be given out; err is why it may not.
	certain bool
	err     error
}

func newUnchanged(from io.ReadCloser, same func() error) *unchanged {
	return &unchanged{Closer: from, from: bufio.NewReaderSize(from, 32<<10), same: same}
}

// Read implements io.Reader. It keeps the last byte back until it knows that it is the last, and may go.
func (c *unchanged) Read(p []byte) (int, error) {
	if c.err == nil && !c.certain {
		_, err := c.from.Peek(2)
		switch {
		case err == nil:
			return c.from.Read(p[:min(len(p), c.from.Buffered()-1)])
		case err == io.EOF:
			c.err = c.same()
			c.certain = c.err == nil
		default:
			c.err = err
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.from.Read(p)
}
