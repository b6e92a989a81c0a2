package beside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// vault is an application with one image, which has content once.
type vault struct {
	file   string
	status int // of the answer to a write; 0: 204
	err    error
	busy   bool
	wrote  engine.Call
	length int64
}

func (v *vault) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	switch {
	case v.err != nil:
		return engine.Reply{}, v.err
	case c.Method == http.MethodPut:
		content, err := io.ReadAll(c.Content)
		if err != nil {
			return engine.Reply{}, fmt.Errorf("send: %w", err)
		}
		v.wrote, v.length = c, c.Length
		if v.status != 0 {
			return engine.Reply{Status: v.status, Body: []byte("no")}, nil
		}
		v.file = string(content)
		return engine.Reply{Status: 204}, nil
	case strings.HasSuffix(c.Path, "/file") && v.file == "":
		return engine.Reply{Status: 204}, nil
	case strings.HasSuffix(c.Path, "/file"):
		return engine.Reply{Status: 200, Content: io.NopCloser(strings.NewReader(v.file))}, nil
	case v.busy:
		return engine.Reply{Status: 200, Body: []byte(`{"status":"saving"}`)}, nil
	}
	return engine.Reply{Status: 200, Body: []byte(`{"status":"active"}`)}, nil
}

// agents answer what is handed over to them.
type agents map[engine.SiteID]func() (engine.Answer, error)

func (a agents) Forward(_ context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	if r.Type != engine.TypeContent || r.Target != "img" || len(r.Placement) != 1 || r.Placement[0] != to {
		return engine.Answer{}, fmt.Errorf("asked %+v", r)
	}
	if f := a[to]; f != nil {
		return f()
	}
	return engine.Answer{}, engine.ErrUnreachable
}

// settledAt is an answer of a site that has settled so many operations of b.
func settledAt(n int, status int, content string) func() (engine.Answer, error) {
	return func() (engine.Answer, error) {
		h := http.Header{"Content-Type": {"application/x-image"}, "X-Other": {"stays"}, engine.HeaderSettled: {fmt.Sprintf(`{"b":%d}`, n)}}
		return engine.Answer{Status: status, Header: h, Content: io.NopCloser(strings.NewReader(content)), Length: int64(len(content))}, nil
	}
}

func problem(status int, kind string) func() (engine.Answer, error) {
	return func() (engine.Answer, error) {
		body, err := json.Marshal(map[string]any{"type": "/problems/" + kind})
		return engine.Answer{Status: status, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: body}, err
	}
}

func TestContentIsCopied(t *testing.T) {
	refusal := func() (engine.Answer, error) {
		return engine.Answer{}, &engine.Refusal{Status: 404, Type: "not-replicated"}
	}
	for name, c := range map[string]struct {
		app     vault
		others  agents
		maxBlob int64
		settled uint64 // 0: it fails
		file    string
		err     string
		forGood bool
	}{
		"from the nearest":        {others: agents{"b": settledAt(3, 200, "bytes"), "c": settledAt(4, 200, "others")}, settled: 3, file: "bytes"},
		"from the next":           {others: agents{"c": settledAt(4, 200, "others")}, settled: 4, file: "others"},
		"another's refusal":       {others: agents{"b": refusal, "c": settledAt(4, 200, "others")}, settled: 4, file: "others"},
		"another's problem":       {others: agents{"b": problem(404, "not-replicated"), "c": settledAt(4, 200, "others")}, settled: 4, file: "others"},
		"none there":              {others: agents{"b": settledAt(3, 204, "")}, settled: 3},
		"gone there":              {others: agents{"b": settledAt(3, 404, "")}, settled: 3},
		"nobody":                  {others: agents{"c": problem(503, "upstream")}, err: "copy the content from C: read /images/{id}/file: it answered \"{\"type\":\"/problems/upstream\"}\" (503 Service Unavailable)"},
		"the application fails":   {others: agents{"b": settledAt(3, 500, "")}, err: "from C: read /images/{id}/file: unreachable"},
		"nothing says how far":    {others: agents{"c": settledAt(-1, 200, "bytes")}, err: engine.HeaderSettled},
		"too large":               {others: agents{"b": settledAt(3, 200, "bytes"), "c": settledAt(3, 200, "")}, maxBlob: 4, err: "over 4 bytes", forGood: true},
		"refused here":            {app: vault{status: 400, file: "else"}, others: agents{"b": settledAt(3, 200, "bytes")}, file: "else", err: "the application refuses the content: it answered \"no\" (400 Bad Request)", forGood: true},
		"there already":           {app: vault{status: 409, file: "bytes"}, others: agents{"b": settledAt(3, 200, "bytes")}, settled: 3, file: "bytes"},
		"another one there":       {app: vault{status: 409, file: "else"}, others: agents{"c": settledAt(3, 200, "bytes")}, file: "else", err: "it answered \"no\" (409 Conflict)"},
		"being taken in":          {app: vault{status: 409, busy: true}, others: agents{"c": settledAt(3, 200, "bytes")}, err: "still taking it in"},
		"not now":                 {app: vault{status: 503}, others: agents{"c": settledAt(3, 200, "bytes")}, err: "write /images/{id}/file: it answered \"no\" (503 Service Unavailable)"},
		"this one is unreachable": {app: vault{err: engine.ErrUnreachable}, others: agents{"c": settledAt(3, 200, "bytes")}, err: "it cannot be reached"},
	} {
		kind := *imageKind
		part := kind.Content[0]
		part.BusyAt, part.Busy = "/status", []json.RawMessage{json.RawMessage(`"saving"`)}
		kind.Content = []engine.Content{part}
		if c.maxBlob == 0 {
			c.maxBlob = 100
		}
		served := 0
		copies := &copier{app: &c.app, others: c.others, name: siteName, served: func(*engine.Kind, engine.Reply, error) { served++ }, timeout: time.Second, maxBlob: c.maxBlob}
		settled, err := copies.copy(t.Context(), engine.Call{Kind: &kind, Local: "local", As: &engine.Asker{User: "alice"}}, "img", []engine.SiteID{"b", "c"})
		if settled["b"] != c.settled || c.app.file != c.file {
			t.Errorf("%s: settled %v, the application has %q, err %v", name, settled, c.app.file, err)
		}
		var refused *engine.Refusal
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || errors.As(err, &refused) != c.forGood {
			t.Errorf("%s: %v, want %q, for good: %t", name, err, c.err, c.forGood)
		}
		if w := c.app.wrote; w.Method != "" && (w.Local != "local" || w.As == nil || w.As.User != "alice" || len(w.Header) != 1 || w.Header["Content-Type"] != "application/x-image" || served == 0) {
			t.Errorf("%s: wrote %+v, the service was heard of %d times", name, w, served)
		}
	}
}

func TestContentIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		app  vault
		same bool
		err  bool
	}{
		"the same":     {app: vault{file: "bytes"}, same: true},
		"others":       {app: vault{file: "other bytes"}},
		"none":         {},
		"cannot tell":  {app: vault{err: engine.ErrUnreachable}, err: true},
		"being put in": {app: vault{file: "byt", busy: true}, err: true},
	} {
		part := imageKind.Content[0]
		part.BusyAt, part.Busy = "/status", []json.RawMessage{json.RawMessage(`"saving"`)}
		copies := &copier{app: &c.app, name: siteName, timeout: time.Second}
		if same, err := copies.holds(t.Context(), imageKind, "local", part, refOf([]byte("bytes"))); same != c.same || (err != nil) != c.err {
			t.Errorf("%s: %t, %v", name, same, err)
		}
	}
}
