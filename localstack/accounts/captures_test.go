package accounts_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts"
)

// Requests of real clients, as recorded, are answered; the second time they
// come, whatever is long enough is read from the cache. Their ciphertext was
// made elsewhere, hence AnySeal.
func TestRecordedClients(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	calling := map[string]bool{ // those whose last words are the user's and ask for a tool
		"claude-code-01-turn1-first-request.json": true,
		"codex-01-turn1-first-request.json":       true,
		"codex-0.47.0-01-turn1.json":              true,
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, url := start(t, accounts.Config{AnySeal: true})
			first := replay(t, url, file)
			if first.status != http.StatusOK {
				t.Fatalf("%d %s", first.status, first.body)
			}
			replay(t, url, file)
			calls := a.Calls()
			u := calls[1].Usage
			if whole := calls[0].Usage.Input + calls[0].Usage.CacheWrite5m; calls[0].Operation == "create" && (u.CacheRead == 0) == (whole >= 1024) {
				t.Errorf("a prompt of %d tokens, then %+v", whole, u)
			}
			called := strings.Contains(string(first.body), `tool_use"`) || strings.Contains(string(first.body), `"function_call"`) || strings.Contains(string(first.body), `"tool_calls"`)
			if calling[filepath.Base(file)] != called {
				t.Errorf("called a tool: %v, want %v: %s", called, !called, first.body)
			}
		})
	}
}

// Foreign ciphertext in a recording is refused by an account that looks at it.
func TestRecordedCiphertextIsForeign(t *testing.T) {
	_, url := start(t, accounts.Config{})
	for file, want := range map[string]string{
		"claude-code-03-turn2-resume.json": "Invalid `signature` in `thinking` block",
		"opencode-responses-04-turn2.json": "invalid_encrypted_content",
	} {
		if got := replay(t, url, filepath.Join("testdata/captures", file)); got.status != 400 || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d %s", file, got.status, got.body)
		}
	}
}

func replay(t *testing.T, url, file string) answer {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    jsontext.Value    `json:"body"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	body := ""
	if recorded.Body.Kind() == '{' {
		if err := recorded.Body.Compact(); err != nil {
			t.Fatal(err)
		}
		body = string(recorded.Body)
	}
	var header []string
	for name, value := range recorded.Headers {
		if name != "connection" && name != "accept-encoding" {
			header = append(header, name, value)
		}
	}
	return must(t, recorded.Method, url+recorded.Path, body, header...)
}
