package report

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/view"
)

// LostValues are the values that were lost to concurrent, later operations and that nobody has set again. The slice is the caller's.
func LostValues(v *view.View) []engine.Superseded {
	fold := v.History.Whole(merge.Any)
	shown := fold.Paths()
	return slices.DeleteFunc(slices.Clone(fold.Superseded), func(l engine.Superseded) bool { return bytes.Equal(l.Value, shown[l.Path]) })
}

// LostValue finds what is to be restored.
func LostValue(v *view.View, q *engine.RestoreRequest) (engine.Superseded, error) {
	found := LostValues(v)
	var at []string
	for _, l := range found {
		at = append(at, string(l.Path))
	}
	found = slices.DeleteFunc(found, func(l engine.Superseded) bool { return l.Path != q.Path || q.From != "" && l.By != q.From })
	refuse := func(format string, args ...any) (engine.Superseded, error) {
		return engine.Superseded{}, &engine.Refusal{Status: http.StatusNotFound, Type: "restore", Detail: fmt.Sprintf(format, args...)}
	}
	lostAt := strings.Join(slices.Compact(at), ", ")
	switch {
	case len(at) == 0:
		return refuse("no value of %s %s has been lost", v.Kind.Name, v.About.Key)
	case len(found) == 0 && q.From != "":
		return refuse("operation %s has lost no value at %q; values were lost at %s", q.From, q.Path, lostAt)
	case len(found) == 0:
		return refuse("no value was lost at %q; values were lost at %s", q.Path, lostAt)
	case slices.ContainsFunc(found, func(l engine.Superseded) bool { return string(l.Value) != string(found[0].Value) }):
		var from []string
		for _, l := range found {
			from = append(from, string(l.By))
		}
		return refuse("several values were lost at %q: say which operation had set the one to restore (%s)", q.Path, strings.Join(slices.Compact(from), ", "))
	}
	return found[0], nil
}
