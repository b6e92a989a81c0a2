// Package demo is the command "skerry demo": several sites on this machine, each with an agent and an instance of
// an application as processes of their own, and a walk-through to copy from. What it can run is in application.go.
//
// The running demo is found by "demo cut", "demo heal" and "demo status" through a file that it keeps locked as long
// as it lives (state.go). Nothing else is shared: they talk to the agents as anyone does, through the REST API.
package demo
