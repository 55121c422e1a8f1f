package e2e

import "testing"

// TestGuardrailsBypassKinds: what goes to a provider by the bypass is looked at
// whatever its content type says it is.
func TestGuardrailsBypassKinds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "guardrails:\n  - {name: stop, match: \"forbidden\", action: block}\n  - {name: out, match: \"raven\", action: redact}\n"
	})
	const stop, out = `{"prompt":"forb\u0069dden"}`, `{"prompt":"r\u0061ven","x":1}`
	for _, kind := range []string{"text/plain", "application/octet-stream", "application/x-www-form-urlencoded", "application/json", "nonsense", ""} {
		send := func(body string) answer {
			t.Helper()
			return post(t, r.URL+"/bypass/alpha/v1/completions", body, "Content-Type", kind)
		}
		before := r.calls()
		for _, body := range []string{stop, "forbidden", "a=forbidden"} {
			if a := send(body); body == stop && (a.StatusCode != 400 || a.code() != "guardrail_blocked") || r.calls() != before {
				t.Errorf("%q, %s: %d %s, %d calls", kind, body, a.StatusCode, a.code(), r.calls()-before)
			}
		}
		send(out)
		calls := r.fleet.Account("alpha").Calls()
		if len(calls) == 0 || string(calls[len(calls)-1].Body) != `{"prompt":"[redacted]","x":1}` {
			t.Errorf("%q: %d calls; the provider was sent what is to be taken out", kind, len(calls))
		}
	}
}
