package carry

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRememberedScopesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := NewCorrelations([]string{"x-request-id"}, time.Hour, func() time.Time { return now })
	c.longest = 10
	id := func(i int) []ID { return c.IDs(http.Header{"X-Request-Id": {fmt.Sprint("r", i)}}, "") }
	for i := range 15 {
		leave, other, full := c.Enter(id(i), "{a: b}")
		if other != "" || full {
			t.Fatal("refused")
		}
		leave(true)
		c.Enter(id(0), "{a: b}") // used again and again: it stays
	}
	var kept []int
	for i := range 15 {
		if text, _ := c.Find(id(i)); text != "" {
			kept = append(kept, i)
		}
	}
	if want := []int{0, 6, 7, 8, 9, 10, 11, 12, 13, 14}; !slices.Equal(kept, want) {
		t.Errorf("remembered are %v, want %v", kept, want)
	}
	if ids := c.IDs(http.Header{"X-Request-Id": {strings.Repeat("x", 1000), "", " "}}, ""); len(ids) != 0 {
		t.Errorf("ids that are none: %v", ids)
	}
	var none *Correlations
	if ids := none.IDs(http.Header{"X-Request-Id": {"r"}}, ""); ids != nil {
		t.Errorf("a memory that is none has ids %v", ids)
	}
}
