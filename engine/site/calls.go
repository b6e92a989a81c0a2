package site

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// calls carries out what replicas ask of the application, each call in a goroutine of its own, or one by one where simulations ask
// for that. Admission to a service bounds how many there are; those for clients are bounded by their clients.
type calls struct {
	s       *Site
	inline  bool
	running sync.WaitGroup
	ctx     context.Context // of Run; calls that change something go on when it ends

	mu      sync.Mutex
	waiting []func()                  // inline only
	sending map[engine.DocumentID]int // requests that are to change something and have no answer yet
}

// put has a call made, and its answer handed to the replica that has asked for it.
func (c *calls) put(to *resident, call *replica.Call, from []engine.SiteID) {
	call.From = from
	c.count(to.id, call, 1)
	do := func() {
		in := c.make(call)
		in.Token = call.Token
		c.count(to.id, call, -1)
		c.s.inbox.put(item{document: to.id, input: in, to: to})
	}
	if c.inline {
		c.mu.Lock()
		c.waiting = append(c.waiting, do)
		c.mu.Unlock()
		return
	}
	c.running.Go(do)
}

func (c *calls) count(id engine.DocumentID, call *replica.Call, n int) {
	if call.Kind != replica.CallSend {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sending[id] += n; c.sending[id] == 0 {
		delete(c.sending, id)
	}
}

// sends reports whether a request for a resource is out that is to change something.
func (c *calls) sends(id engine.DocumentID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sending[id] > 0
}

// readNow has what a replica wants to read of its object read before its commit: that changes nothing, and the answer is for nobody
// should the commit fail.
func (c *calls) readNow(to *resident, k *work) {
	k.calls = slices.DeleteFunc(k.calls, func(call *replica.Call) bool {
		reads := call.Kind == replica.CallRead && c.s.residents.by[to.id] == to
		if reads {
			c.put(to, call, nil)
		}
		return reads
	})
}

// one makes the call that has waited longest, and reports whether there was one.
func (c *calls) one() bool {
	c.mu.Lock()
	if len(c.waiting) == 0 {
		c.mu.Unlock()
		return false
	}
	do := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.mu.Unlock()
	do()
	return true
}

// make makes a call. A panic in what speaks with the application is no answer.
func (c *calls) make(call *replica.Call) (in *replica.Answered) {
	defer func() {
		if p := recover(); p != nil {
			c.s.cfg.Log.Error("a defect while the application was asked", "kind", string(call.Call.Kind.Name), "panic", fmt.Sprint(p))
			in = &replica.Answered{Err: fmt.Errorf("a defect of the agent: %v", p)}
		}
	}()
	ctx := context.WithoutCancel(c.ctx) // what has gone out is not given up because the agent stops
	switch call.Kind {
	case replica.CallRead, replica.CallSend:
		return c.do(ctx, call)
	case replica.CallFind:
		ctx, cancel := context.WithTimeout(ctx, c.s.cfg.Limits.CallTimeout)
		defer cancel()
		list, err := c.s.cfg.App.Find(ctx, call.Call.Kind, call.Request)
		return &replica.Answered{List: list, Err: err}
	case replica.CallHolds:
		same, err := c.s.beside.Holds(ctx, call.Call.Kind, call.Call.Local, *call.Content, call.Want)
		return &replica.Answered{Same: same, Err: err}
	case replica.CallCopy:
		settled, err := c.s.beside.Copy(ctx, call.Call, call.Key, call.From)
		return &replica.Answered{Settled: settled, Err: err}
	}
	return &replica.Answered{Err: fmt.Errorf("call of kind %d", call.Kind)}
}

// do sends one request.
func (c *calls) do(ctx context.Context, call *replica.Call) *replica.Answered {
	if call.Blob != nil && call.Call.Body == nil {
		content, err := c.s.cfg.Blobs.Open(*call.Blob, 0)
		if err != nil { // it has certainly not gone out
			return &replica.Answered{Err: fmt.Errorf("read the body: %w: %w", engine.ErrUnreachable, err)}
		}
		defer content.Close()
		call.Call.Content, call.Call.Length = content, call.Blob.Size
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.s.cfg.Limits.CallTimeout)
		defer cancel()
	}
	reply, err := c.s.cfg.App.Do(ctx, call.Call)
	in := &replica.Answered{Reply: reply, Err: err}
	if err == nil && call.Present && (reply.Status/100 == 2) {
		if in.Presented, err = c.s.cfg.App.Present(ctx, call.Call.Kind, reply); err != nil {
			if call.Call.Method == http.MethodGet {
				in.Err = fmt.Errorf("translate the answer: %w", err)
			} else {
				c.s.cfg.Log.Warn("an answer could not be translated", "kind", string(call.Call.Kind.Name), "err", err)
			}
		}
	}
	return in
}

// Backoff is the wait after a number of tries.
func (s *Site) Backoff(tries int) time.Duration {
	return s.cfg.Limits.backoff().After(tries, s.cfg.Random())
}
