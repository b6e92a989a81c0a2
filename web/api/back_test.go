package api

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestWhatWasIsSetAgainAsTheKindTakesIt: the request that sets again what was there has the method and the media type of the kind's patches.
func TestWhatWasIsSetAgainAsTheKindTakesIt(t *testing.T) {
	row := engine.OperationRow{Change: []byte(`{"set":{"/name":"\"b\""}}`)}
	for _, c := range []struct {
		kind          engine.Kind
		method, media string
	}{
		{engine.Kind{MergePatch: true}, "PATCH", "application/merge-patch+json"},
		{engine.Kind{MergePatch: true, MergeType: "application/json"}, "PATCH", "application/json"},
		{engine.Kind{MergePatch: true, MergeType: "application/json", MergeMethod: "PUT"}, "PUT", "application/json"},
	} {
		c.kind.Collection, c.kind.Item = "/boats", "/boats/{id}"
		r, err := before(&c.kind, row, map[string]any{"name": "a"})
		if err != nil || r.Method != c.method || r.Headers["Content-Type"] != c.media {
			t.Errorf("it is %s %v, %v; want %s %s", r.Method, r.Headers, err, c.method, c.media)
		}
	}
}
