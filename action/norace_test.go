//go:build !race

package action

const underRace = false
