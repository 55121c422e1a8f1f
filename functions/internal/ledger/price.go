package ledger

import (
	"math"

	"holdfast/routing/catalog"
)

// pico is how many units of kept money one USD is.
const pico = 1e12

// picos are USD as they are kept; usd is the way back. An amount beyond all
// measure is a mistake of whoever set the price: it is kept as the largest that
// sums can hold a million of.
func picos(usd float64) int64 {
	const most = math.MaxInt64 / 1e6
	return int64(math.Round(min(max(usd*pico, 0), most)))
}

func usd(picos int64) float64 { return float64(picos) / pico }

// Charge returns what a provider asks for tokens, by part, and what its cache has
// saved: what the tokens read from it would have cost as fresh input, minus what
// they cost. Both are nil where the price is not known.
func Charge(p *catalog.Price, u Usage) (*Cost, *float64) {
	if p == nil {
		return nil, nil
	}
	parts := [...]int64{
		picos(float64(u.Input) * p.Input / 1e6), picos(float64(u.CacheRead) * p.CachedInput / 1e6),
		picos((float64(u.CacheWrite5m)*p.CacheWrite + float64(u.CacheWrite1h)*p.CacheWrite1h) / 1e6), picos(float64(u.Output) * p.Output / 1e6),
	}
	cost := Cost{Input: usd(parts[0]), CacheRead: usd(parts[1]), CacheWrite: usd(parts[2]), Output: usd(parts[3]),
		Total: usd(parts[0] + parts[1] + parts[2] + parts[3])}
	saved := usd(picos(float64(u.CacheRead)*p.Input/1e6) - parts[1])
	return &cost, &saved
}
