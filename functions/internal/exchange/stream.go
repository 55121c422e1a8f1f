package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing"
)

// Bounds of what is held back until the first real output, so that an early
// failure can still move to another target unseen.
const (
	maxHeldEvents = 64
	maxHeldBytes  = 256 << 10
)

// relay passes a stream on, byte for byte, and ends it as its protocol does.
type relay struct {
	*exchange
	ctx     context.Context
	answer  *upstream.Response
	reading stream // what the upstream's events mean
	added   bool   // the usage chunk was asked for by us: the client is spared it
	events  *sse.Reader
	shape   shaper
	held    []byte // whole events that wait to be sent together
	count   int    // of held events
	told    int    // bytes that a bridge was given
	partial bool   // the last event came without its blank line
	output  bool   // there was output: this target is final
	early   bool   // the id was published before the answer's end
}

// relay follows a streamed answer. Events are sent as soon as the upstream
// pauses; those that arrive together leave together. What turns out to be in one
// piece is passed on as that.
func (e *exchange) relay(ctx context.Context, answer *upstream.Response, rewritten wire.Rewritten) tried {
	room, _ := e.rooms.Get().(*room)
	if room == nil {
		room = newRoom()
	}
	events := sse.NewReader(answer.Body, 0)
	events.Use(room.read)
	if onePiece(events.First(), answer.Header) {
		answer.Body = begun{events.Rest(), answer.Body}
		defer e.rooms.Put(room)
		return e.whole(ctx, answer, rewritten)
	}
	reading := e.speaks(e.serving.Target).follow(e.counting())
	e.following = reading
	r := &relay{exchange: e, ctx: ctx, answer: answer, reading: reading, added: rewritten.UsageAdded, events: events, shape: e.guarding(e.shaper())}
	r.held = room.held[:0]
	whole, t := r.follow()
	e.rooms.Put(room.left(r))
	if !whole {
		answer.Body.Close()
		if so := reading.Answer(); so.HasUsage {
			t.usage = &so.Usage
		}
		return t
	}
	e.later(func(context.Context) { drain(answer.Body) })
	return t
}

// room is the memory that a relay works in, which the next one finds as it is.
type room struct {
	read []byte // of events as they come
	held []byte // of events that wait to be sent together
}

// readAhead is how much of a stream is read at once where that much is there, in
// bytes; maxRoom is what is kept of either buffer for the next stream.
const (
	readAhead = 32 << 10
	maxRoom   = 256 << 10
)

func newRoom() *room { return &room{read: make([]byte, readAhead)} }

// left takes back what a relay has made of its room.
func (m *room) left(r *relay) *room {
	m.held, m.read = r.held, r.events.Buffer()
	if cap(m.held) > maxRoom {
		m.held = nil
	}
	if len(m.read) > maxRoom {
		m.read = make([]byte, readAhead)
	}
	return m
}

// follow reads to the answer's end and reports whether it came whole.
func (r *relay) follow() (whole bool, _ tried) {
	for {
		event, err := r.events.Next()
		if err != nil {
			return r.stopped(err)
		}
		if r.bridge != nil { // whose last event repeats what came before
			if r.told += len(event.Data); r.told > maxAnswer {
				return false, r.outcome(routing.Broken)
			}
		}
		r.partial = event.Partial
		step := r.reading.Event(event.Name, event.Data)
		r.visible()
		switch step.Status {
		case wire.Completed, wire.Incomplete:
			return r.finish(*event)
		case wire.Failed:
			return false, r.fail(*event, step.Err)
		}
		if r.added && step.UsageOnly {
			continue
		}
		r.held = r.shape.Event(r.held, *event)
		if r.guardStopped(r.shape) {
			return false, r.withheld(r.reading.Answer(), r.answer)
		}
		r.count++
		if step.Output {
			r.spoken++ // a delta is about a token
		}
		r.output = r.output || step.Output && shows(r.shape) || r.count > maxHeldEvents || len(r.held) > maxHeldBytes
		if !r.output || r.events.Buffered() && len(r.held) < maxHeldBytes {
			continue
		}
		if err := r.flush(); err != nil {
			return false, r.outcome(routing.Cancelled)
		}
	}
}

