// Package web holds the console's front end: its source and, once `make
// console` has built it, the files that browsers load.
package web

import (
	"embed"
	"io/fs"
)

// The folder holds a marker file in a fresh clone, so that the module builds
// before the front end does.
//
//go:embed all:dist
var built embed.FS

// Files returns the built front end: index.html with its assets, or no page
// where it has not been built.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return files
}
