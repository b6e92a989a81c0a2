package lab

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Service is one REST service: a collection of items below "/" and its name. Or it is a collection inside each item of another,
// its parent; the identifiers of its items begin with those of the parent's then. Or it is a collection beside that of another.
type Service struct {
	spec
	parent  *Service
	within  []*Service
	others  []*Service // those beside it
	owner   *Service   // whose listener it is reached at, and who counts its requests: itself, as a rule
	files   string     // directory of the items' files
	handler http.Handler
	counts  counts
	faults  faults

	mu      sync.Mutex // guards what follows
	journal *journal
	items   map[string]*item
	order   []string // ids by creation; those of deleted items stay until half of them are
	answers map[string]reply
	keys    []string // of answers, oldest first
}

// maxAnswers bounds how many answers are remembered; the oldest is forgotten first.
const maxAnswers = 100_000

// item is one resource. Its Body is what a GET answers and is replaced, never changed.
type item struct {
	Revision uint64          `json:"revision"`
	Body     json.RawMessage `json:"body"`
}

func (i *item) etag() string { return fmt.Sprintf(`"%d"`, i.Revision) }

func open(s spec, dir string) (*Service, error) {
	v := &Service{spec: s, files: s.path(dir, "-files"), items: map[string]*item{}, answers: map[string]reply{}}
	v.owner = v
	if s.files {
		if err := os.MkdirAll(v.files, 0o700); err != nil {
			return nil, err
		}
	}
	j, err := openJournal(s.path(dir, ".jsonl"), func(r record) error {
		v.put(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	v.journal = j
	for i, more := range slices.Concat(s.inner, s.beside) {
		w, err := open(more, dir)
		if err != nil {
			return nil, errors.Join(err, v.close())
		}
		w.belong(v)
		if i >= len(s.inner) {
			v.others = append(v.others, w)
			continue
		}
		w.parent = v
		v.within = append(v.within, w)
	}
	v.handler = v.routes()
	return v, nil
}

// belong makes another service the owner, of what is inside as well.
func (s *Service) belong(to *Service) {
	s.owner = to
	for _, w := range s.within {
		w.belong(to)
	}
}

// close closes the journals.
func (s *Service) close() error {
	errs := []error{s.journal.Close()}
	for _, w := range slices.Concat(s.within, s.others) {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}

// idOf is the identifier of the item that a request names.
func (s *Service) idOf(r *http.Request) string { return s.prefix(r) + r.PathValue("id") }

// prefix is what the identifiers of the items begin with that a request can be about.
func (s *Service) prefix(r *http.Request) string {
	if s.parent == nil {
		return ""
	}
	return r.PathValue("parent") + "/"
}

// put takes the effect of a record over. The caller holds the lock.
func (s *Service) put(r record) {
	_, known := s.items[r.ID]
	switch {
	case r.Item == nil:
		delete(s.items, r.ID)
	default:
		s.items[r.ID] = r.Item
		if !known {
			if s.chosen { // it may have been there before
				s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == r.ID })
			}
			s.order = append(s.order, r.ID)
		}
	}
	if len(s.order) > 2*len(s.items)+16 {
		s.order = slices.DeleteFunc(s.order, func(id string) bool { return s.items[id] == nil })
	}
	if r.Key == "" {
		return
	}
	s.answers[r.Key] = *r.Answer
	s.keys = append(s.keys, r.Key)
	if len(s.keys) > maxAnswers {
		delete(s.answers, s.keys[0])
		s.keys = s.keys[1:]
	}
}

// get returns an item, nil when there is none.
func (s *Service) get(id string) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[id]
}

// list returns the items whose identifiers begin with prefix, in the order of their creation.
func (s *Service) list(prefix string) []*item {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*item, 0, len(s.items))
	for _, id := range s.order {
		if i := s.items[id]; i != nil && strings.HasPrefix(id, prefix) {
			all = append(all, i)
		}
	}
	return all
}

// ServeHTTP serves the collection and what is under /-/.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// filePath tells where the file of an item is. The identifier is one of ours, so it has no slash.
func (s *Service) filePath(id string) string { return filepath.Join(s.files, id) }

// newID returns a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
