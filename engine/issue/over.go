package issue

import (
	"net/http"

	"github.com/skerry/skerry/engine"
)

// Over is the operation that deletes a resource whose objects have all ended by themselves. No application is asked for anything.
func Over(k *engine.Kind, id engine.OperationID) *engine.Operation {
	return &engine.Operation{ID: id, Type: engine.TypeDelete, Method: http.MethodDelete, Path: k.Item}
}
