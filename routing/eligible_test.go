package routing_test

import (
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// reasons are why the deployments of the requested pool do not serve.
func reasons(w *world) map[string]routing.Reason {
	d := routing.Plan(w.request)
	all := map[string]routing.Reason{}
	for _, c := range d.Explain().Candidates {
		if c.Chain == "" {
			all[c.Deployment] = c.Reason
		}
	}
	return all
}

// TestReasons holds one row for each reason of a deployment of the pool, and
// what a client hears when it is true of the only deployment there is.
func TestReasons(t *testing.T) {
	gptB := func(change func(*catalog.Deployment)) edit { return deployment("gpt-b", change) }
	is := func(c routing.Condition) func(*world) {
		return func(w *world) { w.conditions["gpt-b"] = c }
	}
	rows := []struct {
		name  string
		edit  edit
		known func(*world)
		want  routing.Reason
		heard string
	}{
		{"well", nil, nil, "", "gpt-b"},
		{"disabled", gptB(func(d *catalog.Deployment) { d.Enabled = pointer(false) }), nil, routing.Disabled, "503 no_eligible_deployment"},
		{"weight 0", gptB(func(d *catalog.Deployment) { d.Weight = pointer(0.0) }), nil, routing.ZeroWeight, "503 no_eligible_deployment"},
		{"endpoint not listed", gptB(func(d *catalog.Deployment) { d.Endpoints = []string{catalog.Responses} }), nil, routing.EndpointUnsupported, "400 endpoint_unsupported"},
		{"no bridge", gptB(func(d *catalog.Deployment) { d.Protocol = catalog.Messages; d.Connection = "m" }),
			func(w *world) { w.request.Bridges = nil }, routing.EndpointUnsupported, "400 endpoint_unsupported"},
		{"the wrong bridge", gptB(func(d *catalog.Deployment) { d.Protocol = catalog.Messages; d.Connection = "m" }),
			func(w *world) {
				w.request.Bridges = func(endpoint, protocol string) bool { return endpoint == protocol }
			}, routing.EndpointUnsupported, "400 endpoint_unsupported"},
		{"a bridge", gptB(func(d *catalog.Deployment) { d.Protocol = catalog.Messages; d.Connection = "m" }), nil, "", "gpt-b"},
		{"native without bridges", nil, func(w *world) { w.request.Bridges = nil }, "", "gpt-b"},
		{"no tools", gptB(func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) }), func(w *world) { w.request.Needs.Tools = true }, routing.CapabilityMissing, "400 capability_missing"},
		{"no tools, none asked for", gptB(func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) }), nil, "", "gpt-b"},
		{"no images", gptB(func(d *catalog.Deployment) { d.Capabilities.Images = pointer(false) }), func(w *world) { w.request.Needs.Images = true }, routing.CapabilityMissing, "400 capability_missing"},
		{"no documents", gptB(func(d *catalog.Deployment) { d.Capabilities.Documents = pointer(false) }), func(w *world) { w.request.Needs.Documents = true }, routing.CapabilityMissing, "400 capability_missing"},
		{"no streams", gptB(func(d *catalog.Deployment) { d.Capabilities.Stream = pointer(false) }), func(w *world) { w.request.Needs.Stream = true }, routing.CapabilityMissing, "400 capability_missing"},
		{"no schemas", gptB(func(d *catalog.Deployment) { d.Capabilities.JSONSchema = pointer(false) }), func(w *world) { w.request.Needs.JSONSchema = true }, routing.CapabilityMissing, "400 capability_missing"},
		{"too long", gptB(func(d *catalog.Deployment) { d.Capabilities.Context = 1000 }), func(w *world) { w.request.Needs.Input = 1001 }, routing.CapabilityMissing, "400 capability_missing"},
		{"just fits", gptB(func(d *catalog.Deployment) { d.Capabilities.Context = 1000 }), func(w *world) { w.request.Needs.Input = 1000 }, "", "gpt-b"},
		{"forbidden", func(doc *catalog.Document) { doc.Keys[0].Models = []string{"mini"} }, nil, routing.ModelForbidden, "403 model_forbidden"},
		{"no credential", nil, is(routing.Condition{Refused: routing.NoCredential}), routing.NoCredential, "503 no_eligible_deployment"},
		{"budget", nil, is(routing.Condition{Refused: routing.Budget}), routing.Budget, "429 budget_exceeded"},
		{"guardrail", nil, is(routing.Condition{Refused: routing.Guardrail}), routing.Guardrail, "400 guardrail_blocked"},
		{"already tried", nil, func(w *world) { w.request.Tried = []string{"gpt-b"} }, routing.AlreadyTried, "503 no_eligible_deployment"},
		{"drained", nil, is(routing.Condition{Rest: cooldown.Status{Drained: true}}), routing.Drained, "503 no_eligible_deployment"},
		{"cooling", nil, is(routing.Condition{Rest: cooldown.Status{Until: noon.Add(time.Second)}}), routing.Cooldown, "429 deployments_cooling"},
		{"cooled until now", nil, is(routing.Condition{Rest: cooldown.Status{Until: noon}}), "", "gpt-b"},
		{"no slot", limits("gpt-b", catalog.Limits{Concurrency: 3}), is(routing.Condition{InFlight: 3}), routing.Limit, "429 deployments_cooling"},
		{"one slot left", limits("gpt-b", catalog.Limits{Concurrency: 3}), is(routing.Condition{InFlight: 2}), "", "gpt-b"},
		{"requests used up", limits("gpt-b", catalog.Limits{RPM: 3}), is(routing.Condition{Requests: 3}), routing.Limit, "429 deployments_cooling"},
		{"tokens used up", limits("gpt-b", catalog.Limits{TPM: 3}), is(routing.Condition{Tokens: 4}), routing.Limit, "429 deployments_cooling"},
		{"limit from outside", nil, is(routing.Condition{Refused: routing.Limit}), routing.Limit, "429 deployments_cooling"},
		{"disabled and cooling", gptB(func(d *catalog.Deployment) { d.Enabled = pointer(false) }), func(w *world) { w.cool("gpt-b", 9) }, routing.Disabled, "503 no_eligible_deployment"},
	}
	alone := []edit{without("gpt-a"), without("gpt-c"), template(func(t *catalog.Template) {
		t.Fallbacks, t.ContextWindowFallbacks, t.ContentPolicyFallbacks = nil, nil, nil
	})}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			edits := alone
			if row.edit != nil {
				edits = append(edits[:len(edits):len(edits)], row.edit)
			}
			w := newWorld(t, edits...)
			if row.known != nil {
				row.known(w)
			}
			if got := reasons(w)["gpt-b"]; got != row.want {
				t.Errorf("reason %q, want %q", got, row.want)
			}
			tr := w.drive(always(routing.Outcome{}))
			if tr.served() != row.heard {
				t.Errorf("heard %s, want %s", tr.served(), row.heard)
			}
			if s := tr.end.Refusal.Status; (s == 429 || s == 503) && tr.end.Refusal.RetryAfter < time.Second {
				t.Errorf("%d without a Retry-After", s)
			}
		})
	}
}

