package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"holdfast/routing/catalog"
)

func TestValidateTemplates(t *testing.T) {
	template := func(change func(*catalog.Template)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Templates[0]) }
	}
	runRows(t, []row{
		{"id", func(d *catalog.Document) {
			d.Templates = append(d.Templates, catalog.Template{}, catalog.Template{ID: "t"})
		}, []string{
			"templates[1].id: missing", `templates[2].id: "t" is taken by templates[0].id; ids are unique`}},
		{"numbers", template(func(tp *catalog.Template) {
			tp.RetryPolicy.MaxAttempts, tp.AllowedFails, tp.Cooldown, tp.ResponseCache.TTL = -1, ptr(-1), ptr(catalog.Duration(-1)), -1
		}), []string{
			"templates[0].retry_policy.max_attempts: must be at least 1; it counts the first attempt too", "templates[0].allowed_fails: must not be negative",
			"templates[0].cooldown: a duration must not be negative", "templates[0].response_cache.ttl: a duration must not be negative"}},
		{"edges", template(func(tp *catalog.Template) { tp.RetryPolicy.MaxAttempts, tp.AllowedFails = 21, ptr(0) }), []string{
			"templates[0].retry_policy.max_attempts: at most 20 attempts on one deployment are possible",
			"warning: templates[0].allowed_fails: 0 is read as 1: the first failure cools"}},
		{"words", template(func(tp *catalog.Template) { tp.Strategy, tp.SessionAffinity = "cheapest", "yes" }), []string{
			`templates[0].strategy: "cheapest" is not possible. Must be one of weighted, cost, latency, usage, round_robin`,
			`templates[0].session_affinity: "yes" is not possible. Must be one of true, false, strict`}},
		{"rules", template(func(tp *catalog.Template) {
			tp.ModelRules = map[string]catalog.Rule{
				"gpt": {Strategy: "cost"}, "gpt-5": {Strategy: "best"}, "smart": {}, "gone": {Weights: map[string]float64{"x": 1}},
				"claude": {Weights: map[string]float64{"gpt-a": 1}},
			}
			tp.GroupRules = map[string]catalog.Rule{"smart": {Weights: map[string]float64{"embed-a": 1}}, "claude": {}, "smrt": {}}
		}), []string{
			`templates[0].model_rules.claude.weights.gpt-a: deployment "gpt-a" serves "gpt-5", not "claude"`,
			`templates[0].model_rules.gone: no model or group "gone"`,
			`templates[0].model_rules.gpt-5: the same model as "gpt"; keep one rule`,
			`templates[0].model_rules.gpt-5.strategy: "best" is not possible. Must be one of weighted, cost, latency, usage, round_robin`,
			`templates[0].model_rules.smart: "smart" is a group; its rule belongs in group_rules`,
			`templates[0].group_rules.claude: "claude" is a model; its rule belongs in model_rules`,
			`templates[0].group_rules.smart.weights.embed-a: deployment "embed-a" serves "embed", not "smart"`,
			`templates[0].group_rules.smrt: no model or group "smrt", did you mean smart?`}},
		{"chains", template(func(tp *catalog.Template) {
			tp.Fallbacks = map[string][]string{"gpt": {"claude"}, "gpt-5": {}, "smart": {"smart", "gone"}, "gone": {"gpt"}}
			tp.ContextWindowFallbacks = map[string][]string{"claude": {"claude"}}
			tp.ContentPolicyFallbacks = map[string][]string{"": nil}
		}), []string{
			`templates[0].fallbacks.gone: no model or group "gone"`, `templates[0].fallbacks.gpt-5: the same model as "gpt"; keep one chain`,
			`templates[0].fallbacks.smart[0]: "smart" cannot be its own fallback; remove it`, `templates[0].fallbacks.smart[1]: no model or group "gone"`,
			`templates[0].context_window_fallbacks.claude[0]: "claude" cannot be its own fallback; remove it`, `templates[0].content_policy_fallbacks[""]: no model or group ""`}},
		{"named templates", func(d *catalog.Document) {
			d.Platform.Template, d.Organizations[0].Template, d.Teams[0].Template, d.Keys[0].Template = "tt", "x", "x", "x"
		}, []string{
			`platform.template: no template "tt"`, `organizations[0].template: no template "x"`,
			`teams[0].template: no template "x"`, `keys[0].template: no template "x"`}},
		{"a long chain", func(d *catalog.Document) {
			for i := range 8 {
				name := fmt.Sprintf("m%d", i)
				d.Deployments = append(d.Deployments, catalog.Deployment{ID: name, Model: name, Connection: "a"})
				d.Models[0].Fallbacks = append(d.Models[0].Fallbacks, name)
			}
		}, []string{"warning: models[0].fallbacks: an exchange tries at most 8 models; the end of the chain is never reached"}},
	})
}

