package wirefault

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	maxBody        = 32 << 20 // bytes of a request or an answer; DynamoDB's own bound is 16 MB
	forwardTimeout = 30 * time.Second
	contentType    = "application/x-amz-json-1.0"
	targetHeader   = "X-Amz-Target"
	checksumHeader = "X-Amz-Crc32"
	errorPrefix    = "com.amazonaws.dynamodb.v20120810#"
)

// answer is what comes back from the server, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request body not readable", http.StatusBadRequest)
		return
	}
	call := parse(r, body)
	fault := f.pick(call.Request)
	switch fault.Kind {
	case Throttle:
		refuse(w, http.StatusBadRequest, "ProvisionedThroughputExceededException")
	case Partial:
		f.servePartial(w, call)
	case Slow:
		f.serveSlow(w, call, fault)
	case Torn:
		tear(w, f.forward(call))
	case None:
		pass(w, f.forward(call))
	default:
		if fault.Applied {
			f.forward(call)
		}
		withhold(w, r, fault.Kind)
	}
}

// forward sends the request on and reads the answer. It does not end with the
// client: what a client sent may arrive after it has given up.
func (f *Front) forward(c call) answer {
	a := f.send(c, c.operationHeader, c.body)
	if f.items == AsBehind {
		return a
	}
	return f.treatItem(c, a)
}

func (f *Front) send(c call, target string, body []byte) answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.http.Context()), forwardTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.http.Method, f.target+c.http.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return gatewayError()
	}
	req.Header = c.http.Header.Clone()
	req.Header.Del("Connection")
	if target != "" {
		req.Header.Set(targetHeader, target)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return gatewayError()
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return gatewayError()
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: read}
}

// serveSlow is late on the way there or on the way back.
func (f *Front) serveSlow(w http.ResponseWriter, c call, fault Fault) {
	var a answer
	if fault.Applied {
		a = f.forward(c)
	}
	late := time.NewTimer(fault.Delay)
	defer late.Stop()
	<-late.C
	if !fault.Applied {
		a = f.forward(c)
	}
	pass(w, a)
}

// withhold gives no usable answer.
func withhold(w http.ResponseWriter, r *http.Request, k Kind) {
	switch k {
	case Error:
		refuse(w, http.StatusInternalServerError, "InternalServerError")
	case Reset:
		reset(w)
	case Silence:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	default: // Drop
		panic(http.ErrAbortHandler)
	}
}

// reset ends the connection with a TCP reset instead of an orderly end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// tear announces the whole answer and sends half of it.
func tear(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:len(a.body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func pass(w http.ResponseWriter, a answer) {
	for name, values := range a.header {
		if name != "Connection" && name != "Content-Length" && name != "Keep-Alive" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"__type":"`+errorPrefix+kind+`","message":"injected"}`)
}

// gatewayError stands for a server behind that cannot be reached.
func gatewayError() answer {
	return answer{
		status: http.StatusBadGateway,
		header: http.Header{"Content-Type": {contentType}},
		body:   []byte(`{"__type":"` + errorPrefix + `InternalServerError","message":"server behind the front is unreachable"}`),
	}
}
