package catalog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

// TestSplit holds the rules of weights and strategies, one a row. Deployments of
// gpt weigh 3, 2 and 0 by themselves, that of claude 5.
func TestSplit(t *testing.T) {
	for _, row := range []struct {
		name, doc, ask string
		weights        []float64
		weightsFrom    catalog.Source
		strategy       string
		strategyFrom   catalog.Source
	}{
		{"a model without explicit weights inherits deployment weights", "", "gpt",
			[]float64{3, 2, 0}, catalog.FromDeployments, "weighted", catalog.FromDefault},
		{"a model's own weights; unlisted weighs 1, unless its own weight is 0", "models: [{name: gpt, weights: {gpt-a: 7}}]", "gpt",
			[]float64{7, 1, 0}, catalog.FromModel, "weighted", catalog.FromDefault},
		{"a listed deployment weighs what the table says, even from 0", "models: [{name: gpt, weights: {gpt-z: 4}}]", "gpt",
			[]float64{1, 1, 4}, catalog.FromModel, "weighted", catalog.FromDefault},
		{"an explicit empty map is equal weights", "models: [{name: gpt, weights: {}}]", "gpt",
			[]float64{1, 1, 0}, catalog.FromModel, "weighted", catalog.FromDefault},
		{"weight 0 excludes", "models: [{name: gpt, weights: {gpt-b: 0}}]", "gpt",
			[]float64{1, 0, 0}, catalog.FromModel, "weighted", catalog.FromDefault},
		{"an alias has the rules of its model", "models: [{name: gpt, aliases: [g], weights: {gpt-a: 7}}]", "g",
			[]float64{7, 1, 0}, catalog.FromModel, "weighted", catalog.FromDefault},
		{"an exact rule beats the model's own weights", "models: [{name: gpt, weights: {gpt-a: 7}}]\ntemplates: [{id: t, model_rules: {gpt: {weights: {gpt-b: 9}}}}]\nplatform: {template: t}", "gpt",
			[]float64{1, 9, 0}, catalog.FromModelRule, "weighted", catalog.FromDefault},
		{"a rule may be written for an alias", "models: [{name: gpt, aliases: [g]}]\ntemplates: [{id: t, model_rules: {g: {strategy: cost}}}]\nplatform: {template: t}", "gpt",
			[]float64{3, 2, 0}, catalog.FromDeployments, "cost", catalog.FromModelRule},
		{"a rule with an empty map makes shares equal", "templates: [{id: t, model_rules: {gpt: {weights: {}}}}]\nplatform: {template: t}", "gpt",
			[]float64{1, 1, 0}, catalog.FromModelRule, "weighted", catalog.FromDefault},
		{"a rule of strategy alone leaves the weights", "models: [{name: gpt, weights: {gpt-a: 7}}]\ntemplates: [{id: t, strategy: latency, model_rules: {gpt: {strategy: cost}}}]\nplatform: {template: t}", "gpt",
			[]float64{7, 1, 0}, catalog.FromModel, "cost", catalog.FromModelRule},
		{"the template's strategy", "templates: [{id: t, strategy: latency}]\nplatform: {template: t}", "gpt",
			[]float64{3, 2, 0}, catalog.FromDeployments, "latency", catalog.FromTemplate},
		{"a group does not stack its members' defaults", "models: [{name: gpt, weights: {gpt-a: 7}}]\ngroups: [{name: smart, members: [gpt, claude]}]", "smart",
			[]float64{1, 1, 0, 1}, catalog.FromGroup, "weighted", catalog.FromDefault},
		{"a group uses its own weights", "groups: [{name: smart, members: [gpt, claude], weights: {gpt-a: 3, claude-c: 2}}]", "smart",
			[]float64{3, 1, 0, 2}, catalog.FromGroup, "weighted", catalog.FromDefault},
		{"a group's own strategy beats the template's", "groups: [{name: smart, members: [gpt, claude], strategy: usage}]\ntemplates: [{id: t, strategy: latency}]\nplatform: {template: t}", "smart",
			[]float64{1, 1, 0, 1}, catalog.FromGroup, "usage", catalog.FromGroup},
		{"a group rule beats the group's own entry", "groups: [{name: smart, members: [gpt, claude], strategy: usage, weights: {gpt-a: 3}}]\ntemplates: [{id: t, group_rules: {smart: {strategy: round_robin, weights: {claude-c: 8}}}}]\nplatform: {template: t}", "smart",
			[]float64{1, 1, 0, 8}, catalog.FromGroupRule, "round_robin", catalog.FromGroupRule},
		{"a member inherits the group rule's strategy and keeps its own deployments and weights", "groups: [{name: smart, members: [gpt, claude]}]\ntemplates: [{id: t, strategy: latency, group_rules: {smart: {strategy: cost, weights: {gpt-a: 9}}}}]\nplatform: {template: t}", "gpt",
			[]float64{3, 2, 0}, catalog.FromDeployments, "cost", catalog.FromGroupRule},
		{"an exact model rule beats a group rule", "groups: [{name: smart, members: [gpt, claude]}]\ntemplates: [{id: t, model_rules: {gpt: {strategy: usage}}, group_rules: {smart: {strategy: cost}}}]\nplatform: {template: t}", "gpt",
			[]float64{3, 2, 0}, catalog.FromDeployments, "usage", catalog.FromModelRule},
		{"an exact model rule says nothing of the group", "groups: [{name: smart, members: [gpt, claude]}]\ntemplates: [{id: t, model_rules: {gpt: {strategy: usage, weights: {gpt-a: 9}}}}]\nplatform: {template: t}", "smart",
			[]float64{1, 1, 0, 1}, catalog.FromGroup, "weighted", catalog.FromDefault},
		{"a group's own strategy is not its members' when they are asked for", "groups: [{name: smart, members: [gpt, claude], strategy: usage}]", "claude",
			[]float64{5}, catalog.FromDeployments, "weighted", catalog.FromDefault},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := compile(t, pool+row.doc+"\nkeys: [{id: k, key_sha256: "+sum('1')+"}]\n")
			p := c.Pool(row.ask)
			got := c.Caller("k").Policy.Split(p)
			want := catalog.Split{Strategy: row.strategy, StrategyFrom: row.strategyFrom, Weights: row.weights, WeightsFrom: row.weightsFrom}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("split of %s (-want +got):\n%s", row.ask, diff)
			}
			if len(got.Weights) != len(p.Deployments) {
				t.Errorf("%d weights for %d deployments", len(got.Weights), len(p.Deployments))
			}
		})
	}
}

