package engine

import (
	"errors"
	"fmt"
	"net/http"
)

var (
	// ErrTooLarge: a body or an entry is over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrStorage: the store could not make something durable, for example because the disk is full. Nothing of the batch
	// has happened.
	ErrStorage = errors.New("storage")
	// ErrNotFound: there is no such thing here.
	ErrNotFound = errors.New("not found")
	// ErrMissing: something builds on what is not here yet. Ask for it.
	ErrMissing = errors.New("something it builds on is missing")
	// ErrUnknown: something from outside names what this site does not know, such as a kind. It may come to be known.
	ErrUnknown = errors.New("unknown here")
	// ErrRefused: bytes from outside are not what any honest site sends. Whoever sent them is at fault.
	ErrRefused = errors.New("refused")
	// ErrUntellable: what an application lists does not tell whether it has an object.
	ErrUntellable = errors.New("the application's list does not tell")
	// ErrUnreachable: the other side was not reached and it is certain that nothing happened there.
	ErrUnreachable = errors.New("unreachable")
	// ErrUnsendable: a request cannot be made, now or ever: a header, say, has a value that HTTP cannot carry. It wraps ErrUnreachable, since
	// it is certain that nothing has happened.
	ErrUnsendable error = unsendable{}
	// ErrIncomplete: a body ended before it was whole, or whoever sent it has gone.
	ErrIncomplete = errors.New("incomplete body")
)

type unsendable struct{}

func (unsendable) Error() string { return "the request cannot be sent" }

func (unsendable) Unwrap() error { return ErrUnreachable }

// Incomplete tells a body that did not come whole from a disk without room for it.
func Incomplete(err error) error {
	if errors.Is(err, ErrStorage) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, err)
}

// Refusal is an error of the agent's own that a client gets as problem+json (RFC 9457). Type is the last part of the
// problem's type, as docs/problems.md lists them.
type Refusal struct {
	Status int
	Type   string
	// Detail is for whoever asked: what is wrong and what to do.
	Detail string
	// Operation is the one that will be settled, if any.
	Operation OperationID
	// Err is the cause, for the log.
	Err error
}

func (r *Refusal) Error() string { return r.Type + ": " + r.Detail }

func (r *Refusal) Unwrap() error { return r.Err }

// ErrSettled is what a person gets who settles an operation that does not wait for a decision at this site.
var ErrSettled = &Refusal{Status: http.StatusConflict, Type: "settled", Detail: "the operation does not wait for a decision at this site"}
