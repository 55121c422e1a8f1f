package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

// deployments are a document's, one a line: id, model → upstream @ connection, protocol, endpoints.
func deployments(doc *catalog.Document) []string {
	var all []string
	for _, d := range doc.Deployments {
		all = append(all, fmt.Sprintf("%s: %s → %s @ %s %s %s", d.ID, d.Model, d.UpstreamModel, d.Connection, d.Protocol, strings.Join(d.Endpoints, "+")))
	}
	return all
}

// discover is for environments without problems; the document must be valid.
func discover(t *testing.T, environ ...string) *catalog.Document {
	t.Helper()
	doc, problems := catalog.Discover(environ)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	if doc == nil {
		t.Fatal("nothing found")
	}
	if problems := doc.Validate(); len(problems) > 0 {
		t.Fatalf("the document has problems: %q", lines(problems))
	}
	return doc
}

func TestDiscoverNothing(t *testing.T) {
	for _, environ := range [][]string{nil, {"PATH=/bin", "OPENAI_API_KEY=", "OPENAI_API_KEY_FILE=x", "API_KEY=x", "SIMULATED_API_KEY=x", "OPENAI_BASE_URL=https://x", "MY_OPENAI_API_KEY=x"}} {
		if doc, problems := catalog.Discover(environ); doc != nil || problems != nil {
			t.Errorf("%q: %v %q", environ, doc, lines(problems))
		}
	}
}

func TestDiscoverOneKey(t *testing.T) {
	doc := discover(t, "ANTHROPIC_API_KEY=sk-ant", "ANTHROPIC_MODELS= claude-sonnet-5 , claude-opus-5,claude-sonnet-5,")
	want := []catalog.Connection{{ID: "anthropic", Provider: "anthropic", Auth: catalog.Auth{Key: "env:ANTHROPIC_API_KEY"}}}
	if diff := cmp.Diff(want, doc.Connections); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"anthropic-claude-sonnet-5: claude-sonnet-5 → claude-sonnet-5 @ anthropic messages ",
		"anthropic-claude-opus-5: claude-opus-5 → claude-opus-5 @ anthropic messages ",
	}, deployments(doc)); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	c, _ := catalog.Compile(doc, "r", nil)
	if pool := c.Pool("anthropic/claude-opus-5"); pool == nil || pool != c.Pool("claude-opus-5") {
		t.Error("<provider>/<model> is the model")
	}
	if len(doc.Keys) != 0 || !doc.Session.Enabled || !doc.Affinity.Enabled {
		t.Error("no caller key, and the defaults")
	}
}

