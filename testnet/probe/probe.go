package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// object is what the clients know of one that they have asked for.
type object struct {
	kind kind
	name string
	// id is what clients call it, empty where no answer has told.
	id string
	// is says whether it is to be there.
	is answer
	// lost says that no answer came to the create, and again that it was asked for once more after a deletion.
	lost, again bool
	// ended says that its deletion has been asked for, and after that it was changed after that, or after a create without an answer: what the
	// application shows then may be another.
	ended, after bool
	count, roll  tally
}

// answer is what clients know of whether something is there.
type answer int

const (
	maybe answer = iota
	there
	absent
)

// tally is how often an action has run, at the least and at the most.
type tally struct{ least, most int }

func (c *tally) add(o outcome) {
	switch o {
	case done:
		c.least++
		c.most++
	case unknown:
		c.most++
	}
}

// outcome is what a client is told of its request.
type outcome int

const (
	nothing outcome = iota // it was refused, or never sent
	done
	unknown
)

// probe is one run.
type probe struct {
	t       *testing.T
	env     *env.Env
	random  *rand.Rand
	objects []*object
	cut     map[string]bool
	kills   int
	failed  int // how much is not as it should be
	down    map[string]chan error
}

// run has clients take so many steps, with so many kills among them.
func (p *probe) run(steps, kills int) {
	sites := p.env.Sites()
	for i := range steps {
		s := sites[p.random.IntN(len(sites))]
		switch {
		case p.random.IntN(steps-i) < kills-p.kills:
			p.killDuring(s, func() { p.step(s) })
		case p.random.IntN(12) == 0:
			p.turn(s)
		default:
			p.step(s)
		}
		// Some objects are shown by now, and some are not.
		time.Sleep(time.Duration(p.random.IntN(150)) * time.Millisecond)
	}
	for _, s := range sites {
		p.back(s)
		if p.cut[s.Name()] {
			p.turn(s)
		}
	}
}

// turn cuts a site off, or ends that.
func (p *probe) turn(s *env.Site) {
	if p.cut[s.Name()] = !p.cut[s.Name()]; p.cut[s.Name()] {
		s.Cut(p.t)
	} else {
		s.Heal(p.t)
	}
	p.t.Logf("%s cut %t", s.Name(), p.cut[s.Name()])
}

// killDuring kills a site's agent while a client asks it for something, and has it started again meanwhile.
func (p *probe) killDuring(s *env.Site, request func()) {
	p.back(s)
	p.kills++
	after := time.Duration(p.random.IntN(20_000)) * time.Microsecond
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		time.Sleep(after)
		s.Kill(p.t)
	}()
	request()
	<-killed
	p.t.Logf("%s killed after %s", s.Name(), after)
	up := make(chan error, 1)
	p.down[s.Name()] = up
	ctx := p.t.Context()
	go func() { up <- s.Up(ctx) }()
}

// back waits until a site's agent is up.
func (p *probe) back(s *env.Site) {
	up := p.down[s.Name()]
	if up == nil {
		return
	}
	delete(p.down, s.Name())
	if err := <-up; err != nil {
		p.t.Fatal(err)
	}
}

// step has a client ask a site for something.
func (p *probe) step(s *env.Site) {
	if len(p.objects) < 4 || p.random.IntN(3) == 0 {
		p.create(s, &object{kind: kinds[p.random.IntN(len(kinds))], name: fmt.Sprintf("thing-%d", len(p.objects))})
		return
	}
	// What was asked for just now may not be shown yet, and is asked about more often.
	o := p.objects[p.random.IntN(len(p.objects))]
	if p.random.IntN(2) == 0 {
		o = p.objects[len(p.objects)-1-p.random.IntN(3)]
	}
	if o.id == "" {
		return
	}
	item := "/" + o.kind.collection + "/" + o.id
	switch p.random.IntN(6) {
	case 0, 1:
		p.delete(s, o, item)
	case 2:
		o.count.add(p.ask(s, o, "POST "+item+"/incr", ""))
	case 3:
		o.roll.add(p.ask(s, o, "POST "+item+"/roll", ""))
	case 4:
		p.ask(s, o, "PATCH "+item, fmt.Sprintf(`{"colour":"%d"}`, p.random.IntN(1000)), "Content-Type", "application/merge-patch+json")
	default:
		if o.kind.chosen && o.is == absent {
			o.again = true
			p.create(s, o)
		}
	}
}

func (p *probe) create(s *env.Site, o *object) {
	var names []string
	for _, x := range p.env.Sites() {
		names = append(names, x.Name())
	}
	request := "POST /" + o.kind.collection
	if o.kind.chosen {
		o.id = o.name
		request = "PUT /" + o.kind.collection + "/" + o.id
	}
	if !o.again {
		p.objects = append(p.objects, o)
	}
	a, became := p.send(s, o, request, `{"name":"`+o.name+`","colour":"red"}`, "Scope", "{"+o.kind.service+": "+strings.Join(names, " & ")+"}")
	switch {
	case o.again:
		o.is = maybe
	case became == done:
		o.is = there
		if o.id = a.Text("id"); o.kind.chosen {
			o.id = o.name
		}
	case became == nothing:
		o.is = absent
	default:
		o.lost = true
	}
}

func (p *probe) delete(s *env.Site, o *object, item string) {
	a, became := p.send(s, o, "DELETE "+item, "")
	o.ended = true
	switch {
	case o.again, o.lost: // what had no answer may still be done after that
		o.is = maybe
	case became == done:
		o.is = absent
	case became == unknown, a.Status == http.StatusNotFound && o.is == there:
		o.is = maybe
	}
}

func (p *probe) ask(s *env.Site, o *object, request, body string, header ...string) outcome {
	_, became := p.send(s, o, request, body, header...)
	o.after = o.after || (o.ended || o.lost) && became != nothing
	return became
}

// patience bounds what would never come.
const patience = 3 * time.Minute

func (p *probe) send(s *env.Site, o *object, request, body string, header ...string) (env.Answer, outcome) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	a, err := s.Request(ctx, o.kind.service, request, body, header...)
	became := unknown
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		became = nothing
	case err != nil, a.Status == http.StatusGatewayTimeout:
	case a.Status/100 == 2:
		became = done
	default:
		became = nothing
	}
	p.t.Logf("%s %s (%s): %d %v %.150q", s.Name(), request, o.name, a.Status, err, a.Body)
	return a, became
}
