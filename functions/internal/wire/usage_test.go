package wire_test

import (
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// TestReadUsage (U2): cached tokens are counted once, whatever the provider's way.
func TestReadUsage(t *testing.T) {
	names := wire.UsageNames{Input: "in", InputDetails: "in_details", Output: "out", OutputDetails: "out_details"}
	for _, row := range []struct {
		name, in string
		counting wire.Counting
		want     wire.Usage
		ok       bool
	}{
		{"inside", `{"in":10,"in_details":{"cached_tokens":4},"out":3,"out_details":{"reasoning_tokens":2}}`, wire.ByProtocol, wire.Usage{Input: 6, CacheRead: 4, Output: 3, Reasoning: 2}, true},
		{"outside", `{"in":10,"in_details":{"cached_tokens":40},"out":3}`, wire.Outside, wire.Usage{Input: 10, CacheRead: 40, Output: 3}, true},
		{"more cached than there is", `{"in":10,"in_details":{"cached_tokens":40},"out":3}`, wire.Inside, wire.Usage{CacheRead: 40, Output: 3}, true},
		{"hit and miss", `{"in":10,"in_details":{"cached_tokens":9},"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":3}`, wire.Outside, wire.Usage{Input: 3, CacheRead: 7}, true},
		{"hit alone", `{"in":10,"prompt_cache_hit_tokens":7}`, wire.Outside, wire.Usage{Input: 3, CacheRead: 7}, true},
		{"long writes within writes", `{"in":10,"in_details":{"cache_write_tokens":5,"cache_write_tokens_details":{"ttl_12h_tokens":9}}}`, wire.Inside, wire.Usage{Input: 5, CacheWrite1h: 5}, true},
		{"nulls", `{"in":null,"in_details":null,"out":3,"out_details":null}`, wire.Inside, wire.Usage{Output: 3}, true},
		{"negative and beyond measure", `{"in":-5,"out":4e18}`, wire.Inside, wire.Usage{Output: 1 << 40}, true},
		{"nothing in it", `{"total":3}`, wire.Inside, wire.Usage{}, false},
		{"null", `null`, wire.Inside, wire.Usage{}, false},
		{"absent", ``, wire.Inside, wire.Usage{}, false},
	} {
		got, ok := wire.ReadUsage(jsonedit.Read([]byte(row.in)), names, row.counting)
		if got != row.want || ok != row.ok {
			t.Errorf("%s: %+v, %v", row.name, got, ok)
		}
	}
}
