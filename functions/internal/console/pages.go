package console

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"holdfast/functions/internal/wire"
)

// index is the page that every path of the application shows.
const index = "index.html"

// hashed is the folder whose files have a hash in their names: they never
// change.
const hashed = "assets/"

// pages are the built front end's files, in memory, by name.
type pages struct{ files map[string]*file }

// file is one file in the codings that it was built in.
type file struct {
	kind   string
	etag   string
	coding map[string][]byte // by content coding, "" for none
}

// load reads the front end. Files ending in .br and .gz are other codings of
// the file that they are named after.
func load(from fs.FS) *pages {
	p := &pages{files: map[string]*file{}}
	if from == nil {
		return p
	}
	var packed []string
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case coding(name) != "":
			packed = append(packed, name)
			return nil
		}
		text, err := fs.ReadFile(from, name)
		sum := sha256.Sum256(text)
		p.files[name] = &file{kind: kind(name), etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, coding: map[string][]byte{"": text}}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err) // the files are part of this program
	}
	for _, name := range packed {
		if f := p.files[strings.TrimSuffix(name, path.Ext(name))]; f != nil {
			if text, err := fs.ReadFile(from, name); err == nil {
				f.coding[coding(name)] = text
			}
		}
	}
	return p
}

// coding is the content coding that a file's name says, "" for none.
func coding(name string) string {
	switch path.Ext(name) {
	case ".br":
		return "br"
	case ".gz":
		return "gzip"
	}
	return ""
}

// kind is a file's media type. The front end's own are said here, since the
// machine's table may say otherwise.
func kind(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	default:
		if known := mime.TypeByExtension(ext); known != "" {
			return known
		}
		return "application/octet-stream"
	}
}

// page serves a file, or the application for every path that names none.
func (c *Console) page(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, wire.Refuse(wire.MethodNotAllowed))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	found := c.pages.files[name]
	switch {
	case c.pages.files[index] == nil:
		unbuilt(w)
		return
	case found == nil && path.Ext(name) == "" && !strings.HasPrefix(name, hashed):
		found = c.pages.files[index]
	case found == nil:
		refuse(w, wire.Refuse(wire.RouteNotFound))
		return
	}
	cache := "no-cache"
	if strings.HasPrefix(name, hashed) {
		cache = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", cache)
	found.serve(w, r)
}

// serve answers with the smallest coding that the browser takes.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	text, used := f.coding[""], ""
	for _, one := range []string{"br", "gzip"} {
		if packed := f.coding[one]; packed != nil && takes(r.Header.Get("Accept-Encoding"), one) {
			text, used = packed, one
			break
		}
	}
	etag := f.etag
	if used != "" {
		header.Set("Content-Encoding", used)
		etag = strings.TrimSuffix(etag, `"`) + "-" + used + `"`
	}
	if len(f.coding) > 1 {
		header.Set("Vary", "Accept-Encoding")
	}
	header.Set("ETag", etag)
	header.Set("Content-Type", f.kind)
	if r.Header.Get("If-None-Match") == etag {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(text)
}

// takes reports whether an Accept-Encoding allows a coding.
func takes(accept, coding string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q := strings.ReplaceAll(quality, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}

// unbuilt says how to build the front end.
func unbuilt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast console</title>
<h1>The console is not built</h1>
<p>Build it with <code>make console</code> (Node 20.19 or newer), then build and start Holdfast again; <code>make run</code> does all of it.</p>
</html>
`))
}
