// Package form reads a multipart/form-data body, in which some endpoints take
// what others take as JSON, and writes it anew with few edits.
//
// Invariants: a form is bounded in parts, in the size of its text, and by the
// body that holds it; its text fields read as one JSON object, so that the same
// checks rule both forms; what is not edited goes on as it came, in the same
// order, file parts byte for byte.
//
// Concurrency: a Form is never changed after Parse.
//
// Errors: Parse fails with ErrForm; nothing of the content is in it.
package form

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/functions/internal/wire/jsonedit"
)

// Bounds of a form.
const (
	maxParts = 64
	maxText  = 64 << 10 // bytes of one text field
)

// ErrForm is a body that is no acceptable form.
var ErrForm = errors.New("form: not a form")

// Form is a parsed body.
type Form struct {
	boundary string
	parts    []part
}

type part struct {
	header textproto.MIMEHeader
	name   string
	file   bool
	body   []byte
}

// Is reports whether a Content-Type header announces a form.
func Is(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "multipart/form-data"
}

// Parse reads a body by its Content-Type. The Form keeps no part of body.
func Parse(contentType string, body []byte) (*Form, error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	f := &Form{boundary: parameters["boundary"]}
	if err != nil || f.boundary == "" {
		return nil, ErrForm
	}
	for reader := multipart.NewReader(bytes.NewReader(body), f.boundary); ; {
		next, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			if len(f.parts) == 0 {
				return nil, ErrForm
			}
			return f, nil
		}
		if err != nil || len(f.parts) == maxParts {
			return nil, ErrForm
		}
		p, err := read(next)
		if err != nil {
			return nil, err
		}
		f.parts = append(f.parts, p)
	}
}

func read(from *multipart.Part) (part, error) {
	p := part{header: from.Header, name: from.FormName(), file: from.FileName() != ""}
	var err error
	if p.body, err = io.ReadAll(from); err != nil || p.name == "" {
		return part{}, ErrForm
	}
	if !p.file && (len(p.body) > maxText || !utf8.Valid(p.body) || !utf8.ValidString(p.name)) {
		return part{}, ErrForm
	}
	return p, nil
}

// JSON is the form's text fields as one JSON object: strings, except true and
// false, which are what they say. Fields that may repeat, whose names end in [],
// and files are left out. A name that comes twice comes twice here too, for the
// reader of the object to refuse.
func (f *Form) JSON() []byte {
	out := []byte{'{'}
	for _, p := range f.parts {
		if p.file || strings.HasSuffix(p.name, "[]") {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, jsonedit.Quote(p.name)...), ':')
		if text := string(p.body); text == "true" || text == "false" {
			out = append(out, text...)
		} else {
			out = append(out, jsonedit.Quote(text)...)
		}
	}
	return append(out, '}')
}

// Files reports whether there is any file in the form.
func (f *Form) Files() bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.file })
}

// Write returns the form with the given text fields in the place of its own,
// and without those that are dropped. Its Content-Type stays true.
func (f *Form) Write(set map[string]string, drop ...string) []byte {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	_ = w.SetBoundary(f.boundary) // it was one
	for _, p := range f.parts {
		if slices.Contains(drop, p.name) {
			continue
		}
		body := p.body
		if text, ours := set[p.name]; ours && !p.file {
			body = []byte(text)
		}
		into, _ := w.CreatePart(p.header) // into memory: cannot fail
		_, _ = into.Write(body)
	}
	_ = w.Close()
	return out.Bytes()
}
