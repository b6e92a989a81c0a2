package passage

import (
	"errors"
	"io"
	"net/http"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// trailed is the body of a request with a trailer, which the server fills in where the body has ended. What the agent alone says is taken out then: some
// applications take a trailer's fields for those of the head.
type trailed struct {
	io.ReadCloser
	trailer http.Header
	said    glue.Asserter // of who asks; nil: the application believes no agent
}

func (t *trailed) Read(b []byte) (n int, err error) {
	if n, err = t.ReadCloser.Read(b); errors.Is(err, io.EOF) {
		glue.StripAgent(t.trailer)
		request.Unforwarded(t.trailer)
		if t.said != nil {
			t.said.Silence(t.trailer)
		}
	}
	return n, err
}
