package catalog_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

func TestDemo(t *testing.T) {
	doc := catalog.Demo()
	c, problems := catalog.Compile(doc, "demo", nil)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	for _, protocol := range []string{"chat", "responses", "messages"} {
		var ids []string
		for _, target := range c.Pool("demo-" + protocol).Deployments {
			ids = append(ids, target.ID)
			if target.Protocol != protocol || target.Price == nil || target.BaseURL != "demo://"+target.Account.ID || target.Account.AuthType != "none" {
				t.Errorf("%s: %+v", target.ID, target)
			}
			for _, endpoint := range []string{"chat", "responses", "messages"} {
				if !target.Serves(endpoint) {
					t.Errorf("%s does not serve %s", target.ID, endpoint)
				}
			}
		}
		want := []string{"demo-" + protocol + "-alpha", "demo-" + protocol + "-bravo", "demo-" + protocol + "-charlie"}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", protocol, diff)
		}
	}
	if group := c.Pool("demo"); !group.Group() || len(group.Deployments) != 9 {
		t.Errorf("the group: %+v", group)
	}
	caller := c.CallerBySHA256(sha256.Sum256([]byte("sk-holdfast-demo")))
	if caller == nil || caller.ID != "demo" || caller.User != "demo-user" || !caller.Enabled || len(c.Models(caller)) != 4 {
		t.Errorf("the demo's key: %+v", caller)
	}
}

func TestPublicCopyHoldsNoSecret(t *testing.T) {
	doc, _ := catalog.Load([]byte(`
connections:
  - {id: one, provider: openai, auth: {key: sk-one}}
  - {id: two, provider: openai, auth: {keys: [sk-two, "env:TWO", sk-three]}}
  - {id: ref, provider: openai, auth: {key: "ssm:/ref"}}
deployments: [{id: d, model: m, connection: one}]
keys:
  - {id: literal, key: sk-caller, user: u}
  - {id: ref, key: "env:K"}
  - {id: sum, key_sha256: ` + sum('1') + `}
`))
	before, err := doc.JSON()
	if err != nil {
		t.Fatal(err)
	}
	public := doc.Public()
	text, err := public.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := doc.JSON(); string(after) != string(before) {
		t.Error("the document itself changed")
	}
	if strings.Contains(string(text), "sk-") {
		t.Errorf("a secret is left:\n%s", text)
	}
	if problems := public.Validate(); len(problems) > 0 {
		t.Errorf("problems of the public copy: %q", lines(problems))
	}
	if diff := cmp.Diff(public, public.Public()); diff != "" {
		t.Errorf("its own public copy differs:\n%s", diff)
	}
	want := map[string]string{"local:one": "sk-one", "local:two[0]": "sk-two", "local:two[2]": "sk-three"}
	if diff := cmp.Diff(want, doc.LocalSecrets()); diff != "" {
		t.Errorf("local secrets (-want +got):\n%s", diff)
	}
	var refs []string
	for _, c := range public.Connections {
		refs = append(append(refs, c.Auth.Key), c.Auth.Keys...)
	}
	if diff := cmp.Diff([]string{"local:one", "", "local:two[0]", "env:TWO", "local:two[2]", "ssm:/ref"}, refs); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	hash := sha256.Sum256([]byte("sk-caller"))
	if k := public.Keys[0]; k.Key != "" || k.KeySHA256 != hex.EncodeToString(hash[:]) || k.User != "u" {
		t.Errorf("the caller's key: %+v", k)
	}
	if diff := cmp.Diff([]string{"connections[0].auth.key", "connections[1].auth.keys[0]", "connections[1].auth.keys[2]", "keys[0].key"}, doc.LiteralPaths()); diff != "" {
		t.Errorf("literal paths (-want +got):\n%s", diff)
	}
	if len(public.LiteralPaths()) > 0 || len(public.LocalSecrets()) > 0 {
		t.Error("a public copy holds no literal")
	}
}

