package issue

import (
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// Stamp makes o the next operation of this site: its place in time, what it has seen, and its number.
func Stamp(v *view.View, o *engine.Operation) {
	o.Line, o.Origin, o.Epoch = v.Line, v.Self, v.Current().Number
	o.Number = v.History.Issued(v.Line) + 1
	o.Time = max(o.Time, v.Now, v.History.Base().Until()+1)
	o.Seen = v.Me.Settled.Clone()
	if base := v.History.Base(); base != nil {
		o.Seen.Join(base.Seen)
	}
	for _, p := range v.History.Ordered() {
		if own := p.Origin == v.Self; own || o.Seen.Has(p.Line, p.Number) {
			if o.Seen.Join(p.Seen); own {
				o.Seen[p.Line] = max(o.Seen[p.Line], p.Number)
			}
			o.Time = max(o.Time, p.Time+1)
		}
	}
	delete(o.Seen, v.Line)
	if n := v.Kind.Named(o.Method, o.Path, o.Body); n != nil {
		o.Name = n.Name
	}
}

// Entry is the entry of an operation of this site.
func Entry(o *engine.Operation) engine.Entry {
	return engine.Entry{Map: engine.MapOperations, Value: engine.Encode(o)}
}

// entryReserve is what an operation may grow by between its check and its publication.
const entryReserve = 64 << 10

// TooLarge refuses an operation that sets more than it can carry.
func TooLarge(o *engine.Operation) error {
	var err error
	if o.Edit != nil {
		err = o.Edit.Validate()
	}
	if err != nil || len(engine.Encode(o)) > engine.MaxEntry-entryReserve {
		return Uncarried(err)
	}
	return nil
}

// Uncarried refuses a request of which no operation can be made that other sites could take.
func Uncarried(err error) *engine.Refusal {
	most := fmt.Sprintf("%d bytes", engine.MaxEntry-entryReserve)
	if err != nil {
		most = err.Error()
	}
	return &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
		Detail: "the request sets more than an operation can carry to other sites (" + most + "); nothing has happened\nhelp: send less at once, or what is large as a body of another media type"}
}
