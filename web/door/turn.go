package door

import (
	"net/http"
	"strconv"
)

// Turner makes an answer of the application what its client gets. It belongs to one request.
type Turner interface {
	// Holds says of how many bytes the body of an answer may be at most to be turned; negative: it passes as it is.
	Holds(status int, fields []Field) (most int64)
	// Turn returns what the client gets in place of a body. Where that is another one, or a field is, it reports so; what does not go with it
	// any more it drops. The length is told beside. An error is for Desk.Unanswered.
	Turn(status int, fields []Field, body []byte) (turned []byte, other bool, err error)
	// TooLong is told of an answer that passes as it is because it is too long.
	TooLong()
}

// turn has an answer turned that is there whole. Of any other it returns what has been read.
func (x *exchange) turn(body *flow) (begun []byte, err error) {
	a := &x.answer
	most := x.r.Turn.Holds(a.status, a.fields)
	if most < 0 {
		return nil, nil
	}
	body.whole = &x.whole
	for !body.done() && body.left <= most && int64(len(x.whole)) <= most {
		if x.held, err = x.next(body, x.held); err != nil {
			return nil, err
		}
	}
	body.whole, body.chunks.data = nil, nil
	if !body.done() || int64(len(x.whole)) > most {
		x.r.Turn.TooLong()
		return x.held, nil
	}
	turned, other, err := x.r.Turn.Turn(a.status, a.fields, x.whole)
	if err != nil || !other {
		return x.held, err
	}
	for i := range a.fields {
		f := &a.fields[i]
		f.Drop = f.Drop || f.Is("content-length")
	}
	*body = flow{}
	a.length = int64(len(turned))
	if a.status != http.StatusNoContent {
		a.fields = append(a.fields, Field{Name: contentLength, Value: strconv.AppendInt(nil, a.length, 10)})
	}
	return turned, nil
}

var contentLength = []byte("Content-Length")
