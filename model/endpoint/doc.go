// Package endpoint holds what models that answer over HTTP have in common: the
// reading of server-sent events, the watch for silence, and the words for what
// goes wrong.
//
// It imports package model only. It must never know what a request or an answer
// is made of.
package endpoint