// flush sends what is held.
func (r *relay) flush() error {
	if r.line.FirstByte == 0 {
		r.line.FirstByte = r.Now().Sub(r.in.Start)
	}
	err := r.reply.send(r.held, http.StatusOK, r.passed(r.answer.Header, eventStream))
	r.held, r.count = r.held[:0], 0
	return err
}

// finish makes what the client will rely on durable, then lets the terminal
// event go. A client that leaves right after it has had its answer.
func (r *relay) finish(terminal sse.Event) (bool, tried) {
	end := r.complete(r.shape.Event(nil, terminal), terminal) // before the books: what is kept of an answer is told by then
	if r.guardStopped(r.shape) {
		return false, r.withheld(r.reading.Answer(), r.answer)
	}
	if len(r.held) > 0 && r.ahead() {
		if err := r.flush(); err != nil {
			return false, r.outcome(routing.Cancelled)
		}
	}
	if r.ctx.Err() != nil {
		return false, r.outcome(ended(r.ctx))
	}
	if notice := r.succeed(r.ctx, r.reading.Answer(), r.answer); notice != "" {
		r.held = sse.AppendComment(r.held, notice)
	}
	r.held = append(r.held, end...)
	_ = r.flush()
	r.reply.end()
	return true, tried{outcome: routing.Outcome{Class: routing.Success}, status: r.answer.Status}
}

// complete makes an end whole that the upstream has left open: clients go by the
// protocol's terminal event, and skip one without its blank line. What a bridge
// makes is whole, and the bypass adds nothing.
func (r *relay) complete(end []byte, terminal sse.Event) []byte {
	if r.bridge != nil || r.in.Bypass != nil || len(terminal.Raw) > 0 && !terminal.Partial {
		return end
	}
	if r.partial || terminal.Partial {
		end = append(end, "\n\n"...)
	}
	if len(terminal.Raw) == 0 && r.codec.last != nil {
		end = append(end, r.codec.last()...)
	}
	return end
}

// ahead reports whether something must be written before the terminal event:
// then what is held need not wait for the store.
func (r *relay) ahead() bool {
	return r.plan.Changes(wanted(r.serving)) || r.codec.publishes || r.owes() || r.answer.Header.Get(turnState) != ""
}

// fail ends an answer that the upstream says has failed. After output its own
// error event is what the client gets. Before it nothing of this answer has been
// seen, though heartbeats may have: another attempt can still give one.
func (r *relay) fail(event sse.Event, fault *wire.UpstreamError) tried {
	if !r.output {
		r.exchange.following = nil
		return r.inside(r.answer.Header, fault)
	}
	if r.bridge != nil {
		r.held = append(r.held, r.exchange.following.Failure(fault.Problem(), r.stamp())...)
	} else {
		r.held = append(r.shape.Event(r.held, event), r.broken(event, fault)...)
	}
	_ = r.flush()
	t := r.outcome(routing.ServerError)
	t.shown = !r.guardStopped(r.shape)
	return t
}

// broken is what follows a provider's own error event where that is not the one by
// which the protocol's answers end: clients of Responses skip a bare error.
func (r *relay) broken(event sse.Event, fault *wire.UpstreamError) []byte {
	if r.in.Endpoint != wire.EndpointResponses || fault == nil || !jsonedit.Read(event.Data).Get("type").Is("error") {
		return nil
	}
	return r.exchange.following.Failure(fault.Problem(), r.stamp())
}

// stopped handles the end of the upstream's bytes before a terminal event. Some
// providers leave it out: then the answer says itself that it is whole.
func (r *relay) stopped(err error) (bool, tried) {
	if errors.Is(err, io.EOF) {
		if end := r.reading.End(); end == wire.Completed || end == wire.Incomplete {
			return r.finish(sse.Event{})
		}
	}
	switch {
	case !r.output:
		r.exchange.following = nil
	case len(r.held) > 0:
		_ = r.flush()
	}
	t := failed(err)
	t.outcome.Output = r.output
	return false, t
}

func (r *relay) outcome(class routing.Class) tried {
	return tried{outcome: routing.Outcome{Class: class, Output: r.output}, status: r.answer.Status, header: r.answer.Header}
}

// drainLimit bounds how long the rest of an answer is read so that its
// connection can be used again.
const drainLimit = time.Second

// drain reads what follows a terminal event.
func drain(body io.ReadCloser) {
	timer := time.AfterFunc(drainLimit, func() { _ = body.Close() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxHeldBytes))
	_ = body.Close()
}
