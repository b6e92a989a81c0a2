package api

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

// OpenAPI describes the API to clients. It is written by hand; a test compares it with the routes and with real
// answers.
//
//go:embed openapi.yaml
var OpenAPI []byte

func openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", OpenAPI)
}
