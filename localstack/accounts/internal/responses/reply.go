package responses

import (
	"slices"
	"strings"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
)

// made is one output item before it is written down.
type made struct {
	kind      string // reasoning, message, function_call
	id        string
	text      string // of a message; of a reasoning item its summary
	encrypted string // of a reasoning item
	call      answer.Call
}

// outputs are the items of an answer; their ids are minted once.
func (q *Request) outputs(r *answer.Reply) []made {
	if q.out != nil {
		return q.out
	}
	if r.Thought != "" {
		m := made{kind: "reasoning", id: r.Mint("rs_")}
		if summary := q.thinking().Summary; summary != "" && summary != "none" {
			m.text = r.Thought
		}
		if q.encrypts() {
			m.encrypted = q.memory.box.Seal(reasoningSeal, r.Thought)
		}
		q.out = append(q.out, m)
	}
	if len(r.Calls) == 0 {
		q.out = append(q.out, made{kind: "message", id: r.Mint("msg_"), text: r.Text})
	}
	for i := range r.Calls {
		r.Calls[i].ID = r.Mint("call_")
		q.out = append(q.out, made{kind: "function_call", id: r.Mint("fc_"), call: r.Calls[i]})
	}
	return q.out
}

// append writes the item as it is when done, or as it begins.
func (m *made) append(b []byte, done bool) []byte {
	b = emit.String(b, `{"id":`, m.id)
	b = emit.String(b, `,"type":`, m.kind)
	switch m.kind {
	case "reasoning":
		b = append(b, `,"summary":[`...)
		if done && m.text != "" {
			b = append(emit.String(b, `{"type":"summary_text","text":`, m.text), '}')
		}
		b = append(b, ']')
		if m.encrypted != "" {
			b = emit.String(b, `,"encrypted_content":`, m.encrypted)
		}
		return append(b, '}')
	case "message":
		b = append(b, `,"status":`+status(done)+`,"content":[`...)
		if done {
			b = appendText(b, m.text)
		}
		return append(b, `],"role":"assistant"}`...)
	}
	arguments := ""
	if done {
		arguments = m.call.Arguments
	}
	b = emit.String(append(b, `,"status":`+status(done)...), `,"arguments":`, arguments)
	b = emit.String(b, `,"call_id":`, m.call.ID)
	return append(emit.String(b, `,"name":`, m.call.Name), '}')
}

func appendText(b []byte, text string) []byte {
	return append(emit.String(b, `{"type":"output_text","annotations":[],"logprobs":[],"text":`, text), '}')
}

func status(done bool) string {
	if done {
		return `"completed"`
	}
	return `"in_progress"`
}

// Body is the whole answer as JSON; a background response is only queued yet.
func (q *Request) Body(r *answer.Reply) []byte {
	if q.Background {
		return q.object(nil, r, "queued", "null")
	}
	return q.object(nil, r, ended(r), "null")
}

func ended(r *answer.Reply) string {
	if r.Ending == answer.Length {
		return "incomplete"
	}
	return "completed"
}

// object appends the response object in a state. Only a finished one has
// output and usage.
func (q *Request) object(b []byte, r *answer.Reply, state, failure string) []byte {
	finished := state == "completed" || state == "incomplete"
	b = emit.String(b, `{"id":`, r.ID)
	b = emit.Int(b, `,"object":"response","created_at":`, int(r.Created.Unix()))
	b = emit.String(b, `,"status":`, state)
	b = append(b, `,"background":`+boolean(q.Background)+`,"error":`+failure...)
	if state == "incomplete" {
		b = append(b, `,"incomplete_details":{"reason":"max_output_tokens"}`...)
	} else {
		b = append(b, `,"incomplete_details":null`...)
	}
	b = q.echo(b)
	b = append(b, `,"output":[`...)
	if finished {
		for i := range q.outputs(r) {
			if i > 0 {
				b = append(b, ',')
			}
			b = q.out[i].append(b, true)
		}
	}
	b = append(b, `],"usage":`...)
	if finished {
		return append(usage(b, r), '}')
	}
	return append(b, "null}"...)
}

