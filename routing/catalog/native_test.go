package catalog_test

import (
	"slices"
	"testing"
)

// TestNative shows what a connection's or provider's name stands for, by what is
// asked for and who asks.
func TestNative(t *testing.T) {
	c := compile(t, `
connections:
  - {id: a, provider: openai, auth: {type: bearer, key: "env:K"}}
  - {id: b, provider: openai, auth: {type: bearer, key: "env:K"}}
  - {id: anthropic, provider: openai, auth: {type: bearer, key: "env:K"}}
  - {id: idle, provider: xai, auth: {type: bearer, key: "env:K"}}
deployments:
  - {id: a1, model: one, upstream_model: up, connection: a, weight: 3}
  - {id: a2, model: two, upstream_model: up, connection: a, protocol: responses}
  - {id: a3, model: three, upstream_model: other, connection: a}
  - {id: b1, model: one, upstream_model: up, connection: b}
  - {id: c1, model: four, upstream_model: up, connection: anthropic}
groups: [{name: all, members: [one, two]}]
keys:
  - {id: free, key_sha256: a97ffab5cd3331858e03076328705ababa22813218d8511eb09bbbce51d39ff8}
  - {id: tied, key_sha256: f84a63f6ce6b3896d70cb6f376d1fb8d194794e28bf7fba028d23aced4bc36a5, models: [one, all]}
`)
	for _, row := range []struct {
		caller, name, model, protocol string
		want                          []string
		known                         bool
	}{
		{"free", "a", "up", "responses", []string{"a2"}, true},
		{"free", "a", "up", "messages", []string{"a1", "a2"}, true},
		{"free", "openai", "up", "chat", []string{"a1", "b1", "c1"}, true},
		{"free", "anthropic", "up", "", []string{"c1"}, true}, // the connection, not the provider
		{"free", "a", "one", "", nil, true},                   // the public name is not the upstream's
		{"free", "a", "", "", []string{"a1", "a2", "a3"}, true},
		{"free", "idle", "up", "", nil, true},
		{"free", "xai", "up", "", nil, false},
		{"free", "none", "", "", nil, false},
		{"tied", "a", "up", "", []string{"a1"}, true}, // the group does not open its members by themselves
		{"tied", "a", "other", "", nil, true},
		{"tied", "a", "", "", nil, true},
		{"tied", "b", "", "", []string{"b1"}, true},
		{"tied", "openai", "", "", nil, true},
	} {
		caller := c.Caller(row.caller)
		pool, known := c.Native(caller, row.name, row.model, row.protocol)
		var got []string
		if pool != nil {
			for i, target := range pool.Deployments {
				got = append(got, target.ID)
				if at, found := pool.Position(target.ID); !found || at != i || caller.Policy.Split(pool).Weights[i] != target.Weight {
					t.Errorf("%+v: %s has no place", row, target.ID)
				}
			}
			if !caller.Unrestricted().MayUse(pool) || row.caller == "tied" && caller.MayUse(c.Pool("two")) {
				t.Errorf("%+v: rights", row)
			}
		}
		if !slices.Equal(got, row.want) || known != row.known {
			t.Errorf("%+v: %v %v", row, got, known)
		}
	}
}
