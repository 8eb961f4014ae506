//go:build !noui

// Package web carries the built chat page.
//
// It owns nothing but the files under dist, which the build of this folder
// writes. The tag noui leaves them out.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Dist is the built page, or an empty one when it has not been built.
var Dist fs.FS = sub(dist, "dist")

func sub(files fs.FS, dir string) fs.FS {
	s, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return s
}
