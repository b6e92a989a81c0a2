package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Peers returns the handler of the calls that other sites' agents pass on to this one; they come over connections that have
// proved who asks (see api.API.MountPeers).
func (s *Server) Peers() http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if !c.Response().Committed {
			s.api.WriteRefusal(c.Response(), c.Request(), err)
		}
	}
	e.Use(s.recover, s.auditMembers)
	s.api.MountPeers(e)
	return e
}
