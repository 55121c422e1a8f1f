package identity_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"holdfast/affinity/identity"
)

// TestConfiguredHeaders: configured headers come before the built-in ones, in
// their order, with their transform.
func TestConfiguredHeaders(t *testing.T) {
	r := resolver(t, func(rules *identity.Rules) {
		rules.Headers = []identity.Header{{Name: "X-My-Session", Transform: "session-uuid"}, {Name: "My_Chat"}, {Name: "session-id"}}
	})
	const no = "No-Header: x"
	for _, c := range []struct{ name, mine, chat, codex, id, signal string }{
		{"first", "X-My-Session: session_" + uuid1, "My_Chat: c1", "Session-Id: s3", uuid1, "X-My-Session"},
		{"a longer text", "x-my-session: user_1_session_" + uuid1, no, "Session-Id: s3", uuid1, "X-My-Session"},
		{"no UUID gives way", "X-My-Session: session_1", "My_Chat: c1", "Session-Id: s3", "c1", "My_Chat"},
		{"a bare UUID gives way", "X-My-Session: " + uuid1, "my_chat: c1", no, "c1", "My_Chat"},
		{"another word before the UUID gives way", "X-My-Session: obsession_" + uuid1, "My_Chat: c1", no, "c1", "My_Chat"},
		{"UUID of another form gives way", "X-My-Session: session_" + strings.ReplaceAll(uuid1, "-", "0"), "My_Chat: c1", no, "c1", "My_Chat"},
		{"as configured, not as built in", no, no, "Session-Id: s3", "s3", "session-id"},
		{"built in behind them", no, no, "Agent-Session-Id: s9", "s9", "Agent-Session-Id"},
	} {
		got := session(t, r, identity.Request{Header: headers(c.mine, c.chat, c.codex)})
		if got.ID != c.id || got.Signal != c.signal || got.Source != identity.Explicit {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestManyHeaders: more headers than fit the usual room.
func TestManyHeaders(t *testing.T) {
	r := resolver(t, func(rules *identity.Rules) {
		for i := range 50 {
			rules.Headers = append(rules.Headers, identity.Header{Name: "X-S" + strings.Repeat("s", i)})
		}
	})
	last := "X-S" + strings.Repeat("s", 49)
	if got := session(t, r, identity.Request{Header: headers(last+": s1", "Thread-Id: t1")}); got.ID != "s1" || got.Lane != "t1" {
		t.Errorf("got %+v", got)
	}
}

// TestRefusedHeaders: I12, what cannot be configured, with a message that names it.
func TestRefusedHeaders(t *testing.T) {
	refused := map[identity.HeaderProblem][]string{
		identity.CarriesSecret: {
			"Authorization", "authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "x_api_key", "Api-Key", "ApiKey", "XApiKey",
			"X-Goog-Api-Key", "X-Auth-Token", "X-Session-Token", "X-Amz-Security-Token", "X-Client-Secret", "X-Password", "X-Secret-Session",
			"Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Access-Key", "X-Auth", "X-Jwt-Assertion", "X-Csrf", "X-Hub-Signature-256", "Www-Authenticate",
		},
		identity.PerRequest: {
			"X-Request-Id", "Request-Id", "X-Client-Request-Id", "X-Amzn-RequestId", "Traceparent", "Tracestate", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
			"X-B3-TraceId", "X-B3-SpanId", "b3", "Cf-Ray", "X-Amz-Cf-Id", "X-Vercel-Id", "Fly-Request-Id", "X-Correlation-Id", "Idempotency-Key", "X-Forwarded-For", "Forwarded", "Via",
		},
		identity.InvalidName: {"", "X Session", "X-Session:", "X-Sessión", "X-Session\r\nY", strings.Repeat("x", 129)},
	}
	for problem, names := range refused {
		for _, name := range names {
			_, err := identity.Compile(identity.Rules{Enabled: true, Headers: []identity.Header{{Name: "X-Fine"}, {Name: name}}})
			var refusal *identity.HeaderError
			if !errors.As(err, &refusal) || refusal.Header != name || refusal.Problem != problem {
				t.Errorf("%q: %v", name, err)
				continue
			}
			if fine := strings.ToValidUTF8(name, ""); problem != identity.InvalidName && !strings.Contains(err.Error(), fine) {
				t.Errorf("%q is not named: %v", name, err)
			}
			if strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 400 {
				t.Errorf("%q: an unclean message: %q", name, err)
			}
		}
	}
}

// TestAllowedHeaders: what session headers look like.
func TestAllowedHeaders(t *testing.T) {
	for _, name := range []string{
		"X-My-Session", "x-gw-session", "Chat_Id", "X-Session-Id", "Session-Id", "X-Session-Key", "X-Conversation-Key", "X-Thread-Id", "X-Author-Chat", "X-Room", "X-Monkey-Id",
		"X-Claude-Code-Session-Id", "!#$%&'*+-.^_`|~0",
	} {
		if _, err := identity.Compile(identity.Rules{Headers: []identity.Header{{Name: name}}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := identity.Compile(identity.Rules{Headers: []identity.Header{{Name: "X-My-Session", Transform: "upper"}}})
	var refusal *identity.HeaderError
	if !errors.As(err, &refusal) || refusal.Problem != identity.UnknownTransform {
		t.Errorf("unknown transform: %v", err)
	}
}

// TestRandomRunsDry: an id is generated even so.
func TestRandomRunsDry(t *testing.T) {
	r := resolver(t, func(rules *identity.Rules) { rules.Random = iotest.ErrReader(errors.New("dry")) })
	first, second := session(t, r, identity.Request{}), session(t, r, identity.Request{})
	if len(first.ID) != 36 || first.ID == second.ID {
		t.Errorf("got %+v and %+v", first, second)
	}
}
