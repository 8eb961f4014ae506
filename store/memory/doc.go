// Package memory keeps the log and the records in memory, for tests and as the
// plainest reading of the store's contracts. Nothing survives the process.
//
// It may import store, event and block. It must never know of models, tools or
// HTTP.
package memory
