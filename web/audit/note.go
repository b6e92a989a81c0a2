package audit

import "context"

type noteKey struct{}

// Noting returns a context in which a call can say what was decided by it, and where that is then.
func Noting(ctx context.Context) (context.Context, *string) {
	said := new(string)
	return context.WithValue(ctx, noteKey{}, said), said
}

// Note says what was decided by the call of a context, for its record. Of several the last counts.
func Note(ctx context.Context, choice string) {
	if said, ok := ctx.Value(noteKey{}).(*string); ok {
		*said = choice
	}
}
