package plan

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestEnding(t *testing.T) {
	k := &Kind{EndsIn: []engine.Settling{
		{At: "/phase", In: []json.RawMessage{json.RawMessage(`"done"`), json.RawMessage(`3`)}},
		{At: "/conditions/*/type", In: []json.RawMessage{json.RawMessage(`"Failed"`)}},
	}}
	for body, want := range map[string]bool{
		`{"phase":"done"}`: true, `{"phase":3}`: true, `{"phase":"runs"}`: false, `{}`: false, `no JSON`: false, `[1]`: false,
		`{"conditions":[{"type":"Ready"},{"type":"Failed"}]}`: true, `{"conditions":[{"type":"Ready"}]}`: false, `{"conditions":{"x":{"type":"Failed"}}}`: false,
	} {
		if Ending(k, []byte(body)) != want {
			t.Errorf("%s: %t", body, !want)
		}
	}
}
