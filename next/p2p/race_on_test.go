//go:build race

package p2p

// raceDetector makes streams several times slower; tests send less through them then.
const raceDetector = true
