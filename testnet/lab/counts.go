package lab

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Counts tells how many requests a service has got since its start, by method and route, for example
// "POST /images" or "PATCH /images/{id}".
type Counts struct {
	// Received counts all requests, whatever became of them.
	Received map[string]int `json:"received"`
	// Done counts those that have changed something.
	Done map[string]int `json:"done"`
}

type counts struct {
	mu     sync.Mutex // guards what follows
	counts Counts
}

// wrap counts each request under its route in mux and hands it to next.
func (c *counts) wrap(mux *http.ServeMux, next http.Handler) http.Handler {
	c.counts = Counts{Received: map[string]int{}, Done: map[string]int{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.add(c.counts.Received, routeOf(mux, r))
		next.ServeHTTP(w, r)
	})
}

// routeOf names the route of r; requests that no route takes are counted under their method alone.
func routeOf(mux *http.ServeMux, r *http.Request) string {
	if _, pattern := mux.Handler(r); strings.HasPrefix(pattern, r.Method+" ") {
		return pattern
	}
	return r.Method
}

// addDone counts a request that the mux has routed.
func (c *counts) addDone(r *http.Request) { c.add(c.counts.Done, r.Pattern) }

func (c *counts) add(to map[string]int, route string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to[route]++
}

func (c *counts) serve(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	now := Counts{Received: maps.Clone(c.counts.Received), Done: maps.Clone(c.counts.Done)}
	c.mu.Unlock()
	b, err := json.Marshal(now)
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error()).write(w)
		return
	}
	reply{Status: http.StatusOK, Body: b}.write(w)
}
