package routing_test

import (
	"testing"

	"holdfast/routing"
)

// TestNative shows that an upstream which is addressed as it is needs no endpoint,
// while all else of eligibility holds, for a preference and an owner alike; and
// that the decision can be explained though its pool has no public name.
func TestNative(t *testing.T) {
	w := newWorld(t)
	caller := w.catalog.Callers()[0]
	pool, _ := w.catalog.Native(caller, "a", "gpt", "")
	for name, r := range map[string]routing.Request{
		"first":      {},
		"preference": {Pin: routing.Pin{Deployment: "gpt-a", Pool: pool.Name}},
		"owner":      {Owner: &routing.Owner{Deployment: "gpt-a", BaseURL: "https://api.openai.com/v1", Boundary: "acme"}},
	} {
		r.Catalog, r.Caller, r.Pool, r.Endpoint, r.Now = w.catalog, caller.Unrestricted(), pool, "bypass/responses", noon
		bound := routing.Plan(r)
		if _, step := bound.Start(noon); step.Action != routing.Refuse || step.Refusal.Code != routing.EndpointUnsupportedCode {
			t.Errorf("%s, not native: %+v", name, step)
		}
		r.Native = true
		d := routing.Plan(r)
		if _, step := d.Start(noon); step.Action != routing.Try || step.Candidate.Target.ID != "gpt-a" || step.Candidate.Pool != pool.Name {
			t.Errorf("%s: %+v", name, step)
		}
		if e := d.Explain(); len(e.Candidates) == 0 || !e.Candidates[0].Kept {
			t.Errorf("%s: explained as %+v", name, e)
		}
	}
}
