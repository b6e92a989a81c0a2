package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// received is what a service's handler answered in process.
type received struct {
	status    int
	header    http.Header
	body      []byte
	truncated bool // the body went on
}

// ask sends a request through the interception handler of a service, as a client of its listener would, and
// keeps at most max bytes of the answer's body. The error is the context's.
func (s *Service) ask(ctx context.Context, method, target string, h http.Header, body []byte, remote string, max int) (received, error) {
	r, err := http.NewRequestWithContext(request.Inside(ctx), method, "http://"+string(s.Name)+target, bytes.NewReader(body))
	if err != nil {
		return received{}, badRequest("the request cannot be made: %v", err)
	}
	r.Header = h
	r.RemoteAddr = remote
	r.RequestURI = target
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, max: max}
	if err := serve(s.Handler, w, r); err != nil {
		return received{}, err
	}
	if err := ctx.Err(); err != nil && w.status == 0 {
		return received{}, fmt.Errorf("ask service %s: %w", s.Name, err)
	}
	w.WriteHeader(http.StatusOK)
	return received{w.status, w.final, w.body.Bytes(), w.truncated}, nil
}

// serve turns the abort of a proxied answer into an error, as net/http's server does.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			err = fmt.Errorf("the answer broke off: %w", io.ErrUnexpectedEOF)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// recorder is a bounded http.ResponseWriter. One goroutine writes it.
type recorder struct {
	header, final http.Header
	status        int
	body          bytes.Buffer
	max           int
	truncated     bool
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.final = w.header.Clone()
}

// Write keeps what fits and takes the rest without keeping it, so that the sender is not disturbed.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if room := w.max - w.body.Len(); len(b) > room {
		w.truncated = true
		w.body.Write(b[:room])
		return len(b), nil
	}
	return w.body.Write(b)
}

// Flush is there because the handler streams; what is recorded has nowhere to go.
func (w *recorder) Flush() {}

// itemPath is the path of one resource with its identifier in place.
func itemPath(k *engine.Kind, id engine.ResourceID) string {
	path, _ := glue.ExpandPath(k.Item, string(id)) // it was created under it
	return path
}
