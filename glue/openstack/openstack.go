// Package openstack is the glue of OpenStack's services for what a catalog cannot say of them: in which form their clients understand an error.
package openstack

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Refuser writes the agent's refusals as a fault, in the one form that all of OpenStack's clients read: the one of Keystone.
type Refuser struct{}

// Refusal implements glue.Refuser.
func (Refuser) Refusal(status int, typ, detail string) (string, []byte) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a scope's & stays readable
	_ = e.Encode(map[string]any{"error": map[string]any{"code": status, "title": http.StatusText(status), "type": typ, "message": detail}})
	return "application/json", b.Bytes()
}
