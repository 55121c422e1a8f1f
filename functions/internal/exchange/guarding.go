package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"holdfast/functions/internal/guard"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing"
)

// errGuarded is an answer that a guardrail keeps from the client.
var errGuarded = errors.New("exchange: a guardrail refuses the answer")

// inspectText applies the guardrails for requests to the body and to the history
// that goes with it. What goes on from here, to every upstream and into every
// store, is both as they leave them.
func (e *exchange) inspectText() *wire.Problem {
	rules := e.in.Snapshot.Guards
	if !rules.GuardsInput() {
		return nil
	}
	text := e.facts.Body()
	if e.in.Bypass != nil && e.form == nil && len(e.in.Body) > 0 {
		text = e.in.Body // which goes there whatever it calls itself
	}
	body, found := rules.Input(text)
	if e.noteRules(found); found.Blocked != "" {
		return guarded(found)
	}
	e.seen = found.Bytes
	if e.history != nil {
		var p *wire.Problem
		if e.history, p = e.inspectHistory(e.history); p != nil {
			return p
		}
	}
	switch {
	case bytes.Equal(body, text):
		return nil
	case e.form != nil: // what is no JSON cannot be edited
		return wire.Refuse(wire.GuardrailBlocked)
	}
	e.in.Body = body
	return e.inspect()
}

// inspectHistory applies the guardrails for requests to items of the
// conversation that the gateway restores, after the body.
func (e *exchange) inspectHistory(items []byte) ([]byte, *wire.Problem) {
	rules := e.in.Snapshot.Guards
	if !rules.GuardsInput() {
		return items, nil
	}
	items, found := rules.History(items, e.seen)
	if e.noteRules(found); found.Blocked != "" {
		return nil, guarded(found)
	}
	return items, nil
}

// noteRules puts the names of rules that matched into the exchange's line.
func (e *exchange) noteRules(found guard.Found) {
	for _, name := range found.Names {
		if !slices.Contains(e.line.Guardrails, name) {
			e.line.Guardrails = append(e.line.Guardrails, name)
		}
	}
}

// guarded is the refusal of a rule. It names the rule, never the text.
func guarded(found guard.Found) *wire.Problem {
	return wire.Refuse(wire.GuardrailBlocked).Saying("The guardrail " + wire.Clean(found.Blocked, 64) +
		" of this gateway refused the content. Change the request or ask the operator about the rule.")
}

// guardedShaper applies the guardrails for answers to what another shaper makes
// for the client.
type guardedShaper struct {
	shaper
	exchange *exchange
	stream   *guard.Stream
	told     stream // follows what the client is told; nil where nothing of that is repeated or numbered
	made     []byte // by the other shaper, for one event
}

// guarding puts the guardrails behind a shaper, where there are any.
func (e *exchange) guarding(s shaper) shaper {
	rules := e.in.Snapshot.Guards
	if !rules.GuardsOutput() {
		return s
	}
	g := &guardedShaper{shaper: s, exchange: e, stream: rules.Stream(e.in.Endpoint)}
	if e.in.Endpoint == wire.EndpointResponses && e.codec.follow != nil {
		g.told = e.codec.follow(wire.ByProtocol)
		e.following = g.told // a broken answer ends in keeping with what was told, and repeats nothing else
	}
	return g
}

// Event implements shaper.
func (g *guardedShaper) Event(dst []byte, e sse.Event) []byte {
	from := len(dst)
	dst = g.guarded(dst, e)
	if g.told != nil {
		for events := sse.NewReader(bytes.NewReader(dst[from:]), 0); ; {
			told, err := events.Next()
			if err != nil {
				break
			}
			g.told.Event(told.Name, told.Data)
		}
	}
	return dst
}

// guarded appends what the rules let through of what the other shaper makes.
func (g *guardedShaper) guarded(dst []byte, e sse.Event) []byte {
	g.made = g.shaper.Event(g.made[:0], e)
	for events := sse.NewReader(bytes.NewReader(g.made), 0); ; {
		made, err := events.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return dst
			}
			break
		}
		dst = g.stream.Event(dst, *made)
	}
	if len(e.Raw) == 0 {
		dst = g.stream.End(dst)
	}
	return dst
}

// Body implements shaper.
func (g *guardedShaper) Body(body []byte) ([]byte, error) {
	body, err := g.shaper.Body(body)
	if err != nil {
		return nil, err
	}
	if body, g.exchange.barred = g.exchange.inspectAnswer(body); g.exchange.barred != nil {
		return nil, errGuarded
	}
	return body, nil
}

// inspectAnswer applies the guardrails for answers to a JSON answer in the
// client's protocol.
func (e *exchange) inspectAnswer(body []byte) ([]byte, *wire.Problem) {
	rules := e.in.Snapshot.Guards
	if !rules.GuardsOutput() {
		return body, nil
	}
	body, found := rules.Output(e.in.Endpoint, body)
	if e.noteRules(found); found.Blocked != "" {
		return nil, guarded(found)
	}
	return body, nil
}

// shows reports whether the client has been shown text of the answer, as far as
// a guard decides that: one that holds all of it back has shown nothing yet.
func shows(s shaper) bool {
	g, guards := s.(*guardedShaper)
	return !guards || g.stream.Shown()
}

// guardStopped reports whether a guardrail has refused the stream that a shaper makes,
// and takes notes of what matched.
func (e *exchange) guardStopped(s shaper) bool {
	g, guards := s.(*guardedShaper)
	if !guards {
		return false
	}
	found := g.stream.Found()
	e.noteRules(found)
	if found.Blocked == "" {
		return false
	}
	e.barred = guarded(found)
	return true
}

// withheld is an attempt whose answer a guardrail keeps from the client. It is
// paid for all the same.
func (e *exchange) withheld(answer wire.Answer, from *upstream.Response) tried {
	e.line.Status = from.Status
	booked, cancel := context.WithTimeout(context.WithoutCancel(e.http.Context()), soon)
	defer cancel()
	e.bill(booked, answer)
	return tried{outcome: routing.Outcome{Class: routing.Success}, status: from.Status, refusal: e.barred}
}
