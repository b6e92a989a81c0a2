// Package builder turns what people choose into the text of a scope, and a scope that somebody has written into such a choice, where it
// can be said with one. It does no I/O and keeps nothing.
//
// Begin with builder.go.
package builder
