//go:build !race

package history

const enoughOperations = 10_000
