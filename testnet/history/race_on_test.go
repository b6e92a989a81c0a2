//go:build race

package history

// enoughOperations is little under the race detector, which keeps memory for each coroutine that there ever was. Only one goroutine runs
// at a time here; make test plays more without it.
const enoughOperations = 500
