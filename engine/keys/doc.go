// Package keys knows which requests have come before: under an Idempotency-Key of a client, or under the identifier that another site
// gave.
//
// docs/words.md explains the terms.
package keys
