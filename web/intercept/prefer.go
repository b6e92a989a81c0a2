package intercept

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// maxWait is the longest wait that a client may ask for.
const maxWait = time.Hour

// wait returns how long a client wants to wait for its answer (RFC 7240, Prefer: wait=SECONDS); zero when it does not say.
func wait(h http.Header) time.Duration {
	text, ok := preference(h, "wait")
	seconds, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil || seconds == 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// prefersAsync reports whether a client wants an answer before its request has run (RFC 7240, Prefer: respond-async).
func prefersAsync(h http.Header) bool {
	_, ok := preference(h, "respond-async")
	return ok
}

// applied returns which of the preferences of an operation have been followed, empty for none.
func applied(r engine.Request, a engine.Answer) string {
	var all []string
	if r.Async && a.Status == http.StatusAccepted {
		all = append(all, "respond-async")
	}
	if r.Wait > 0 {
		all = append(all, "wait="+strconv.Itoa(int(r.Wait/time.Second)))
	}
	return strings.Join(all, ", ")
}

// preference returns the value of a preference, and whether there is one. The first of one name counts.
func preference(h http.Header, name string) (value string, ok bool) {
	for part := range strings.SplitSeq(strings.Join(h.Values("Prefer"), ","), ",") {
		token, _, _ := strings.Cut(part, ";")
		token, value, _ := strings.Cut(token, "=")
		if strings.EqualFold(strings.TrimSpace(token), name) {
			return strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return "", false
}
