package storage

import (
	"maps"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

// lookedUp is how many resources are remembered at least, and at most twice as many: about a kilobyte each.
const lookedUp = 1024

// lookups remembers the resources that were looked up lately by what they are called: a client that reads one asks for it two or
// three times in a request. What a batch writes is forgotten. It is safe for concurrent use.
type lookups struct {
	mu      sync.Mutex
	written uint64 // guarded by mu, as all below; how often something was forgotten
	named   recent[calling, engine.DocumentID]
	rows    recent[engine.DocumentID, engine.ResourceRow]
}

// calling is what somebody calls a resource: this site's application (local), or the sites that share it.
type calling struct {
	service engine.ServiceName
	kind    engine.KindName
	id      string
	local   bool
}

// is reports whether a resource is called so.
func (c calling) is(r *engine.ResourceRow) bool {
	id := string(r.ID)
	if c.local {
		id = string(r.Local)
	}
	return id == c.id && r.Service == c.service && r.Kind == c.kind
}

func newLookups() *lookups {
	l := &lookups{}
	l.named.most, l.rows.most = 2*lookedUp, lookedUp
	return l
}

// get returns what is remembered, or has read look for it and remembers what that finds, unless something was written meanwhile. The
// row is the caller's.
func (l *lookups) get(c calling, read func() (engine.ResourceRow, error)) (engine.ResourceRow, error) {
	l.mu.Lock()
	id, known := l.named.get(c)
	row, kept := l.rows.get(id)
	written := l.written
	l.mu.Unlock()
	if !known || !kept || !c.is(&row) {
		var err error
		if row, err = read(); err != nil {
			return row, err
		}
		l.mu.Lock()
		if l.written == written {
			l.named.put(c, row.Document)
			l.rows.put(row.Document, row)
		}
		l.mu.Unlock()
	}
	row.Sites, row.Relations = maps.Clone(row.Sites), slices.Clone(row.Relations)
	return row, nil
}

// forget is for what a batch has written, or perhaps has. It runs before anybody is told that it has.
func (l *lookups) forget(b *engine.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range b.Records {
		if b.Records[i].Brief {
			continue
		}
		r := &b.Records[i].Row
		l.written++
		l.rows.forget(r.Document)
		l.named.forget(calling{r.Service, r.Kind, string(r.ID), false})
		l.named.forget(calling{r.Service, r.Kind, string(r.Local), true})
	}
}
