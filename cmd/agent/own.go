package agent

import (
	"log/slog"

	"github.com/skerry/skerry/web/auth"
)

// onlyOwn reports whether only processes of the agent's own user, and of root, come in over loopback, where nobody needs to log in.
func onlyOwn(c API, log *slog.Logger) bool {
	switch {
	case c.Accounts != "":
		return false
	case c.Loopback != "":
		return c.Loopback == "user"
	case auth.Tells():
		return true
	}
	log.Warn("the kernel does not tell whose connections are: whoever is on this machine may use the API; give it api.accounts", "api", c.URL())
	return false
}
