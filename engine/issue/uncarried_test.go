package issue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestALimitIsNamed: who has sent too much is told how much goes.
func TestALimitIsNamed(t *testing.T) {
	if r := Uncarried(nil); !strings.Contains(r.Detail, "1507328 bytes") {
		t.Error(r.Detail)
	}
	if r := Uncarried(fmt.Errorf("%w: it sets 9 paths", engine.ErrTooLarge)); !strings.Contains(r.Detail, "it sets 9 paths") {
		t.Error(r.Detail)
	}
}
