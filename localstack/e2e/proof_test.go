package e2e

import (
	"testing"

	"holdfast/localstack/proof"
)

// TestU5 shows what stickiness is worth: with it every turn after the first
// reads its whole earlier prefix from the cache, without it much is lost.
func TestU5(t *testing.T) {
	t.Parallel()
	results, err := proof.Run(t.Context(), binary, proof.Default())
	if err != nil {
		t.Fatal(err)
	}
	on, off, rotated := results[0], results[1], results[2]
	if on.Reachable == 0 || on.Reached() < 0.99 {
		t.Errorf("%.3f of the reachable cached tokens were read, want at least 0.99 of %d", on.Reached(), on.Reachable)
	}
	if on.Accounts != 1 {
		t.Errorf("a conversation met %d deployments, want 1", on.Accounts)
	}
	for _, r := range []proof.Result{off, rotated} {
		if r.Reached() > 0.9 || r.Cost() <= on.Cost() || r.Input != on.Input {
			t.Errorf("%s: %.3f reached, %.4f USD, %d tokens: no worse than affinity on (%.4f USD, %d tokens)",
				r.Policy, r.Reached(), r.Cost(), r.Input, on.Cost(), on.Input)
		}
	}
}
