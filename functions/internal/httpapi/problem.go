package httpapi

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
)

// authenticate finds the caller, and says in the client's words why not.
func authenticate(snapshot *exchange.Snapshot, header http.Header, now time.Time) (auth.Principal, *wire.Problem) {
	principal, err := auth.Authenticate(snapshot.Catalog, header, now)
	switch {
	case err == nil:
		return principal, nil
	case errors.Is(err, auth.ErrDisabled):
		return principal, wire.Refuse(wire.KeyDisabled)
	case errors.Is(err, auth.ErrExpired):
		return principal, wire.Refuse(wire.KeyExpired)
	}
	return principal, wire.Refuse(wire.InvalidAPIKey)
}

// refuse answers a problem in the protocol of the request's route, once the
// client has stopped sending.
func refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	drain(w, r)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Holdfast-Error", string(p.Code))
	if text := p.RetrySeconds(); text != "" {
		header.Set("Retry-After", text)
	}
	if p.Status == http.StatusUpgradeRequired {
		header.Set("Connection", "close")
	}
	body := chat.ErrorBody(p, "")
	if speaksMessages(r) {
		body = messages.ErrorBody(p, header.Get(requestID))
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// speaksMessages reports whether a client expects Anthropic's error form.
func speaksMessages(r *http.Request) bool {
	at := strings.TrimPrefix(r.URL.Path, "/v1")
	return at == "/messages" || strings.HasPrefix(at, "/messages/") || r.Header.Get("Anthropic-Version") != ""
}

// origin names where a panic came from: the panic's own text may hold content.
func origin() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		ours := strings.HasPrefix(frame.Function, "holdfast/")
		if ours && !strings.Contains(frame.Function, ".(*api).recover") {
			return frame.Function + ":" + strconv.Itoa(frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
