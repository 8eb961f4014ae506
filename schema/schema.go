// Package schema holds what is published for other programs: the JSON Schemas
// of blocks and events, and the list of error codes with words for people.
//
// blocks/ and presets/ are copies of the schemas that package block is built
// with, made by go generate. The package imports nothing and must stay data.
package schema

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:generate go run ../internal/schemats/gen

// Files holds blocks/, presets/, events.json and errors.json.
//
//go:embed blocks/*.json presets/*.json events.json errors.json
var Files embed.FS

// ErrorText is an error code in words.
type ErrorText struct {
	English string `json:"en"`
	Chinese string `json:"zh"`
	// Retryable says that the same request may succeed later.
	Retryable bool `json:"retryable"`
}

// Errors returns every stable error code. Codes of blocks are upper case,
// those of turns and HTTP answers lower case.
func Errors() map[string]ErrorText {
	b, err := Files.ReadFile("errors.json")
	if err != nil {
		panic(err) // embedded above
	}
	var m map[string]ErrorText
	if err := json.Unmarshal(b, &m); err != nil {
		panic(fmt.Sprintf("schema: errors.json: %v", err)) // tested
	}
	return m
}
