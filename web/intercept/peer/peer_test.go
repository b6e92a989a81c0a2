package peer

import (
	"errors"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// A connection that is lost while it carries a read is asked about again; a site that cannot be reached is not.
func TestAskAgain(t *testing.T) {
	lost := errors.New("the stream was reset")
	for _, c := range []struct {
		errs  []error
		want  error
		asked int
	}{
		{[]error{nil}, nil, 1},
		{[]error{lost, nil}, nil, 2},
		{[]error{lost, lost}, lost, 2},
		{[]error{engine.ErrUnreachable}, engine.ErrUnreachable, 1},
	} {
		asked := 0
		peer := roundTripper(func(*http.Request) (*http.Response, error) {
			asked++
			return &http.Response{}, c.errs[asked-1]
		})
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://QmNantes/images", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := AskAgain(peer, r); !errors.Is(err, c.want) || asked != c.asked {
			t.Errorf("after %v: %v, asked %d times", c.errs, err, asked)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
