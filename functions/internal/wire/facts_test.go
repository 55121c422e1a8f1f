package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
)

func inspect(t testing.TB, endpoint, body string) *wire.Facts {
	t.Helper()
	f, p := wire.Inspect(endpoint, []byte(body))
	if p != nil {
		t.Fatal(p)
	}
	return f
}

func TestFacts(t *testing.T) {
	f := inspect(t, wire.EndpointResponses, `{"model":"gpt-\u0035","stream":true,"previous_response_id":"resp_1","store":false,
		"background":true,"disable_fallbacks":true,"max_output_tokens":100,"input":"hi"}`)
	if f.Model != "gpt-5" || !f.Stream || f.PreviousResponseID != "resp_1" || f.Store == nil || *f.Store || !f.Background ||
		!f.DisableFallbacks || f.MaxTokens != 100 || f.Endpoint != "responses" {
		t.Errorf("got %+v", f)
	}
	if got := string(f.Member("input")); got != `"hi"` || f.Member("tools") != nil {
		t.Errorf("the input is %s", got)
	}
	f = inspect(t, wire.EndpointChat, `{"model":"m","stream":null,"disable_fallbacks":null,"previous_response_id":7,"store":"x","background":1,"max_completion_tokens":5,"max_tokens":9}`)
	if f.Stream || f.PreviousResponseID != "" || f.Store != nil || f.Background || f.MaxTokens != 5 {
		t.Errorf("members of another endpoint are read: %+v", f)
	}
	f = inspect(t, "", `{}`)
	if f.Model != "" {
		t.Errorf("got %+v", f)
	}
	f = inspect(t, wire.EndpointMessages, `{"model":"m","max_tokens":-1}`)
	if f.MaxTokens != 0 {
		t.Errorf("a negative limit is %d", f.MaxTokens)
	}
}

// TestRefusals: what a body must not be, with the code, the member at fault,
// and nothing of the content. The deeper half of invalid_json is tested where
// bodies are parsed.
func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		name, endpoint, body string
		code                 wire.Code
		param                string
	}{
		{"X2 model twice", wire.EndpointChat, `{"model":"secret","model":"secret"}`, wire.InvalidJSON, ""},
		{"X2 model twice by escape", wire.EndpointChat, `{"model":"secret","\u006dodel":"b"}`, wire.InvalidJSON, ""},
		{"X2 deep inside", wire.EndpointChat, `{"model":"m","tools":[{"function":{"secret":1,"secret":2}}]}`, wire.InvalidJSON, ""},
		{"empty", wire.EndpointChat, ``, wire.InvalidJSON, ""},
		{"a list", wire.EndpointChat, `[]`, wire.InvalidJSON, ""},
		{"cut", wire.EndpointChat, `{"model":"secret`, wire.InvalidJSON, ""},
		{"X1 api_base", wire.EndpointChat, `{"model":"m","api_base":"http://secret"}`, wire.InvalidRequest, "api_base"},
		{"X1 base_url", wire.EndpointResponses, `{"model":"m","base_url":null}`, wire.InvalidRequest, "base_url"},
		{"X1 api_key", wire.EndpointMessages, `{"model":"m","api_key":"secret"}`, wire.InvalidRequest, "api_key"},
		{"X1 extra_headers by escape", wire.EndpointChat, `{"model":"m","extra\u005fheaders":{"a":"secret"}}`, wire.InvalidRequest, "extra_headers"},
		{"X1 without model", "", `{"api_key":"secret"}`, wire.InvalidRequest, "api_key"},
		{"no model", wire.EndpointMessages, `{"messages":[]}`, wire.InvalidRequest, "model"},
		{"null model", wire.EndpointEmbeddings, `{"model":null}`, wire.InvalidRequest, "model"},
		{"number as model", wire.EndpointChat, `{"model":5}`, wire.InvalidRequest, "model"},
		{"number as model where none is needed", "", `{"model":5}`, wire.InvalidRequest, "model"},
		{"empty model", wire.EndpointChat, `{"model":""}`, wire.InvalidRequest, "model"},
		{"X4 line break in model", wire.EndpointChat, `{"model":"secret\r\nX: y"}`, wire.InvalidRequest, "model"},
		{"long model", wire.EndpointChat, `{"model":"` + strings.Repeat("a", 257) + `"}`, wire.InvalidRequest, "model"},
		{"stream as string", wire.EndpointChat, `{"model":"m","stream":"secret"}`, wire.InvalidRequest, "stream"},
		{"disable_fallbacks as number", wire.EndpointChat, `{"model":"m","disable_fallbacks":1}`, wire.InvalidRequest, "disable_fallbacks"},
		{"store as string", wire.EndpointResponses, `{"model":"m","store":"secret"}`, wire.InvalidRequest, "store"},
		{"store as null", wire.EndpointResponses, `{"model":"m","store":null}`, wire.InvalidRequest, "store"},
		{"background as string", wire.EndpointResponses, `{"model":"m","background":"secret"}`, wire.InvalidRequest, "background"},
		{"parent as object", wire.EndpointResponses, `{"model":"m","previous_response_id":{"secret":1}}`, wire.InvalidRequest, "previous_response_id"},
		{"empty parent", wire.EndpointResponses, `{"model":"m","previous_response_id":""}`, wire.InvalidRequest, "previous_response_id"},
		{"long parent", wire.EndpointResponses, `{"model":"m","previous_response_id":"` + strings.Repeat("a", 257) + `"}`, wire.InvalidRequest, "previous_response_id"},
		{"X4 line break in parent", wire.EndpointResponses, `{"model":"m","previous_response_id":"a\nsecret"}`, wire.InvalidRequest, "previous_response_id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, p := wire.Inspect(row.endpoint, []byte(row.body))
			if p == nil || f != nil {
				t.Fatal("accepted")
			}
			if p.Code != row.code || p.Param != row.param || p.Status != 400 {
				t.Errorf("got %+v", p)
			}
			if strings.Contains(p.Message, "secret") || !strings.HasSuffix(p.Message, ".") {
				t.Errorf("the message is %q", p.Message)
			}
		})
	}
}

