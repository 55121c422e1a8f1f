package accounts

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/refusal"
)

// Bounds of the control API.
const (
	maxControlBody = 1 << 20
	maxPage        = 1000
)

func (a *Account) addControl(mux *http.ServeMux) {
	handle := func(pattern string, serve func(r *http.Request) (int, any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, value := serve(r)
			reply(w, status, value)
		})
	}
	handle("POST /control/faults", a.controlInject)
	handle("GET /control/faults", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"faults": a.Faults()}
	})
	handle("DELETE /control/faults", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"removed": a.ClearFaults()}
	})
	handle("DELETE /control/faults/{id}", func(r *http.Request) (int, any) {
		if !a.Remove(r.PathValue("id")) {
			return http.StatusNotFound, mistake("no fault %q is armed", r.PathValue("id"))
		}
		return http.StatusOK, map[string]any{"removed": 1}
	})
	handle("GET /control/calls", a.controlCalls)
	handle("DELETE /control/calls", func(*http.Request) (int, any) {
		a.Forget()
		return http.StatusOK, map[string]any{"ok": true}
	})
	handle("GET /control/cache", func(*http.Request) (int, any) { return http.StatusOK, a.CacheStats() })
	handle("DELETE /control/cache", func(*http.Request) (int, any) {
		a.ClearCache()
		return http.StatusOK, map[string]any{"ok": true}
	})
	handle("GET /control/healthz", func(*http.Request) (int, any) {
		return http.StatusOK, map[string]any{"ok": true, "account": a.Name()}
	})
	handle("/control/", func(r *http.Request) (int, any) {
		return http.StatusNotFound, mistake("no control %s %s: there are POST, GET and DELETE /control/faults, DELETE /control/faults/{id}, GET and DELETE /control/calls, GET and DELETE /control/cache, GET /control/healthz", r.Method, r.URL.Path)
	})
}

func (a *Account) controlInject(r *http.Request) (int, any) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxControlBody))
	if err != nil {
		return http.StatusRequestEntityTooLarge, mistake("the body could not be read: %v", err)
	}
	var f Fault
	if err := json.Unmarshal(body, &f, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFunc(parseDuration))); err != nil {
		return http.StatusBadRequest, unreadable(err)
	}
	id, err := a.Inject(f)
	if err != nil {
		return http.StatusBadRequest, mistake("%v", err)
	}
	return http.StatusCreated, map[string]any{"id": id}
}

// unreadable says where a fault's JSON is wrong, in words for people.
func unreadable(err error) any {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return mistake("the body is not JSON: %v", err)
	}
	path := refusal.Param(semantic.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return mistake("%s: a fault has no such member", path)
	case path == "":
		return mistake("a fault is a JSON object")
	case semantic.Err != nil:
		return mistake("%s: %v", path, semantic.Err)
	}
	return mistake("%s: a JSON %v does not belong here", path, semantic.JSONKind)
}

// parseDuration reads "250ms".
func parseDuration(b []byte, d *time.Duration) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		return errors.New(`a duration is a string such as "250ms"`)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return errors.New(`a duration is a string such as "250ms"`)
	}
	*d = parsed
	return nil
}

// shown is a call as the control API shows it.
type shown struct {
	Call
	Body   string `json:"body,omitempty"`
	Binary []byte `json:"body_base64,omitempty"` // instead, when it is not UTF-8
}

func (a *Account) controlCalls(r *http.Request) (int, any) {
	after, err := number(r, "after", 0)
	if err != nil {
		return http.StatusBadRequest, mistake("%v", err)
	}
	limit, err := number(r, "limit", maxPage)
	if err != nil {
		return http.StatusBadRequest, mistake("%v", err)
	}
	list := []shown{}
	for _, c := range a.Calls() {
		if c.Seq <= int64(after) || len(list) >= min(limit, maxPage) {
			continue
		}
		if utf8.Valid(c.Body) {
			list = append(list, shown{Call: c, Body: string(c.Body)})
		} else {
			list = append(list, shown{Call: c, Binary: c.Body})
		}
	}
	return http.StatusOK, map[string]any{"count": a.Count(), "calls": list}
}

// number reads a query parameter that counts something.
func number(r *http.Request, name string, otherwise int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q is not a number of 0 or more", name, v)
	}
	return n, nil
}

func mistake(format string, args ...any) any {
	return map[string]any{"error": fmt.Sprintf(format, args...)}
}

// reply writes a control answer, indented for the eyes that read it.
func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "), json.WithMarshalers(json.MarshalFunc(
		func(d time.Duration) ([]byte, error) { return strconv.AppendQuote(nil, d.String()), nil })))
	if err != nil {
		status, body = http.StatusInternalServerError, fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that went away is not missed
}
