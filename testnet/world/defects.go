package world

import (
	"context"
	"fmt"
	"log/slog"
)

// defects makes problems of what the engine says are defects of its own: a panic that was caught, or sites that fold the same
// operations differently.
type defects struct {
	slog.Handler
	w *World
}

func (d defects) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError || d.Handler.Enabled(ctx, l)
}

func (d defects) Handle(ctx context.Context, r slog.Record) error {
	text := r.Message
	wrong, unwinds := false, false
	r.Attrs(func(a slog.Attr) bool {
		unwinds = unwinds || a.Key == "panic" && a.Value.String() == died{}.String()
		wrong = wrong || a.Key == "panic"
		text += fmt.Sprintf("\n    %s: %v", a.Key, a.Value)
		return true
	})
	if unwinds { // a process that has died says nothing
		return nil
	}
	if wrong || r.Message == "sites fold the same operations differently: a defect of the agent" {
		d.w.Problem("%s", text)
	}
	if !d.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}

func (d defects) WithAttrs(attrs []slog.Attr) slog.Handler {
	return defects{d.Handler.WithAttrs(attrs), d.w}
}
func (d defects) WithGroup(name string) slog.Handler { return defects{d.Handler.WithGroup(name), d.w} }
