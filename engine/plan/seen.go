package plan

import (
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// A request without a certain answer is sent again where that does no harm, and may be refused: an application that has moved on
// since the first time refuses to move once more. What it shows then says whether the first time counted.

// Seen tells what an application shows of an operation that it has refused when it was sent again: that it was Done, that it
// was not (Refused), neither (Unknown), or nothing now (Later). Before is what was there before the first time; shown and err are
// what came of a look at the object.
func Seen(k *engine.Kind, o *engine.Operation, before merge.Fold, shown engine.Reply, err error) Verdict {
	there := err == nil && shown.Status == http.StatusOK
	switch {
	case !there && (err != nil || !shown.Gone()):
		return Later
	case o.Type == engine.TypeDelete && !there:
		return Done
	case o.Type == engine.TypeDelete, o.Type == engine.TypeCreate && !there:
		return Refused
	case !there || o.Edit.Empty() || len(o.Edit.Add) > 0: // nothing can be seen of it
		return Unknown
	case Shows(k, shown.Body, o.Edit):
		return Done
	case o.Type == engine.TypeAction || o.Type == engine.TypeCreate:
		return Unknown
	case tree.Missing(k, restoring(before, []*engine.Operation{o}), shown.Body).Empty():
		return Refused
	}
	return Unknown
}
