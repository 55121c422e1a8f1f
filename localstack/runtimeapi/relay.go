package runtimeapi

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

// What is wrong with an answer that cannot be passed on.
var (
	errPrelude = errors.New("runtimeapi: the answer does not begin with a prelude")
	errEmpty   = errors.New("runtimeapi: the answer's body has no byte: a function URL never ends it")
)

// maxPrelude bounds a prelude, in bytes.
const maxPrelude = 1 << 20

// relay copies an answer to the client as it comes, and reports whether the
// client has got anything. Headers leave with the first byte of the body, as
// on Lambda. A client that leaves changes nothing: the rest is read all the
// same.
func relay(w http.ResponseWriter, a *answer, limit int) (begun bool, err error) {
	from, first := bufio.NewReaderSize(a.body, 4<<10), prelude{Status: http.StatusOK}
	if a.integration {
		if first, err = readPrelude(from); err != nil {
			return false, err
		}
	}
	control, chunk, size := http.NewResponseController(w), make([]byte, 32<<10), 0
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if size += n; size > limit {
				return begun, errTooLarge
			}
			if !begun {
				begun = true
				first.apply(w.Header())
				w.WriteHeader(first.Status)
			}
			_, _ = w.Write(chunk[:n]) // nobody tells the function that its client has left
			_ = control.Flush()
		}
		switch {
		case errors.Is(err, io.EOF):
			return begun, ended(a, begun)
		case err != nil:
			return begun, errors.Join(errDied, err)
		}
	}
}

// ended is what is wrong with an answer whose bytes have all come.
func ended(a *answer, begun bool) error {
	if err := a.broken(); err != nil {
		return err
	}
	if !begun && a.integration {
		return errEmpty
	}
	return nil
}

// prelude is what an answer says of itself before its body.
type prelude struct {
	Status  int               `json:"statusCode"`
	Headers map[string]string `json:"headers"`
	Cookies []string          `json:"cookies"`
}

// readPrelude reads a JSON object and the eight zero bytes after it.
func readPrelude(from *bufio.Reader) (p prelude, err error) {
	var text []byte
	for end := make([]byte, 8); !bytes.HasSuffix(text, end); {
		one, err := from.ReadByte()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return p, errors.Join(errDied, err)
		case err != nil || len(text) > maxPrelude:
			return p, errPrelude
		}
		text = append(text, one)
	}
	if json.Unmarshal(text[:len(text)-8], &p) != nil {
		return p, errPrelude
	}
	if p.Status == 0 {
		p.Status = http.StatusOK
	}
	if p.Status < http.StatusOK || p.Status > 599 {
		return p, errPrelude
	}
	return p, nil
}

// apply sets the headers that the prelude names. What describes the transfer is
// the front's own affair.
func (p prelude) apply(h http.Header) {
	h.Set("Content-Type", "application/octet-stream")
	for name, value := range p.Headers {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Content-Length", "Transfer-Encoding", "Connection":
		default:
			h.Set(name, value)
		}
	}
	for _, cookie := range p.Cookies {
		h.Add("Set-Cookie", cookie)
	}
}