func TestFallbacks(t *testing.T) {
	doc := pool + `
models:
  - {name: gpt, aliases: [g], fallbacks: [claude, smart], context_window_fallbacks: [mini]}
groups:
  - {name: smart, members: [gpt, mini], fallbacks: [claude], content_policy_fallbacks: [mini]}
templates:
  - {id: none}
  - {id: empty, fallbacks: {}}
  - {id: own, fallbacks: {g: [mini]}, content_policy_fallbacks: {gpt: [claude]}}
  - {id: off, fallbacks: {gpt: []}, context_window_fallbacks: {smart: []}}
  - {id: disabled, disable_fallbacks: true}
`
	c := compile(t, doc)
	for _, row := range []struct {
		template, source string
		class            catalog.Class
		want             []string
	}{
		{"none", "gpt", catalog.General, []string{"claude", "smart"}},
		{"none", "gpt", catalog.ContextWindow, []string{"mini"}},
		{"none", "gpt", catalog.ContentPolicy, []string{}},
		{"none", "claude", catalog.General, []string{}},
		{"none", "smart", catalog.General, []string{"claude"}},
		{"none", "smart", catalog.ContentPolicy, []string{"mini"}},
		{"empty", "gpt", catalog.General, []string{"claude", "smart"}},
		{"own", "gpt", catalog.General, []string{"mini"}},
		{"own", "gpt", catalog.ContextWindow, []string{"mini"}},
		{"own", "gpt", catalog.ContentPolicy, []string{"claude"}},
		{"own", "smart", catalog.General, []string{"claude"}},
		{"off", "gpt", catalog.General, []string{}},
		{"off", "gpt", catalog.ContextWindow, []string{"mini"}},
		{"disabled", "gpt", catalog.General, []string{}},
		{"disabled", "gpt", catalog.ContextWindow, []string{}},
	} {
		got := names(c.Template(row.template).Fallbacks(row.class, c.Pool(row.source)))
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("template %s, source %s, class %d (-want +got):\n%s", row.template, row.source, row.class, diff)
		}
	}
}

