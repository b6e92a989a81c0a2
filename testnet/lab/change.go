package lab

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// commit runs apply under the lock and makes what it returns last. A request that comes again with the
// Idempotency-Key of one that has changed something gets the answer of the first.
func (s *Service) commit(w http.ResponseWriter, r *http.Request, apply func() (reply, *record)) {
	s.locked(r, apply).write(w)
}

func (s *Service) locked(r *http.Request, apply func() (reply, *record)) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(r)
	if a, ok := s.answers[key]; ok && key != "" {
		return a
	}
	a, rec := apply()
	if rec == nil {
		return a
	}
	if key != "" {
		rec.Key, rec.Answer = key, &a
	}
	if err := s.journal.append(*rec); err != nil {
		return refuse(http.StatusInsufficientStorage, err.Error())
	}
	s.put(*rec)
	s.owner.counts.addDone(r)
	return a
}

// remembered answers a request that was answered before.
func (s *Service) remembered(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	a, ok := s.answers[keyOf(r)]
	s.mu.Unlock()
	if ok {
		a.write(w)
	}
	return ok
}

// keyOf returns under what the answer to r is remembered; empty without an Idempotency-Key.
func keyOf(r *http.Request) string {
	if k := r.Header.Get("Idempotency-Key"); k != "" {
		return r.Method + " " + r.URL.Path + " " + k
	}
	return ""
}

// edit changes the item that r names: to gets its fields and returns those it shall have.
func (s *Service) edit(w http.ResponseWriter, r *http.Request, to func(old *item) (map[string]any, *problem)) {
	id := s.idOf(r)
	s.commit(w, r, func() (reply, *record) {
		old := s.items[id]
		switch {
		case old == nil && s.chosen && r.Method == http.MethodPut:
			old = &item{} // which has never been anything
		case old == nil:
			return s.missing(r), nil
		}
		if m := r.Header.Get("If-Match"); m != "" && m != "*" && m != old.etag() {
			return refuse(http.StatusPreconditionFailed, "it has changed: its ETag is "+old.etag()), nil
		}
		fields, p := to(old)
		if p != nil {
			return p.reply(), nil
		}
		if v, ok := fields["id"]; ok && v != r.PathValue("id") {
			return refuse(http.StatusUnprocessableEntity, "id cannot be changed"), nil
		}
		status := http.StatusOK
		if old.Revision == 0 {
			status = http.StatusCreated
		}
		return s.become(id, old.Revision+1, status, fields)
	})
}

// become checks the fields of an item and makes its next state of them.
func (s *Service) become(id string, revision uint64, status int, fields map[string]any) (reply, *record) {
	if wrong := s.check(fields); wrong != "" {
		return refuse(http.StatusUnprocessableEntity, wrong), nil
	}
	fields["id"], fields["updated_at"] = id[strings.LastIndexByte(id, '/')+1:], stamp()
	b, err := json.Marshal(fields)
	if err != nil {
		return refuse(http.StatusInternalServerError, err.Error()), nil
	}
	i := &item{Revision: revision, Body: b}
	return reply{Status: status, ETag: i.etag(), Body: b}, &record{ID: id, Item: i}
}

func (s *Service) serveCreate(w http.ResponseWriter, r *http.Request) {
	fields, p := s.bodyWithDefaults(w, r)
	if p != nil {
		p.reply().write(w)
		return
	}
	if s.remembered(w, r) {
		return
	}
	if s.orphan(r) {
		s.parent.missing(r).write(w)
		return
	}
	if wrong := s.check(fields); wrong == "" && s.before != nil {
		if p := s.before(r, fields); p != nil {
			p.reply().write(w)
			return
		}
	}
	s.commit(w, r, func() (reply, *record) {
		id := newID()
		a, rec := s.become(s.prefix(r)+id, 1, http.StatusCreated, fields)
		if rec != nil {
			a.Location = r.URL.Path + "/" + id
		}
		return a, rec
	})
}

// bodyWithDefaults reads the fields of an item, with the defaults for those that it does not name.
func (s *Service) bodyWithDefaults(w http.ResponseWriter, r *http.Request) (map[string]any, *problem) {
	b, p := readBody(w, r)
	if p != nil {
		return nil, p
	}
	body, p := object(b)
	if p != nil {
		return nil, p
	}
	// The defaults go through JSON so that numbers have the same form as those of bodies.
	d, err := json.Marshal(s.defaults)
	if err != nil {
		return nil, &problem{http.StatusInternalServerError, err.Error()}
	}
	fields, p := object(d)
	if p != nil {
		return nil, p
	}
	maps.Copy(fields, body)
	return fields, nil
}

func (s *Service) serveReplace(w http.ResponseWriter, r *http.Request) {
	fields, p := s.bodyWithDefaults(w, r)
	if p != nil {
		p.reply().write(w)
		return
	}
	s.edit(w, r, func(*item) (map[string]any, *problem) { return fields, nil })
}

func (s *Service) servePatch(w http.ResponseWriter, r *http.Request) {
	patch, p := readBody(w, r)
	if p != nil {
		p.reply().write(w)
		return
	}
	apply, p := patchOf(r.Header.Get("Content-Type"), patch)
	if p != nil {
		p.reply().write(w)
		return
	}
	s.edit(w, r, func(old *item) (map[string]any, *problem) {
		b, err := apply(old.Body)
		if err != nil {
			return nil, &problem{http.StatusConflict, "the patch does not apply: " + err.Error()}
		}
		return object(b)
	})
}

// patchOf reads a patch of one of the two standard media types; plain JSON counts as a merge patch.
func patchOf(contentType string, patch []byte) (func([]byte) ([]byte, error), *problem) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, &problem{http.StatusUnsupportedMediaType, "Content-Type is missing"}
	}
	switch media {
	case "application/merge-patch+json", "application/json":
		if _, p := object(patch); p != nil {
			return nil, p
		}
		return func(doc []byte) ([]byte, error) { return jsonpatch.MergePatch(doc, patch) }, nil
	case "application/json-patch+json":
		ops, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, &problem{http.StatusBadRequest, "the body is not a JSON Patch"}
		}
		return ops.Apply, nil
	}
	return nil, &problem{http.StatusUnsupportedMediaType, "a patch is application/merge-patch+json or application/json-patch+json"}
}

func (s *Service) serveDelete(w http.ResponseWriter, r *http.Request) {
	id := s.idOf(r)
	s.commit(w, r, func() (reply, *record) {
		if s.items[id] == nil {
			return s.missing(r), nil
		}
		return reply{Status: http.StatusNoContent}, &record{ID: id}
	})
	if s.get(id) == nil {
		for _, within := range s.within {
			within.clear(id + "/")
		}
	}
}

// clear deletes the items whose identifiers begin with prefix: what they were in is gone.
func (s *Service) clear(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.items {
		if rec := (record{ID: id}); strings.HasPrefix(id, prefix) && s.journal.append(rec) == nil {
			s.put(rec)
		}
	}
}

func (s *Service) serveAction(act action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, p := readBody(w, r)
		var body map[string]any
		if p == nil && len(b) > 0 {
			body, p = object(b)
		}
		if p != nil {
			p.reply().write(w)
			return
		}
		s.edit(w, r, func(old *item) (map[string]any, *problem) {
			fields, p := object(old.Body)
			if p != nil {
				return nil, p
			}
			return fields, act(fields, body)
		})
	}
}
