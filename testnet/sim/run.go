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
	Requests     int
	Acknowledged int // answered with success, or with 202
	Unclear      int // answered with 504, or not at all
	Decisions    int // that an operator took about what was uncertain
	Restarts     int
	Contended    int           // how often a resource has lost its name to another at a site
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
	tasks    sync.WaitGroup
}

// request is one of a client, with what its answer told.
type request struct {
	n         int
	step      Step
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
	random := rand.New(rand.NewPCG(p.Seed, 1))
	r := &run{plan: p, log: log, wires: newWires(p.Sites, random), ids: map[int]engine.ResourceID{}, begin: time.Now(), healed: make(chan struct{})}
	for i := range p.Sites {
		name := engine.SiteName(fmt.Sprint("site", i))
		r.sites = append(r.sites, &site{
			n: i, name: name, dir: filepath.Join(dir, string(name)), skew: p.Skews[i], wires: r.wires, log: log, turn: make(chan struct{}, 1),
			app: newApplication(string(rune('a'+i))+"-", rand.New(rand.NewPCG(p.Seed, uint64(2+i)))),
		})
	}
	defer func() {
		r.tasks.Wait()
		for _, s := range r.sites {
			err = errors.Join(err, s.end())
		}
		time.Sleep(time.Second) // libraries leave goroutines behind that end by the clock
	}()
	if err := r.gather(ctx); err != nil {
		return Report{}, err
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
	r.report.Virtual = time.Since(r.begin)
	return r.report, nil
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
			return errors.New("the sites do not reach each other in the beginning")
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
		s.app.setMood(step.Mood)
	case StepRestart:
		r.replace(ctx, s, step.Down)
	case StepKill:
		if p := s.now.Load(); p != nil {
			p.die()
			r.replace(ctx, s, step.Down)
		}
	case StepDoom:
		if p := s.now.Load(); p != nil {
			p.doom.set(step.Count, step.Request, step.After)
			r.tasks.Go(func() {
				select {
				case <-p.died:
					r.replace(ctx, s, step.Down)
				case <-p.cut:
				case <-r.healed:
				}
			})
		}
	default:
		r.tasks.Go(func() { r.ask(ctx, step) })
	}
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

// target is the identifier that clients have for a resource, empty while nobody has been told.
func (r *run) target(resource int) string {
	res := r.plan.Resources[resource]
	if res.Kind.Natural() {
		return res.Tag
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.ids[resource])
}

// ask sends the request of a step to its site.
func (r *run) ask(ctx context.Context, step Step) {
	res, s := r.plan.Resources[step.Resource], r.sites[step.Site]
	p, target := s.now.Load(), r.target(step.Resource)
	if p == nil || step.Kind == StepCreate && !res.Kind.Natural() && r.asked(step.Resource) || step.Kind != StepCreate && target == "" {
		return // nobody is there, or the client has nothing to ask for
	}
	e := engine.Request{Kind: res.Kind, Path: res.Kind.Item, Target: target, Header: map[string]string{"Content-Type": "application/json"}}
	if step.Scoped {
		for _, i := range res.Placement {
			e.Placement = append(e.Placement, r.sites[i].id)
		}
	} else if _, err := p.Lookup(ctx, res.Kind, target); err != nil {
		return // without a scope it is the application's alone
	}
	r.mu.Lock()
	q := &request{n: len(r.requests), step: step, began: time.Since(r.begin)}
	r.requests = append(r.requests, q)
	r.mu.Unlock()
	body := map[string]any{step.Field: q.n, q.field(): q.n}
	switch step.Kind {
	case StepCreate:
		e.Type, e.Method, body["tag"] = engine.TypeCreate, http.MethodPost, res.Tag
		if e.Path, e.Target = res.Kind.Collection, ""; res.Kind == note {
			e.Type, e.Method, e.Path, e.Target = engine.TypeReplace, http.MethodPut, res.Kind.Item, target
		} else if res.Kind.Natural() {
			body["id"] = target
		}
	case StepPatch:
		e.Type, e.Method = engine.TypeMerge, http.MethodPatch
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
	case StepStart:
		e.Type, e.Method, e.Path, body = engine.TypeAction, http.MethodPost, res.Kind.Item+"/start", nil
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

// asked reports whether somebody has asked for a resource to be created already.
func (r *run) asked(resource int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.requests, func(q *request) bool { return q.step.Kind == StepCreate && q.step.Resource == resource && !q.refused })
}

// read returns what a client sees of a resource at a site, nil when it is not there.
func (p *process) read(ctx context.Context, k *engine.Kind, target string) map[string]any {
	row, err := p.Lookup(ctx, k, target)
	if err != nil || row.Local == "" {
		return nil
	}
	reply, err := p.site.app.do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: row.Local})
	var o map[string]any
	if err != nil || reply.Status != http.StatusOK || json.Unmarshal(reply.Body, &o) != nil {
		return nil
	}
	o["id"] = target
	return o
}

// heal ends all that disturbs and waits until every client has its answer and every site is up.
func (r *run) heal(ctx context.Context) error {
	r.wires.heal()
	for _, s := range r.sites {
		s.app.setMood(Mood{})
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
	}
	return nil
}