func TestAffinity(t *testing.T) {
	const groups = `
groups:
  - {name: plain, members: [gpt]}
  - {name: loose, members: [gpt], session_affinity: false}
  - {name: tight, members: [gpt], session_affinity: strict}
  - {name: "on", members: [gpt], session_affinity: true}
templates:
  - {id: t, session_affinity: %}
platform: {template: t}
keys: [{id: k, key_sha256: "` + "0000000000000000000000000000000000000000000000000000000000000001" + `"}]
`
	for _, row := range []struct {
		template, switches string
		want               map[string]catalog.Stickiness
	}{
		{"true", "", map[string]catalog.Stickiness{"gpt": "true", "plain": "true", "loose": "false", "tight": "strict", "on": "true"}},
		{"null", "", map[string]catalog.Stickiness{"gpt": "true", "plain": "true", "loose": "false", "tight": "strict", "on": "true"}},
		{"false", "", map[string]catalog.Stickiness{"gpt": "false", "plain": "false", "loose": "false", "tight": "strict", "on": "true"}},
		{"strict", "", map[string]catalog.Stickiness{"gpt": "strict", "plain": "strict", "loose": "false", "tight": "strict", "on": "true"}},
		{"strict", "affinity: {enabled: false}\n", map[string]catalog.Stickiness{"gpt": "false", "tight": "false", "on": "false"}},
		{"strict", "session: {enabled: false}\n", map[string]catalog.Stickiness{"gpt": "false", "tight": "false"}},
	} {
		c := compile(t, pool+row.switches+replace(groups, "%", row.template))
		for name, want := range row.want {
			if got := c.Caller("k").Policy.Affinity(c.Pool(name)); got != want {
				t.Errorf("template %s, %s%s: %s, want %s", row.template, row.switches, name, got, want)
			}
		}
	}
}

func TestPolicyDefaults(t *testing.T) {
	c := compile(t, pool+`
templates:
  - {id: bare}
  - {id: said, strategy: usage, retry_policy: {max_attempts: 5}, allowed_fails: 7, cooldown: 0, disable_fallbacks: true, response_cache: {enabled: true, ttl: 1m}}
keys: [{id: k, key_sha256: `+sum('1')+`}]
`)
	type seen struct {
		Template, Strategy  string
		MaxAttempts, Fails  int
		Cooldown, CacheTTL  time.Duration
		NoFallbacks, Caches bool
	}
	see := func(p *catalog.Policy) seen {
		return seen{p.Template, p.Strategy, p.MaxAttempts, p.AllowedFails, p.Cooldown, p.CacheAnswersTTL, p.DisableFallbacks, p.CacheAnswers}
	}
	for name, row := range map[string]struct {
		got  *catalog.Policy
		want seen
	}{
		"built in": {c.Caller("k").Policy, seen{"", "weighted", 2, 3, time.Minute, 10 * time.Minute, false, false}},
		"bare":     {c.Template("bare"), seen{"bare", "weighted", 2, 3, time.Minute, 10 * time.Minute, false, false}},
		"said":     {c.Template("said"), seen{"said", "usage", 5, 7, 0, time.Minute, true, true}},
	} {
		if diff := cmp.Diff(row.want, see(row.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
