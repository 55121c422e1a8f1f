package exchange

import (
	"math"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

func TestCost(t *testing.T) {
	full := catalog.Price{Input: 2, CachedInput: 0.2, CacheWrite: 2.5, CacheWrite1h: 4, Output: 10}
	million := wire.Usage{Input: 1e6, CacheRead: 1e6, CacheWrite5m: 1e6, CacheWrite1h: 1e6, Output: 1e6, Reasoning: 5e5}
	rows := map[string]struct {
		price catalog.Price
		usage wire.Usage
		want  float64
	}{
		"each part at its own price":          {full, million, 2 + 0.2 + 2.5 + 4 + 10},
		"an hour's entry like a short one":    {catalog.Price{Input: 2, CachedInput: 0.2, CacheWrite: 2.5, Output: 10}, million, 2 + 0.2 + 2.5 + 2.5 + 10},
		"cache without prices is input":       {catalog.Price{Input: 2, Output: 10}, million, 2 + 2 + 2 + 2 + 10},
		"reasoning is part of the output":     {full, wire.Usage{Output: 1e6, Reasoning: 1e6}, 10},
		"nothing used costs nothing":          {full, wire.Usage{}, 0},
		"a price of zero is a known price":    {catalog.Price{}, million, 0},
		"fractions of a cent are not lost":    {full, wire.Usage{CacheRead: 1}, 0.2e-6},
		"cached tokens are not input as well": {full, wire.Usage{CacheRead: 1e6}, 0.2},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			got := cost(&row.price, row.usage)
			if got == nil || math.Abs(*got-row.want) > 1e-12 {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
	if got := cost(nil, million); got != nil {
		t.Errorf("an unknown price made %v, want none", *got)
	}
}
