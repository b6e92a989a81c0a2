// Package served serves sites in memory over HTTP, for tests of the REST API and of what stands around it, and checks every answer
// against openapi.yaml.
package served