// A provider that speaks several protocols gets a deployment for each, so that
// equals meet without a bridge. What another server speaks is not known.
func TestDiscoverProtocols(t *testing.T) {
	doc := discover(t, "OPENAI_API_KEY=a", "OPENAI_EU_API_KEY=b", "OPENAI_EU_BASE_URL=https://eu.api.openai.com/v1", "OPENAI_MY_API_KEY=c", "OPENAI_MY_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_MODELS=gpt-5")
	if diff := cmp.Diff([]string{
		"openai-gpt-5: gpt-5 → gpt-5 @ openai chat chat+messages",
		"openai-gpt-5-responses: gpt-5 → gpt-5 @ openai responses responses",
		"openai-eu-gpt-5: gpt-5 → gpt-5 @ openai-eu chat chat+messages",
		"openai-eu-gpt-5-responses: gpt-5 → gpt-5 @ openai-eu responses responses",
		"openai-my-gpt-5: gpt-5 → gpt-5 @ openai-my chat ",
		"openai-eu-openai-eu/gpt-5: openai-eu/gpt-5 → gpt-5 @ openai-eu chat chat+messages",
		"openai-eu-openai-eu/gpt-5-responses: openai-eu/gpt-5 → gpt-5 @ openai-eu responses responses",
		"openai-my-openai-my/gpt-5: openai-my/gpt-5 → gpt-5 @ openai-my chat ",
	}, deployments(doc)); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	if doc.Connections[0].AllowPrivateNetwork || doc.Connections[1].AllowPrivateNetwork || !doc.Connections[2].AllowPrivateNetwork {
		t.Error("an address of this machine that the environment gives is allowed")
	}
	if diff := cmp.Diff([]catalog.Model{{Name: "gpt-5", Aliases: []string{"openai/gpt-5"}}}, doc.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// The same model at two providers is one pool by its name, and each provider's
// alone by <provider>/<model>.
func TestDiscoverTheSameModelTwice(t *testing.T) {
	doc := discover(t, "GROQ_API_KEY=a", "TOGETHER_API_KEY=b", "GROQ_MODELS=oss", "TOGETHER_MODELS=oss")
	c, _ := catalog.Compile(doc, "r", nil)
	for name, want := range map[string][]string{"oss": {"groq", "together"}, "groq/oss": {"groq"}, "together/oss": {"together"}} {
		var got []string
		for _, target := range c.Pool(name).Deployments {
			got = append(got, target.Account.ID)
			if target.UpstreamModel != "oss" {
				t.Errorf("%s asks for %s upstream", name, target.UpstreamModel)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A model that really has the name of another provider's keeps it.
func TestDiscoverRealNameComesFirst(t *testing.T) {
	doc := discover(t, "OPENAI_API_KEY=a", "OPENROUTER_API_KEY=b", "OPENAI_MODELS=gpt-5", "OPENROUTER_MODELS=openai/gpt-5")
	c, _ := catalog.Compile(doc, "r", nil)
	if got := c.Pool("openai/gpt-5").Deployments[0].Account.ID; got != "openrouter" {
		t.Errorf("openai/gpt-5 goes to %s", got)
	}
	if c.Pool("openrouter/openai/gpt-5") != c.Pool("openai/gpt-5") {
		t.Error("and is openrouter's by its long name too")
	}
}

func TestDiscoverSeveralKeys(t *testing.T) {
	for _, row := range []struct {
		environ []string
		want    catalog.Auth
	}{
		{[]string{"OPENAI_API_KEYS=a, b,,c"}, catalog.Auth{Keys: []string{"env:OPENAI_API_KEYS[0]", "env:OPENAI_API_KEYS[1]", "env:OPENAI_API_KEYS[2]"}}},
		{[]string{"OPENAI_API_KEYS=a"}, catalog.Auth{Key: "env:OPENAI_API_KEYS[0]"}},
		{[]string{"OPENAI_API_KEYS=a,b,a", "OPENAI_API_KEY=b"}, catalog.Auth{Keys: []string{"env:OPENAI_API_KEY", "env:OPENAI_API_KEYS[0]"}}},
		{[]string{"OPENAI_API_KEYS=a,b", "OPENAI_SESSION_STICKY_KEYS=false"}, catalog.Auth{Keys: []string{"env:OPENAI_API_KEYS[0]", "env:OPENAI_API_KEYS[1]"}, SessionStickyKeys: ptr(false)}},
		{[]string{"OPENAI_API_KEY=a", "OPENAI_SESSION_STICKY_KEYS=on"}, catalog.Auth{Key: "env:OPENAI_API_KEY", SessionStickyKeys: ptr(true)}},
	} {
		doc := discover(t, row.environ...)
		if diff := cmp.Diff(row.want, doc.Connections[0].Auth); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.environ, diff)
		}
	}
}

func TestDiscoverEveryProvider(t *testing.T) {
	for _, provider := range catalog.Providers() {
		if provider == catalog.Simulated {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(provider, "-", "_"))
		preset, _ := catalog.LookupPreset(provider)
		environ := []string{name + "_EAST_API_KEY=k"}
		if preset.BaseURL == "" {
			environ = append(environ, name+"_EAST_BASE_URL=https://host.example/v1")
		}
		if preset.Models == nil {
			environ = append(environ, name+"_MODELS=m")
		}
		doc := discover(t, environ...)
		if c := doc.Connections[0]; c.ID != provider+"-east" || c.Provider != provider {
			t.Errorf("%s: %+v", provider, c)
		}
	}
	doc := discover(t, "OLLAMA_BASE_URL=http://localhost:11434/v1", "OLLAMA_MODELS=llama")
	if c := doc.Connections[0]; c.ID != "ollama" || c.Auth.Key != "" || !c.AllowPrivateNetwork {
		t.Errorf("a server at home needs no key: %+v", c)
	}
}

func TestDiscoverProblems(t *testing.T) {
	for _, row := range []struct {
		environ []string
		want    []string
	}{
		{[]string{"AZURE_API_KEY=k"}, []string{"AZURE_BASE_URL: not set; provider azure has no address of its own, give one like https://RESOURCE.openai.azure.com/openai/v1"}},
		{[]string{"OPENAI_COMPATIBLE_API_KEY=k"}, []string{"OPENAI_COMPATIBLE_BASE_URL: not set; provider openai-compatible has no address of its own, give one like https://HOST/v1"}},
		{[]string{"OPENAI_EAST_API_KEY=k", "OPENAI_EAST_BASE_URL=api.openai.com"}, []string{"OPENAI_EAST_BASE_URL: must begin with https:// or http:// (or demo:// for a simulated account)"}},
		{[]string{"VLLM_API_KEY=k"}, []string{"VLLM_MODELS: not set; name the models that vllm serves, with commas between them"}},
		{[]string{"OPENAI_API_KEY=k", "OPENAI_SESSION_STICKY_KEYS=maybe"}, []string{"OPENAI_SESSION_STICKY_KEYS: must be true or false"}},
	} {
		doc, problems := catalog.Discover(row.environ)
		if diff := cmp.Diff(row.want, lines(problems)); diff != "" || doc == nil {
			t.Errorf("%q (-want +got):\n%s", row.environ, diff)
		}
	}
}

func TestOverlay(t *testing.T) {
	doc := load(t, base+"session: {auto_detect: false, headers: [{header: X-Doc}, {header: X-Both}]}\n")
	before := fmt.Sprintf("%+v", doc.Session)
	over, problems := catalog.Overlay(doc, []string{
		"SESSION_KEEPING_ENABLED=false", "SESSION_AUTO_DETECT=TRUE", "SESSION_BUILTIN_RULES=0", "SESSION_HEADER_2=X-Two", "SESSION_HEADER_10=x-both",
		"SESSION_HEADER_10_TRANSFORM=session-uuid", "SESSION_HEADER_1=X-One", "SESSION_HEADER_1_TRANSFORM=", "OTHER=x", "SESSION_HEADER=x",
	})
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	want := catalog.Session{AutoDetect: true, Headers: []catalog.SessionHeader{
		{Header: "X-One"}, {Header: "X-Two"}, {Header: "x-both", Transform: "session-uuid"}, {Header: "X-Doc"},
	}}
	if diff := cmp.Diff(want, over.Session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	if after := fmt.Sprintf("%+v", doc.Session); after != before {
		t.Errorf("the document changed from %s to %s", before, after)
	}
	if same, problems := catalog.Overlay(doc, []string{"SESSION_AUTO_DETECT="}); len(problems) > 0 || !cmp.Equal(same, doc) {
		t.Errorf("an empty environment says nothing: %q", lines(problems))
	}
}

func TestOverlayProblems(t *testing.T) {
	doc := load(t, base)
	over, problems := catalog.Overlay(doc, []string{
		"SESSION_KEEPING_ENABLED=maybe", "SESSION_HEADER_0=X-A", "SESSION_HEADER_x=X-A", "SESSION_HEADER_01=X-A", "SESSION_HEADER_99=X-A",
		"SESSION_HEADER_2=Authorization", "SESSION_HEADER_3=X A", "SESSION_HEADER_4=X-Four", "SESSION_HEADER_5=x-four", "SESSION_HEADER_6=X-Six",
		"SESSION_HEADER_6_TRANSFORM=upper", "SESSION_HEADER_7_TRANSFORM=session-uuid",
	})
	const numbered = ": headers are numbered from 1 to 50, as in SESSION_HEADER_1"
	want := []string{
		"SESSION_HEADER_0" + numbered, "SESSION_HEADER_01" + numbered,
		"SESSION_HEADER_2: Authorization carries a credential and cannot identify a session; name another header",
		"SESSION_HEADER_3: not a valid header name",
		"SESSION_HEADER_5: the same header as an earlier one; keep one",
		"SESSION_HEADER_6_TRANSFORM: must be empty or one of session-uuid",
		"SESSION_HEADER_7: not set, but SESSION_HEADER_7_TRANSFORM is; name the header",
		"SESSION_HEADER_99" + numbered, "SESSION_HEADER_x" + numbered,
		"SESSION_KEEPING_ENABLED: must be true or false",
	}
	if diff := cmp.Diff(want, lines(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if !over.Session.Enabled || len(over.Session.Headers) != 1 || over.Session.Headers[0].Header != "X-Four" {
		t.Errorf("what is wrong changes nothing: %+v", over.Session)
	}
}
