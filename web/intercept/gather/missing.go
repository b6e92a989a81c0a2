package gather

import (
	"fmt"
	"net/http"
	"strings"
)

// missing are the sites of which an answer has nothing, or what is known of them only, in the order in which they were told.
type missing struct {
	names   []string
	refused []string // those whose application has answered, and with what
}

// add takes note of a site; status is what its application has answered, zero where there was no answer.
func (m *missing) add(name string, status int) {
	m.names = append(m.names, name)
	if status != 0 {
		m.refused = append(m.refused, strings.TrimSpace(fmt.Sprintf("%s %d %s", name, status, http.StatusText(status))))
	}
}

// denied reports whether an application has not let a client see what it has. Who may not see what a site has is not told of it by another.
func denied(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// tell has the answer say so.
func (m *missing) tell(h http.Header) {
	if len(m.names) > 0 {
		h.Set("Skerry-Missing", strings.Join(m.names, ", "))
	}
	if len(m.refused) > 0 {
		h.Set("Skerry-Refused", strings.Join(m.refused, ", "))
	}
}