// TestCaptures: what real clients send is accepted, and every member is found
// where it stands, without a copy.
func TestCaptures(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/captures.txtar")
	if err != nil || len(archive.Files) < 15 {
		t.Fatalf("%d bodies, %v", len(archive.Files), err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			endpoint, _, _ := strings.Cut(file.Name, "/")
			f, p := wire.Inspect(endpoint, file.Data)
			if p != nil {
				t.Fatal(p)
			}
			var want struct {
				Model    string            `json:"model"`
				Stream   bool              `json:"stream"`
				Tools    []json.RawMessage `json:"tools"`
				Previous string            `json:"previous_response_id"`
			}
			var members map[string]json.RawMessage
			if json.Unmarshal(file.Data, &want) != nil || json.Unmarshal(file.Data, &members) != nil {
				t.Fatal("not JSON")
			}
			if f.Model != want.Model || f.Stream != want.Stream || f.PreviousResponseID != want.Previous || f.HasTools() != (len(want.Tools) > 0) {
				t.Errorf("got %+v", f)
			}
			for name, raw := range members {
				if got := f.Member(name); string(got) != string(raw) {
					t.Errorf("%s is %s", name, got)
				}
			}
			if f.HasImages() || f.HasDocuments() || f.EstimatedTokens() <= 0 {
				t.Error("the needs are wrong")
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	for _, row := range []struct {
		name, endpoint, body             string
		tools, images, documents, schema bool
	}{
		{"none", "chat", `{"messages":[{"role":"user","content":"image_url document {\"type\":\"image\"}"}],"tools":[],"functions":null}`, false, false, false, false},
		{"chat tools", "chat", `{"tools":[{"type":"function"}]}`, true, false, false, false},
		{"chat functions", "chat", `{"functions":[{}]}`, true, false, false, false},
		{"chat image", "chat", `{"messages":[{"role":"system","content":"x"},{"content":[{"image_url":{"url":"u"},"type":"image_url"}]}]}`, false, true, false, false},
		{"chat image by escape", "chat", `{"messages":[{"content":[{"type":"im\u0061ge_url"}]}]}`, false, true, false, false},
		{"chat file", "chat", `{"messages":[{"content":[{"type":"file","file":{}}]}]}`, false, false, true, false},
		{"chat schema", "chat", `{"response_format":{"type":"json_schema"}}`, false, false, false, true},
		{"chat JSON mode", "chat", `{"response_format":{"type":"json_object"}}`, false, false, false, false},
		{"responses image", "responses", `{"input":[{"type":"message","content":[{"type":"input_image"}]}]}`, false, true, false, false},
		{"responses image of a tool", "responses", `{"input":[{"type":"function_call_output","output":[{"type":"input_image"}]}]}`, false, true, false, false},
		{"responses screenshot", "responses", `{"input":[{"type":"computer_call_output","output":{"type":"computer_screenshot"}}]}`, false, true, false, false},
		{"responses file and schema", "responses", `{"input":[{"content":[{"type":"input_file"}]}],"text":{"format":{"type":"json_schema"}}}`, false, false, true, true},
		{"messages image of a tool", "messages", `{"messages":[{"content":[{"type":"tool_result","content":[{"source":{},"type":"image"}]}]}]}`, false, true, false, false},
		{"messages document", "messages", `{"messages":[{"content":[{"type":"document","source":{"type":"base64"}}]}]}`, false, false, true, false},
		{"messages schema", "messages", `{"output_config":{"effort":"low","format":{"type":"json_schema"}}}`, false, false, false, true},
		{"a tool's input is no image", "messages", `{"messages":[{"content":[{"type":"tool_use","input":{"type":"image","content":[{"type":"image"}]}}]}]}`, false, false, false, false},
	} {
		f := inspect(t, row.endpoint, `{"model":"m",`+row.body[1:])
		if f.HasTools() != row.tools || f.HasImages() != row.images || f.HasDocuments() != row.documents || f.JSONSchema() != row.schema {
			t.Errorf("%s: tools %v, images %v, documents %v, schema %v", row.name, f.HasTools(), f.HasImages(), f.HasDocuments(), f.JSONSchema())
		}
	}
}

// TestEstimate: text counts by its length, media do not.
func TestEstimate(t *testing.T) {
	text := strings.Repeat("word ", 800) // 4,000 bytes
	for _, row := range []struct {
		name, body string
		low, high  int64
	}{
		{"text", `{"messages":[{"role":"user","content":"` + text + `"}]}`, 1000, 1020},
		{"text and tools", `{"system":"` + text + `","tools":[{"description":"` + text + `"}]}`, 2000, 2020},
		{"image", `{"messages":[{"content":[{"type":"image","source":{"data":"` + strings.Repeat("A", 1<<20) + `"}}]}]}`, 1600, 1620},
		{"document", `{"messages":[{"content":[{"type":"document","source":{"type":"base64","data":"` + strings.Repeat("A", 400000) + `"}}]}]}`, 10000, 10020},
		{"document in the open", `{"messages":[{"content":[{"type":"document","source":{"type":"text","data":"` + text + `"}}]}]}`, 1000, 1040},
	} {
		f := inspect(t, "messages", `{"model":"m",`+row.body[1:])
		if n := f.EstimatedTokens(); n < row.low || n > row.high {
			t.Errorf("%s: %d tokens, want %d to %d", row.name, n, row.low, row.high)
		}
	}
}

// TestInspectAllocations: four, whatever the body's size: the facts, the
// document, its members, the model's name.
func TestInspectAllocations(t *testing.T) {
	for _, body := range [][]byte{[]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}`), agentBody(t)} {
		allocs := 100.0
		for i := 0; i < 30 && allocs > 4; i++ { // a pooled reader may be lost in between: one run must do
			allocs = min(allocs, testing.AllocsPerRun(1, func() {
				if f, p := wire.Inspect(wire.EndpointMessages, body); p != nil || f.HasImages() {
					t.Fatal(p)
				}
			}))
		}
		if allocs > 4 {
			t.Errorf("%v allocations for %d bytes", allocs, len(body))
		}
	}
}

// TestInspectCost (P3): reading the facts costs hardly more than validating the
// bytes. The best of many runs counts, and they end as soon as it holds.
func TestInspectCost(t *testing.T) {
	body := agentBody(t)
	if len(body) < 900_000 {
		t.Fatalf("the body has only %d bytes", len(body))
	}
	validation, inspection := time.Hour, time.Hour
	for range 200 {
		start := time.Now()
		jsontext.Value(body).IsValid()
		validation = min(validation, time.Since(start))
		start = time.Now()
		if _, p := wire.Inspect(wire.EndpointMessages, body); p != nil {
			t.Fatal(p)
		}
		inspection = min(inspection, time.Since(start))
		if inspection < validation*115/100 {
			return
		}
	}
	t.Errorf("inspection takes %v, validation %v", inspection, validation)
}

// FuzzInspect: a body is either refused with a whole Problem or its facts are
// those of a full decoding.
func FuzzInspect(f *testing.F) {
	f.Add("chat", []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`))
	f.Add("responses", []byte(`{"model":"m","store":false,"input":"x","previous_response_id":"r"}`))
	f.Add("", []byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, endpoint string, body []byte) {
		facts, p := wire.Inspect(endpoint, body)
		if p != nil {
			if facts != nil || p.Status != 400 || p.Message == "" || p.Code != wire.InvalidJSON && p.Code != wire.InvalidRequest {
				t.Fatalf("got %+v", p)
			}
			return
		}
		var want map[string]any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted: %v", err)
		}
		if model, _ := want["model"].(string); model != facts.Model {
			t.Fatalf("the model is %q, want %q", facts.Model, model)
		}
		if stream, _ := want["stream"].(bool); stream != facts.Stream {
			t.Fatalf("stream is %v", facts.Stream)
		}
		facts.HasImages()
		facts.JSONSchema()
		if n := facts.EstimatedTokens(); n < 0 || n > int64(len(body))*tokensPerByte {
			t.Fatalf("%d tokens in %d bytes", n, len(body))
		}
	})
}

// tokensPerByte bounds the estimate: the smallest image block has 16 bytes.
const tokensPerByte = 1600 / 16
