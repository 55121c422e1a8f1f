package accounts

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"holdfast/localstack/accounts/internal/emit"
)

// send answers with JSON, faults within the answer included.
func (x *exchange) send(body []byte) {
	if x.fault == nil {
		x.plain(http.StatusOK, body)
		return
	}
	f := &x.fault.Fault
	part := body[:len(body)/2]
	if f.AfterBytes > 0 {
		part = body[:min(f.AfterBytes, len(body))]
	}
	switch f.Kind {
	case ErrorEvent:
		x.refuse(x.refusal(&Fault{Kind: ServerError, Status: f.Status, Code: f.Code, Message: f.Message}))
	case Garbage:
		x.plain(http.StatusOK, append(part[:len(part):len(part)], `,,"broken": `...))
	case ResetAfter:
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
		x.head(http.StatusOK, "application/json")
		x.write(part)
		x.reset()
	case Cut:
		x.head(http.StatusOK, "application/json")
		x.write(part)
	case SlowTokens:
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
		x.head(http.StatusOK, "application/json")
		x.write(nil)
		if x.pause(f.Delay) {
			x.settle(true)
			x.finished = x.write(body)
		}
	default:
		x.plain(http.StatusOK, body)
	}
}

// player sends a stream.
type player struct {
	*exchange
	events *emit.Events
	failed func(sequence int) []byte // the protocol's error event
	commit func()                    // what must be remembered before the end leaves
	delay  time.Duration             // before each output event
}

// play sends events one by one, faults within the answer included.
func (p *player) play() {
	p.head(http.StatusOK, "text/event-stream; charset=utf-8")
	p.delay = p.account.config.Token
	f := p.striking()
	if f == nil {
		p.finished = p.through(p.events.Len())
		return
	}
	if !p.part(f) {
		return
	}
	switch f.Kind {
	case ResetAfter:
		p.write(nil)
		p.reset()
	case ErrorEvent:
		p.extra(p.failed(p.exchange.events))
	case Garbage:
		p.extra([]byte("data: {\"id\": \"broken\", \n\n"))
	}
}

// striking is the fault that cuts this stream short; the slow ones only slow it.
func (p *player) striking() *Fault {
	if p.fault == nil {
		return nil
	}
	f := &p.fault.Fault
	if f.Kind == SlowTokens {
		p.delay += f.Delay
	}
	if !f.within() {
		return nil
	}
	return f
}

// through sends the first n events; false when the client has gone.
func (p *player) through(n int) bool {
	end := p.events.Upto(math.MaxInt) // from here on the end leaves
	for i := range n {
		if i == end {
			p.commit()
		}
		if p.events.Output(i) && !p.pause(p.delay) {
			return false
		}
		p.exchange.events++
		if i == p.events.Len()-1 {
			p.settle(true)
		}
		if !p.write(p.events.Event(i)) {
			return false
		}
	}
	return true
}

// part sends what leaves before a fault. Before a reset it goes out at once
// where no delay paces it: a reset throws away what the kernel still holds, and
// it holds back the last of many small packets.
func (p *player) part(f *Fault) bool {
	n := p.events.Upto(f.After)
	switch {
	case f.AfterBytes > 0:
		return p.write(p.events.Bytes[:min(f.AfterBytes, len(p.events.Bytes))])
	case f.Kind == ResetAfter && p.delay == 0:
		p.exchange.events = n
		return p.write(p.events.Head(n))
	}
	return p.through(n)
}

// extra sends an event that the answer does not have, and ends there.
func (p *player) extra(event []byte) {
	p.exchange.events++
	p.settle(false)
	p.write(event)
}

// write sends bytes at once; false when the client has gone. A client that goes
// after the last byte has got everything.
func (x *exchange) write(b []byte) bool {
	if x.gone = x.gone || x.r.Context().Err() != nil; x.gone {
		return false
	}
	_, err := x.w.Write(b)
	if err == nil {
		err = http.NewResponseController(x.w).Flush()
	}
	x.gone = err != nil
	return err == nil
}
