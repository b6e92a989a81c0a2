package plan

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// What another agent's answer means, whether it comes as an answer, as problem details, or as an error of a forwarder without a wire.
func TestHear(t *testing.T) {
	problem := func(status int, kind string) engine.Answer {
		return engine.Answer{Status: status, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: fmt.Appendf(nil, `{"type":%q}`, kind)}
	}
	for name, c := range map[string]struct {
		a         engine.Answer
		err       error
		want      Hearing
		untouched bool
	}{
		"done":                                 {engine.Answer{Status: 201}, nil, HeardAnswer, false},
		"refused by the application":           {engine.Answer{Status: 409}, nil, HeardAnswer, false},
		"the application is busy":              {engine.Answer{Status: 503}, nil, HeardLater, false},
		"the application asks for patience":    {engine.Answer{Status: 429}, nil, HeardLater, false},
		"the application cannot":               {engine.Answer{Status: 501}, nil, HeardAnswer, false},
		"the application broke":                {engine.Answer{Status: 500}, nil, HeardNothing, false},
		"kept there":                           {engine.Answer{Status: 202, Operation: "o"}, nil, HeardAnswer, false},
		"accepted, and nobody knows as what":   {engine.Answer{Status: 202}, nil, HeardNothing, false},
		"not reached":                          {engine.Answer{}, fmt.Errorf("x: %w", engine.ErrUnreachable), HeardLater, true},
		"no answer":                            {engine.Answer{}, errors.New("broken"), HeardNothing, false},
		"a full disk here":                     {engine.Answer{}, engine.ErrStorage, HeardNothing, true},
		"not its business":                     {problem(404, "/problems/not-replicated"), nil, HeardElsewhere, false},
		"a loop":                               {problem(508, "/problems/loop"), nil, HeardElsewhere, true},
		"its disk is full":                     {problem(507, "/problems/storage"), nil, HeardLater, true},
		"its application was not reached":      {problem(502, "/problems/upstream"), nil, HeardLater, true},
		"its application gave no answer":       {problem(504, "/problems/upstream"), nil, HeardNothing, false},
		"it runs there already":                {problem(409, "/problems/in-progress"), nil, HeardNothing, false},
		"its key came with another body":       {problem(422, "/problems/in-progress"), nil, HeardAnswer, false},
		"it finds out what it has":             {problem(503, "/problems/rejoins"), nil, HeardLater, true},
		"a problem of the application's own":   {problem(502, "https://example.org/upstream"), nil, HeardNothing, false},
		"a problem that says nothing":          {engine.Answer{Status: 404, Header: http.Header{"Content-Type": {"application/problem+json"}}}, nil, HeardAnswer, false},
		"a refusal without a wire":             {engine.Answer{}, &engine.Refusal{Status: 503, Type: "no-replica"}, HeardLater, true},
		"a refusal without a wire, and it ran": {engine.Answer{}, &engine.Refusal{Status: 504, Type: "upstream", Err: engine.ErrUnreachable}, HeardNothing, false},
	} {
		if got := Hear(c.a, c.err); got != c.want {
			t.Errorf("%s: it means %d, want %d", name, got, c.want)
		}
		if got := Untouched(c.a, c.err); got != c.untouched {
			t.Errorf("%s: nothing was asked: %v", name, got)
		}
	}
	for err, want := range map[error]bool{engine.ErrUnreachable: true, &engine.Refusal{Type: "unreachable"}: true, &engine.Refusal{Type: "storage"}: false, errors.New("x"): false} {
		if got := Unreachable(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
