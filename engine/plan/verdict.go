package plan

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// Verdict is what an application's answer to an operation means.
type Verdict int

const (
	Done     Verdict = iota
	Refused          // it does not want it and never will
	Conflict         // it does not fit what is there (409, 412)
	Later            // it does not want it now, and has not done it (429, 503)
	Denied           // the credentials are not good for it (401, 403)
	Unsent           // it certainly did not get it
	Unknown          // it may have done it
)

// Judge reads the application's answer to an operation of type t; err is what Application.Do returned.
func Judge(t engine.Type, r engine.Reply, err error) Verdict {
	switch {
	case errors.Is(err, engine.ErrUnsendable):
		return Refused
	case errors.Is(err, engine.ErrUnreachable):
		return Unsent
	case err != nil:
		return Unknown
	case r.Status >= 200 && r.Status < 300:
		return Done
	case t == engine.TypeDelete && r.Gone():
		return Done
	case r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable:
		return Later
	case r.Status == http.StatusNotImplemented || r.Status == http.StatusHTTPVersionNotSupported:
		return Refused
	case r.Status == http.StatusRequestTimeout || r.Status >= 500:
		return Unknown
	case (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden) && !r.Closed:
		return Denied
	case r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
		return Conflict
	}
	return Refused
}

// Answer is what Do has returned as an answer: of a request that cannot be made, the reason.
func Answer(r engine.Reply, err error) engine.Reply {
	if errors.Is(err, engine.ErrUnsendable) {
		return engine.Reply{Body: []byte(err.Error())}
	}
	return r
}

// Resendable reports whether an operation may be sent to the application again when it is not known whether it ran.
func Resendable(k *engine.Kind, o *engine.Operation) bool {
	switch o.Type {
	case engine.TypeCreate:
		return k.HonoursKey || o.Method != http.MethodPost
	case engine.TypePatch:
		return k.HonoursKey || merge.Effect(k, o) != nil || absolutePatch(o.Body)
	case engine.TypeAction:
		n := k.Named(o.Method, o.Path, o.Body)
		return k.HonoursKey || n != nil && n.Repeatable
	}
	return true
}

// absolutePatch reports whether a JSON Patch (RFC 6902) does the same when it is applied twice: it only sets members of
// objects.
func absolutePatch(body []byte) bool {
	patch, err := tree.ParsePatch(body)
	return err == nil && !slices.ContainsFunc(patch, func(step tree.PatchStep) bool {
		last := step.Path[strings.LastIndexByte(string(step.Path), '/')+1:]
		return step.Op != "add" && step.Op != "replace" || last == "-" || tree.IsWhole(string(last))
	})
}

// Late reports whether a step follows from the rules of the kind, and not from its operation alone: while a catalog is rolled
// out it waits until the rules are the same everywhere, for two sites would decide differently.
func Late(h *merge.History, s Standing, step Step) bool {
	if len(step.Operations) == 0 { // it only takes note of what others have published
		return false
	}
	o := step.Operations[0]
	switch step.Kind {
	case StepCorrect, StepSkip:
		return true
	case StepVacuous:
		return o.Type != engine.TypeDelete && o.Type != engine.TypePlace
	case StepRun:
		return o.Type != engine.TypeCreate && o.Type != engine.TypeDelete && !sawTheSame(h, o, s)
	}
	return false
}
