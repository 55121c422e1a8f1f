package ledger

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

func price() *catalog.Price {
	return &catalog.Price{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, CacheWrite1h: 6, Output: 15}
}

// TestU1 prices the parts apart.
func TestU1(t *testing.T) {
	use := Usage{Input: 1000, CacheRead: 2000, CacheWrite5m: 400, CacheWrite1h: 100, Output: 10}
	for _, row := range []struct {
		name  string
		price *catalog.Price
		want  *Cost
		saved float64
	}{
		{"all prices", price(), &Cost{Input: 0.003, CacheRead: 0.0006, CacheWrite: 0.0021, Output: 0.00015, Total: 0.00585}, 0.0054},
		{"free caches", &catalog.Price{Input: 3, Output: 15}, &Cost{Input: 0.003, Output: 0.00015, Total: 0.00315}, 0.006},
		{"free", &catalog.Price{}, &Cost{}, 0},
	} {
		cost, saved := Charge(row.price, use)
		if diff := cmp.Diff(row.want, cost); diff != "" || saved == nil || *saved != row.saved {
			t.Errorf("%s: %s saved %v", row.name, diff, *saved)
		}
	}
	cost, saved := Charge(nil, use)
	if cost != nil || saved != nil {
		t.Errorf("an unknown price costs %v, saves %v", cost, saved)
	}
	text, err := json.Marshal(Event{Usage: &use}.bounded())
	if err != nil || !containsAll(string(text), `"cost":null`, `"saved_cost":null`) {
		t.Errorf("%s %v", text, err)
	}
}

// TestUnknownSums shows that a sum with an unknown part is unknown.
func TestUnknownSums(t *testing.T) {
	known, unknown := Event{Usage: &Usage{Input: 1_000_000}}, Event{Usage: &Usage{Input: 1}}
	known.Cost, known.Saved = Charge(price(), *known.Usage)
	sums := Of(&known)
	if total := sums.Money(CostParts()...); total == nil || *total != 3 {
		t.Errorf("%v", total)
	}
	more := Of(&unknown)
	sums.Add(&more)
	if total, part := sums.Money(CostParts()...), sums.Known(CostParts()...); total != nil || *part != 3 {
		t.Errorf("%v, of which %v is known", total, *part)
	}
	none := Of(&Event{Status: 400}) // nobody was called
	if total := none.Money(CostParts()...); total == nil || *total != 0 {
		t.Errorf("a refusal costs %v", total)
	}
}
