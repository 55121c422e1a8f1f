package accounts

import (
	"slices"
	"sync"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
	"holdfast/localstack/accounts/internal/refusal"
	"holdfast/localstack/accounts/internal/responses"
)

// asked is what a codec reads from a request.
type asked interface {
	ModelName() string
	Streams() bool
	Write(*prompt.Prefix) // the canonical prompt
	Ask() answer.Ask
}

// answered is how a codec writes an answer down.
type answered interface {
	Body(*answer.Reply) []byte
	Stream(*answer.Reply) *emit.Events
	Extend(*prompt.Prefix, *answer.Reply)                              // the prompt, by the answer as the next request repeats it
	Failure(r *refusal.Refusal, to *answer.Reply, sequence int) []byte // the error event
}

// keeper is a codec whose answers the account remembers.
type keeper interface{ Keep(*answer.Reply) }

// request is one parsed request of any protocol.
type request interface {
	asked
	answered
}

// generate answers a request for text: faults, cache, answer, delivery.
func (x *exchange) generate(q request, invalid *refusal.Refusal, prefix string) {
	if !x.begin(q.ModelName(), q.Streams()) {
		return
	}
	if invalid == nil && !x.account.serves(x.model) {
		invalid = x.unknownModel()
	}
	var ask answer.Ask
	if invalid == nil {
		ask = q.Ask()
		invalid = x.impossible(ask)
	}
	if invalid != nil {
		x.refuse(invalid)
		return
	}
	p, reply := x.reply(q, ask, prefix)
	commit := sync.OnceFunc(func() { x.commit(q, p, reply) })
	if !q.Streams() {
		body := q.Body(reply)
		commit()
		x.send(body)
		return
	}
	s := player{exchange: x, events: q.Stream(reply), commit: commit}
	s.failed = func(sequence int) []byte { return q.Failure(x.refusal(&x.fault.Fault), reply, sequence) }
	s.play()
	if one, ok := q.(interface{ GoesOn() bool }); ok && one.GoesOn() {
		commit() // whatever has become of its stream
	}
}

// impossible refuses to force a tool that is not offered.
func (x *exchange) impossible(ask answer.Ask) *refusal.Refusal {
	named := ask.Force == answer.Named && !slices.ContainsFunc(ask.Tools, func(t answer.Tool) bool { return t.Name == ask.Named })
	none := ask.Force == answer.Any && len(ask.Tools) == 0
	switch {
	case x.anthropic && named:
		return refusal.Invalid("", "", "Tool '%s' not found in provided tools", ask.Named)
	case x.anthropic && none:
		return refusal.Invalid("", "", "tool_choice: may only be specified while providing tools")
	case named:
		return refusal.Invalid("tool_choice", "", "Invalid value for 'tool_choice': '%s' was not found in the 'tools' parameter.", ask.Named)
	case none:
		return refusal.Invalid("tool_choice", "", "Invalid value for 'tool_choice': 'required' is only allowed when 'tools' are specified.")
	}
	return nil
}

// reply takes the prompt through the cache and decides the answer.
func (x *exchange) reply(q asked, ask answer.Ask, prefix string) (*prompt.Prefix, *answer.Reply) {
	a := x.account
	p := a.cache.Prefix(x.protocol, x.model)
	q.Write(p)
	use := a.cache.Use(p, a.config.Now())
	ask.Size = p.Size()
	reply := &answer.Reply{Answer: a.style.Answer(ask), ID: a.mint(prefix), Created: x.began, Account: a.tag, Mint: a.mint}
	reply.Usage = answer.Usage{Use: use, Output: reply.Tokens(), Reasoning: reply.Thinking()}
	reply.Broken = x.fault != nil && x.fault.Kind == BadUsage
	x.note(func(c *Call) { c.Usage = x.usage(reply.Usage) })
	return p, reply
}

// usage is what the protocol reports: OpenAI's has no words for writes.
func (x *exchange) usage(u answer.Usage) Usage {
	reported := Usage{Input: u.Total - u.Read, CacheRead: u.Read, Output: u.Output, Reasoning: u.Reasoning}
	if x.anthropic {
		reported.Input = u.Fresh()
		reported.CacheWrite5m, reported.CacheWrite1h = u.WriteShort, u.WriteLong
	}
	return reported
}

// commit remembers a finished answer: in the cache, and by its id.
func (x *exchange) commit(q request, p *prompt.Prefix, reply *answer.Reply) {
	if p.Automatic() {
		q.Extend(p, reply)
		x.account.cache.Extend(p, x.account.config.Now())
	}
	if k, ok := q.(keeper); ok {
		k.Keep(reply)
	}
}

// compact answers with a shortened conversation.
func (x *exchange) compact() {
	q, r := responses.Parse(x.body, x.account.memory)
	if !x.begin(q.ModelName(), false) {
		return
	}
	if r == nil && !x.account.serves(x.model) {
		r = x.unknownModel()
	}
	if r != nil {
		x.refuse(r)
		return
	}
	_, reply := x.reply(q, q.Ask(), "resp_")
	x.send(q.Compact(reply))
}
