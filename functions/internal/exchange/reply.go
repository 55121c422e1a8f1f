package exchange

import (
	"net/http"
	"sync"
	"time"
)

// heartbeat is how long a stream may be silent before the client is told that
// it is still alive. It stays below the clients' own timers.
const heartbeat = 15 * time.Second

// reply is the client's side of one exchange. Its headers leave once; a
// heartbeat may send them before the upstream has said anything.
//
// The relay and the heartbeat timer write from two goroutines: all writes go
// through mu, and each is whole events.
type reply struct {
	w      http.ResponseWriter
	flush  *http.ResponseController
	beat   []byte              // keep-alive event of the client's protocol
	commit func(h http.Header) // fills in the headers that say what serves

	mu     sync.Mutex
	timer  *time.Timer
	sent   bool // headers have left
	ended  bool
	failed error // the first write that failed: the client has left
}

func newReply(w http.ResponseWriter, beat []byte, commit func(http.Header)) *reply {
	return &reply{w: w, flush: http.NewResponseController(w), beat: beat, commit: commit}
}

// watch starts heartbeats: after every span of silence the client gets one.
func (r *reply) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(heartbeat, r.pulse)
}

// pulse is the timer's function.
func (r *reply) pulse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.failed != nil {
		return
	}
	r.start(http.StatusOK, func(h http.Header) { h.Set("Content-Type", eventStream) })
	r.put(r.beat)
	r.timer.Reset(heartbeat)
}

// started reports whether headers have left: the target is final then.
func (r *reply) started() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// send writes whole events, after the headers where those have not left yet.
func (r *reply) send(p []byte, status int, upstream func(http.Header)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start(status, upstream)
	r.put(p)
	if r.timer != nil && !r.ended {
		r.timer.Reset(heartbeat)
	}
	return r.failed
}

// body writes a whole answer with its length.
func (r *reply) body(p []byte, status int, upstream func(http.Header)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start(status, upstream)
	_, r.failed = r.w.Write(p)
	return r.failed
}

// end stops the heartbeats. Nothing is written after it but by its caller.
func (r *reply) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// start sends the headers, once. The caller holds mu.
func (r *reply) start(status int, upstream func(http.Header)) {
	if r.sent {
		return
	}
	r.sent = true
	header := r.w.Header()
	if upstream != nil {
		upstream(header)
	}
	r.commit(header)
	r.w.WriteHeader(status)
}

// put writes and flushes. The caller holds mu.
func (r *reply) put(p []byte) {
	if r.failed != nil || len(p) == 0 {
		return
	}
	if _, r.failed = r.w.Write(p); r.failed == nil {
		r.failed = r.flush.Flush()
	}
}