func TestValidateCallers(t *testing.T) {
	key := func(change func(*catalog.Key)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Keys[0]) }
	}
	const literal = "a literal secret; write a reference (env:NAME, ssm:/path, secretsmanager:arn) or key_sha256 instead"
	runRows(t, []row{
		{"ids", func(d *catalog.Document) {
			d.Organizations = append(d.Organizations, catalog.Organization{ID: "org"}, catalog.Organization{ID: "a/b"})
			d.Teams = append(d.Teams, catalog.Team{ID: "team"}, catalog.Team{ID: "x/y"})
			d.Keys = append(d.Keys, catalog.Key{ID: "k", Key: "env:X"}, catalog.Key{Key: "env:Y"})
		}, []string{
			`organizations[1].id: "org" is taken by organizations[0].id; ids are unique`, "organizations[2].id: must not contain any of /",
			`teams[1].id: "team" is taken by teams[0].id; ids are unique`, "teams[2].id: must not contain any of /",
			`keys[1].id: "k" is taken by keys[0].id; ids are unique`, "keys[2].id: missing"}},
		{"dangling", func(d *catalog.Document) {
			d.Teams[0].Organization, d.Keys[0].Organization, d.Keys[0].Team = "orgs", "", "teem"
		}, []string{
			`teams[0].organization: no organization "orgs", did you mean org?`, `keys[0].team: no team "teem", did you mean team?`}},
		{"another organization", func(d *catalog.Document) {
			d.Organizations = append(d.Organizations, catalog.Organization{ID: "other"})
			d.Keys[0].Organization = "other"
		}, []string{`keys[0].organization: team "team" belongs to another organization; leave this out to take the team's`}},
		{"permissions", func(d *catalog.Document) {
			d.Organizations[0].Models, d.Teams[0].Models, d.Keys[0].Models = []string{"*", "gpt6"}, []string{}, []string{"smarts", "gpt"}
		}, []string{
			`organizations[0].models[1]: no model or group "gpt6", did you mean gpt?`, `warning: teams[0].models: empty, which allows no model at all; leave it out or write ["*"] for all`,
			`keys[0].models[0]: no model or group "smarts", did you mean smart?`}},
		{"no secret", key(func(k *catalog.Key) { k.Key = "" }), []string{"keys[0].key: missing; give a reference such as env:NAME, or key_sha256"}},
		{"two secrets", key(func(k *catalog.Key) { k.KeySHA256 = strings.Repeat("a", 64) }), []string{"keys[0].key_sha256: give either key or key_sha256, not both"}},
		{"short sum", key(func(k *catalog.Key) { k.Key, k.KeySHA256 = "", strings.Repeat("a", 62) }), []string{
			"keys[0].key_sha256: must be 64 hexadecimal digits, the SHA-256 of the key"}},
		{"no sum", key(func(k *catalog.Key) { k.Key, k.KeySHA256 = "", strings.Repeat("g", 64) }), []string{
			"keys[0].key_sha256: must be 64 hexadecimal digits, the SHA-256 of the key"}},
		{"literal", key(func(k *catalog.Key) { k.Key = "sk-my-own" }), []string{"warning: keys[0].key: " + literal}},
		{"the demo's key before a real provider", key(func(k *catalog.Key) { k.Key = catalog.DemoKey }), []string{"warning: keys[0].key: " + literal}},
		{"literal with a space", key(func(k *catalog.Key) { k.Key = "sk my own" }), []string{"keys[0].key: a key may hold visible ASCII characters only"}},
		{"bad reference", key(func(k *catalog.Key) { k.Key = "env:A B" }), []string{"keys[0].key: env: needs a name after the colon, without spaces"}},
		{"local reference", key(func(k *catalog.Key) { k.Key = "local:a" }), []string{
			"keys[0].key: local: is for the keys of connections; give env:NAME, ssm:/path, secretsmanager:arn or key_sha256"}},
		{"user", key(func(k *catalog.Key) { k.User = "a/b" }), []string{"keys[0].user: must not contain any of /"}},
		{"padded user", key(func(k *catalog.Key) { k.User = " a" }), []string{"keys[0].user: must not begin or end with white space"}},
		{"long user", key(func(k *catalog.Key) { k.User = strings.Repeat("u", 257) }), []string{"keys[0].user: longer than 256 bytes"}},
		{"expiry", key(func(k *catalog.Key) { k.Expires = "31.1.2027" }), []string{
			"keys[0].expires: must be a date (2027-01-31) or a time with its zone (2027-01-31T18:00:00Z)"}},
		{"budgets", func(d *catalog.Document) {
			d.Organizations[0].Budget = &catalog.Budget{USD: -1, Period: "yearly"}
			d.Teams[0].Budget = &catalog.Budget{USD: math.NaN(), Period: "daily"}
			d.Keys[0].Budget = &catalog.Budget{}
		}, []string{
			"organizations[0].budget.usd: must not be negative", `organizations[0].budget.period: "yearly" is not possible. Must be one of daily, weekly, monthly`,
			"teams[0].budget.usd: must be a finite number",
			"warning: keys[0].budget.usd: 0 lets nothing through; leave the budget out for no limit", "keys[0].budget.period: missing; must be one of daily, weekly, monthly"}},
		{"limits", func(d *catalog.Document) {
			d.Organizations[0].Limits.RPM, d.Teams[0].Limits.TPM, d.Keys[0].Limits.Concurrency = -1, -1, -1
		}, []string{
			"organizations[0].limits.rpm: must not be negative; 0 is no limit", "teams[0].limits.tpm: must not be negative; 0 is no limit",
			"keys[0].limits.concurrency: must not be negative; 0 is no limit"}},
	})
}

