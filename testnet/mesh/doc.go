// Package mesh runs several sites in one process: the real engine, documents and store of each, over a network and an
// application that are plain memory and do what a test tells them: cut sites off, refuse, fail before or after doing
// what was asked, crash.
package mesh
