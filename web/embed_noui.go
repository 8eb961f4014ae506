//go:build noui

// Package web is built without the chat page.
package web

import "io/fs"

// Dist is nil: there is no page.
var Dist fs.FS
