package problem

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, 400, "scope-syntax", "expected a site\n  ^", map[string]any{"position": 7, "status": 200})
	if got := w.Header().Get("Content-Type"); got != MediaType {
		t.Errorf("content type %q", got)
	}
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "/problems/scope-syntax", "title": "Bad Request", "status": 400.0,
		"detail": "expected a site\n  ^", "position": 7.0,
	}
	for k, v := range want {
		if p[k] != v {
			t.Errorf("%s: got %v, want %v", k, p[k], v)
		}
	}
	if w.Code != 400 {
		t.Errorf("status %d", w.Code)
	}
}

func TestWriteLeavesScopesReadable(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, 400, "scope-syntax", "{images: paris & , <x>}", nil)
	if got := w.Body.String(); !strings.Contains(got, "paris & , <x>") || !strings.HasSuffix(got, "}\n") {
		t.Errorf("got %q", got)
	}
}

func TestWriteKeepsTheStoryWhenAnExtraMemberCannotBeEncoded(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, 409, "exists", "it is there already", map[string]any{"bad": func() {}})
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p["detail"] != "it is there already" {
		t.Fatalf("got %s (%v)", w.Body, err)
	}
}
