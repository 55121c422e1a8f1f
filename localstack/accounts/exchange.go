package accounts

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"holdfast/localstack/accounts/internal/refusal"
)

// maxBody bounds a request.
const maxBody = 32 << 20

// route is one operation of a protocol.
type route struct {
	protocol, operation string
	anthropic           bool // errors and headers in Anthropic's shape
	serve               func(*exchange)
}

// exchange is one call from its first byte to its last.
type exchange struct {
	*route
	account *Account
	w       http.ResponseWriter
	r       *http.Request
	began   time.Time
	key     string // KeyHash of the credential
	body    []byte
	entry   *Call // in the journal; nil without one
	model   string
	fault   *Armed // what strikes this call
	id      string // of the request

	status   int
	events   int
	finished bool
	gone     bool // the client
}

// handle makes the handler of a route.
func (a *Account) handle(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{route: &rt, account: a, w: w, r: r, began: a.config.Now()}
		defer x.close()
		if x.open() {
			x.serve(x)
		}
	})
}

// open reads the request and checks its credential.
func (x *exchange) open() bool {
	body, err := read(x.r)
	x.body = body
	secret := credential(x.r.Header)
	if secret != "" {
		x.key = KeyHash(secret)
	}
	unsigned := x.unsigned()
	x.record()
	x.id = x.account.mint("req_")
	if unsigned != nil {
		return x.refuse(unsigned)
	}
	if keys := x.account.config.Keys; len(keys) > 0 && !slices.Contains(keys, secret) {
		return x.refuse(x.unauthorized(secret == ""))
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return x.refuse(&refusal.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error",
			Message: "Request exceeds the maximum size"})
	}
	return err == nil // otherwise nobody is there to be told
}

// read takes the whole body before anything is answered, so that no client is
// cut off while it is still sending.
func read(r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	limited := http.MaxBytesReader(nil, r.Body, maxBody)
	if n := r.ContentLength; n > 0 && n <= maxBody {
		body := make([]byte, n)
		_, err := io.ReadFull(limited, body)
		return body, err
	}
	return io.ReadAll(limited)
}

// record opens the journal's entry.
func (x *exchange) record() {
	if x.account.journal == nil {
		return
	}
	x.entry = &Call{Time: x.began, Method: x.r.Method, Path: x.r.URL.RequestURI(), Headers: masked(x.r.Header),
		Key: x.key, Body: x.body, Protocol: x.protocol, Operation: x.operation}
	x.account.journal.open(x.entry)
}

// note changes the journal's entry.
func (x *exchange) note(change func(*Call)) {
	if x.entry != nil {
		x.account.journal.update(x.entry, change)
	}
}

// settle completes the journal's entry before the last bytes leave, so that
// whoever has read them finds it complete.
func (x *exchange) settle(finished bool) {
	x.note(func(c *Call) {
		c.Open, c.Status, c.Events, c.Finished = false, x.status, x.events, finished
	})
}

// close says how it really ended: the last bytes may have found nobody.
func (x *exchange) close() {
	gone := x.gone || x.r.Context().Err() != nil
	x.note(func(c *Call) {
		c.Open, c.Status, c.Events = false, x.status, x.events
		c.Finished = x.finished
		c.Cancelled = gone && !x.finished
	})
}

// begin lets the account's faults and delays act once it is known what is asked
// for. It is false when a fault has already ended the call.
func (x *exchange) begin(model string, stream bool) bool {
	x.model = model
	x.fault = x.account.faults.strike(subject{x.protocol, x.operation, model, x.key, stream, x.body})
	x.note(func(c *Call) {
		c.Model, c.Stream = model, stream
		if x.fault != nil {
			c.Fault, c.FaultID = x.fault.Kind, x.fault.ID
		}
	})
	if !x.pause(x.account.config.FirstByte) {
		return false
	}
	return x.fault == nil || x.inject()
}

// pause lets a delay pass; false when the client has gone. Where the account
// was closed instead the connection is aborted: an orderly end would look like
// an answer.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 || x.account.wait(x.r.Context(), d) == nil {
		return true
	}
	if x.r.Context().Err() == nil {
		panic(http.ErrAbortHandler)
	}
	return false
}

// head sends the status and the headers that a provider sends.
func (x *exchange) head(status int, contentType string) {
	h := x.w.Header()
	h["Content-Type"] = []string{contentType}
	if x.fault != nil && x.fault.Kind == Mislabelled {
		if h["Content-Type"] = nil; x.fault.ContentType != "" { // present without a value: nothing is guessed
			h["Content-Type"] = []string{x.fault.ContentType}
		}
	}
	if x.anthropic {
		x.anthropicHeaders(h)
	} else {
		x.openAIHeaders(h)
	}
	x.status = status
	x.w.WriteHeader(status)
}

// refuse answers with an error; false, so that a handler can return it.
func (x *exchange) refuse(r *refusal.Refusal) bool {
	body := r.OpenAI()
	if x.anthropic {
		body = r.Anthropic(x.id)
	}
	x.plain(r.Status, body)
	return false
}

// plain answers with JSON that no fault touches.
func (x *exchange) plain(status int, body []byte) {
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.head(status, "application/json")
	x.gone = x.r.Context().Err() != nil
	x.settle(!x.gone)
	_, err := x.w.Write(body)
	x.finished = err == nil && !x.gone
}

// result answers with what a stored object says, or with its refusal.
func (x *exchange) result(body []byte, r *refusal.Refusal) {
	if r != nil {
		x.refuse(r)
		return
	}
	x.send(body)
}

// reset tears the connection down so that the client sees a reset.
func (x *exchange) reset() {
	x.settle(false)
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // not a plain connection: the server's own way to abort
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0) // without it the client sees an end instead of a reset, which is as dead
	}
	_ = conn.Close() // nothing is left to be lost
}