// echo appends the members that repeat the request.
func (q *Request) echo(b []byte) []byte {
	b = emit.Raw(b, `,"instructions":`, q.Instructions, "null")
	if q.MaxTokens != nil {
		b = emit.Int(b, `,"max_output_tokens":`, *q.MaxTokens)
	} else {
		b = append(b, `,"max_output_tokens":null`...)
	}
	b = emit.String(b, `,"model":`, q.Model)
	b = append(b, `,"parallel_tool_calls":`+boolean(q.Parallel == nil || *q.Parallel)...)
	b = emit.OrNull(append(b, `,"previous_response_id":`...), q.Previous)
	if id := conversationID(q.Conversation); id != "" {
		b = append(emit.String(b, `,"conversation":{"id":`, id), '}')
	}
	b = emit.OrNull(append(b, `,"prompt_cache_key":`...), q.CacheKey)
	b = emit.OrNull(append(b, `,"safety_identifier":`...), q.Safety)
	b = emit.Raw(b, `,"reasoning":`, q.Reasoning, `{"effort":null,"summary":null}`)
	b = append(b, `,"service_tier":"default","store":`+boolean(q.Stored())...)
	b = emit.Raw(b, `,"temperature":`, q.Temperature, "1.0")
	b = emit.Raw(b, `,"text":`, q.Text, `{"format":{"type":"text"},"verbosity":"medium"}`)
	b = emit.Raw(b, `,"tool_choice":`, q.ToolChoice, `"auto"`)
	b = append(b, `,"tools":[`...)
	for i, t := range q.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t...)
	}
	b = emit.Raw(b, `],"top_p":`, q.TopP, "1.0")
	truncation := q.Truncation
	if truncation == "" {
		truncation = "disabled"
	}
	b = emit.String(b, `,"truncation":`, truncation)
	b = emit.OrNull(append(b, `,"user":`...), q.User)
	return emit.Raw(b, `,"metadata":`, q.Metadata, "{}")
}

func boolean(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

func usage(b []byte, r *answer.Reply) []byte {
	if r.Broken {
		return append(b, `{"input_tokens":"many","output_tokens":-1,"total_tokens":null,"input_tokens_details":[]}`...)
	}
	b = emit.Int(b, `{"input_tokens":`, r.Usage.Total)
	b = emit.Int(b, `,"input_tokens_details":{"cached_tokens":`, r.Usage.Read)
	b = emit.Int(b, `},"output_tokens":`, r.Usage.Output)
	b = emit.Int(b, `,"output_tokens_details":{"reasoning_tokens":`, r.Usage.Reasoning)
	b = emit.Int(b, `},"total_tokens":`, r.Usage.Total+r.Usage.Output)
	return append(b, '}')
}

// kept are the output items as a later request finds them.
func (q *Request) kept(r *answer.Reply) []*item {
	var items []*item
	for _, m := range q.outputs(r) {
		it := &item{Type: m.kind, ID: m.id, raw: m.append(nil, true), Encrypted: m.encrypted,
			CallID: m.call.ID, Name: m.call.Name, Arguments: m.call.Arguments}
		if m.kind == "message" {
			it.Role = "assistant"
			it.Content = append(append([]byte{'['}, appendText(nil, m.text)...), ']')
		}
		items = append(items, it)
	}
	return items
}

// GoesOn reports whether the answer is finished whoever reads it.
func (q *Request) GoesOn() bool { return q.Background && q.Stored() }

// Keep stores a finished answer where the request wants that. Call it before
// the answer's end leaves: its id must work at once.
func (q *Request) Keep(r *answer.Reply) {
	output := q.kept(r)
	var input []*item
	for _, it := range q.fresh {
		input = append(input, it.named(r.Mint))
	}
	if id := conversationID(q.Conversation); id != "" {
		q.memory.grow(id, slices.Concat(input, output))
	}
	if !q.Stored() {
		return
	}
	s := &stored{input: input, output: output, whole: slices.Concat(q.history, q.fresh, output),
		body: q.object(nil, r, ended(r), "null")}
	if q.Background {
		s.events = q.Stream(r)
	}
	if q.Background && !q.Streaming {
		s.waiting = true
		s.queued = q.object(nil, r, "queued", "null")
		s.dropped = q.object(nil, r, "cancelled", "null")
	}
	q.memory.keep(r.ID, s)
}

// Compact answers a request to shorten a conversation: its user messages, and
// one sealed item that stands for everything else.
func (q *Request) Compact(r *answer.Reply) []byte {
	b := emit.String(nil, `{"id":`, r.ID)
	b = emit.Int(b, `,"object":"response.compaction","created_at":`, int(r.Created.Unix()))
	b = append(b, `,"output":[`...)
	var said []string
	for _, it := range q.all() {
		if it.Type == "message" && it.Role == "user" {
			b = append(append(b, it.named(r.Mint).raw...), ',')
		} else if it.Type == "message" {
			said = append(said, text(it.Content))
		}
	}
	b = emit.String(b, `{"id":`, r.Mint("cmp_"))
	b = emit.String(b, `,"type":"compaction","encrypted_content":`, q.memory.box.Seal(compactionSeal, strings.Join(said, "\n")))
	b = append(b, `}],"usage":`...)
	return append(usage(b, r), '}')
}
