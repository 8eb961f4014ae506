//go:build !race

package server

// raceDetector says that the race detector is on: everything takes more time
// and memory then.
const raceDetector = false
