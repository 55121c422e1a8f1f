package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/identity"
)

// agentBody is what an agent sends late in a conversation: 1 MB, 70 tools, 300
// turns, no session signal.
func agentBody(t testing.TB, instructions string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"m","max_tokens":32000,"stream":true,"system":[{"type":"text","text":"x-anthropic-billing-header: cc=1;"},{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}],"tools":[`, quote(t, instructions))
	for i := range 70 {
		fmt.Fprintf(&b, `{"name":"tool_%d","description":%s,"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},`, i, quote(t, strings.Repeat("What it does.\n", 150)))
	}
	b.WriteString(`{"name":"last"}],"messages":[{"role":"user","content":[{"type":"text","text":"Please mend the \"build\".\nIt fails."}]}`)
	for i := range 150 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"ls"}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%s}]}`, i, quote(t, strings.Repeat("file \"a\"\n", 520)))
	}
	b.WriteString(`],"metadata":{"user_id":"somebody"},"temperature":1}`)
	return b.String()
}

func instructions() string {
	return strings.Repeat("Always say \"please\", and answer in full sentences.\n", 400)
} // 20 KB

func agentRequest(t testing.TB, body string, lines ...string) identity.Request {
	cut := members(t, body)
	known := map[string][]byte{}
	for _, name := range []string{"system", "messages", "metadata"} {
		known[name] = cut(name)
	}
	return identity.Request{Endpoint: "messages", Header: headers(append(usual(), lines...)...), Member: func(name string) []byte { return known[name] }}
}

// usual are headers that say nothing about the session.
func usual() []string {
	return []string{
		"Accept: application/json", "Accept-Encoding: gzip", "Content-Type: application/json", "Content-Length: 1000000", "User-Agent: agent/1.0",
		"Anthropic-Version: 2023-06-01", "Anthropic-Beta: a,b,c", "X-Api-Key: k", "X-Stainless-Lang: js", "X-Stainless-Os: Linux", "X-Stainless-Retry-Count: 0", "X-App: cli",
	}
}

// BenchmarkIdentify1MB is the dearest way: nothing decides but the opening.
func BenchmarkIdentify1MB(b *testing.B) {
	body := agentBody(b, instructions())
	r, q := resolver(b), agentRequest(b, body)
	b.ReportAllocs()
	b.ReportMetric(float64(len(body)), "body-bytes")
	for b.Loop() {
		session(b, r, q)
	}
}

// BenchmarkIdentifyHeader is the usual way: a client's header decides.
func BenchmarkIdentifyHeader(b *testing.B) {
	r, q := resolver(b), agentRequest(b, agentBody(b, instructions()), "X-Claude-Code-Session-Id: "+uuid1)
	b.ReportAllocs()
	for b.Loop() {
		session(b, r, q)
	}
}

// BenchmarkIdentifyImage hashes 4 MB of inline media in the opening.
func BenchmarkIdentifyImage(b *testing.B) {
	body := `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("QUJD", 1<<20) + `"}}]}]}`
	r, q := resolver(b), agentRequest(b, body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		session(b, r, q)
	}
}

// BenchmarkValidate1MB is the yardstick: checking the same body's JSON.
func BenchmarkValidate1MB(b *testing.B) {
	body := jsontext.Value(agentBody(b, instructions()))
	b.ReportAllocs()
	for b.Loop() {
		if !body.IsValid() {
			b.Fatal("not JSON")
		}
	}
}

// TestCostOfIdentity: P3, identity adds at most a fifth to the time of
// validating the body, by the best of several runs of both.
func TestCostOfIdentity(t *testing.T) {
	body := agentBody(t, instructions())
	if len(body) < 1<<20 {
		t.Fatalf("only %d bytes", len(body))
	}
	r, q, value := resolver(t), agentRequest(t, body), jsontext.Value(body)
	best := func(do func()) time.Duration {
		least := time.Hour
		for range 20 {
			start := time.Now()
			do()
			least = min(least, time.Since(start))
		}
		return least
	}
	validate := best(func() { value.IsValid() })
	identify := best(func() { session(t, r, q) })
	t.Logf("validate %v, identify %v", validate, identify)
	if identify > validate/5 {
		t.Errorf("identify took %v, validating %v", identify, validate)
	}
}

// TestAllocations: what the usual ways may allocate.
func TestAllocations(t *testing.T) {
	r, body := resolver(t), agentBody(t, instructions())
	for _, c := range []struct {
		name string
		q    identity.Request
		most float64
	}{
		{"core header", agentRequest(t, body, "X-Session-Id: s1"), 0},
		{"client's header", agentRequest(t, body, "Session-Id: s1", "Thread-Id: t1"), 0},
		{"user_id", agentRequest(t, strings.Replace(body, `"somebody"`, `"user_d0_account__session_`+uuid1+`"`, 1)), 2},
		{"opening", agentRequest(t, body), 8},
	} {
		got := testing.AllocsPerRun(100, func() { session(t, r, c.q) })
		t.Logf("%s: %v", c.name, got)
		if got > c.most {
			t.Errorf("%s: %v allocations, at most %v", c.name, got, c.most)
		}
	}
}

// TestNothingReadBehindTheOpening: tools are never asked for, and what decides
// early keeps the conversation unread.
func TestNothingReadBehindTheOpening(t *testing.T) {
	r := resolver(t)
	for _, c := range []struct {
		name, header string
		may          string
	}{
		{"core", "X-Session-Id: s1", "session_id"},
		{"registry header", "Session-Id: s1", "session_id"},
		{"opening", "", "session_id metadata litellm_session_id prompt_cache_key system messages user safety_identifier"},
	} {
		q := agentRequest(t, agentBody(t, "Be terse."))
		inner := q.Member
		if c.header != "" {
			q.Header = headers(c.header)
		}
		q.Member = func(name string) []byte {
			if !strings.Contains(" "+c.may+" ", " "+name+" ") {
				t.Errorf("%s: asked for %s", c.name, name)
			}
			return inner(name)
		}
		session(t, r, q)
	}
	// Garbage behind the first user turn is not noticed.
	q := identity.Request{Endpoint: "chat", Member: func(name string) []byte {
		return map[string][]byte{"messages": []byte(`[{"role":"user","content":"Hello"} , garbage "]`)}[name]
	}}
	if got := session(t, r, q); got.Source != identity.Prompt {
		t.Errorf("read too far: %+v", got)
	}
}
