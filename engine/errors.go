package engine

import "errors"

var (
	// ErrTooLarge: a body or an entry is over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrStorage: the store could not make something durable, for example because the disk is full. Nothing of the
	// batch has happened.
	ErrStorage = errors.New("storage")
	// ErrNotFound: there is no such resource, operation or document here.
	ErrNotFound = errors.New("not found")
	// ErrMissing: a change builds on one that is not here yet.
	ErrMissing = errors.New("missing dependency")
	// ErrRefused: bytes from outside are not what they must be. Whoever sent them is at fault.
	ErrRefused = errors.New("refused")
	// ErrUntellable: what an application lists does not tell whether it has an object.
	ErrUntellable = errors.New("the application's list does not tell")
	// ErrUnreachable: the other side was not reached and it is certain that nothing happened there.
	ErrUnreachable = errors.New("unreachable")
)
