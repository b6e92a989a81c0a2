package flight

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// An answer whose header is Latin-1 is given again under its key.
func TestAnAnswerInLatin1IsRemembered(t *testing.T) {
	list := Remember(Keys{Keys: [][32]byte{{1}}}, &engine.Kind{Service: "store", Name: "note"}, engine.Reply{Status: 200, Header: http.Header{"Warning": {"caf\xe9", "thé"}}}, "op", "web", time.Unix(0, 0))
	var was Remembered
	if err := engine.Decode(list[0].Answer, &was); err != nil || was.Header["Warning"][0] != "café" || was.Header["Warning"][1] != "thé" {
		t.Errorf("remembered %q, %v", was.Header, err)
	}
}
