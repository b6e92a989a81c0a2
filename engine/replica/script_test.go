package replica

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

var update = flag.Bool("update", false, "write what the scripts tell now into testdata")

// TestScripts runs the scripts in testdata. A line that begins with > is a command; below it is what it makes happen. go test -run
// TestScripts -update writes that anew.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s tells something else now:\n%s", file, firstDifference(string(text), got))
			}
		})
	}
}

// firstDifference shows where two texts part.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			from := max(0, i-3)
			return fmt.Sprintf("line %d, want:\n%s\ngot:\n%s", i+1, strings.Join(w[min(from, len(w)):min(i+4, len(w))], "\n"),
				strings.Join(g[min(from, len(g)):min(i+4, len(g))], "\n"))
		}
	}
	return ""
}

// play runs a script and returns it with what it tells now.
func play(text string) string {
	w := newWorld("lille", "nantes", "paris")
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "> "):
			w.tell("%s", line)
			if err := w.command(strings.TrimPrefix(line, "> ")); err != nil {
				w.tell("no such command: %s", err)
			}
		case line == "" || strings.HasPrefix(line, "#"):
			w.tell("%s", line)
		}
	}
	return w.out.String()
}

// command does what one line says.
func (w *world) command(line string) error {
	if rest, ok := strings.CutPrefix(line, "quietly "); ok {
		out := w.out
		w.out = &strings.Builder{}
		err := w.command(rest)
		w.out = out
		return err
	}
	if rest, ok := strings.CutPrefix(line, "times "); ok {
		n, what, _ := strings.Cut(rest, " ")
		count, err := strconv.Atoi(n)
		for range count {
			err = errors.Join(err, w.command(what))
		}
		return err
	}
	if who, what, ok := strings.Cut(line, ": "); ok && w.sites[engine.SiteID(who)] != nil {
		s := w.sites[engine.SiteID(who)]
		err := s.command(strings.Fields(what))
		s.rest()
		return err
	}
	words := strings.Fields(line)
	switch name, args := words[0], words[1:]; name {
	case "cut":
		w.cutOff(args)
	case "heal":
		clear(w.cut)
	case "run":
		within := time.Minute
		if len(args) > 0 {
			within, _ = time.ParseDuration(args[0])
		}
		w.run(within)
	case "wait":
		d, err := time.ParseDuration(args[0])
		end := w.now.Add(d)
		w.run(d)
		w.now = later(w.now, end)
		return err
	case "deliver":
		return w.deliverAll(args)
	case "lose": // "from" one site, or all
		w.letters = slices.DeleteFunc(w.letters, func(l letter) bool { return len(args) == 0 || string(l.heard.From) == args[1] })
		clear(w.compared)
	case "compare":
		w.compare()
	case "reverse":
		slices.Reverse(w.letters)
	case "repeat":
		w.letters = append(w.letters, w.letters...)
	case "show":
		for _, id := range w.ids {
			w.sites[id].show(args[0])
		}
	case "same":
		w.same(args[0])
	default:
		return fmt.Errorf("%q", line)
	}
	return nil
}

// cutOff cuts the first of some sites off from the rest of them, or from all where it is alone.
func (w *world) cutOff(args []string) {
	for _, other := range w.ids {
		if len(args) == 1 || slices.Contains(args[1:], string(other)) {
			w.cut[link(engine.SiteID(args[0]), other)] = true
		}
	}
}

// deliverAll delivers letters to a site, "from" one where that is said, and has it do what follows.
func (w *world) deliverAll(args []string) error {
	to, from := engine.SiteID(args[0]), engine.SiteID("")
	if len(args) == 3 {
		from = engine.SiteID(args[2])
	}
	if w.sites[to] == nil {
		return fmt.Errorf("deliver to %q", to)
	}
	for w.deliver(to, from) {
		w.sites[to].rest()
	}
	return nil
}

// same tells whether all sites that have a resource show the same of it, and fold it to the same.
func (w *world) same(key string) {
	shown, folds := map[string]bool{}, map[string]bool{}
	for _, id := range w.ids {
		s := w.sites[id]
		r := s.named(key)
		if r == nil || !r.Holds(id) {
			continue
		}
		form := []byte("nothing")
		if o := s.app.objects[r.Mine.Local]; o != nil {
			form, _ = tree.Comparable(r.Kind, s.present(r.Kind, engine.Reply{Body: tree.Compact(o)}).Body)
		}
		shown[string(form)+s.app.bytes["/files/"+key+"/bytes"]] = true
		folds[s.folds(key)] = true
	}
	if len(shown) == 1 && len(folds) == 1 {
		w.tell("all show the same")
		return
	}
	w.tell("%d things are shown, %d are to be", len(shown), len(folds))
}

