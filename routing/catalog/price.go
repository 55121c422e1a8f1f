package catalog

// Price is in USD per million tokens, every part of it known.
type Price struct {
	Input        float64 `json:"input"`
	CachedInput  float64 `json:"cached_input"`
	CacheWrite   float64 `json:"cache_write"`
	CacheWrite1h float64 `json:"cache_write_1h"`
	Output       float64 `json:"output"`
}

// price fills in what is left out.
func (r *Rates) price() *Price {
	part := func(written *float64) float64 {
		if written == nil {
			return r.Input
		}
		return *written
	}
	short := part(r.CacheWrite)
	return &Price{Input: r.Input, CachedInput: part(r.CachedInput), CacheWrite: short, CacheWrite1h: or(r.CacheWrite1h, short), Output: r.Output}
}

// priceDate is when the list below was read from the providers' own pages.
const priceDate = "2026-11-30"

// listPrice is a provider's public price of a model, and the date of the list;
// nil when it is not known, which is never the same as free.
func listPrice(provider, model string) (*Price, string) {
	price, ok := listPrices()[provider+"/"+model]
	if !ok {
		return nil, ""
	}
	price.CacheWrite1h = or(price.CacheWrite1h, price.CacheWrite)
	return &price, priceDate
}

// listPrices are USD per million tokens, for prompts of ordinary length at the
// standard tier. Providers whose price depends on the hour are left out.
func listPrices() map[string]Price {
	return map[string]Price{
		"openai/gpt-6-astra":          {Input: 10, CachedInput: 1, CacheWrite: 12.5, Output: 50},
		"openai/gpt-6.2-sol":          {Input: 2, CachedInput: 0.1, CacheWrite: 2.5, Output: 10},
		"openai/gpt-6-sol":            {Input: 2, CachedInput: 0.2, CacheWrite: 2.5, Output: 10},
		"openai/gpt-6-luna":           {Input: 0.1, CachedInput: 0.01, CacheWrite: 0.125, Output: 0.5},
		"openai/gpt-5":                {Input: 1.25, CachedInput: 0.125, CacheWrite: 1.25, Output: 10},
		"anthropic/claude-opus-5-5":   {Input: 4, CachedInput: 0.2, CacheWrite: 5, CacheWrite1h: 8, Output: 20},
		"anthropic/claude-sonnet-5-5": {Input: 2, CachedInput: 0.1, CacheWrite: 2.5, CacheWrite1h: 4, Output: 10},
		"anthropic/claude-sonnet-5":   {Input: 2, CachedInput: 0.2, CacheWrite: 2.5, CacheWrite1h: 4, Output: 10},
		"anthropic/claude-haiku-5-5":  {Input: 0.1, CachedInput: 0.01, CacheWrite: 0.125, CacheWrite1h: 0.2, Output: 0.5},
		"anthropic/claude-haiku-4-5":  {Input: 1, CachedInput: 0.1, CacheWrite: 1.25, CacheWrite1h: 2, Output: 5},
	}
}