func TestValidateSessionAndGuardrails(t *testing.T) {
	session := func(headers ...string) func(*catalog.Document) {
		return func(d *catalog.Document) {
			for _, h := range headers {
				d.Session.Headers = append(d.Session.Headers, catalog.SessionHeader{Header: h})
			}
		}
	}
	guard := func(g catalog.Guardrail) func(*catalog.Document) {
		return func(d *catalog.Document) { d.Guardrails[0] = g }
	}
	var credentials, want []string
	for _, name := range []string{
		"Authorization", "authorization", "Cookie", "Set-Cookie", "X-Api-Key", "api-key", "Proxy-Authorization", "X-Auth-Token", "X-Goog-Api-Key",
		"X_Api_Key", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key", "X-Secret", "X-Auth", "My-Key", "X-JWT", "DPoP",
	} {
		want = append(want, fmt.Sprintf("session.headers[%d].header: %s carries a credential and cannot identify a session; name another header", len(credentials), name))
		credentials = append(credentials, name)
	}
	want[1] = want[1] + "\nsession.headers[1].header: given twice; keep one"
	runRows(t, []row{
		{"good headers", session("X-My-Session", "Session_id", "X-Session-Key", "X-Thread"), nil},
		{"credentials", session(credentials...), strings.Split(strings.Join(want, "\n"), "\n")},
		{"bad names", session("", "X My", "X:My", "X-Ü", "Host", "X-Request-Id", "traceparent"), []string{
			"session.headers[0].header: missing; name the request header that carries the session id", "session.headers[1].header: not a valid header name",
			"session.headers[2].header: not a valid header name", "session.headers[3].header: not a valid header name",
			"session.headers[4].header: Host belongs to one request or connection and cannot identify a session; name another header",
			"session.headers[5].header: X-Request-Id belongs to one request or connection and cannot identify a session; name another header",
			"session.headers[6].header: traceparent belongs to one request or connection and cannot identify a session; name another header"}},
		{"transform", func(d *catalog.Document) {
			d.Session.Headers = []catalog.SessionHeader{{Header: "X-A", Transform: "session-uuid"}, {Header: "X-B", Transform: "uuid"}}
		}, []string{`session.headers[1].transform: "uuid" is not possible. Must be one of session-uuid`}},
		{"affinity", func(d *catalog.Document) { d.Affinity.TTL, d.Affinity.Retention, d.Affinity.MaxWait = 0, -1, -1 }, []string{
			"affinity.ttl: must be more than 0; to switch affinity off, set affinity.enabled: false",
			"affinity.retention: a duration must not be negative", "affinity.max_wait: a duration must not be negative"}},
		{"long wait", func(d *catalog.Document) { d.Affinity.MaxWait = 61e9 }, []string{"warning: affinity.max_wait: longer than a minute; most clients have given up by then"}},
		{"empty guardrail", guard(catalog.Guardrail{}), []string{
			"guardrails[0].name: missing; refusals name the rule", "guardrails[0].action: missing; must be one of block, redact, log",
			"guardrails[0].match: missing; give a regular expression (RE2)"}},
		{"words", guard(catalog.Guardrail{Name: "x", Match: "y", On: "inputs", Action: "drop"}), []string{
			`guardrails[0].on: "inputs" is not possible, did you mean input? Must be one of input, output`,
			`guardrails[0].action: "drop" is not possible. Must be one of block, redact, log`}},
		{"broken pattern", guard(catalog.Guardrail{Name: "x", Match: "a(b", Action: "log"}), []string{
			`guardrails[0].match: not a regular expression (RE2): missing closing ) near "a(b"`}},
		{"look-behind", guard(catalog.Guardrail{Name: "x", Match: "(?<=a)b", Action: "log"}), []string{
			`guardrails[0].match: not a regular expression (RE2): invalid named capture near "(?<=a)b"`}},
		{"pattern of everything", guard(catalog.Guardrail{Name: "x", Match: "a*", Action: "log"}), []string{"warning: guardrails[0].match: matches empty text, and so everything"}},
		{"long pattern", guard(catalog.Guardrail{Name: "x", Match: strings.Repeat("a", 4097), Action: "log"}), []string{"guardrails[0].match: longer than 4096 bytes"}},
		{"size", guard(catalog.Guardrail{Name: "x", MaxBytes: 9, Action: "block"}), nil},
		{"size and pattern", guard(catalog.Guardrail{Name: "x", Match: "y", MaxBytes: 9, Action: "block"}), []string{
			"guardrails[0].max_bytes: give match or max_bytes, not both; two rules can have one each"}},
		{"negative size", guard(catalog.Guardrail{Name: "x", MaxBytes: -1, Action: "block"}), []string{"guardrails[0].max_bytes: must not be negative"}},
		{"redacted size", guard(catalog.Guardrail{Name: "x", MaxBytes: 9, Action: "redact"}), []string{
			"guardrails[0].action: what is too long can be blocked or logged, not redacted"}},
		{"guardrail twice", func(d *catalog.Document) { d.Guardrails = append(d.Guardrails, d.Guardrails[0]) }, []string{
			`guardrails[1].name: "aws keys" is taken by guardrails[0]; names are unique`}},
		{"too many", func(d *catalog.Document) {
			for i := range 200 {
				d.Guardrails = append(d.Guardrails, catalog.Guardrail{Name: fmt.Sprint(i), Match: "x", Action: "log"})
			}
		}, []string{"guardrails: 201 entries; at most 200 are possible"}},
	})
}

