// Package traces tells an OpenTelemetry collector the way of clients' requests, and of the operations that they become, through all sites.
//
// An operation's identifier is the identifier of its trace. It is known at every site that has the operation, and so is whether it is sampled
// (Sampled), and the span that all others of it stand below (rootOf): nothing about traces travels with operations. A request that becomes an
// operation here gets its identifier beforehand (Asked.Operation). Where its client has a trace of its own, the request is a span of that, and the
// two traces link to each other.
//
// Begin with tracer.go; asked.go has requests, crossing.go what leaves the agent, way.go operations, export.go what goes to the collector.
package traces
