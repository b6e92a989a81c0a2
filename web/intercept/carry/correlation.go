package carry

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"
)

// Correlations remembers which scope came with which correlation header, so that a scope follows a workflow through services that
// know nothing of it: they pass such a header on to whatever they ask. One is shared by the handlers of all services of a site. It
// is safe for concurrent use; a nil one remembers nothing.
//
// An id that a client brings may be guessed by others, or known to them, so it counts for requests of the same caller only. An id that the
// memory has made itself is a secret of the workflow: it counts whoever shows it, for services also ask with accounts of their own.
type Correlations struct {
	headers []string
	ttl     time.Duration
	now     func() time.Time
	// Deepest is how many requests of one workflow may be under way; it is set before the first request (256).
	Deepest int

	mu      sync.Mutex
	byID    map[key]*workflow
	recent  workflow     // of a ring: the one used last is the next, the one that was not used for longest the one before
	longest int          // how many are kept at most
	kept    atomic.Int64 // how many are; it changes under mu
}

// ID is a correlation id that a request has come with, or one that the memory has made for it.
type ID struct {
	own  key // what it is kept under: as its caller's, or as made here
	made key // what it is kept under if the memory has made it before; zero if it cannot have
}

// key is a correlation id that the memory has made, or stands for one that a caller has brought, with the caller and the header that it came
// in. There may be as many as requests in an hour, and they are long.
type key struct {
	made bool
	sum  [16]byte
}

func keyOf(header, value, caller string) key {
	sum := sha256.Sum256([]byte(caller + "\n" + header + " " + value))
	return key{sum: [16]byte(sum[:])}
}

// remade returns the key of an id that looks as those that are made here, in whatever header it has come; zero for any other.
func remade(value string) key {
	value = strings.TrimPrefix(value, "req-")
	if strings.Contains(value, "-") {
		value = strings.ReplaceAll(value, "-", "")
	}
	id := key{made: true}
	if len(value) != hex.EncodedLen(len(id.sum)) {
		return key{}
	}
	if _, err := hex.Decode(id.sum[:], []byte(value)); err != nil {
		return key{}
	}
	return id
}

// workflow is what is known of one correlation id.
type workflow struct {
	id           key
	scope        string // canonical, every binding with its service
	used         int64  // in Unix nanoseconds
	running      int32  // requests with this id that this site's agent has under way
	counts       bool   // the application has let the caller of one of them in
	next, before *workflow
}

// insert puts w into the ring after at; remove takes it out.
func (w *workflow) insert(at *workflow) {
	w.before, w.next = at, at.next
	w.before.next, w.next.before = w, w
}

func (w *workflow) remove() { w.before.next, w.next.before = w.next, w.before }

// CorrelationHeaders are those that are looked at unless the configuration names others.
var CorrelationHeaders = []string{"Traceparent", "X-Request-Id", "X-Openstack-Request-Id", "X-B3-Traceid"}

const (
	// CorrelationTTL is how long a scope is remembered after its last use: services work on after they have answered.
	CorrelationTTL = time.Hour
	// maxCorrelations is how many ids are remembered; beyond that, the one that was not used for longest is forgotten.
	maxCorrelations = 100_000
	// maxCorrelationID is the most bytes that an id may have to be remembered.
	maxCorrelationID = 256
	// maxRunning is how many requests of one workflow may be under way at a site at once: a service that asks itself through
	// other sites without end fills it, and is stopped.
	maxRunning = 256
)

// NewCorrelations returns an empty memory of the headers; ttl is the time after the last use.
func NewCorrelations(headers []string, ttl time.Duration, now func() time.Time) *Correlations {
	c := &Correlations{ttl: ttl, now: now, byID: map[key]*workflow{}, longest: maxCorrelations, Deepest: maxRunning}
	c.recent.next, c.recent.before = &c.recent, &c.recent
	for _, h := range headers {
		c.headers = append(c.headers, http.CanonicalHeaderKey(h))
	}
	return c
}

// Has reports whether a field of a request is one of the headers.
func (c *Correlations) Has(name []byte) bool {
	return c != nil && slices.ContainsFunc(c.headers, func(h string) bool { return len(h) == len(name) && strings.EqualFold(h, string(name)) })
}

// Empty reports whether nothing is remembered, so that no request can bring a scope with it.
func (c *Correlations) Empty() bool { return c == nil || c.kept.Load() == 0 }

