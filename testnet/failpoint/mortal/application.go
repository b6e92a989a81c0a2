package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/skerry/skerry/testnet/failpoint"
)

// application keeps things under identifiers that clients choose, items under identifiers of its own and notes under either, and
// remembers everything that was ever done to them. It honours no Idempotency-Key and does what it is asked as often as it is asked.
type application struct {
	mu      sync.Mutex
	next    int
	objects map[string]map[string]any // by path
	done    map[string]int            // how often each tag was created, or acted with
}

func serve(ctx context.Context, listen string) error {
	a := &application{objects: map[string]map[string]any{}, done: map[string]int{}}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: a}
	stopped := context.AfterFunc(ctx, func() { s.Close() })
	defer stopped()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	b, err := io.ReadAll(r.Body)
	switch {
	case err != nil || len(b) == 0:
	case strings.HasSuffix(r.URL.Path, "/file"):
		body = map[string]any{"file": failpoint.ReadFile(string(b))}
	default:
		err = json.Unmarshal(b, &body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	status, answer := a.do(r.Method, r.URL.Path, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // whoever has gone hears nothing
}

func (a *application) do(method, path string, body map[string]any) (int, any) {
	tag, _ := body["tag"].(string)
	segments := strings.Split(path, "/") // the first is empty
	acts := len(segments) == 4
	if acts {
		path = strings.Join(segments[:3], "/")
	}
	o := a.objects[path]
	switch {
	case path == "/-/state":
		return http.StatusOK, failpoint.State{Objects: a.objects, Done: a.done}
	case method == http.MethodGet && (path == "/items" || path == "/notes" || path == "/things"):
		list := []any{}
		for at, o := range a.objects {
			if strings.HasPrefix(at, path+"/") {
				list = append(list, o)
			}
		}
		return http.StatusOK, list
	case method == http.MethodPost && (path == "/items" || path == "/notes"):
		a.next++
		id := fmt.Sprint(a.next)
		if path == "/notes" { // no other site's application gives the same
			if id, _ = body["id"].(string); id == "" {
				id = rand.Text()
			}
		}
		if path += "/" + id; a.objects[path] != nil {
			return http.StatusConflict, map[string]any{"error": "there is one"}
		}
		body["id"] = id
		a.objects[path] = body
		a.done[tag]++
		return http.StatusCreated, body
	case method == http.MethodPut && o == nil && strings.HasPrefix(path, "/things/"):
		body["id"] = strings.TrimPrefix(path, "/things/")
		a.objects[path] = body
		a.done[tag]++
		return http.StatusCreated, body
	case o == nil:
		return http.StatusNotFound, map[string]any{"error": "there is none"}
	case body["refuse"] != nil:
		return http.StatusUnprocessableEntity, map[string]any{"error": "it is to be refused"}
	case method == http.MethodPost && acts:
		a.done[tag]++
	case acts: // a file, of which the object shows what it is
		o["file"] = body["file"]
	case method == http.MethodPut:
		body["id"] = o["id"]
		a.objects[path], o = body, body
	case method == http.MethodPatch:
		for k, v := range body {
			if o[k] = v; v == nil {
				delete(o, k)
			}
		}
	case method == http.MethodDelete:
		delete(a.objects, path)
		return http.StatusNoContent, nil
	}
	return http.StatusOK, o
}
