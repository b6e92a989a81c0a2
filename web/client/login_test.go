package client

import (
	"testing"

	"github.com/skerry/skerry/web/auth"
)

func TestTheCookieIsTheAgents(t *testing.T) {
	if session != auth.Cookie {
		t.Errorf("the client looks for %s, the agent gives %s", session, auth.Cookie)
	}
}