func TestReferences(t *testing.T) {
	env := map[string]string{"ONE": " one ", "MANY": "a, b ,,c", "EMPTY": " "}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	for _, row := range []struct{ text, want, err string }{
		{"env:ONE", "one", ""}, {"env:MANY", "a, b ,,c", ""}, {"env:MANY[0]", "a", ""}, {"env:MANY[2]", "c", ""},
		{"env:MANY[3]", "", "MANY holds 3 values, there is no number 3"}, {"env:NONE", "", "NONE is not set"}, {"env:EMPTY", "", "EMPTY is not set"},
	} {
		ref, err := catalog.ParseReference(row.text)
		if err != nil || ref.Literal() {
			t.Fatalf("%s: %+v, %v", row.text, ref, err)
		}
		got, err := ref.FromEnv(lookup)
		if got != row.want || (err == nil) != (row.err == "") || err != nil && err.Error() != row.err {
			t.Errorf("%s: %q, %v; want %q, %s", row.text, got, err, row.want, row.err)
		}
	}
	for text, want := range map[string]catalog.Reference{
		"sk-literal": {Index: -1}, "https://x": {Index: -1}, "": {Index: -1},
		"ssm:/a/b": {Scheme: "ssm", Name: "/a/b", Index: -1}, "local:x[4]": {Scheme: "local", Name: "x", Index: 4},
		"secretsmanager:arn:aws:secretsmanager:eu:1:secret:x": {Scheme: "secretsmanager", Name: "arn:aws:secretsmanager:eu:1:secret:x", Index: -1},
	} {
		if got, err := catalog.ParseReference(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// Every preset can be used as it stands, or says what an operator must give.
func TestPresets(t *testing.T) {
	for _, provider := range []string{
		"openai", "anthropic", "azure", "bedrock", "gemini", "vertex", "deepseek", "openrouter", "xai", "groq", "mistral",
		"fireworks", "deepinfra", "together", "workers-ai", "ollama", "vllm", "openai-compatible", "simulated",
	} {
		p, ok := catalog.LookupPreset(provider)
		if !ok || !slices.Contains(catalog.Providers(), provider) {
			t.Errorf("%s is not known", provider)
			continue
		}
		for _, base := range []string{p.BaseURL, p.MessagesBaseURL} {
			if u, err := url.Parse(base); err != nil || base != "" && (u.Host == "" || strings.HasSuffix(base, "/")) {
				t.Errorf("%s: base URL %q", provider, base)
			}
		}
		if (p.BaseURL == "") == (p.BaseURLForm == "") || len(p.Protocols) == 0 || p.AuthType == "" || p.Usage == "" || p.Hint.Header != "" && p.Hint.Body != "" {
			t.Errorf("%s is incomplete: %+v", provider, p)
		}
	}
	if _, ok := catalog.LookupPreset("nobody"); ok {
		t.Error("nobody is known")
	}
	hints := map[string]string{}
	for _, provider := range catalog.Providers() {
		if p, _ := catalog.LookupPreset(provider); p.Hint != (catalog.Hint{}) {
			hints[provider] = fmt.Sprintf("%s%s", p.Hint.Header, p.Hint.Body)
		}
	}
	want := map[string]string{
		"openai": "prompt_cache_key", "azure": "prompt_cache_key", "openrouter": "x-session-id", "fireworks": "x-session-affinity", "deepinfra": "x-session-affinity",
		"workers-ai": "x-session-affinity", "mistral": "x-affinity", "xai": "x-grok-conv-id", "vertex": "X-Vertex-Ai-Session-Id",
	}
	if diff := cmp.Diff(want, hints); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if p, _ := catalog.LookupPreset("openrouter"); !slices.Equal(p.Takes, []string{"session_id"}) {
		t.Errorf("openrouter takes %q", p.Takes)
	}
}

func TestGuards(t *testing.T) {
	c := compile(t, pool+"guardrails: [{name: aws keys, match: \"AKIA[0-9A-Z]{16}\", action: block}, {name: out, match: x, on: output, action: log}]\n")
	guards := c.Guards()
	if len(guards) != 2 || guards[1].Input || !guards[1].Output || !guards[0].Input || guards[0].Output || guards[0].Action != "block" || !guards[0].Match.MatchString("AKIA0123456789ABCDEF") {
		t.Errorf("guards: %+v", guards)
	}
}

func hexOf(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
