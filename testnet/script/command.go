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
	"github.com/skerry/skerry/testnet/failpoint"
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
	switch word {
	case "sites":
		return w.found(ctx, args)
	case "catalog":
		return w.read(strings.Join(p.block, "\n"))
	case "leaving":
		var err error
		w.leaving, err = time.ParseDuration(rest)
		return err
	case "keeping":
		var err error
		w.keeping, err = time.ParseDuration(rest)
		return err
	case "deletions":
		var err error
		w.deletions, err = strconv.Atoi(rest)
		return err
	case "epoch":
		var err error
		w.epoch, err = strconv.Atoi(rest)
		return err
	case "history":
		var err error
		w.history, err = strconv.Atoi(rest)
		return err
	case "heal":
		clear(w.cut)
		w.changed(ctx)
		return nil
	case "deliver":
		sites, epoch, one := strings.Cut(rest, " epoch ")
		from, to, ok := strings.Cut(sites, ">")
		if !ok {
			return w.deliver(ctx, nil, nil)
		}
		a, err := w.site(from)
		b, err2 := w.site(to)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if one {
			return w.deliverEpoch(ctx, a, b, epoch)
		}
		return w.deliver(ctx, a, b)
	case "gossip":
		from, to, _ := strings.Cut(rest, ">")
		a, err := w.site(from)
		b, err2 := w.site(to)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return w.gossip(ctx, a, b)
	case "wait":
		d, err := time.ParseDuration(rest)
		if err == nil {
			w.wait(ctx, d)
		}
		return err
	case "look":
		return w.look(ctx)
	case "show":
		return w.show(ctx)
	case "cut", "crash", "restart", "stop", "backup", "restore", "clone", "empty", "rollout":
		if len(args) == 0 {
			return errors.New("which site?")
		}
		s, err := w.site(args[0])
		if err != nil {
			return err
		}
		switch word {
		case "cut":
			w.cut[s] = true
			w.changed(ctx)
		case "crash":
			s.doom = dooms[strings.TrimPrefix(strings.Join(args[1:], " "), "before ")]
			if s.doom == nil {
				return errors.New("before what?")
			}
		case "restart":
			return s.restart(ctx)
		case "stop":
			s.dead = true
		case "backup":
			return w.backup(ctx, s)
		case "restore":
			return w.restore(ctx, s, strings.Join(args[1:], " ") == "with its application")
		case "clone":
			return w.clone(ctx, s, args[len(args)-1])
		case "empty":
			return w.empty(ctx, s)
		case "rollout":
			return w.rollOut(ctx, s, p.block)
		}
		return nil
	}
	return errors.New("there is no such command")
}

// restart starts the agent anew from what is on its disk, and does what it finds to do.
func (s *site) restart(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	for _, d := range s.world.described { // what it had heard and not stored is news again
		for key := range d.replicas {
			if strings.HasPrefix(key, s.name+" ") && key != s.name+" "+string(s.id) {
				delete(d.replicas, key)
				delete(d.epochs, key)
			}
		}
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	s.work(ctx)
	return nil
}

// dooms are the ends that a script can name, by what an agent does not live to see.
var dooms = map[string]func(failpoint.Point) bool{
	"intent":  is(failpoint.Before(failpoint.CommitIntent)),
	"request": around(".before"),
	"answer":  around(".after"),
	"commit":  is(failpoint.Before(failpoint.CommitOwn)),
	"drop":    is(failpoint.Before(failpoint.CommitDrop)),
	"publish": is(failpoint.Before(failpoint.Publish)),
	"merge":   is(failpoint.Before(failpoint.CommitMerge)),
	"hearing": is(failpoint.After(failpoint.Forward)),
}

func is(p failpoint.Point) func(failpoint.Point) bool {
	return func(q failpoint.Point) bool { return q == p }
}

// around matches one side of every request that changes something.
func around(side string) func(failpoint.Point) bool {
	return func(p failpoint.Point) bool {
		thing, ok := strings.CutSuffix(string(p), side)
		return ok && strings.HasPrefix(thing, "request-") && thing != failpoint.RequestLook
	}
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
	case "pause", "resume":
		return w.pause(ctx, s, word, rest)
	case "keep":
		row, err := w.resourceAt(ctx, s, rest)
		if err != nil {
			return err
		}
		if _, err := s.Keep(ctx, row.Document, "person", false); err != nil {
			w.trace.add("person", "is told "+err.Error())
		}
		s.work(ctx)
	case "place":
		return w.replace(ctx, s, strings.Fields(rest))
	case "resolve":
		return w.resolve(ctx, s, strings.Fields(rest))
	case "remove":
		other, err := w.site(rest)
		if err != nil {
			return err
		}
		if err := s.RemoveSite(ctx, other.id); err != nil {
			w.trace.add("person", "is told "+err.Error())
		}
		s.work(ctx)
	case "confirm":
		n, err := s.Confirm(ctx, s.id)
		if err != nil {
			return err
		}
		w.trace.add("person", fmt.Sprintf("confirms %d deletions at %s", n, s.name))
		s.work(ctx)
	case "attempts":
		return w.attempts(ctx, s, rest)
	case "retry", "done", "drop":
		id, ok := w.trace.operation(rest)
		if !ok {
			return fmt.Errorf("there is no operation %s yet", rest)
		}
		decide := map[string]func(context.Context, engine.OperationID) error{"retry": s.Retry, "done": s.Done, "drop": s.Drop}[word]
		if err := decide(ctx, engine.OperationID(id)); err != nil {
			w.trace.add("person", "is told "+err.Error())
		}
		s.work(ctx)
	default:
		r, err := w.parseRequest(word, rest)
		if err != nil {
			return err
		}
		w.request(ctx, s, r)
		s.work(ctx)
	}
	return nil
}

