// Package api is the REST API of a site under /api/v1: what is known here of sites, resources, operations and
// events, the verbs that settle operations, and the explanation of scopes. openapi.yaml describes it to clients.
//
// API's exported methods return what the calls answer with, so that the dashboard shows exactly what its JSON
// twin tells. Read it in this order: api.go for what it is handed, views in sites.go, resources.go and
// operations.go, routes.go for the calls, stream.go for the events.
package api