// No problem repeats a secret, whatever is wrong with it.
func TestProblemsHoldNoSecret(t *testing.T) {
	const secret = "sk-very-secret"
	for _, text := range []string{
		"connections: [{id: a, provider: openai, auth: {key: [" + secret + "]}}]",
		"connections: [{id: a, provider: openai, auth: {key: \"" + secret + " x\", keys: [\"" + secret + "\"]}}]",
		"connections: [{id: a, provider: openai, auth: {key: " + secret + ", type: sigv4}}]",
		"connections: [{id: a, provider: openai, auth: {key: \"env:" + secret + " \"}}]",
		"connections: [{id: a, provider: openai, base_url: \"https://me:" + secret + "@x/?k=" + secret + "\", headers: {X-Y: \"" + secret + "\\n\"}}]",
		"keys: [{id: k, key: " + secret + ", key_sha256: " + secret + "}]",
		"keys: [{id: k, key: \"" + secret + "\\n\"}]",
		"keys: {id: k, key: " + secret + "}",
		"keys: [{id: k, key: \"" + secret,
		`{"keys": [{"id": "k", "key": "` + secret + `" x}]}`,
	} {
		_, problems := catalog.Load([]byte(text))
		if len(problems) == 0 {
			t.Errorf("%s: no problem", text)
		}
		for _, p := range problems {
			if strings.Contains(p.String(), secret) {
				t.Errorf("%s: %s", text, p)
			}
		}
	}
}
