package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/functions/internal/wire"
)

// Bounds of a request body.
const (
	maxBody   = 20 << 20         // bytes that are taken
	maxDrain  = 32 << 20         // bytes of a refused body that are read, so that the client can read the answer
	bodyLimit = 60 * time.Second // for the whole body to arrive
)

// readBody returns the request's whole JSON body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *wire.Problem) {
	if p := acceptable(r.Header); p != nil {
		return nil, p
	}
	return readBytes(w, r)
}

// readBytes returns the request's whole body, whatever it is.
func readBytes(w http.ResponseWriter, r *http.Request) ([]byte, *wire.Problem) {
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	defer within(w, bodyLimit)()
	body, err := readAll(r)
	switch {
	case err != nil:
		return nil, wire.Refuse(wire.InvalidRequest).Saying("The request body did not arrive whole. Send it again.")
	case len(body) > maxBody:
		return nil, tooLarge()
	case len(body) == 0:
		return nil, wire.Refuse(wire.InvalidJSON).Saying("The request has no body. Send a JSON object.")
	}
	return body, nil
}

// within bounds how long the rest of a body may take to arrive; the function
// that it returns lifts the bound. A host without deadlines has it all already.
func within(w http.ResponseWriter, limit time.Duration) (lift func()) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(limit))
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}

// readAll reads at most one byte more than a body may have, into a buffer of
// the announced size.
func readAll(r *http.Request) ([]byte, error) {
	r.Header.Del(expect) // reading tells the client to go on
	if r.ContentLength <= 0 {
		return io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	}
	body := make([]byte, r.ContentLength) // which is no more than maxBody
	if n, err := io.ReadFull(r.Body, body); err != nil {
		return body[:n], err
	}
	return body, nil
}

func tooLarge() *wire.Problem {
	return wire.Refuse(wire.RequestTooLarge).Saying("The request body is larger than " + strconv.Itoa(maxBody>>20) +
		" MiB. Send images and files by reference (a URL or a file id), or shorten the conversation.")
}

// expect is how a client asks whether its body is wanted before it sends it.
const expect = "Expect"

// drain reads what a client is still sending: one that is cut off while it
// writes never sees why it was refused. One that has asked first, and was not
// told to go on, sends nothing.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Header.Get(expect) != "" {
		return
	}
	defer within(w, bodyLimit)()
	_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
}

// plain reports whether a body comes as it is, not compressed.
func plain(h http.Header) bool {
	coding := h.Get("Content-Encoding")
	return coding == "" || strings.EqualFold(coding, "identity")
}

// acceptable refuses bodies that are not plain JSON.
func acceptable(h http.Header) *wire.Problem {
	if !plain(h) {
		return wire.Refuse(wire.UnsupportedMediaType).Saying("Compressed request bodies are not taken. Send the JSON without Content-Encoding.")
	}
	if said := h.Get("Content-Type"); said == "" || said == "application/json" { // as nearly always
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	json := kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !json || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return wire.Refuse(wire.UnsupportedMediaType).Saying("The body must be JSON in UTF-8. Set Content-Type: application/json.")
	}
	return nil
}
