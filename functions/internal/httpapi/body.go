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
		drain(r.Body)
		return nil, p
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyLimit)) // a host without deadlines has the body already
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	if r.ContentLength > maxBody {
		drain(r.Body)
		return nil, tooLarge()
	}
	body, err := readAll(r)
	switch {
	case err != nil:
		return nil, wire.Refuse(wire.InvalidRequest).Saying("The request body did not arrive whole. Send it again.")
	case len(body) > maxBody:
		drain(r.Body)
		return nil, tooLarge()
	case len(body) == 0:
		return nil, wire.Refuse(wire.InvalidJSON).Saying("The request has no body. Send a JSON object.")
	}
	return body, nil
}

// readAll reads at most one byte more than a body may have, into a buffer of
// the announced size.
func readAll(r *http.Request) ([]byte, error) {
	limited := io.LimitReader(r.Body, maxBody+1)
	if r.ContentLength <= 0 {
		return io.ReadAll(limited)
	}
	body := make([]byte, r.ContentLength)
	if n, err := io.ReadFull(limited, body); err != nil {
		return body[:n], err
	}
	return body, nil
}

func tooLarge() *wire.Problem {
	return wire.Refuse(wire.RequestTooLarge).Saying("The request body is larger than " + strconv.Itoa(maxBody>>20) +
		" MiB. Send images and files by reference (a URL or a file id), or shorten the conversation.")
}

// drain reads what a client is still sending: one that is cut off while it
// writes never sees why.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, maxDrain) }

// acceptable refuses bodies that are not plain JSON.
func acceptable(h http.Header) *wire.Problem {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return wire.Refuse(wire.UnsupportedMediaType).Saying("Compressed request bodies are not taken. Send the JSON without Content-Encoding.")
	}
	if h.Get("Content-Type") == "" {
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
