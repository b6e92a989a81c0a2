package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	net "github.com/skerry/skerry/testnet/world"
)

// request is what a client asks for.
type request struct {
	method, path, body, as, key, media string
	size                               int // of opaque bytes, which dots make up for
	scope                              string
	alternatives                       []engine.Alternative // what the scope resolves to
	async                              bool
}

func (w *world) parseRequest(method, text string) (request, error) {
	r := request{method: method, media: "application/json"}
	if method == http.MethodPatch {
		r.media = "application/merge-patch+json"
	}
	r.path, text, _ = strings.Cut(text, " ")
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.HasPrefix(text, `"`) {
		var body json.RawMessage
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&body); err != nil {
			return r, err
		}
		r.body, text = string(body), text[d.InputOffset():]
	}
	if before, after, found := strings.Cut(" "+text, " scope "); found {
		rest := ""
		for _, option := range []string{" as ", " key ", " type ", " size ", " prefer "} {
			if i := strings.Index(after, option); i >= 0 {
				after, rest = after[:i], after[i:]+rest
			}
		}
		text = before + rest
		if err := w.place(&r, after); err != nil {
			return r, err
		}
	}
	words := strings.Fields(text)
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return r, fmt.Errorf("%s what?", words[i])
		}
		value := words[i+1]
		switch words[i] {
		case "as":
			r.as = value
		case "key":
			r.key = value
		case "type":
			r.media = value
		case "size":
			var err error
			if r.size, err = strconv.Atoi(value); err != nil {
				return r, err
			}
		case "prefer":
			if value != "respond-async" {
				return r, fmt.Errorf("prefer %s is not played", value)
			}
			r.async = true
		default:
			return r, fmt.Errorf("%q is no option of a request", words[i])
		}
	}
	if strings.HasPrefix(r.body, `"`) { // opaque bytes
		var s string
		if err := json.Unmarshal([]byte(r.body), &s); err != nil {
			return r, err
		}
		r.body, r.media = s+strings.Repeat(".", max(0, r.size-len(s))), "application/octet-stream"
	}
	return r, nil
}

// place takes a location in.
func (w *world) place(r *request, location string) error {
	s, err := scope.Parse(fmt.Sprintf("{%s: %s}", service, location))
	if err != nil {
		return err
	}
	at := scope.World{}
	for _, site := range w.sites {
		at.Sites = append(at.Sites, site.name())
	}
	alternatives, err := scope.Resolve(s.Bindings[0].Location, at)
	if err != nil {
		return err
	}
	ids := func(names []string) (list []engine.SiteID) {
		for _, name := range names {
			i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name() == name })
			list = append(list, w.sites[i].ID)
		}
		return list
	}
	r.scope = s.String()
	for _, a := range alternatives {
		var parts engine.Parts
		for _, part := range a.Parts {
			parts = append(parts, ids(part))
		}
		r.alternatives = append(r.alternatives, engine.Alternative{Placement: ids(a.Sites), Parts: parts, Agreement: engine.Agreement(a.Wait), ExactlyOne: a.Mode == scope.ExactlyOne})
	}
	return nil
}

// identify puts the identifiers in place of the names that the script has given.
func (w *world) identify(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		for id, name := range w.trace.names {
			if name == s && !strings.HasPrefix(id, "12D3Koo") {
				segments[i] = id
			}
		}
	}
	return strings.Join(segments, "/")
}

// request plays a request of a client.
func (w *world) request(ctx context.Context, s *site, r request) {
	if s.Proc == nil {
		w.trace.add("client", "finds no agent")
		return
	}
	w.Now = w.Now.Add(time.Second)
	m, ok := s.app.glue.Router(service).Match(r.method, w.identify(r.path), http.Header{"Content-Type": {r.media}})
	if !ok {
		w.trace.add("client", "asks for what the catalog does not know")
		return
	}
	q := engine.Request{Kind: m.Kind, Type: m.Type, Method: r.method, Path: m.Path, Target: m.Target, Within: m.Within, Body: []byte(r.body),
		Scope: r.scope, Key: r.key, Caller: "client", Async: r.async}
	if len(r.alternatives) > 0 {
		a := r.alternatives[0]
		q.Placement, q.Parts, q.Agreement, q.ExactlyOne = a.Placement, a.Parts, a.Agreement, a.ExactlyOne
	}
	if len(r.alternatives) > 1 {
		q.Alternatives = r.alternatives
	}
	if r.body != "" {
		q.Header = map[string]string{"Content-Type": r.media}
	}
	if m.Looked(http.Header{"Content-Type": {r.media}}) {
		_, q.Body = s.app.glue.Canonical(ctx, m.Kind, m.Within, http.Header{"Content-Type": {r.media}}, "", q.Body)
	}
	if len(r.body) > engine.MaxInlineBody {
		q.Body, q.Large = nil, net.Body([]byte(r.body))
	}
	if r.as != "" {
		w.trace.as = r.as
	}
	p := s.Proc
	if over := s.do(func() { w.answer(ctx, p, q) }); !over {
		w.trace.add("client", map[bool]string{true: "gets no answer", false: "waits"}[p.Dead()])
	}
}

// answer tells what a client is answered.
func (w *world) answer(ctx context.Context, p *net.Process, q engine.Request) {
	a, err := p.Front.Submit(ctx, q)
	var refusal *engine.Refusal
	switch {
	case p.Dead():
		w.trace.add("client", "gets no answer")
	case errors.As(err, &refusal):
		w.trace.add("client", fmt.Sprintf("%d %s: %s", refusal.Status, refusal.Type, refusal.Detail))
	case err != nil:
		w.trace.add("client", "500 "+err.Error())
	default:
		w.trace.add("client", fmt.Sprintf("%d %s %s", a.Status, a.Operation, bytes.TrimSpace(a.Body)))
	}
}

// behind asks the application itself.
func (w *world) behind(ctx context.Context, s *site, text string) error {
	method, rest, _ := strings.Cut(text, " ")
	r, err := w.parseRequest(method, rest)
	if err != nil {
		return err
	}
	m, ok := s.app.glue.Router(service).Match(r.method, r.path, http.Header{"Content-Type": {r.media}})
	if !ok {
		return errors.New("the catalog knows no such path")
	}
	target := m.Target
	if target == "" && m.Within != "" {
		target = engine.Inside(m.Within, "")
	}
	down := s.app.down
	s.app.down = false
	_, err = s.app.Do(ctx, engine.Call{Kind: m.Kind, Method: r.method, Path: m.Path, Local: engine.LocalID(target), Body: []byte(r.body)})
	s.app.down = down
	return err
}
