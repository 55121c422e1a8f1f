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
	flush  http.ResponseController
	beat   func() []byte       // keep-alive event of the client's protocol
	commit func(h http.Header) // fills in the headers that say what serves

	mu     sync.Mutex
	timer  *time.Timer
	sent   bool // headers have left
	ended  bool
	failed error  // the first write that failed: the client has left
	seen   []byte // what the client was sent, heartbeats left out, while room lasts
	room   int    // bytes that seen may have; 0: nothing is copied
}

func newReply(w http.ResponseWriter, beat func() []byte, commit func(http.Header)) *reply {
	return &reply{w: w, flush: *http.NewResponseController(w), beat: beat, commit: commit}
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
	r.put(r.beat())
	r.timer.Reset(heartbeat)
}

// still changes what headers are made of while none can leave.
func (r *reply) still(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
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
	r.note(p)
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
	r.note(p)
	_, r.failed = r.w.Write(p)
	return r.failed
}

// pour writes a part of an answer that is passed on as it comes. Its beginning
// leaves at once.
func (r *reply) pour(p []byte, status int, upstream func(http.Header), flush bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	flush = flush || !r.sent
	r.start(status, upstream)
	if len(p) == 0 || r.failed != nil {
		return r.failed
	}
	if _, r.failed = r.w.Write(p); r.failed == nil && flush {
		r.failed = r.flush.Flush()
	}
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

// copy keeps what is sent from here on, up to limit bytes.
func (r *reply) copy(limit int) { r.room = limit }

// note adds to the copy. What grows beyond its room is not kept at all. The
// caller holds mu.
func (r *reply) note(p []byte) {
	if r.room == 0 {
		return
	}
	if len(r.seen)+len(p) > r.room {
		r.seen, r.room = nil, 0
		return
	}
	r.seen = append(r.seen, p...)
}

// copied returns what the client was sent, and its content type; nil where it
// was too much or the client has left.
func (r *reply) copied() ([]byte, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.room == 0 || r.failed != nil {
		return nil, ""
	}
	return r.seen, r.w.Header().Get("Content-Type")
}
