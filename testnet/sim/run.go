package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// Report is what came of one schedule.
type Report struct {
	Sites        int
	Requests     int
	Operations   int // that came to be in a document
	Acknowledged int // answered with success, or with 202
	Unclear      int // answered with 504, or not at all
	Decisions    int // that an operator took about what was uncertain
	Restarts     int
	Deaths       int           // of agents that were killed, or died with what they did
	Contended    int           // how often a resource has lost its name to another at a site
	Epochs       int           // that resources have gone on to
	Superseded   int           // acknowledged operations that a concurrent or earlier one took the place of, at some site
	Virtual      time.Duration // that passed
	Healed       time.Duration // from the healing of everything until all was as it must be
	Problems     []string      // what was not as it must be; empty is success
	Trace        []string      // the requests with their answers
}

// run is a schedule that is played.
type run struct {
	plan  Plan
	log   *slog.Logger
	wires *wires
	sites []*site
	begin time.Time

	healed chan struct{} // closed when nothing disturbs any more

	mu       sync.Mutex // guards the rest
	requests []*request
	ids      map[int]engine.ResourceID // of resources whose identifier the application gave
	problems []string
	report   Report
	// placements are where the resources live in the end.
	placements [][]int
	last       map[int]int // what was asked for last of spread servers, when all was quiet
	tasks      sync.WaitGroup
}

// request is one of a client, with what its answer told.
type request struct {
	n         int
	step      Step
	site      engine.SiteName
	scope     string
	began     time.Duration
	ended     time.Duration
	operation engine.OperationID
	status    int    // 0: no answer
	detail    string // for people
	refused   bool   // it is certain that nothing has happened
}

// acknowledged reports whether the client was told that it is done, or will be.
func (q *request) acknowledged() bool { return q.status >= 200 && q.status < 300 }

// field is the one that this request alone sets.
func (q *request) field() string { return fmt.Sprint("u", q.n) }

// Run plays a plan, with the sites' files in dir. It must be called inside a synctest bubble. The error says that the
// schedule could not be played; what the sites did wrong is in the report.
func Run(ctx context.Context, p Plan, dir string, log *slog.Logger) (_ Report, err error) {
	r, err := newRun(p, dir, log)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	if err := r.gather(ctx); err != nil {
		return Report{}, err
	}
	if p.Things != nil {
		if err := r.prepare(ctx); err != nil {
			return Report{}, err
		}
	}
	if r.wires.part(p.Apart); p.Apart != nil {
		time.Sleep(time.Minute) // what is sent before they notice waits for an answer that never comes
	}
	start := time.Now()
	for _, s := range p.Steps {
		time.Sleep(s.At - time.Since(start))
		r.play(ctx, s)
	}
	time.Sleep(p.Lasts - time.Since(start))
	if err := r.heal(ctx); err != nil {
		return Report{}, err
	}
	r.settle(ctx)
	if p.Things != nil && len(r.report.Problems) == 0 {
		if err := r.meet(); err != nil {
			r.problem("nothing disturbs any more: %v", err)
		}
		r.lastWord(ctx)
		r.settle(ctx)
		r.reads(ctx)
		r.report.Problems = append(r.report.Problems, r.problems...)
	}
	r.tell()
	r.report.Sites, r.report.Virtual = p.Sites, time.Since(r.begin)
	return r.report, nil
}

