package lab

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// routes puts the counters and the faults around the requests of an ordinary REST service.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	s.register(mux, "/"+s.name)

	outer := http.NewServeMux()
	outer.Handle("/", s.counts.wrap(mux, s.faults.wrap(mux)))
	if s.openAPI != nil {
		outer.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			_, _ = w.Write(s.openAPI)
		})
	}
	outer.HandleFunc("GET /-/requests", s.counts.serve)
	outer.HandleFunc("GET /-/faults", s.faults.serveList)
	outer.HandleFunc("POST /-/faults", s.faults.serveAdd)
	outer.HandleFunc("DELETE /-/faults", s.faults.serveClear)
	return outer
}

// register adds the requests for a collection and its items.
func (s *Service) register(mux *http.ServeMux, root string) {
	mux.HandleFunc("GET "+root, s.serveList)
	if !s.chosen {
		mux.HandleFunc("POST "+root, s.serveCreate)
	}
	mux.HandleFunc("GET "+root+"/{id}", s.serveRead)
	mux.HandleFunc("PUT "+root+"/{id}", s.serveReplace)
	mux.HandleFunc("PATCH "+root+"/{id}", s.servePatch)
	mux.HandleFunc("DELETE "+root+"/{id}", s.serveDelete)
	if s.spec.files {
		mux.HandleFunc("GET "+root+"/{id}/file", s.serveFile)
		mux.HandleFunc("PUT "+root+"/{id}/file", s.serveFilePut)
	}
	for name, act := range s.actions {
		mux.HandleFunc("POST "+root+"/{id}/"+name, s.serveAction(act))
	}
	for _, w := range s.within {
		w.register(mux, root+"/{parent}/"+w.name)
	}
	for _, w := range s.others {
		w.register(mux, "/"+w.name)
	}
}

func (s *Service) serveList(w http.ResponseWriter, r *http.Request) {
	if s.orphan(r) {
		s.parent.missing(r).write(w)
		return
	}
	name := r.URL.Query().Get("name")
	bodies := []json.RawMessage{}
	for _, i := range s.list(s.prefix(r)) {
		if name == "" || nameOf(i.Body) == name {
			bodies = append(bodies, i.Body)
		}
	}
	b, err := json.Marshal(bodies)
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error()).write(w)
		return
	}
	reply{Status: http.StatusOK, Body: b}.write(w)
}

func nameOf(body []byte) string {
	var v struct{ Name string }
	_ = json.Unmarshal(body, &v) // every body is an object with a name: it was checked when it was set
	return v.Name
}

func (s *Service) serveRead(w http.ResponseWriter, r *http.Request) {
	i := s.get(s.idOf(r))
	switch {
	case i == nil:
		s.missing(r).write(w)
	case r.Header.Get("If-None-Match") == i.etag():
		reply{Status: http.StatusNotModified, ETag: i.etag()}.write(w)
	default:
		reply{Status: http.StatusOK, ETag: i.etag(), Body: i.Body}.write(w)
	}
}

func (s *Service) missing(r *http.Request) reply {
	return refuse(http.StatusNotFound, "there is nothing called "+cmp.Or(r.PathValue("id"), r.PathValue("parent"))+" in "+s.name)
}

// orphan reports whether a request is for what is inside an item that there is not.
func (s *Service) orphan(r *http.Request) bool {
	return s.parent != nil && s.parent.get(r.PathValue("parent")) == nil
}
