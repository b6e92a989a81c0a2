package glue

import (
	"context"
	"io"
	"time"
)

// watch ends a request when nothing has moved for a while.
type watch struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// bounded returns a context that ends after limit, unless its watch is told that something moves.
func bounded(ctx context.Context, limit time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{limit, time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) }), cancel}
}

// moves grants the whole time again.
func (w *watch) moves() { w.timer.Reset(w.limit) }

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// watchedBody is the body of a request that may take its time as long as it moves.
type watchedBody struct {
	io.Reader
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.moves()
	return b.Reader.Read(p)
}

// watchedAnswer is the body of an answer likewise; its request ends with it.
type watchedAnswer struct {
	watchedBody
	body io.Closer
}

func (a *watchedAnswer) Close() error {
	a.watch.end()
	return a.body.Close()
}