// command does what one line says of a site.
func (s *site) command(words []string) error {
	name, args := words[0], words[1:]
	switch name {
	case "fault":
		s.fault(args)
	case "release":
		s.release()
	case "lapse":
		s.lapse()
	case "crash":
		s.crash()
	case "start":
		s.start()
	case "backup":
		s.backup()
	case "set-back":
		s.setBack()
	case "full":
		s.full = true
	case "free":
		s.full = false
		clear(s.world.compared)
	case "hold-deletes":
		s.holdsDeletes = true
	case "behind":
		s.behind(args)
	case "show":
		s.show(args[0])
	default:
		if s.request(name, args) || s.decision(name, args) {
			return nil
		}
		return fmt.Errorf("%q", strings.Join(words, " "))
	}
	return nil
}

func (s *site) fault(args []string) {
	s.app.faults, s.app.always = nil, ""
	if args[0] == "always" {
		s.app.always = args[1]
	} else if args[0] != "none" {
		s.app.faults = args
	}
}

// behind changes an object of the application without the agent.
func (s *site) behind(args []string) {
	id := engine.LocalID(args[1])
	if r := s.named(args[1]); r != nil && r.Mine.Local != "" {
		id = r.Mine.Local
	}
	if args[2] == "gone" {
		s.app.remove(id)
		return
	}
	o := s.app.objects[id]
	if o == nil {
		s.app.put(kinds[args[0]], id, nil)
		o = s.app.objects[id]
	}
	for name, v := range members(args[2:]) {
		o[name] = v
	}
}

// members reads a=1 b=text as members of an object.
func members(words []string) map[string]any {
	m := map[string]any{}
	for _, word := range words {
		if name, text, ok := strings.Cut(word, "="); ok {
			v, err := tree.ParseJSON([]byte(text))
			if err != nil {
				v = text
			}
			m[name] = v
		}
	}
	return m
}

// request has a client ask for something. It reports whether that is what the command says.
func (s *site) request(name string, args []string) bool {
	q := engine.Request{User: "ann", Credentials: &engine.Credentials{}, Header: map[string]string{"Content-Type": "application/json"}}
	if name == "create" {
		s.create(q, args)
		return true
	}
	if name == "restore" {
		s.askFor(s.named(args[0]), q, &engine.RestoreRequest{Path: engine.Pointer(args[1])})
		return true
	}
	requests := map[string]struct {
		t            engine.Type
		method, path string
	}{
		"replace": {engine.TypeReplace, "PUT", ""}, "merge": {engine.TypeMerge, "PATCH", ""}, "delete": {engine.TypeDelete, "DELETE", ""},
		"poke": {engine.TypeAction, "POST", "/poke"}, "incr": {engine.TypeAction, "POST", "/incr"}, "bytes": {engine.TypeAbsolute, "PUT", "/bytes"},
	}
	asked, ok := requests[name]
	if !ok {
		return false
	}
	r := s.named(args[0])
	if r == nil {
		s.world.tell("%s: knows nothing of %s", s.id, args[0])
		return true
	}
	if part := r.Part(s.id); part == view.PartNone || part == view.PartFormer {
		s.world.tell("%s: has no part in %s", s.id, args[0])
		return true
	}
	if !r.Exists() && asked.method == "PUT" && asked.path == "" { // it makes the next one of this name
		s.create(q, slices.Concat([]string{string(r.Kind.Name)}, args))
		return true
	}
	q.Type, q.Method, q.Path = asked.t, asked.method, r.Kind.Item+asked.path
	switch asked.t {
	case engine.TypeReplace, engine.TypeMerge:
		q.Body = tree.Compact(members(args[1:]))
	case engine.TypeAbsolute:
		q.Body = []byte(strings.Join(args[1:], " "))
	}
	s.askFor(r, q, nil)
	return true
}

func (s *site) askFor(r *Replica, q engine.Request, restore *engine.RestoreRequest) {
	q.Kind, q.Target = r.Kind, string(r.About.Key)
	s.put(r.Document, &Ask{Request: q, Operation: s.world.newOperation(s.id), Restore: restore, Creates: restore == nil && q.Creates()})
}

