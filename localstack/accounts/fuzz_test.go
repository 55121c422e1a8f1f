package accounts_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts"
)

// Whatever comes in, an account answers it: with 200 or with a 4xx in the
// provider's shape, never with a panic or a 5xx.
func fuzz(f *testing.F, paths []string, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	for _, body := range recordings(f) {
		if len(body) < 4096 { // longer ones keep the fuzzer busy with shortening them
			f.Add(body)
		}
	}
	a := accounts.New(accounts.Config{Name: "alpha", AnySeal: true})
	f.Fuzz(func(t *testing.T, body string) {
		a.ClearFaults()
		for _, path := range paths {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Anthropic-Version", "2023-06-01")
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			if w.Code != http.StatusOK && w.Code != http.StatusCreated && w.Code/100 != 4 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
				for _, e := range (answer{body: w.Body.Bytes()}).events() {
					if e.data != "[DONE]" && !jsontext.Value(e.data).IsValid() {
						t.Fatalf("%s: event %s", path, e.data)
					}
				}
			} else if !jsontext.Value(w.Body.Bytes()).IsValid() {
				t.Fatalf("%s: not JSON: %s", path, w.Body)
			}
		}
	})
}

// recordings are the bodies of real clients.
func recordings(f *testing.F) []string {
	files, err := filepath.Glob("testdata/captures/*.json")
	if err != nil {
		f.Fatal(err)
	}
	var bodies []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var recorded struct {
			Body jsontext.Value `json:"body"`
		}
		if err := json.Unmarshal(data, &recorded); err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, string(recorded.Body))
	}
	return bodies
}

func FuzzChat(f *testing.F) {
	fuzz(f, []string{"/v1/chat/completions", "/v1/embeddings", "/v1/videos"},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}],"tool_choice":{"type":"function","function":{"name":"f"}},"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"#"}}}],"stop":["a"],"stream":true}`,
		`{"model":"m","input":["a",[1,2]],"dimensions":3}`, `{"model":"m","messages":[null]}`, "\xff", "[]", "null")
}

func FuzzResponses(f *testing.F) {
	fuzz(f, []string{"/v1/responses", "/v1/responses/compact", "/v1/conversations"},
		`{"model":"m","input":[{"type":"reasoning","id":"rs_1","encrypted_content":"x"},{"type":"item_reference","id":"y"},{"type":"web_search_call"}],"text":{"format":{"type":"json_schema","schema":true}},"reasoning":7,"stream":true}`,
		`{"model":"m","input":[{"role":"user","content":[null]}],"metadata":[],"tools":[null],"background":true}`, `{"model":"m","input":"x","conversation":[]}`, `{"items":[{}]}`, "null")
}

func FuzzMessages(f *testing.F) {
	fuzz(f, []string{"/v1/messages", "/v1/messages/count_tokens"},
		`{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[]}],"stream":true}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text"}]}]}],"tools":[{"input_schema":1}],"cache_control":{}}`, "null")
}

func FuzzControl(f *testing.F) {
	fuzz(f, []string{"/control/faults", "/control/calls"},
		`{"kind":"slow_tokens","delay":"1h","stream":null,"times":1e3}`, `{"kind":"cut","seed":18446744073709551615,"probability":1e-320}`, "[]")
}
