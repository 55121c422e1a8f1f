package exchange

import (
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// cost is what the provider asks for an answer, in USD; nil where no price is
// known. A part without a price of its own costs what fresh input costs, and an
// hour's cache entry at least what a short one does.
func cost(p *catalog.Price, u wire.Usage) *float64 {
	if p == nil {
		return nil
	}
	long := p.CacheWrite1h
	if long == 0 {
		long = p.CacheWrite
	}
	usd := (float64(u.Input)*p.Input + float64(u.CacheRead)*orInput(p, p.CachedInput) +
		float64(u.CacheWrite5m)*orInput(p, p.CacheWrite) + float64(u.CacheWrite1h)*orInput(p, long) +
		float64(u.Output)*p.Output) / 1e6
	return &usd
}

func orInput(p *catalog.Price, price float64) float64 {
	if price == 0 {
		return p.Input
	}
	return price
}
