package catalog

import "time"

// What a template that says nothing means, and the rules of whoever has none.
const (
	DefaultStrategy     = Weighted
	DefaultMaxAttempts  = 2
	DefaultAllowedFails = 3
	DefaultCooldown     = 60 * time.Second
	DefaultCacheTTL     = 10 * time.Minute // of the response cache
)

// addPolicies compiles the templates and settles whose rules apply to callers
// without one.
func (c *Catalog) addPolicies(doc *Document) {
	off := !doc.Affinity.Enabled || !doc.Session.Enabled
	for i := range doc.Templates {
		t := &doc.Templates[i]
		policy := newPolicy(t, off)
		c.addSplits(policy, t)
		for class, table := range [classes]map[string][]string{
			General: t.Fallbacks, ContextWindow: t.ContextWindowFallbacks, ContentPolicy: t.ContentPolicyFallbacks,
		} {
			policy.fallbacks[class] = map[*Pool][]*Pool{}
			for source, targets := range table {
				policy.fallbacks[class][c.pools[source]] = c.chain(targets)
			}
		}
		c.policies[t.ID] = policy
	}
	c.platform, c.platformBy = c.policies[doc.Platform.Template], FromPlatform
	if c.platform == nil {
		c.platform, c.platformBy = newPolicy(&Template{}, off), FromDefault
	}
}

// newPolicy is a template with its defaults filled in.
func newPolicy(t *Template, off bool) *Policy {
	p := &Policy{
		Template: t.ID, Strategy: DefaultStrategy, strategy: FromDefault,
		MaxAttempts:  or(t.RetryPolicy.MaxAttempts, DefaultMaxAttempts),
		AllowedFails: DefaultAllowedFails, Cooldown: DefaultCooldown,
		DisableFallbacks: t.DisableFallbacks, affinity: t.SessionAffinity, off: off,
		CacheAnswers: t.ResponseCache.Enabled, CacheAnswersTTL: or(time.Duration(t.ResponseCache.TTL), DefaultCacheTTL),
	}
	if t.Strategy != "" {
		p.Strategy, p.strategy = t.Strategy, FromTemplate
	}
	if t.AllowedFails != nil {
		p.AllowedFails = max(1, *t.AllowedFails)
	}
	if t.Cooldown != nil {
		p.Cooldown = time.Duration(*t.Cooldown)
	}
	return p
}

// addSplits works out the pools for which a template's rules differ from what
// the pool itself says.
func (c *Catalog) addSplits(p *Policy, t *Template) {
	models, groups := c.byPool(t.ModelRules), c.byPool(t.GroupRules)
	p.splits = map[*Pool]Split{}
	for _, pool := range c.public {
		split := pool.base
		split.override(models[pool], pool, FromModelRule)
		split.override(groups[pool], pool, FromGroupRule)
		split.inherit(pool, groups)
		if split.StrategyFrom == pool.base.StrategyFrom && split.WeightsFrom == pool.base.WeightsFrom {
			continue
		}
		if split.Strategy == "" {
			split.Strategy, split.StrategyFrom = p.Strategy, p.strategy
		}
		p.splits[pool] = split
	}
}

// byPool finds the pools that rules are written for, by name or alias.
func (c *Catalog) byPool(rules map[string]Rule) map[*Pool]Rule {
	byPool := make(map[*Pool]Rule, len(rules))
	for name, rule := range rules {
		byPool[c.pools[name]] = rule
	}
	return byPool
}

// override takes over what a rule says; what it does not say stays.
func (s *Split) override(rule Rule, pool *Pool, from Source) {
	if rule.Strategy != "" {
		s.Strategy, s.StrategyFrom = rule.Strategy, from
	}
	if rule.Weights != nil {
		s.Weights, s.WeightsFrom = pool.weigh(rule.Weights), from
	}
}

// inherit gives a model that no exact rule orders the strategy of the first
// group that it is a member of and that has a rule. The strategy only: a model
// chooses among its own deployments, by its own weights.
func (s *Split) inherit(pool *Pool, groups map[*Pool]Rule) {
	for _, group := range pool.groups {
		if strategy := groups[group].Strategy; strategy != "" && s.Strategy == "" {
			s.Strategy, s.StrategyFrom = strategy, FromGroupRule
		}
	}
}
