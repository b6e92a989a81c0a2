package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// nested is an object that is nested n levels deep.
func nested(n int) string { return strings.Repeat(`{"abcdefg":`, n) + "1" + strings.Repeat("}", n) }

// doubling is a JSON Patch that doubles what is there n times.
func doubling(n int) string {
	steps := []string{`{"op":"add","path":"/a","value":["0123456789012345678901234567890123456789"]}`}
	for range n {
		steps = append(steps, `{"op":"copy","from":"/a","path":"/a/-"}`)
	}
	return "[" + strings.Join(steps, ",") + "]"
}

// TestWhatIsLookedIntoIsBounded has small bodies make much: they are refused before they do, and those that make little are not.
func TestWhatIsLookedIntoIsBounded(t *testing.T) {
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, `,"m%d":0`, i)
	}
	wide := `{"` + strings.Repeat("w", 100_000) + `":{"0":0` + many.String() + "}}"
	for name, c := range map[string]struct {
		t      Type
		body   string
		refuse bool
	}{
		"a create, as deep as can be":      {TypeCreate, nested(maxDepth), false},
		"a create, deeper":                 {TypeCreate, nested(maxDepth + 1), true},
		"a deep create":                    {TypeCreate, nested(9_900), true},
		"a deep PUT":                       {TypeReplace, nested(9_900), true},
		"a deep merge patch":               {TypeMerge, nested(9_900), true},
		"a deep value of a JSON Patch":     {TypePatch, `[{"op":"add","path":"/a","value":` + nested(9_900) + `}]`, true},
		"a JSON Patch that goes deeper":    {TypePatch, `[{"op":"add","path":"/a","value":` + nested(150) + `},{"op":"copy","from":"/a","path":"/a` + strings.Repeat("/abcdefg", 149) + `/b"}]`, true},
		"a JSON Patch that doubles":        {TypePatch, doubling(40), true},
		"a JSON Patch that doubles little": {TypePatch, doubling(5), false},
		"a long name above many":           {TypeReplace, wide, true},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ChangeOf(lab, c.t, []byte(c.body), newFold(HistoryOf(lab)), func() ([]byte, error) {
				t.Error("the application is asked")
				return []byte(`{}`), nil
			})
			runtime.ReadMemStats(&after)
			if errors.Is(err, ErrTooLarge) != c.refuse || !c.refuse && err != nil {
				t.Errorf("%d bytes are refused: %v", len(c.body), err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d bytes took %d", len(c.body), took)
			}
		})
	}
	if c := (&Change{Set: map[Pointer]json.RawMessage{"/a": json.RawMessage(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth))}}); c.Validate() == nil {
		t.Error("another site sets a value that is too deep to be shown")
	}
	if c, err := ChangeOf(lab, TypeCreate, []byte(strings.Repeat("[", 300)), Fold{}, nil); err != nil || !c.Empty() {
		t.Errorf("what is no JSON is refused: %v", err)
	}
}
