package responses

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Echo is what an answer repeats of its request, as clients expect it, and how
// the names of its tools are told back. It is read once and may be shared.
type Echo struct {
	members []byte                // `"name":value,…` without the braces
	tools   map[string]namespaced // by flat name, those of namespaces only
}

type namespaced struct{ namespace, name string }

// NewEcho reads a request, whose members were found sound by ReadDialog.
func NewEcho(f *wire.Facts) *Echo {
	e := &Echo{}
	for _, m := range [...]struct{ name, otherwise string }{
		{"background", "false"}, {"instructions", "null"}, {"max_output_tokens", "null"}, {"max_tool_calls", "null"},
		{"metadata", "{}"}, {"parallel_tool_calls", "true"}, {"previous_response_id", "null"}, {"prompt_cache_key", "null"},
		{"safety_identifier", "null"}, {"service_tier", `"default"`}, {"store", "true"}, {"temperature", "1"},
		{"tool_choice", `"auto"`}, {"tools", "[]"}, {"top_logprobs", "0"}, {"top_p", "1"},
		{"truncation", `"disabled"`}, {"user", "null"},
	} {
		e.member(m.name, f.Value(m.name), m.otherwise)
	}
	e.object("reasoning", f.Value("reasoning"), [2]string{"effort", "null"}, [2]string{"summary", "null"})
	e.object("text", f.Value("text"), [2]string{"format", `{"type":"text"}`}, [2]string{"verbosity", `"medium"`})
	e.name(f)
	return e
}

// member repeats one member on one line, or says the API's own default.
func (e *Echo) member(name string, v jsonedit.Value, otherwise string) {
	if len(e.members) > 0 {
		e.members = append(e.members, ',')
	}
	e.members = append(append(e.members, jsonedit.Quote(name)...), ':')
	value := jsontext.Value(append([]byte(nil), v.Bytes()...))
	if !v.Given() || value.Compact() != nil {
		value = jsontext.Value(otherwise)
	}
	e.members = append(e.members, value...)
}

// object repeats the members of an object, each with its default.
func (e *Echo) object(name string, v jsonedit.Value, members ...[2]string) {
	inner := Echo{}
	for _, m := range members {
		inner.member(m[0], v.Get(m[0]), m[1])
	}
	whole := append(append([]byte{'{'}, inner.members...), '}')
	e.member(name, jsonedit.Read(whole), "")
}

// name remembers by which names the tools of namespaces were told to a target
// that has none.
func (e *Echo) name(f *wire.Facts) {
	var offered []tool
	if json.Unmarshal(f.Member("tools"), &offered) != nil {
		return
	}
	functions(offered, "", func(namespace string, t *tool) {
		if namespace == "" {
			return
		}
		if e.tools == nil {
			e.tools = map[string]namespaced{}
		}
		e.tools[flatName(namespace, t.Name)] = namespaced{namespace, t.Name}
	}, func(string) {})
}

// snapshot appends a response object. output is a JSON array, the other raw
// values are JSON too.
func (e *Echo) snapshot(dst []byte, by wire.Stamp, status, fault, incomplete string, output, usage []byte) []byte {
	dst = append(append(dst, `{"id":`...), jsonedit.Quote(by.ID)...)
	dst = strconv.AppendInt(append(dst, `,"object":"response","created_at":`...), by.At.Unix(), 10)
	dst = append(append(append(dst, `,"status":"`...), status...), `","error":`...)
	dst = append(append(append(dst, fault...), `,"incomplete_details":`...), incomplete...)
	dst = append(append(dst, `,"model":`...), jsonedit.Quote(by.Model)...)
	dst = append(append(dst, `,"output":`...), output...)
	dst = append(append(append(dst, ','), e.members...), `,"usage":`...)
	return append(append(dst, usage...), '}')
}

// appendUsage appends tokens as this protocol reports them: cached ones are part
// of the input.
func appendUsage(dst []byte, u wire.Usage) []byte {
	writes := u.CacheWrite5m + u.CacheWrite1h
	input := u.Input + u.CacheRead + writes
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), input, 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":`...), u.CacheRead, 10)
	if writes > 0 {
		dst = strconv.AppendInt(append(dst, `,"cache_write_tokens":`...), writes, 10)
	}
	dst = strconv.AppendInt(append(dst, `},"output_tokens":`...), u.Output, 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), u.Reasoning, 10)
	dst = strconv.AppendInt(append(dst, `},"total_tokens":`...), input+u.Output, 10)
	return append(dst, '}')
}
