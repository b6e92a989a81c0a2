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

// command plays one command.
func (w *world) command(ctx context.Context, p part) error {
	word, rest, _ := strings.Cut(p.command, " ")
	if name, ok := strings.CutSuffix(word, ":"); ok {
		s, err := w.site(name)
		if err != nil {
			return err
		}
		return w.at(ctx, s, rest)
	}
	args := strings.Fields(rest)
	var err error
	switch word {
	case "sites":
		return w.found(args)
	case "catalog":
		return w.read(strings.Join(p.block, "\n"))
	case "leaving":
		w.limits.LeaveWithin, err = time.ParseDuration(rest)
	case "keeping":
		w.limits.KeepOperations, err = time.ParseDuration(rest)
	case "deletions":
		w.limits.Deletions.Number, err = strconv.Atoi(rest)
	case "epoch":
		w.limits.Epoch, err = strconv.Atoi(rest)
	case "history":
		w.limits.History, err = strconv.Atoi(rest)
	case "heal":
		w.Heal()
		w.Settle()
	case "deliver":
		return w.deliverBetween(rest)
	case "wait":
		var d time.Duration
		if d, err = time.ParseDuration(rest); err == nil {
			w.wait(d)
		}
	case "look":
		w.look()
	case "show":
		return w.show(ctx)
	default:
		return w.of(word, args, p.block)
	}
	return err
}

// deliverBetween delivers from one site to another where the script names them.
func (w *world) deliverBetween(sites string) error {
	from, to, one := strings.Cut(sites, ">")
	if !one {
		w.deliver(nil, nil)
		return nil
	}
	a, err := w.site(from)
	b, err2 := w.site(to)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	w.deliver(a, b)
	return nil
}

// of plays a command that is done to a site.
func (w *world) of(word string, args, block []string) error {
	if len(args) == 0 {
		return errors.New("there is no such command")
	}
	s, err := w.site(args[0])
	if err != nil {
		return err
	}
	switch word {
	case "cut":
		w.cutOff(s)
		w.Settle()
	case "crash":
		if s.doom = dooms[strings.TrimPrefix(strings.Join(args[1:], " "), "before ")]; s.doom == nil {
			return errors.New("before what?")
		}
	case "restart":
		return s.restart()
	case "stop":
		s.stop()
	case "backup":
		s.backup()
	case "restore":
		return s.restore(strings.Join(args[1:], " ") == "with its application")
	case "rollout":
		return s.rollOut(block)
	default:
		return errors.New("there is no such command")
	}
	return nil
}

// at plays a command about one site.
func (w *world) at(ctx context.Context, s *site, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "fail":
		what, ok := strings.CutPrefix(rest, "next ")
		if !ok {
			return errors.New("fail next what?")
		}
		s.app.faults = append(s.app.faults, what)
	case "down", "up":
		s.app.down = word == "down"
	case "blind", "sees":
		s.app.blind = word == "blind"
	case "app":
		return w.behind(ctx, s, rest)
	case "attempts":
		return w.attempts(ctx, s, rest)
	case "pause", "resume", "keep", "place", "resolve", "remove", "confirm", "retry", "done", "drop":
		return w.person(ctx, s, word, rest)
	default:
		r, err := w.parseRequest(word, rest)
		if err != nil {
			return err
		}
		w.request(ctx, s, r)
	}
	return nil
}

// person has a person decide something at a site.
func (w *world) person(ctx context.Context, s *site, word, rest string) error {
	if s.Proc == nil {
		return errors.New("there is no agent")
	}
	desk := s.Proc.Desk
	switch word {
	case "retry", "done", "drop":
		id, ok := w.trace.operation(rest)
		if !ok {
			return fmt.Errorf("there is no operation %s yet", rest)
		}
		decide := map[string]func(context.Context, engine.OperationID) error{"retry": desk.Retry, "done": desk.Done, "drop": desk.Drop}[word]
		s.decide(func() error { return decide(ctx, engine.OperationID(id)) })
		return nil
	case "remove":
		other, err := w.site(rest)
		if err != nil {
			return err
		}
		s.decide(func() error { return s.Proc.Mesh.RemoveSite(ctx, other.ID) })
		return nil
	case "confirm":
		s.decide(func() error {
			n, err := desk.Confirm(ctx, s.ID)
			w.trace.add("person", fmt.Sprintf("confirms %d deletions at %s", n, s.Name))
			return err
		})
		return nil
	case "resolve":
		return s.resolve(ctx, strings.Fields(rest))
	case "place":
		return s.place(ctx, strings.Fields(rest))
	case "resume":
		if rest == "" {
			s.decide(func() error { return s.Proc.Site.ResumeQueue(service) })
			return nil
		}
	}
	row, err := s.resource(ctx, rest)
	if err != nil {
		return err
	}
	s.decide(func() error {
		switch word {
		case "pause":
			return desk.Pause(ctx, row.Document, s.ID, "maintenance")
		case "resume":
			return desk.Resume(ctx, row.Document)
		}
		_, err := desk.Keep(ctx, row.Document, "person", false)
		return err
	})
	return nil
}

// decide has the agent do what a person has decided, and tells why it does not.
func (s *site) decide(f func() error) {
	s.do(func() {
		if err := f(); err != nil {
			s.world.trace.add("person", "is told "+err.Error())
		}
	})
}

// place adds sites to a resource and removes sites from it: "web + nantes - lille".
func (s *site) place(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errors.New("which resource?")
	}
	row, err := s.resource(ctx, words[0])
	if err != nil {
		return err
	}
	var q engine.PlaceRequest
	for i := 1; i+1 < len(words); i += 2 {
		other, err := s.world.site(words[i+1])
		if err != nil {
			return err
		}
		if words[i] == "+" {
			q.Add = append(q.Add, other.ID)
		} else {
			q.Remove = append(q.Remove, other.ID)
		}
	}
	s.world.Now = s.world.Now.Add(time.Second)
	s.decide(func() error {
		_, err := s.Proc.Desk.Place(ctx, row.Document, q)
		return err
	})
	return nil
}

// resolve decides about the conflicts of a kind at a site: "name drop".
func (s *site) resolve(ctx context.Context, words []string) error {
	if len(words) < 2 {
		return errors.New("which conflict, and how?")
	}
	conflicts, _, err := s.Disk.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictKind(words[0]), Site: s.ID})
	if err != nil || len(conflicts) == 0 {
		return fmt.Errorf("%s has no conflict of kind %s: %w", s.Name, words[0], err)
	}
	for _, c := range conflicts {
		s.world.Now = s.world.Now.Add(time.Second)
		s.decide(func() error {
			return s.Proc.Desk.Resolve(ctx, c.ID, engine.Action(words[1]), engine.LocalID(strings.Join(words[2:], "")))
		})
	}
	return nil
}

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
	if len(r.body) > engine.MaxInlineBody {
		q.Body, q.Large = nil, net.Body([]byte(r.body))
	}
	if r.as != "" {
		w.trace.as = r.as
	}
	p := s.Proc
	if over := s.do(func() { w.answer(p, q, ctx) }); !over {
		w.trace.add("client", map[bool]string{true: "gets no answer", false: "waits"}[p.Dead()])
	}
}

// answer tells what a client is answered.
func (w *world) answer(p *net.Process, q engine.Request, ctx context.Context) {
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
