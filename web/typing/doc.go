// Package typing types the references of a request by their owners before anything runs: it finds out which sites hold what
// a request refers to, whether that can be used from another site (the catalog's visibility, for which a representation may
// have to be read), and has engine/scope say what is wrong. The interception of requests refuses by it, explain tells it.
package typing
