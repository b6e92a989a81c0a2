package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// ServiceView is one service of the application at this site, as clients find it.
type ServiceView struct {
	Name  engine.ServiceName `json:"name"`
	URL   string             `json:"url"`
	Kinds []engine.KindName  `json:"kinds"`
	Glue  string             `json:"glue,omitempty"`
	// Certificates says that clients' certificates come to the service.
	Certificates bool `json:"certificates,omitempty"`
	// ServerName is whom the listener's certificate is for, where that is not its address.
	ServerName string `json:"server_name,omitempty"`
}

// getServices tells where the site's services are reached through the agent.
func (a *API) getServices(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	list := []ServiceView{}
	for _, s := range a.Services {
		v := ServiceView{Name: s.Name, URL: s.URL, Glue: s.Glue, Certificates: s.Certificates, Kinds: []engine.KindName{}}
		if s.ServerName != nil {
			v.ServerName = s.ServerName()
		}
		for _, k := range s.Kinds() {
			v.Kinds = append(v.Kinds, k.Name)
		}
		list = append(list, v)
	}
	return answer(c, http.StatusOK, list)
}
