package routing_test

import (
	"testing"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// C4: the creator or nobody, unless the protocol lets a peer of the boundary serve.
func TestC4Continuation(t *testing.T) {
	var (
		moved   = func(o *routing.Owner) { o.BaseURL = "https://elsewhere.example/v1" }
		foreign = func(o *routing.Owner) { o.Boundary = "elsewhere" }
		peers   = func(o *routing.Owner) { o.Peers = []string{"gpt-c", "gpt-a"} } // gpt-c has another boundary
	)
	off := deployment("gpt-b", func(d *catalog.Deployment) { d.Enabled = pointer(false) })
	const gone = "409 continuation_unavailable"
	rows := []struct {
		name  string
		edit  edit
		known func(*world)
		owner func(*routing.Owner)
		want  string
	}{
		{"as it was", nil, nil, nil, "gpt-b"},
		{"disabled", off, nil, nil, gone},
		{"deleted", without("gpt-b"), nil, nil, gone},
		{"weight 0", deployment("gpt-b", func(d *catalog.Deployment) { d.Weight = pointer(0.0) }), nil, nil, gone},
		{"base URL changed", nil, nil, moved, gone},
		{"boundary changed", nil, nil, foreign, gone},
		{"disabled, with a peer", off, nil, peers, "gpt-a"},
		{"deleted, with a peer", without("gpt-b"), nil, peers, "gpt-a"},
		{"credential lost, with a peer", nil, func(w *world) { w.conditions["gpt-b"] = routing.Condition{Refused: routing.NoCredential} }, peers, "gpt-a"},
		{"disabled, its peer as well", off, func(w *world) { w.cool("gpt-a", 9) }, peers, gone},
		{"boundary changed, with peers", nil, nil, func(o *routing.Owner) { peers(o); foreign(o) }, gone},
		{"cooling shortly", nil, func(w *world) { w.cool("gpt-b", 1) }, nil, "gpt-b"},
		{"cooling for long", nil, func(w *world) { w.cool("gpt-b", 9) }, nil, "429 deployments_cooling"},
		{"cooling for long, with a peer", nil, func(w *world) { w.cool("gpt-b", 9) }, peers, "gpt-a"},
		{"drained", nil, func(w *world) { w.conditions["gpt-b"] = routing.Condition{Rest: cooldown.Status{Drained: true}} }, nil, "gpt-b"},
		{"tools lost", deployment("gpt-b", func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) }), nil, nil, "400 capability_missing"},
		{"endpoint lost", deployment("gpt-b", func(d *catalog.Deployment) { d.Endpoints = []string{catalog.Messages} }), nil, nil, "400 endpoint_unsupported"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			owned(w)
			if row.owner != nil {
				row.owner(w.request.Owner)
			}
			w.request.Needs.Tools = true
			w.request.Pin = routing.Pin{Deployment: "gpt-c", Pool: "gpt"} // a preference has no say
			if row.edit != nil {
				w.configure(row.edit)
			}
			if row.known != nil {
				row.known(w)
			}
			if tr := w.drive(always(routing.Outcome{})); tr.served() != row.want || len(tr.calls) > 1 {
				t.Errorf("%s with calls %q, want %s", tr.served(), tr.calls, row.want)
			}
		})
	}
	// One that was created on a fallback target stays there, whatever the chains say now.
	w := newWorld(t, template(func(t *catalog.Template) { t.Fallbacks = nil }))
	target := w.catalog.Deployment("claude-m")
	w.request.Owner = &routing.Owner{Deployment: target.ID, BaseURL: target.BaseURL, Boundary: target.Account.Boundary}
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "claude-m" {
		t.Errorf("creator outside the pool: %s", tr.served())
	}
}