func TestLimitsResetWithTheMinute(t *testing.T) {
	w := newWorld(t, limits("gpt-b", catalog.Limits{RPM: 1}), without("gpt-a"), without("gpt-c"),
		template(func(t *catalog.Template) { t.Fallbacks = nil }))
	w.request.Now = noon.Add(48 * time.Second)
	w.conditions["gpt-b"] = routing.Condition{Requests: 1}
	if tr := w.drive(always(routing.Outcome{})); tr.end.Refusal.RetryAfter != 12*time.Second {
		t.Errorf("at second 48: come back after %v, want 12 s", tr.end.Refusal.RetryAfter)
	}
}

// TestOtherEndpoints: where no protocol of that name exists, the deployment's
// own list decides.
func TestOtherEndpoints(t *testing.T) {
	w := newWorld(t, deployment("gpt-c", func(d *catalog.Deployment) { d.Endpoints = []string{catalog.Chat, catalog.Embeddings} }))
	w.request.Endpoint, w.request.Bridges = catalog.Embeddings, nil
	got := reasons(w)
	if got["gpt-c"] != "" || got["gpt-a"] != routing.EndpointUnsupported {
		t.Errorf("reasons %v", got)
	}
}

// TestMixedReasons: what is said when several deployments are out for several reasons.
func TestMixedReasons(t *testing.T) {
	noTools := func(id string) edit {
		return deployment(id, func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) })
	}
	off := func(id string) edit {
		return deployment(id, func(d *catalog.Deployment) { d.Enabled = pointer(false) })
	}
	rows := []struct {
		name  string
		edits []edit
		known func(*world)
		want  string
	}{
		{"one only waits", []edit{noTools("gpt-a"), off("gpt-b")}, func(w *world) { w.cool("gpt-c", 5) }, "429 deployments_cooling"},
		{"configuration rules out all that are on", []edit{noTools("gpt-a"), off("gpt-b"), noTools("gpt-c")}, nil, "400 capability_missing"},
		{"a capable one lacks its credential", []edit{noTools("gpt-a"), noTools("gpt-c")}, func(w *world) {
			w.conditions["gpt-b"] = routing.Condition{Refused: routing.NoCredential}
		}, "503 no_eligible_deployment"},
		{"all are off", []edit{off("gpt-a"), off("gpt-b"), off("gpt-c")}, nil, "503 no_eligible_deployment"},
	}
	for _, row := range rows {
		w := newWorld(t, append(row.edits, template(func(t *catalog.Template) { t.Fallbacks = nil }))...)
		w.request.Needs.Tools = true
		if row.known != nil {
			row.known(w)
		}
		if tr := w.drive(always(routing.Outcome{})); tr.served() != row.want {
			t.Errorf("%s: %s, want %s", row.name, tr.served(), row.want)
		}
	}
}

