package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/jsonedit"
)

func TestBridges(t *testing.T) {
	for _, from := range []string{"chat", "responses", "messages", "embeddings", "videos", ""} {
		for _, to := range []string{"chat", "responses", "messages", "embeddings", ""} {
			want := from != to && strings.Contains("chat responses messages", from) && strings.Contains("chat responses messages", to) && from != "" && to != ""
			if got := bridge.Bridges(from, to); got != want {
				t.Errorf("%q to %q: %v", from, to, got)
			}
		}
	}
}

// TestHistory: a continuation on another protocol's deployment is the restored
// history and what is new; what comes out is fit to be the next history.
func TestHistory(t *testing.T) {
	o := options(wire.Responses)
	o.History = []byte(`[{"role":"user","content":"Weather?"},{"id":"fc_1","type":"function_call","status":"completed","call_id":"c1","name":"f","arguments":"{}"}]`)
	tr := translate(t, wire.Responses, wire.Chat, `{"model":"asked-model","previous_response_id":"resp_0","input":[{"type":"function_call_output","call_id":"c1","output":"Sunny"}]}`, o)
	want := `{"model":"upstream-model","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"Sunny"}]}`
	if diff := cmp.Diff(want, string(tr.Body)); diff != "" {
		t.Error(diff)
	}
	body, _, err := tr.Answer([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"It is sunny."},"finish_reason":"stop"}]}`))
	if err != nil || string(tr.Items()) != string(jsonedit.Read(body).Get("output").Bytes()) {
		t.Fatalf("%s %v", tr.Items(), err)
	}
	if !jsonedit.Read(body).Get("previous_response_id").Is("resp_0") {
		t.Error("the answer does not name its parent")
	}
	s := tr.Stream()
	s.Event(nil, nil, []byte(`{"choices":[{"index":0,"delta":{"content":"It is sunny."},"finish_reason":"stop"}]}`))
	s.End(nil)
	if string(s.Items()) != string(tr.Items()) {
		t.Errorf("streamed: %s", s.Items())
	}
	o.History = append(o.History[:len(o.History)-1], append([]byte(`,{"type":"function_call_output","call_id":"c1","output":"Sunny"},`), tr.Items()[1:]...)...)
	next := translate(t, wire.Responses, wire.Messages, `{"model":"asked-model","previous_response_id":"resp_ab12","input":"And tomorrow?"}`, o)
	if !strings.Contains(string(next.Body), `{"role":"assistant","content":"It is sunny."},{"role":"user","content":"And tomorrow?"}`) {
		t.Errorf("%s", next.Body)
	}
	if got := translate(t, wire.Chat, wire.Messages, minimal(wire.Chat, false), options(wire.Chat)); got.Items() != nil || got.Stream().Items() != nil {
		t.Error("items for a client that has none")
	}
}

// TestNames: what only the client's protocol allows as a tool's name or a call's
// id is changed on the way there; the client gets its own names back.
func TestNames(t *testing.T) {
	long := "mcp__" + strings.Repeat("server_", 12) + "_tool"
	tr := translate(t, wire.Messages, wire.Chat, `{"model":"asked-model","max_tokens":9,"tools":[{"name":"`+long+`","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"`+long+`"},
		"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"functions.f:0","name":"`+long+`","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions.f:0","content":"R"}]}]}`, options(wire.Messages))
	d := readDialog(t, wire.Chat, tr.Body)
	short := d.Tools[0].Name
	call, result := d.Messages[1].Parts[0], d.Messages[2].Parts[0]
	if len(short) > 64 || call.Name != short || d.Choice.Name != short || call.CallID != result.CallID || strings.ContainsAny(call.CallID, ".:") {
		t.Errorf("%s", tr.Body)
	}
	body, _, err := tr.Answer([]byte(`{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"` + short + `","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`))
	if r := readReply(t, wire.Messages, body); err != nil || r.Parts[0].Name != long {
		t.Errorf("%s %v", body, err)
	}
}

// TestStops: an answer ends before a stop sequence, however it is cut into
// pieces; what only looks like the beginning of one is told.
func TestStops(t *testing.T) {
	for _, row := range []struct {
		stops  string
		pieces []string
		want   string
		stop   string
	}{
		{`["END"]`, []string{"one EN", "D two"}, "one ", "END"},
		{`["END"]`, []string{"one E", "N", "D"}, "one ", "END"},
		{`["END"]`, []string{"one EN", "E"}, "one ENE", ""},
		{`["END"]`, []string{"one", " EN"}, "one EN", ""},
		{`["aab"]`, []string{"aa", "aab"}, "aa", "aab"},
		{`["bc","abcd"]`, []string{"xab", "cd"}, "xa", "bc"},
		{`["x"]`, []string{"x"}, "", "x"},
		{`["é!"]`, []string{"caf", "é", "!"}, "caf", "é!"},
	} {
		o := options(wire.Messages)
		request := `{"model":"asked-model","max_tokens":9,"stop_sequences":` + row.stops + `,"messages":[{"role":"user","content":"x"}]}`
		s := translate(t, wire.Messages, wire.Responses, request, o).Stream()
		var out []byte
		for _, piece := range row.pieces {
			out = s.Event(out, nil, fmt.Appendf(nil, `{"type":"response.output_text.delta","output_index":0,"delta":%q}`, piece))
		}
		out = s.Event(out, nil, []byte(`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f"}}`))
		out = s.Event(out, nil, []byte(`{"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":2}}}`))
		r := readStream(t, wire.Messages, out)
		got := ""
		for _, p := range r.Parts {
			got += p.Text
		}
		calls := strings.Contains(string(out), "tool_use")
		if got != row.want || calls == (row.stop != "") || !strings.Contains(string(out), `"stop_sequence":"`+row.stop) && row.stop != "" {
			t.Errorf("%s %q: %q\n%s", row.stops, row.pieces, got, out)
		}
		if a := s.Answer(); a.Status != wire.Completed || a.Usage.Output != 2 {
			t.Errorf("%+v", a)
		}
	}
	f := inspect(t, wire.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"stop":"`+strings.Repeat("s", 2000)+`"}`))
	if _, p := bridge.Request(f, wire.Responses, options(wire.Chat)); p == nil || p.Param != "stop" {
		t.Errorf("%+v", p)
	}
}

// TestHint: the session's identity goes upstream where the target takes it, and
// is nothing that the client must know of.
func TestHint(t *testing.T) {
	for _, row := range []struct {
		client, target wire.Protocol
		provider, want string
	}{
		{wire.Messages, wire.Responses, "", "hint"}, {wire.Messages, wire.Chat, "openai", "hint"}, {wire.Messages, wire.Chat, "", ""}, {wire.Chat, wire.Messages, "", ""},
	} {
		o := options(row.client)
		o.CacheKey, o.Provider = "hint", row.provider
		tr := translate(t, row.client, row.target, minimal(row.client, false), o)
		if got := jsonedit.Read(tr.Body).Get("prompt_cache_key").Text(); got != row.want || len(tr.Dropped) > 0 {
			t.Errorf("%s to %s: %q %v", row.client, row.target, got, tr.Dropped)
		}
	}
	o := options(wire.Responses)
	o.CacheKey = "hint"
	tr := translate(t, wire.Responses, wire.Chat, `{"model":"m","input":"x","prompt_cache_key":"own"}`, o)
	if diff := cmp.Diff([]string{"prompt_cache_key"}, tr.Dropped); diff != "" {
		t.Error(diff)
	}
}

// TestIDs: an answer whose id nobody has set gets one of its client's form, each
// its own.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, pair := range pairs() {
		for range 2 {
			o := options(pair[0])
			o.Stamp.ID = ""
			id := translate(t, pair[0], pair[1], minimal(pair[0], true), o).Stream().Answer().ID
			prefix := map[wire.Protocol]string{wire.Chat: "chatcmpl-", wire.Responses: "resp_", wire.Messages: "msg_"}[pair[0]]
			if seen[id] || !strings.HasPrefix(id, prefix) || len(id) != len(prefix)+32 {
				t.Errorf("%s", id)
			}
			seen[id] = true
		}
	}
}

// TestFailedAnswers: an answer that tells of a failure has no body for the
// client, one that is no answer is an error; neither is told as whole.
func TestFailedAnswers(t *testing.T) {
	failures := map[wire.Protocol]string{
		wire.Chat: `{"error":{"message":"m","type":"server_error"}}`, wire.Messages: `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`,
		wire.Responses: `{"id":"r","status":"failed","error":{"code":"server_error","message":"m"}}`,
	}
	for _, pair := range pairs() {
		tr := translate(t, pair[0], pair[1], minimal(pair[0], false), options(pair[0]))
		body, answer, err := tr.Answer([]byte(failures[pair[1]]))
		if body != nil || err != nil || answer.Status != wire.Failed || answer.Err == nil {
			t.Errorf("%v: %s %+v %v", pair, body, answer, err)
		}
		if _, _, err := tr.Answer([]byte(`{"half":`)); err == nil {
			t.Errorf("%v: half an answer is one", pair)
		}
		s := tr.Stream()
		if out := s.Event(nil, []byte("error"), []byte(failures[pair[1]])); strings.Contains(string(out), "rror\":{") || s.Answer().Status != wire.Open {
			t.Errorf("%v: %s %+v", pair, out, s.Answer())
		}
		if out := s.Failure(wire.Refuse(wire.UpstreamFailed), options(pair[0]).Stamp); !strings.Contains(string(out), "upstream_failed") {
			t.Errorf("%v: %s", pair, out)
		}
	}
}

// TestUnaskedFile: a file that only another provider keeps is refused before it
// is sent to one that does not know it.
func TestUnaskedFile(t *testing.T) {
	f := inspect(t, wire.Messages, []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"file","file_id":"file_1"}}]}]}]}`))
	if _, p := bridge.Request(f, wire.Responses, options(wire.Messages)); p == nil || p.Code != wire.CapabilityMissing || p.Param != "file_id" {
		t.Errorf("%+v", p)
	}
}
