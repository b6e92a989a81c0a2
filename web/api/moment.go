package api

import (
	"time"

	"github.com/skerry/skerry/engine"
)

func texts[T ~string](list []T) []string {
	s := make([]string, len(list))
	for i, t := range list {
		s[i] = string(t)
	}
	return s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// instant is a time that travelled as Unix microseconds; nil for none.
func instant(microseconds int64) *time.Time {
	if microseconds == 0 {
		return nil
	}
	t := engine.Time(microseconds)
	return &t
}
