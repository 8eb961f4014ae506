// Package openai is a model that speaks the OpenAI-compatible chat
// completions wire over net/http.
//
// It owns the request body, the reading of the event stream and the table of
// vendor profiles. The reader is written by hand because endpoints that call
// themselves compatible differ in framing, in how tool calls are cut into
// pieces and in how a stream ends; testdata/quirks.jsonl holds one sample for
// every deviation it knows.
//
// It imports package model only. It must never retry (a turn decides that
// from what was already shown; asking for less where a model refuses a
// temperature or a forced call is none), never run a call and never repair
// arguments by guessing.
package openai