// create makes a resource: "box blue a=1 @paris,nantes", at all sites unless it says at which.
func (s *site) create(q engine.Request, args []string) {
	k, placement := kinds[args[0]], slices.Clone(s.world.ids)
	about := engine.About{Service: k.Service, Kind: k.Name, Collaboration: engine.Replication, Key: engine.ResourceID(args[1])}
	for _, word := range args[2:] {
		if at, ok := strings.CutPrefix(word, "@"); ok {
			placement = nil
			for _, id := range strings.Split(at, ",") {
				placement = append(placement, engine.SiteID(id))
			}
		}
	}
	slices.Sort(placement)
	about.Placement = placement
	for r := s.replicas[identify(about)]; r != nil && !r.Empty() && !r.Exists(); r = s.replicas[identify(about)] { // it was there once
		about.Incarnation++
	}
	q.Kind, q.Body, q.Target = k, tree.Compact(members(args[2:])), args[1]
	if !k.Natural() {
		s.createUnnamed(about, q)
		return
	}
	q.Type, q.Method, q.Path = engine.TypeReplace, "PUT", k.Item
	s.askFor(s.open(about), q, nil)
}

// createUnnamed makes a resource whose identifier the application assigns: the request runs before there is a document.
func (s *site) createUnnamed(about engine.About, q engine.Request) {
	o := engine.Operation{ID: s.world.newOperation(s.id), Type: engine.TypeCreate, Method: "POST", Path: q.Kind.Collection, Body: q.Body,
		Header: q.Header, Line: engine.Line(s.id), Origin: s.id, User: q.User}
	edit, err := merge.EditOf(q.Kind, o.Type, o.Body, merge.Fold{}, nil)
	must(err)
	o.Edit = edit
	key := string(o.ID) + "." + string(s.id)
	c := call{"", &Call{Kind: CallSend, Call: engine.Call{Kind: q.Kind, Method: o.Method, Path: o.Path, Body: o.Body, Key: key}}, nil}
	if marked, ok := issue.Marked(q.Kind, &o, key); ok {
		c.asked.Call.Body = marked
	}
	c.done, _ = s.app.do(c.asked)
	s.tellCall(c, false)
	if c.done.Err == nil && c.done.Reply.Status < 300 {
		r := s.open(about)
		s.put(r.Document, &Decide{What: VerbPublish, Publish: &flight.Flight{Operation: o, Creates: true}, Reply: c.done.Reply})
	}
}

// decision has a person decide something. It reports whether that is what the command says.
func (s *site) decision(name string, args []string) bool {
	d := &Decide{Operation: engine.OperationID(args[0]), By: engine.Decider{User: "ann"}}
	r := s.named(args[0])
	switch name {
	case "retry", "done", "drop", "adopt":
		d.What = map[string]Verb{"retry": VerbRetry, "done": VerbDone, "drop": VerbDrop, "adopt": VerbAdopt}[name]
		if len(args) > 1 {
			d.Local = engine.LocalID(args[1])
		}
		r = s.having(d.Operation)
	case "decisions":
		if r = s.having(d.Operation); r != nil {
			s.world.tell("%s: may decide %v", s.id, r.Case().Actions(d.Operation))
		}
		return true
	case "place":
		d.What, d.Place = VerbPlace, placing(args[1:])
	case "keep", "check":
		d.What = map[string]Verb{"keep": VerbKeep, "check": VerbCheck}[name]
	case "drop-name":
		d.What = VerbDropName
		for _, id := range s.documents() {
			if s.replicas[id].Yields(s.id) {
				r = s.replicas[id]
			}
		}
	case "pause":
		d.What, d.Pause = VerbPause, &engine.Pause{By: siteName(s.id), At: s.world.now, Reason: strings.Join(args[1:], " ")}
	case "resume":
		d.What = VerbPause
	case "confirm", "reject":
		d.What, d.Operation, d.By.Site = map[string]Verb{"confirm": VerbConfirm, "reject": VerbReject}[name], "", s.id
	case "dismiss", "reopen":
		d.What = map[string]Verb{"dismiss": VerbDismiss, "reopen": VerbReopen}[name]
		for _, c := range report.Conflicts(r.View) {
			if slices.Contains(c.Actions, engine.Action(name)) {
				d.Conflict = c.ID
			}
		}
	default:
		return false
	}
	if r == nil {
		s.world.tell("%s: knows nothing of %s", s.id, args[0])
	} else {
		s.put(r.Document, d)
	}
	return true
}

// having is the replica that knows of an operation.
func (s *site) having(id engine.OperationID) *Replica {
	for _, d := range s.documents() {
		if r := s.replicas[d]; r.History.Get(id) != nil || r.Own != nil && r.Own.Operation.ID == id {
			return r
		}
	}
	return nil
}

// placing reads +lille -paris force.
func placing(words []string) (q engine.PlaceRequest) {
	for _, word := range words {
		switch id := engine.SiteID(word[1:]); word[0] {
		case '+':
			q.Add = append(q.Add, id)
		case '-':
			q.Remove = append(q.Remove, id)
		default:
			q.Forced = true
		}
	}
	return q
}
