//go:build race

package action

const underRace = true