// newRun makes the sites of a plan, of which none is started.
func newRun(p Plan, dir string, log *slog.Logger) (r *run, err error) {
	random := rand.New(rand.NewPCG(p.Seed, 1))
	r = &run{plan: p, log: log, wires: newWires(p.Sites, random), ids: map[int]engine.ResourceID{}, last: map[int]int{}, begin: time.Now(), healed: make(chan struct{})}
	lines := newPipes()
	for i := range p.Sites {
		name := engine.SiteName(fmt.Sprint("site", i))
		r.sites = append(r.sites, &site{
			n: i, name: name, dir: filepath.Join(dir, string(name)), wires: r.wires, log: log, turn: make(chan struct{}, 1),
			history: p.History, epoch: p.Epoch,
			app: newApplication(string(rune('a'+i))+"-", rand.New(rand.NewPCG(p.Seed, uint64(2+i)))),
		})
		r.sites[i].skew.Store(int64(p.Skews[i]))
		if p.Things != nil {
			if r.sites[i].lab, err = newLabSite(r.sites[i], lines, rand.New(rand.NewPCG(p.Seed, uint64(100+i)))); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// end stops the sites and their applications.
func (r *run) end() (err error) {
	r.tasks.Wait()
	for _, s := range r.sites {
		err = errors.Join(err, s.end())
		if s.lab != nil {
			err = errors.Join(err, s.lab.close())
		}
	}
	time.Sleep(time.Second) // libraries leave goroutines behind that end by the clock
	return err
}

// gather starts the sites, of which the first lets the others in.
func (r *run) gather(ctx context.Context) error {
	token := ""
	for i, s := range r.sites {
		if err := s.start(ctx, token); err != nil {
			return err
		}
		if i == 0 {
			var err error
			if token, err = s.now.Load().invite(ctx, len(r.sites)); err != nil {
				return err
			}
		}
	}
	return r.meet()
}

// meet waits until all sites reach each other.
func (r *run) meet() error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		apart := slices.ContainsFunc(r.sites, func(s *site) bool {
			up := 0
			for _, st := range s.now.Load().network.Status() {
				if st.Reachable {
					up++
				}
			}
			return up != len(r.sites)-1
		})
		switch {
		case !apart:
			return nil
		case time.Now().After(deadline):
			return errors.New("the sites do not reach each other")
		}
	}
}

func (r *run) play(ctx context.Context, step Step) {
	s := r.sites[step.Site]
	switch step.Kind {
	case StepCut, StepJoin:
		r.wires.set(step.Links, step.Kind == StepCut)
	case StepLoss:
		r.wires.setLoss(step.Share)
	case StepMood:
		s.setMood(step.Mood)
	case StepRestart:
		r.replace(ctx, s, step.Down)
	case StepKill:
		if p := s.now.Load(); p != nil {
			p.die()
			r.bury(ctx, s, step.Down)
		}
	case StepClock:
		s.skew.Store(int64(step.Down))
	case StepAdd, StepRemove, StepPause, StepResume:
		r.tasks.Go(func() { r.order(ctx, step) })
	case StepDoom:
		if p := s.now.Load(); p != nil {
			p.doom.set(step.Count, step.Request, step.After)
			r.tasks.Go(func() {
				select {
				case <-p.died:
					r.bury(ctx, s, step.Down)
				case <-p.cut:
				case <-r.healed:
					if p.doom.sealed() {
						<-p.died
						r.bury(ctx, s, step.Down)
					}
				}
			})
		}
	default:
		r.tasks.Go(func() {
			if r.plan.Things != nil {
				r.doThing(ctx, step)
				return
			}
			r.ask(ctx, step)
		})
	}
}

// order does what an operator wants of a resource at a site, if the site knows it.
func (r *run) order(ctx context.Context, step Step) {
	p, target := r.sites[step.Site].now.Load(), r.target(step.Resource)
	if p == nil || target == "" {
		return
	}
	row, err := p.Site.Lookup(ctx, r.kind(step.Resource), target)
	if err != nil {
		return
	}
	other := []engine.SiteID{r.sites[step.Other].id}
	switch step.Kind {
	case StepAdd:
		_, err = p.Desk.Place(ctx, row.Document, engine.PlaceRequest{Add: other, Forced: true})
	case StepRemove:
		_, err = p.Desk.Place(ctx, row.Document, engine.PlaceRequest{Remove: other})
	case StepPause:
		err = p.Desk.Pause(ctx, row.Document, p.site.id, "they look into it")
	case StepResume:
		err = p.Desk.Resume(ctx, row.Document)
	}
	var refusal *engine.Refusal
	if err != nil && !errors.As(err, &refusal) && !errors.Is(err, engine.ErrNotFound) && !p.dead.Load() && ctx.Err() == nil && !p.ending() {
		r.problem("%s: %v", step, err)
	}
}

// bury counts a process that has died, and replaces it.
func (r *run) bury(ctx context.Context, s *site, down time.Duration) {
	r.mu.Lock()
	r.report.Deaths++
	r.mu.Unlock()
	r.replace(ctx, s, down)
}

// replace ends a site's process and starts another after a while.
func (r *run) replace(ctx context.Context, s *site, down time.Duration) {
	r.mu.Lock()
	r.report.Restarts++
	r.mu.Unlock()
	r.tasks.Go(func() {
		err := s.end()
		time.Sleep(down)
		if err = errors.Join(err, s.begin(ctx)); err != nil {
			r.problem("restart %s: %v", s.name, err)
		}
	})
}

func (r *run) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// kind is that of a resource, or of a thing.
func (r *run) kind(resource int) *engine.Kind {
	if r.plan.Things != nil {
		t := r.plan.Things[resource]
		return labCatalog().Kind(t.service(), t.Kind)
	}
	return r.plan.Resources[resource].Kind
}

// target is the identifier that clients have for a resource, empty while nobody has been told.
func (r *run) target(resource int) string {
	if r.plan.Things == nil && r.kind(resource).Natural() {
		return r.plan.Resources[resource].Tag
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.ids[resource])
}

// ask sends the request of a step to its site.
func (r *run) ask(ctx context.Context, step Step) {
	res, s := r.plan.Resources[step.Resource], r.sites[step.Site]
	p, target := s.now.Load(), r.target(step.Resource)
	r.mu.Lock()
	asked := r.asked(step.Resource)
	r.mu.Unlock()
	if p == nil || step.Kind == StepCreate && !res.Kind.Natural() && asked || step.Kind != StepCreate && target == "" {
		return // nobody is there, or the client has nothing to ask for
	}
	e := engine.Request{Kind: res.Kind, Path: res.Kind.Item, Target: target, Header: map[string]string{"Content-Type": "application/json"}}
	if step.Scoped {
		for _, i := range res.Placement {
			e.Placement = append(e.Placement, r.sites[i].id)
		}
	} else if _, err := p.Site.Lookup(ctx, res.Kind, target); err != nil {
		return // without a scope it is the application's alone
	}
	r.mu.Lock()
	q := &request{n: len(r.requests), step: step, began: time.Since(r.begin)}
	r.requests = append(r.requests, q)
	r.mu.Unlock()
	body := map[string]any{step.Field: q.n, q.field(): q.n}
	if len(res.Kind.Keys) > 0 && (step.Kind == StepCreate || step.Disk != "") {
		body["disks"] = q.disks(p.read(ctx, res.Kind, target))
	}
	switch step.Kind {
	case StepCreate:
		e.Type, e.Method, body["tag"] = engine.TypeCreate, http.MethodPost, res.Tag
		if e.Path, e.Target = res.Kind.Collection, ""; res.Kind.ID.From == engine.IDFromPath {
			e.Type, e.Method, e.Path, e.Target = engine.TypeReplace, http.MethodPut, res.Kind.Item, target
		} else if res.Kind.Natural() {
			body["id"] = target
		}
	case StepPatch:
		e.Type, e.Method = engine.TypeMerge, http.MethodPatch
	case StepJSON:
		e.Type, e.Method, e.Header["Content-Type"] = engine.TypePatch, http.MethodPatch, jsonPatch
		e.Body, body = q.steps(res.Kind), nil
	case StepPut:
		e.Type, e.Method = engine.TypeReplace, http.MethodPut
		whole := p.read(ctx, res.Kind, target)
		if whole == nil {
			q.refused, q.detail = true, "nothing to read"
			return
		}
		for k, v := range body {
			whole[k] = v
		}
		body = whole
	case StepStart, StepOpen, StepShut:
		e.Type, e.Method, e.Path, body = engine.TypeAction, http.MethodPost, res.Kind.Item+"/"+string(step.Kind), nil
	case StepIncr:
		e.Type, e.Method, e.Path, body = engine.TypeAction, http.MethodPost, res.Kind.Item+"/incr", map[string]any{"by": q.n + 1}
	case StepDelete:
		e.Type, e.Method, body = engine.TypeDelete, http.MethodDelete, nil
	}
	if body != nil {
		e.Body = encode(body)
	}
	a, told, err := p.submit(ctx, e)
	r.mu.Lock()
	defer r.mu.Unlock()
	q.ended = time.Since(r.begin)
	var refusal *engine.Refusal
	switch {
	case errors.Is(err, errRefused):
		q.refused, q.detail = true, err.Error()
	case !told:
		q.detail = "no answer"
	case errors.As(err, &refusal):
		q.status, q.operation, q.detail = refusal.Status, refusal.Operation, refusal.Error()
		q.refused = refusal.Operation == ""
	case err != nil:
		q.detail = err.Error()
	default:
		q.status, q.operation, q.detail = a.Status, a.Operation, string(a.Body)
		q.refused = a.Status >= 300 && a.Status != http.StatusGatewayTimeout
		if step.Kind == StepCreate && q.acknowledged() && a.Resource != "" {
			r.ids[step.Resource] = a.Resource
		}
	}
}

// asked reports whether somebody has asked for a resource to be created already. The caller holds mu.
func (r *run) asked(resource int) bool {
	return slices.ContainsFunc(r.requests, func(q *request) bool { return q.step.Kind == StepCreate && q.step.Resource == resource && !q.refused })
}

// read returns what a client sees of a resource at a site, nil when it is not there.
func (p *process) read(ctx context.Context, k *engine.Kind, target string) map[string]any {
	row, err := p.Site.Lookup(ctx, k, target)
	if err != nil || row.Local == "" {
		return nil
	}
	reply, err := p.site.app.do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: row.Local})
	var o map[string]any
	if err != nil || reply.Status != http.StatusOK || json.Unmarshal(reply.Body, &o) != nil {
		return nil
	}
	o["id"] = target
	unmark(o)
	return o
}

// heal ends all that disturbs and waits until every client has its answer and every site is up.
func (r *run) heal(ctx context.Context) error {
	r.wires.heal()
	for _, s := range r.sites {
		s.setMood(Mood{})
		if p := s.now.Load(); p != nil {
			p.doom.set(0, false, false)
		}
	}
	close(r.healed)
	r.tasks.Wait()
	for _, s := range r.sites {
		if err := s.begin(ctx); err != nil {
			return err
		}
		if err := s.resume(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resume ends all pauses at a site.
func (s *site) resume(ctx context.Context) error {
	p := s.now.Load()
	rows, _, err := p.store.Resources(ctx, engine.ResourceFilter{Limit: 1000})
	for _, row := range rows {
		if row.Sites[s.id].Paused != nil {
			err = errors.Join(err, p.Desk.Resume(ctx, row.Document))
		}
	}
	return err
}
