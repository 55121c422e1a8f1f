package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"time"
)

// padding is the body of an answer that has none: without a single byte the
// function URL never ends the answer. It is white space in every format here.
const padding = "\n"

// errBroken ends a stream that must not look whole. Lambda takes it from the
// trailers of the answer and breaks the client's connection.
var errBroken = errors.New("the answer was broken off")

// prelude is what leaves before the body.
type prelude struct {
	status  int
	headers map[string]string
	cookies []string
}

// answer is an http.ResponseWriter whose writes are read by the Lambda runtime.
// It belongs to its handler, as any ResponseWriter does.
type answer struct {
	header http.Header
	head   bool // of a HEAD request: the body is not sent

	compressed bool // the handler's Content-Encoding is meant

	status int         // 0 until it is decided
	frozen http.Header // the headers at that time
	gone   bool        // the prelude has left
	filled bool        // so has a byte of the body

	left   chan prelude
	reader *io.PipeReader
	writer *io.PipeWriter
}

func newAnswer(head bool) *answer {
	a := &answer{header: http.Header{}, head: head, left: make(chan prelude, 1)}
	a.reader, a.writer = io.Pipe()
	return a
}

// Header returns the headers that will leave, until the first write.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader decides the status, once. Informational ones are not it: Lambda
// has no way to send them.
func (a *answer) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status %d", status))
	}
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status, a.frozen = status, a.header.Clone()
	if a.frozen == nil {
		a.frozen = http.Header{}
	}
}

// Write sends bytes, after the prelude, and returns when they have been taken.
func (a *answer) Write(p []byte) (int, error) {
	a.leave(p)
	switch {
	case len(p) == 0:
		return 0, nil
	case a.bodyless():
		return 0, http.ErrBodyNotAllowed
	case a.head:
		return len(p), nil
	}
	n, err := a.writer.Write(p)
	a.filled = a.filled || n > 0
	return n, err
}

// bodyless reports whether the status forbids a body.
func (a *answer) bodyless() bool {
	return a.status == http.StatusNoContent || a.status == http.StatusNotModified
}

// FlushError sends the prelude if that has not left. Bodies never wait.
func (a *answer) FlushError() error {
	a.leave(nil)
	return nil
}

// Flush is FlushError for those who ask for an http.Flusher.
func (a *answer) Flush() { a.leave(nil) }

// SetReadDeadline has nothing to do: the body has been read before the handler
// began.
func (a *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline has nothing to do: the invocation's own deadline bounds
// writing.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex has nothing to do: it is always so.
func (a *answer) EnableFullDuplex() error { return nil }

// leave sends the prelude, once. first is the beginning of the body, for those
// who have not said what it is.
func (a *answer) leave(first []byte) {
	a.WriteHeader(http.StatusOK)
	if a.gone {
		return
	}
	a.gone = true
	if _, said := a.frozen["Content-Type"]; !said && len(first) > 0 && !a.bodyless() {
		a.frozen.Set("Content-Type", http.DetectContentType(first))
	}
	a.left <- prelude{status: a.status, headers: a.joined(), cookies: clean(a.frozen["Set-Cookie"])}
}

// end ends an answer that is whole.
func (a *answer) end() {
	a.leave(nil)
	if !a.filled {
		_, _ = io.WriteString(a.writer, padding) // fails where nobody reads: nobody misses it
	}
	_ = a.writer.Close()
}

// fail ends an answer whose handler did not: a 500 where nothing has left.
func (a *answer) fail() {
	if a.gone {
		_ = a.writer.CloseWithError(errBroken)
		return
	}
	a.header, a.status = http.Header{}, 0
	a.refuse(http.StatusInternalServerError, "server_error", "The gateway failed. Try again.")
	a.end()
}

// refuse answers an error that the handler has no part in.
func (a *answer) refuse(status int, kind, message string) {
	text, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": kind}})
	if err != nil {
		panic(err) // strings always encode
	}
	a.header.Set("Content-Type", "application/json")
	a.WriteHeader(status)
	_, _ = a.Write(text)
}

// joined is the header as the prelude takes it: one line for each name. What
// describes the transfer is left out, since Lambda transfers anew.
func (a *answer) joined() map[string]string {
	lines := make(map[string]string, len(a.frozen))
	for name, values := range a.frozen {
		meant := a.compressed && name == "Content-Encoding"
		if transfer(name) && !meant || len(values) == 0 {
			continue
		}
		lines[name] = strings.Join(clean(values), ", ")
	}
	return lines
}

// transfer reports whether a header describes the transfer, or is sent apart.
func transfer(name string) bool {
	switch name {
	case "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Upgrade", "Te", "Set-Cookie":
		return true
	}
	return strings.HasPrefix(name, http.TrailerPrefix)
}

// clean keeps values on their line, as net/http does.
func clean(values []string) []string {
	lines := make([]string, 0, len(values))
	for _, value := range values {
		lines = append(lines, textproto.TrimString(strings.NewReplacer("\r", " ", "\n", " ").Replace(value)))
	}
	return lines
}

var (
	_ http.ResponseWriter = (*answer)(nil)
	_ http.Flusher        = (*answer)(nil)
)
