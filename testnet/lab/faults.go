package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is something that goes wrong with the next requests it matches. It is ordered with POST /-/faults.
type Fault struct {
	// Method and Path select requests: the exact method and the beginning of the path; empty takes all.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Times is how many requests it strikes, 1 when absent.
	Times int `json:"times,omitempty"`
	// Delay, a Go duration, passes before anything happens.
	Delay string `json:"delay,omitempty"`
	// Status is answered in place of the service's own; 0 leaves the answer as it is.
	Status int `json:"status,omitempty"`
	// Body is answered as HTML with Status, 200 if that is absent: garbage to who expects JSON.
	Body string `json:"body,omitempty"`
	// Drop closes the connection without an answer.
	Drop bool `json:"drop,omitempty"`
	// Done says that the request is carried out before it is answered wrongly; otherwise it is not.
	Done bool `json:"done,omitempty"`

	delay time.Duration
}

// answers reports whether the fault answers in place of the service.
func (f *Fault) answers() bool { return f.Status != 0 || f.Body != "" || f.Drop }

type faults struct {
	mu      sync.Mutex // guards ordered
	ordered []*Fault
}

// take returns the first fault that matches r, one time less, or nil.
func (f *faults) take(r *http.Request) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.ordered {
		if (x.Method != "" && x.Method != r.Method) || !strings.HasPrefix(r.URL.Path, x.Path) {
			continue
		}
		if x.Times--; x.Times == 0 {
			f.ordered = slices.Delete(f.ordered, i, i+1)
		}
		return x
	}
	return nil
}

func (f *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := f.take(r)
		if x == nil {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case <-time.After(x.delay):
		case <-r.Context().Done(): // the client has gone: nothing happens
			return
		}
		if !x.answers() {
			next.ServeHTTP(w, r)
			return
		}
		if x.Done {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		x.answer(w)
	})
}

func (f *Fault) answer(w http.ResponseWriter) {
	if f.Drop {
		panic(http.ErrAbortHandler) // net/http's way to close a connection without an answer
	}
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	if f.Body == "" {
		refuse(status, "a fault that was ordered").write(w)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(f.Body))
}

func (f *faults) serveAdd(w http.ResponseWriter, r *http.Request) {
	x := &Fault{Times: 1}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(x); err != nil {
		refuse(http.StatusBadRequest, err.Error()).write(w)
		return
	}
	if x.Delay != "" {
		var err error
		if x.delay, err = time.ParseDuration(x.Delay); err != nil {
			refuse(http.StatusBadRequest, err.Error()).write(w)
			return
		}
	}
	if x.Times < 1 || (x.Status != 0 && (x.Status < 200 || x.Status > 599)) {
		refuse(http.StatusBadRequest, fmt.Sprintf("times %d or status %d makes no sense", x.Times, x.Status)).write(w)
		return
	}
	f.mu.Lock()
	f.ordered = append(f.ordered, x)
	f.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (f *faults) serveList(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	b, err := json.Marshal(f.ordered)
	f.mu.Unlock()
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error()).write(w)
		return
	}
	reply{Status: http.StatusOK, Body: b}.write(w)
}

func (f *faults) serveClear(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	f.ordered = nil
	f.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
