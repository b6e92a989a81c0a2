// Package beside is what goes on beside the loop of a site, at its own pace: large bodies are fetched, content is copied, relations
// between resources and what lies in containers are looked after, every resource is looked at once in a while. The loop tells what
// concerns it; what comes of it are inputs for replicas, which the loop takes as any other.
//
// docs/words.md explains the terms. Read beside.go first, and agenda.go for how work is scheduled; then fetch.go, content.go,
// relations.go with references.go and composition.go, containers.go, sweep.go.
package beside
