// Package kubernetes speaks the API of Kubernetes for glue. What kinds there are, and how their paths go, a cluster tells itself; so
// no catalog lists them, and custom resources are kinds like all others. What no catalog could say is the Dialect.
//
// Read discover.go for the kinds, keys.go for which arrays are sets, fields.go for what belongs to one cluster and never travels,
// and dialect.go for bodies, dry runs and refusals.
package kubernetes
