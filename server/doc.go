// Package server is the product over HTTP: routes, identity, limits, streams,
// the page and the description of it all in OpenAPI.
//
// There is one file per resource. It may import everything but the root
// package. It must never decide what a turn does or what is stored: it
// translates between HTTP and turn and store.
package server
