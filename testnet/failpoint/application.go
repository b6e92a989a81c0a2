package failpoint

import (
	_ "embed"
	"strings"
)

// Catalog describes the application of mortal to an agent: one service, "app", that honours no Idempotency-Key.
//
//go:embed mortal/catalog.yaml
var Catalog []byte

// State is what the application of mortal holds and has done, at GET /-/state.
type State struct {
	Objects map[string]map[string]any `json:"objects"` // by path
	Done    map[string]int            `json:"done"`    // how often each tag was created, or acted with
}

// File is the large body that stands for a tag, of two chunks. ReadFile tells the tag of one, and whether it is whole.
func File(tag string) string { return strings.Repeat(tag+"\n", (5<<18)/(len(tag)+1)) }

func ReadFile(body string) string {
	tag, _, _ := strings.Cut(body, "\n")
	if body != File(tag) {
		return "broken " + tag
	}
	return tag
}