// resourceAt finds what a site says of a resource.
func (w *world) resourceAt(ctx context.Context, s *site, name string) (engine.ResourceRow, error) {
	rows, _, err := s.store.Resources(ctx, engine.ResourceFilter{ID: engine.ResourceID(w.identify(name))})
	if err != nil || len(rows) == 0 {
		return engine.ResourceRow{}, fmt.Errorf("%s has no %s: %w", s.name, name, err)
	}
	return rows[0], nil
}

// replace adds sites to a resource and removes sites from it: "web + nantes - lille".
func (w *world) replace(ctx context.Context, s *site, words []string) error {
	if len(words) == 0 {
		return errors.New("which resource?")
	}
	row, err := w.resourceAt(ctx, s, words[0])
	if err != nil {
		return err
	}
	var q engine.PlaceRequest
	for i := 1; i+1 < len(words); i += 2 {
		other, err := w.site(words[i+1])
		if err != nil {
			return err
		}
		if words[i] == "+" {
			q.Add = append(q.Add, other.id)
		} else {
			q.Remove = append(q.Remove, other.id)
		}
	}
	w.now = w.now.Add(time.Second)
	if _, err := s.Place(ctx, row.Document, q); err != nil {
		w.trace.add("person", "is told "+err.Error())
	}
	s.work(ctx)
	return nil
}

// resolve decides about the conflicts of a kind at a site: "name drop".
func (w *world) resolve(ctx context.Context, s *site, words []string) error {
	if len(words) < 2 {
		return errors.New("which conflict, and how?")
	}
	conflicts, _, err := s.store.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictKind(words[0]), Site: s.id})
	if err != nil || len(conflicts) == 0 {
		return fmt.Errorf("%s has no conflict of kind %s: %w", s.name, words[0], err)
	}
	for _, c := range conflicts {
		w.now = w.now.Add(time.Second)
		if err := s.Resolve(ctx, c.ID, engine.Action(words[1]), engine.LocalID(strings.Join(words[2:], ""))); err != nil {
			w.trace.add("person", "is told "+err.Error())
		}
	}
	s.work(ctx)
	return nil
}

// pause lets a site leave its replica of a resource as it is, or ends that; without a resource it has a site try its
// application again.
func (w *world) pause(ctx context.Context, s *site, word, name string) error {
	if name == "" {
		if err := s.ResumeQueue(service); err != nil {
			return err
		}
		s.work(ctx)
		return nil
	}
	row, err := w.resourceAt(ctx, s, name)
	if err != nil {
		return err
	}
	if word == "resume" {
		err = s.Resume(ctx, row.Document)
	} else {
		err = s.Pause(ctx, row.Document, s.id, "maintenance")
	}
	s.work(ctx)
	return err
}

// request is what a client asks for.
type request struct {
	method, path, body, as, key, media string
	size                               int // of opaque bytes, which dots make up for
	sites                              []engine.SiteID
	parts                              engine.Parts
	scope                              string
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
		at.Sites = append(at.Sites, site.name)
	}
	alternatives, err := scope.Resolve(s.Bindings[0].Location, at)
	if err != nil {
		return err
	}
	ids := func(names []string) (list []engine.SiteID) {
		for _, name := range names {
			i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })
			list = append(list, w.sites[i].id)
		}
		return list
	}
	r.scope, r.sites = s.String(), ids(alternatives[0].Sites)
	for _, part := range alternatives[0].Parts {
		r.parts = append(r.parts, ids(part))
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
	if s.dead {
		w.trace.add("client", "finds no agent")
		return
	}
	w.now = w.now.Add(time.Second)
	m, ok := s.glue.Router(service).Match(r.method, w.identify(r.path), http.Header{"Content-Type": {r.media}})
	if !ok {
		w.trace.add("client", "asks for what the catalog does not know")
		return
	}
	q := engine.Request{Kind: m.Kind, Type: m.Type, Method: r.method, Path: m.Path, Target: m.Target, Within: m.Within, Body: []byte(r.body),
		Scope: r.scope, Placement: r.sites, Parts: r.parts, Key: r.key, Caller: "client", Async: r.async}
	if r.body != "" {
		q.Header = map[string]string{"Content-Type": r.media}
	}
	if len(r.body) > engine.MaxInlineBody {
		q.Body, q.Large = nil, engine.Stream(strings.NewReader(r.body), int64(len(r.body)))
	}
	if r.as != "" {
		w.trace.as = r.as
	}
	a, err := s.Submit(ctx, q)
	var refusal *engine.Refusal
	switch {
	case s.dead:
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
	m, ok := s.glue.Router(service).Match(r.method, r.path, http.Header{"Content-Type": {r.media}})
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
