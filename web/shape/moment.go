package shape

import (
	"time"

	"github.com/skerry/skerry/engine"
)

// Texts returns names as plain texts; never nil.
func Texts[T ~string](list []T) []string {
	s := make([]string, len(list))
	for i, t := range list {
		s[i] = string(t)
	}
	return s
}

// Moment is a time; nil for none.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Instant is a time that travelled as Unix microseconds; nil for none.
func Instant(microseconds int64) *time.Time {
	if microseconds == 0 {
		return nil
	}
	t := engine.Time(microseconds)
	return &t
}
