package issue

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// Lost refuses a request for what the application had and has to be made anew first.
func Lost(k *engine.Kind) *engine.Refusal {
	return upstream(nil, "the application's service %s has lost the %s, which has to be made anew first; nothing has happened, try again later", k.Service, k.Name)
}

// Ending refuses a create of a name whose object is not shown any more, and may have ended.
func Ending(k *engine.Kind) *engine.Refusal {
	return upstream(nil, "the application's service %s shows the %s of this name no more; whether it has ended is seen within some minutes; nothing has happened, try again then", k.Service, k.Name)
}

// Unheld says why the content of a resource cannot be copied to this site now: a *engine.Refusal where all sites that had it have left.
func Unheld(v *view.View) error {
	if len(v.Others()) > 0 {
		return errors.New("copy the content: no site that has it can be reached")
	}
	return &engine.Refusal{Type: "unreachable", Detail: "copy the content: all sites that had it have left"}
}

// Single refuses what would have several sites hold a resource of a kind that the catalog says lives at one.
func Single(k *engine.Kind) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
		"%s lives at one site and is not replicated: %s; nothing has happened\nhelp: name one site in the scope", k.Name, k.Single)}
}

// Hidden refuses an operation whose effect is to be seen from what the application shows before it, which it did not.
func Hidden(k *engine.Kind, err error) *engine.Refusal {
	return upstream(err, "the application's service %s does not show the %s that is to be changed; nothing has happened, try again later", k.Service, k.Name)
}

// Unanswered refuses a request because of an earlier one. It is not under that operation's identifier: whoever asks would take it
// for the one of this request.
func Unanswered(earlier engine.OperationID) *engine.Refusal {
	return upstream(nil, "an earlier request for this resource has had no certain answer yet (operation %[1]s); nothing has happened\n"+
		"help: what came of it is being found out, try again in a moment; skerry operations drop %[1]s gives it up", earlier)
}

// Deleting refuses a create while what has its name is still there, though the application has accepted that it be deleted.
func Deleting(k *engine.Kind, key engine.ResourceID) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusConflict, Type: "deleting", Detail: fmt.Sprintf(
		"%s %s was deleted, and the application has not done it yet; nothing has happened, try again later", k.Name, key)}
}

func upstream(err error, format string, args ...any) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(format, args...)}
}
