// Package id makes the product's identifiers: a letter that says what it
// names, an underscore and a UUIDv7, so that ids sort by their time.
package id

import "github.com/google/uuid"

// New returns an id with the given prefix: m (message), b (block),
// c (conversation), a (asset), t (tool call), i (instance).
// It panics only when the system has no randomness left.
func New(prefix string) string {
	u, err := uuid.NewV7()
	if err != nil {
		panic("id: no randomness: " + err.Error())
	}
	return prefix + "_" + u.String()
}