// IDs returns the correlation ids that a request of a caller has come with.
func (c *Correlations) IDs(h http.Header, caller string) []ID {
	if c == nil {
		return nil
	}
	var ids []ID
	for _, name := range c.headers {
		for _, value := range h[name] {
			if value = strings.TrimSpace(value); name == "Traceparent" {
				value = traceID(value)
			}
			if value == "" || len(value) > maxCorrelationID {
				continue
			}
			if id := (ID{own: keyOf(name, value, caller), made: remade(value)}); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// traceID returns the trace's part of a W3C traceparent, which stays the same from service to service; empty when it is none.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return strings.ToLower(parts[1])
}

// Name makes an id for a request, and adds it in those headers that services are known to pass on and that the request does not have: what
// services ask for its sake carries it then, however the scope has come and whoever they ask as.
func (c *Correlations) Name(has func(header string) bool, add func(header, value string)) ID {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	text := hex.EncodeToString(b[:])
	id, span := text[:32], text[32:]
	for _, header := range c.headers {
		if has(header) {
			continue
		}
		switch header {
		case "Traceparent":
			add(header, "00-"+id+"-"+span+"-01")
		case "X-Openstack-Request-Id":
			add(header, "req-"+id[:8]+"-"+id[8:12]+"-"+id[12:16]+"-"+id[16:20]+"-"+id[20:])
		case "X-B3-Traceid": // means nothing without the other headers of B3
		default:
			add(header, id)
		}
	}
	return ID{own: key{made: true, sum: [16]byte(b[:])}}
}

// Made is the id of a request whose trace the agent has begun: it counts as one that Name has made. Traces of operations are told to whoever sees
// these; what they let others do is to ask with the same scope.
func Made(trace string) ID { return ID{own: remade(trace)} }

// Find returns the scope that is remembered under one of the ids, empty when none is. Clash: it is not the same under all of them.
func (c *Correlations) Find(ids []ID) (text string, clash bool) {
	if len(ids) == 0 {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		w := c.get(id)
		switch {
		case w == nil:
		case text == "":
			text = w.scope
		case text != w.scope:
			return "", true
		}
	}
	return text, false
}

// Enter remembers a scope under ids and counts a request as under way until leave, which is told whether the application has let its
// caller in: of a workflow of which it never did nothing stays. Other is the scope that one of the ids came with before; full says that
// too many requests of the workflow are under way. In both cases nothing is remembered or counted.
func (c *Correlations) Enter(ids []ID, text string) (leave func(let bool), other string, full bool) {
	text = unique.Make(text).Value() // most requests come with the same few scopes
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		switch w := c.get(id); {
		case w == nil:
		case w.scope != text:
			return nil, w.scope, false
		case int(w.running) >= c.Deepest:
			return nil, "", true
		}
	}
	entered := make([]*workflow, 0, len(ids))
	for _, id := range ids {
		w := c.get(id)
		if w == nil {
			w = &workflow{id: id.own, scope: text}
			c.byID[w.id] = w
			c.kept.Add(1)
		} else {
			w.remove()
		}
		w.insert(&c.recent)
		w.used = c.now().UnixNano()
		w.running++
		entered = append(entered, w)
	}
	for len(c.byID) > c.longest {
		c.forget(c.recent.before)
	}
	return func(let bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, w := range entered {
			w.running--
			w.used = c.now().UnixNano()
			w.counts = w.counts || let
			if !w.counts && w.running == 0 && c.byID[w.id] == w {
				c.forget(w)
			}
		}
	}, "", false
}

// Len returns how many ids are remembered.
func (c *Correlations) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID)
}

// get returns what is known of an id: as one that was made here, else as its caller's. It is nil when that is nothing, or was too long
// ago. The caller holds mu.
func (c *Correlations) get(id ID) *workflow {
	var w *workflow
	if id.made.made {
		w = c.byID[id.made]
	}
	if w == nil {
		w = c.byID[id.own]
	}
	if w != nil && w.running == 0 && c.now().UnixNano()-w.used > int64(c.ttl) {
		c.forget(w)
		return nil
	}
	return w
}

func (c *Correlations) forget(w *workflow) {
	w.remove()
	delete(c.byID, w.id)
	c.kept.Add(-1)
}

// Kept is what is remembered of one id, for another process to go on with.
type Kept struct {
	Made  bool   `json:"made,omitempty"`
	Sum   []byte `json:"sum"`
	Scope string `json:"scope"`
	Used  int64  `json:"used"`
}

// Kept returns what is remembered, the one used last first.
func (c *Correlations) Kept() []Kept {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Kept, 0, len(c.byID))
	for w := c.recent.next; w != &c.recent; w = w.next {
		all = append(all, Kept{w.id.made, w.id.sum[:], w.scope, w.used})
	}
	return all
}

// Restore remembers what another process has, before anything else.
func (c *Correlations) Restore(all []Kept) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range all[:min(len(all), c.longest)] {
		w := &workflow{id: key{made: k.Made}, scope: unique.Make(k.Scope).Value(), used: k.Used, counts: true}
		if copy(w.id.sum[:], k.Sum) != len(w.id.sum) || c.byID[w.id] != nil {
			continue
		}
		c.byID[w.id] = w
		w.insert(c.recent.before)
		c.kept.Add(1)
	}
}