func TestNothingToPlanWith(t *testing.T) {
	rows := map[string]struct {
		change func(*routing.Request)
		want   string
	}{
		"no caller":  {func(r *routing.Request) { r.Caller = nil }, "503 configuration_unavailable"},
		"no policy":  {func(r *routing.Request) { r.Caller = &catalog.Caller{ID: "k"} }, "503 configuration_unavailable"},
		"no catalog": {func(r *routing.Request) { r.Catalog = nil }, "503 configuration_unavailable"},
		"no pool":    {func(r *routing.Request) { r.Pool = nil }, "404 model_not_found"},
	}
	for name, row := range rows {
		w := newWorld(t).pin("gpt-b")
		row.change(&w.request)
		tr := w.drive(always(routing.Outcome{}))
		if tr.served() != row.want {
			t.Errorf("%s: %s, want %s", name, tr.served(), row.want)
		}
		if e := tr.decision.Explain(); e.Refusal != tr.end.Refusal.Code || e.Candidates == nil {
			t.Errorf("%s: explanation %+v", name, e)
		}
		if tr.decision.Follow(routing.Pin{Deployment: "gpt-b", Pool: "gpt"}); tr.decision.Passed() != "" {
			t.Errorf("%s: followed a claim", name)
		}
	}
}

// TestFollow: the winner of a claim is judged like everybody else.
func TestFollow(t *testing.T) {
	rows := []struct {
		name   string
		winner string
		edits  []edit
		known  func(*world)
		want   routing.Reason
		first  string // "": any but the winner
		spill  bool
	}{
		{"holds", "gpt-b", nil, nil, "", "gpt-b", false},
		{"cooling", "gpt-b", nil, func(w *world) { w.cool("gpt-b", 60) }, routing.Cooldown, "", false},
		{"has no room", "gpt-b", []edit{limits("gpt-b", catalog.Limits{Concurrency: 1})}, func(w *world) {
			w.conditions["gpt-b"] = routing.Condition{InFlight: 1}
		}, routing.Limit, "", true},
		{"unknown", "gone", nil, nil, routing.Deleted, "", false},
		{"of another pool", "mini-a", nil, nil, routing.ChainRemoved, "", false},
		{"cooling shortly, strict", "gpt-b", []edit{strict}, func(w *world) { w.cool("gpt-b", 1) }, "", "gpt-b", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.edits...)
			if row.known != nil {
				row.known(w)
			}
			d := routing.Plan(w.request)
			_, own := d.Start(noon)
			if reason := d.Follow(routing.Pin{Deployment: row.winner, Pool: "gpt"}); reason != row.want {
				t.Errorf("reason %q, want %q", reason, row.want)
			}
			_, step := d.Start(noon)
			first := step.Candidate.Target.ID
			if row.first != "" && first != row.first || row.first == "" && (first == row.winner || first != own.Candidate.Target.ID && own.Candidate.Target.ID != row.winner) {
				t.Errorf("first %s, own choice was %s", first, own.Candidate.Target.ID)
			}
			if _, held := d.Pinned(); d.Spilled() != row.spill || held != (row.want == "") {
				t.Errorf("spilled %v, held %v", d.Spilled(), held)
			}
		})
	}
}

// TestAffinityOff: a preference that somebody read all the same has no say.
func TestAffinityOff(t *testing.T) {
	w := newWorld(t, template(func(t *catalog.Template) { t.SessionAffinity = catalog.NotSticky })).pin("gpt-b")
	w.request.Seed = session(0)
	plain := newWorld(t)
	plain.request.Seed = session(0)
	for i := range 20 {
		w.request.Seed, plain.request.Seed = session(i), session(i)
		if a, b := w.drive(always(routing.Outcome{})), plain.drive(always(routing.Outcome{})); a.served() != b.served() || a.end.Candidate.Pinned {
			t.Fatalf("session %d: %s with a preference, %s without", i, a.served(), b.served())
		}
	}
}
