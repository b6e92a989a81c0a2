// Package client speaks the REST API of one site's agent: typed, in pages, and as a watch.
//
//	agent, err := client.New("http://127.0.0.1:8700", client.Options{})
//	for r, err := range agent.Resources(ctx, client.Filter{State: "conflict"}) { … }
//
// What it has no method of its own for goes through Get, Post and their like, which take and give JSON as /openapi.yaml describes it. A refusal is a
// *Problem, whose Type says which one (docs/problems.md); an agent that does not answer is an *Unreachable. Begin with client.go and calls.go.
package client
