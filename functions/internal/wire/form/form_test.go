package form_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"holdfast/functions/internal/wire/form"
	"holdfast/functions/internal/wire/jsonedit"
)

// made writes a form of text fields, given as NAME, VALUE pairs, and one file.
func made(t testing.TB, file string, fields ...string) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" {
		into, err := w.CreateFormFile("input_reference", "a.png")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(into, file)
	}
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// TestFields shows a form's text as the JSON that the same request would be.
func TestFields(t *testing.T) {
	kind, body := made(t, "\x89PNG", "model", "sora", "prompt", "a \"boat\"\n", "stream", "true", "tags[]", "a", "tags[]", "b")
	f, err := form.Parse(kind, body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"sora","prompt":"a \"boat\"\n","stream":true}`
	if got := string(f.JSON()); got != want || !f.Files() {
		t.Errorf("%s, want %s", got, want)
	}
	kind, body = made(t, "", "model", "a", "model", "b")
	if f, err = form.Parse(kind, body); err != nil || f.Files() {
		t.Fatal(err)
	}
	if _, err := jsonedit.Parse(f.JSON()); err == nil {
		t.Errorf("two models in %s", f.JSON())
	}
}

// TestWrite shows that only what is named is edited, and that a form without
// edits is what it was.
func TestWrite(t *testing.T) {
	kind, body := made(t, "\x89PNG\r\n--x", "model", "sora", "session_id", "s", "prompt", "a boat")
	f, err := form.Parse(kind, body)
	if err != nil {
		t.Fatal(err)
	}
	if same := f.Write(nil); !bytes.Equal(same, body) {
		t.Errorf("%q became %q", body, same)
	}
	want := bytes.Replace(body, []byte("\r\n\r\nsora\r\n"), []byte("\r\n\r\nsora-2\r\n"), 1)
	session := []byte(`Content-Disposition: form-data; name="session_id"` + "\r\n\r\ns\r\n--")
	boundary := body[:bytes.Index(body, []byte("\r\n"))+2]
	want = bytes.Replace(want, append(session, boundary[2:]...), nil, 1)
	if got := f.Write(map[string]string{"model": "sora-2", "absent": "x"}, "session_id"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoForm shows what is refused.
func TestNoForm(t *testing.T) {
	kind, body := made(t, "", "model", "sora")
	many := make([]string, 0, 130)
	for i := range 65 {
		many = append(many, fmt.Sprint("f", i), "x")
	}
	manyKind, manyBody := made(t, "", many...)
	longKind, longBody := made(t, "", "prompt", strings.Repeat("x", 64<<10+1))
	binaryKind, binaryBody := made(t, "", "prompt", "\xff")
	for name, row := range map[string]struct {
		kind string
		body []byte
	}{
		"cut":         {kind, body[:len(body)-8]},
		"empty":       {kind, nil},
		"no boundary": {"multipart/form-data", body},
		"another":     {"multipart/form-data; boundary=other", body},
		"many parts":  {manyKind, manyBody},
		"long text":   {longKind, longBody},
		"not UTF-8":   {binaryKind, binaryBody},
		"no name":     {"multipart/form-data; boundary=b", []byte("--b\r\n\r\nx\r\n--b--\r\n")},
	} {
		if _, err := form.Parse(row.kind, row.body); !errors.Is(err, form.ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if form.Is("application/json") || form.Is("") || !form.Is(kind) || form.Is("multipart/mixed; boundary=b") {
		t.Error("what is a form")
	}
}

// FuzzParse holds that whatever is taken can be read as JSON or refused as such,
// and written out and read again as the same.
func FuzzParse(f *testing.F) {
	kind, body := made(f, "file", "model", "sora", "prompt", "a boat")
	_, parameters, _ := mime.ParseMediaType(kind)
	f.Add(parameters["boundary"], body)
	f.Add("b", []byte("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--"))
	f.Fuzz(func(t *testing.T, boundary string, body []byte) {
		kind := mime.FormatMediaType("multipart/form-data", map[string]string{"boundary": boundary})
		parsed, err := form.Parse(kind, body)
		if err != nil {
			return
		}
		if !jsonedit.Valid(parsed.JSON()) {
			t.Fatalf("%q", parsed.JSON())
		}
		again, err := form.Parse(kind, parsed.Write(nil))
		if err != nil || !bytes.Equal(again.JSON(), parsed.JSON()) {
			t.Fatalf("written out: %v %q", err, parsed.Write(nil))
		}
	})
}
