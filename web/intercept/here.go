package intercept

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// readsHere reports whether a request is a read of one item that this site's application answers: its own replica, or what nobody shares. It then
// has the request ask for what the application calls the item, its client told what Porter.ReadReplica tells, and the answer translated.
func (h *Handler) readsHere(r *door.Request, m glue.Match, translates bool) bool {
	if m.Verb != glue.VerbRead || !m.Canonical || m.Within != "" || h.Dialect != nil {
		return false
	}
	translates = translates && !m.Below
	switch {
	case r.Method == http.MethodHead && !translates, r.Method == http.MethodGet && (!translates || r.Query == ""):
	default:
		return false
	}
	row, err := h.Site.Lookup(context.Background(), m.Kind, m.Target)
	switch {
	case request.NotFound(err):
	case err != nil, row.Collaboration != engine.Replication, row.Local == "", request.Printable(string(row.ID)) != string(row.ID):
		return false
	default:
		if m.Target != string(row.Local) {
			path, ok := glue.ExpandPath(m.Path, string(row.Local))
			if !ok {
				return false
			}
			r.Target = path
		}
		self := h.Membership.Self()
		r.Answer = append(append(append(r.Answer, "Skerry-Resource: "...), row.ID...), "\r\nSkerry-Site: "...)
		r.Answer = append(append(r.Answer, h.Name(self)...), "\r\n"...)
		if n := row.Sites[self].Pending; n > 0 {
			r.Answer = append(strconv.AppendInt(append(r.Answer, "Skerry-Pending: "...), int64(n), 10), "\r\n"...)
		}
	}
	if translates {
		r.Turn = &translated{h, m.Kind, r.Path}
		for i := range r.Fields {
			f := &r.Fields[i]
			f.Drop = f.Drop || f.Is("accept-encoding") || f.Is("range") || f.Is("if-range")
		}
	}
	return true
}

// translated is an answer in which this site's identifiers become those that everybody knows. It implements door.Turner.
type translated struct {
	h    *Handler
	kind *engine.Kind
	path string
}

// Holds implements door.Turner.
func (t *translated) Holds(status int, fields []door.Field) int64 {
	if status < 200 || status > 299 || passage.Endless(value(fields, "content-type")) {
		return -1
	}
	return t.h.Limits.Reply
}

// Turn implements door.Turner.
func (t *translated) Turn(status int, fields []door.Field, body []byte) ([]byte, bool, error) {
	header := http.Header{}
	for _, name := range [...]string{"Content-Type", "Content-Encoding", "Location"} {
		if v := value(fields, name); v != "" {
			header[name] = []string{v}
		}
	}
	location := header.Get("Location")
	reply, err := t.h.Client.Present(context.Background(), t.kind, engine.Reply{Status: status, Header: header, Body: body})
	if err != nil {
		return nil, false, err
	}
	now := reply.Header.Get("Location")
	other, relocated := !bytes.Equal(reply.Body, body), now != location
	for i := range fields {
		f := &fields[i]
		switch {
		case relocated && f.Is("location"):
			f.Value = []byte(now)
		case other || relocated && len(body) == 0: // as Present drops them
			f.Drop = f.Drop || slices.ContainsFunc(glue.Digests, f.Is)
		}
	}
	return reply.Body, other || relocated, nil
}

// TooLong implements door.Turner.
func (t *translated) TooLong() {
	t.h.Log.Warn("an answer is too long to translate the identifiers in it", "path", t.path)
}

// value is that of the first field of a name, in whatever case, empty without one.
func value(fields []door.Field, name string) string {
	for i := range fields {
		if f := &fields[i]; !f.Drop && len(f.Name) == len(name) && bytes.EqualFold(f.Name, []byte(name)) {
			return string(f.Value)
		}
	}
	return ""
}
