package engine

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// verdict is what an application's answer to an operation means.
type verdict int

const (
	verdictDone     verdict = iota
	verdictRefused          // it does not want it and never will
	verdictConflict         // it does not fit what is there (409, 412)
	verdictLater            // it does not want it now, and has not done it (429, 503)
	verdictDenied           // the credentials are not good for it (401, 403)
	verdictUnsent           // it certainly did not get it
	verdictUnknown          // it may have done it
)

// judge reads the application's answer to an operation of type t.
func judge(t Type, r Reply, err error) verdict {
	switch {
	case errors.Is(err, ErrUnreachable):
		return verdictUnsent
	case err != nil:
		return verdictUnknown
	case r.Status >= 200 && r.Status < 300:
		return verdictDone
	case t == TypeDelete && (r.Status == http.StatusNotFound || r.Status == http.StatusGone):
		return verdictDone
	case r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable:
		return verdictLater
	case r.Status == http.StatusNotImplemented || r.Status == http.StatusHTTPVersionNotSupported:
		return verdictRefused
	case r.Status == http.StatusRequestTimeout || r.Status >= 500:
		return verdictUnknown
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return verdictDenied
	case r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
		return verdictConflict
	}
	return verdictRefused
}

// resendable reports whether an operation may be sent to the application again when it is not known whether it ran.
func resendable(k *Kind, o *Operation) bool {
	switch o.Type {
	case TypeCreate:
		return k.HonoursKey || o.Method != http.MethodPost
	case TypePatch:
		return k.HonoursKey || k.effect(o) != nil || absolutePatch(o.Body)
	case TypeAction:
		n := k.named(o.Method, o.Path)
		return k.HonoursKey || n != nil && n.Repeatable
	}
	return true
}

// absolutePatch reports whether a JSON Patch (RFC 6902) does the same when it is applied twice: it only sets members of
// objects.
func absolutePatch(body []byte) bool {
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return false
	}
	for _, step := range patch {
		at, err := step.Path()
		if kind := step.Kind(); err != nil || kind != "add" && kind != "replace" {
			return false
		}
		last := at[strings.LastIndexByte(at, '/')+1:]
		if _, err := strconv.Atoi(last); err == nil || last == "-" {
			return false
		}
	}
	return true
}
