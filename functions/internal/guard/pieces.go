package guard

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// event is what there is to guard in one event.
type event struct {
	pieces []piece          // of texts that come in pieces
	whole  []member         // with texts that come whole
	ends   func(*open) bool // parts that end with this event
}

// has reports whether an event holds a piece of a part.
func (e event) has(o *open) bool {
	return slices.ContainsFunc(e.pieces, func(p piece) bool { return p.key == o.key })
}

// piece is the next of a part's text. The text of an event of its own stands in
// a top-level member of the event, between before and after.
type piece struct {
	key, group            string
	value                 jsonedit.Value
	member, before, after string
	message               string // whose text goes on from part to part; "": this one stands alone
}

// member is a value with its place.
type member struct {
	name          string
	value, object jsonedit.Value
}

// read finds what an event of an endpoint's protocol holds.
func read(endpoint string, doc *jsonedit.Document) event {
	switch endpoint {
	case wire.EndpointChat:
		return readChat(doc)
	case wire.EndpointMessages:
		return readMessages(doc)
	}
	return readResponses(doc)
}

func none(*open) bool { return false }

func all(*open) bool { return true }

// of chooses the parts of a group.
func of(group string) func(*open) bool { return func(o *open) bool { return o.group == group } }

// number is an index as a key; 0 where there is none.
func number(v jsonedit.Value) string {
	n, _ := v.Int()
	return strconv.FormatInt(n, 10)
}

// readChat reads a chunk: each choice is a group, its texts and each tool call's
// arguments are parts. A finish reason ends the group, with the same chunk's text.
func readChat(doc *jsonedit.Document) event {
	var e event
	finished := map[string]bool{}
	for each := doc.Value("choices").Each(); each.Next(); {
		choice := each.Value()
		group := number(choice.Get("index"))
		finished[group] = choice.Get("finish_reason").Given()
		delta := choice.Get("delta")
		for member := delta.Each(); member.Next(); {
			e.chat(group, string(member.Name()), member.Value(), delta)
		}
		e.whole = append(e.whole, member{"logprobs", choice.Get("logprobs"), choice})
	}
	if doc.Value("error").Given() {
		e.ends = all
		return e
	}
	e.ends = func(o *open) bool { return finished[o.group] }
	return e
}

// chat sorts one member of a delta.
func (e *event) chat(group, name string, v, delta jsonedit.Value) {
	switch {
	case name == "tool_calls":
		for each := v.Each(); each.Next(); {
			call := each.Value()
			index := number(call.Get("index"))
			e.add(piece{
				key: under(group, name, index), group: group, value: call.Get("function", "arguments"), member: "choices",
				before: `[{"index":` + group + `,"delta":{"tool_calls":[{"index":` + index + `,"function":{"arguments":`, after: `}}]},"finish_reason":null}]`,
			})
			e.whole = append(e.whole, member{"name", call.Get("function", "name"), call})
		}
	case name == "function_call":
		e.add(piece{
			key: under(group, name), group: group, value: v.Get("arguments"), member: "choices",
			before: `[{"index":` + group + `,"delta":{"function_call":{"arguments":`, after: `}},"finish_reason":null}]`,
		})
	case v.Kind() == '"' && !structural(name):
		e.add(piece{
			key: under(group, name), group: group, value: v, member: "choices",
			before: `[{"index":` + group + `,"delta":{` + string(jsonedit.Quote(name)) + `:`, after: `},"finish_reason":null}]`,
		})
	default:
		e.whole = append(e.whole, member{name, v, delta})
	}
}

func (e *event) add(p piece) {
	if p.value.Kind() == '"' {
		e.pieces = append(e.pieces, p)
	}
}

// readMessages reads an event of Messages: each content block is a group.
func readMessages(doc *jsonedit.Document) event {
	e := event{ends: none}
	group := number(doc.Value("index"))
	switch doc.Value("type").Text() {
	case "content_block_delta":
		delta := doc.Value("delta")
		for each := delta.Each(); each.Next(); {
			switch name := string(each.Name()); name {
			case "text", "thinking", "partial_json":
				p := piece{
					key: under(group, name), group: group, value: each.Value(), member: "delta",
					before: `{"type":` + string(delta.Get("type").Bytes()) + `,"` + name + `":`, after: `}`,
				}
				if name == "text" {
					p.message = name // all blocks are one message
				}
				e.add(p)
			default:
				e.whole = append(e.whole, member{name, each.Value(), delta})
			}
		}
	case "content_block_start":
		e.whole = []member{{name: "content_block", value: doc.Value("content_block")}}
	case "message_start":
		e.whole = []member{{name: "content", value: doc.Value("message").Get("content")}}
	case "content_block_stop":
		e.ends = of(group)
	case "message_delta", "message_stop", "error":
		e.ends = all
	}
	return e
}

// readResponses reads an event of Responses: each output item is a group. Events
// that repeat a text whole come after its part has ended.
func readResponses(doc *jsonedit.Document) event {
	e := event{ends: none}
	kind, group := doc.Value("type").Text(), number(doc.Value("output_index"))
	if delta := doc.Value("delta"); delta.Kind() == '"' && strings.HasSuffix(kind, ".delta") {
		key := under(kind, group, number(doc.Value("content_index")), number(doc.Value("summary_index")))
		p := piece{key: key, group: group, value: delta, member: "delta"}
		if kind == "response.output_text.delta" {
			p.message = group
		}
		e.add(p)
		e.whole = []member{{name: "logprobs", value: doc.Value("logprobs")}}
		return e
	}
	switch {
	case strings.HasPrefix(kind, "response.") && strings.Count(kind, ".") == 1 || kind == "error":
		e.whole = []member{{name: "output", value: doc.Value("response").Get("output")}, {name: "output_text", value: doc.Value("response").Get("output_text")}}
		if kind != "response.created" && kind != "response.in_progress" && kind != "response.queued" {
			e.ends = all
		}
		return e
	case strings.HasSuffix(kind, ".done"):
		e.ends = of(group)
	}
	doc.Names(func(name []byte) bool {
		if n := string(name); n != "sequence_number" && !strings.HasSuffix(n, "_index") && n != "response" {
			e.whole = append(e.whole, member{name: n, value: doc.Value(n)})
		}
		return true
	})
	return e
}
