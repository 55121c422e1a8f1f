package catalog

import "time"

// Policy is a compiled template: the complete set of routing rules in force for
// a caller. The zero Template is the built-in defaults.
type Policy struct {
	Template         string
	Strategy         string // weighted, cost, latency, usage, round_robin
	MaxAttempts      int    // on one deployment, the first included; at least 1
	AllowedFails     int    // failures in a minute that cool a deployment; at least 1
	Cooldown         time.Duration
	DisableFallbacks bool
	CacheAnswers     bool          // the exact-match response cache
	CacheAnswersTTL  time.Duration // how long an answer is kept

	off       bool // affinity is off for everybody
	affinity  Stickiness
	strategy  Source // where Strategy comes from
	splits    map[*Pool]Split
	fallbacks [classes]map[*Pool][]*Pool
}

// Source says which rule, or which level of a caller, decided.
type Source string

// The levels of a caller, and the rules, from the most to the least exact.
const (
	FromKey          Source = "key"
	FromTeam         Source = "team"
	FromOrganization Source = "organization"
	FromPlatform     Source = "platform"
	FromModelRule    Source = "model_rule"
	FromGroupRule    Source = "group_rule"
	FromTemplate     Source = "template"
	FromGroup        Source = "group"
	FromModel        Source = "model"
	FromDeployments  Source = "deployments"
	FromDefault      Source = "default"
)

// Split is how traffic is shared out over a pool.
type Split struct {
	Strategy     string
	StrategyFrom Source
	Weights      []float64 // of Pool.Deployments, by position; 0 excludes
	WeightsFrom  Source
}

// Class is a class of failure that has its own fallback chain.
type Class int

// The classes of failure.
const (
	General       Class = iota // everything retryable that has no chain of its own
	ContextWindow              // the prompt is too long for the model
	ContentPolicy              // the upstream refused the content

	classes = 3
)

// Split is the strategy and the weights in force for a pool.
//
// A model's weights are those of its exact rule in the template, else its own,
// else its deployments'. A group uses its own, from its rule or its entry, and
// never its members' defaults. A table that is empty means equal shares; a
// deployment that a table does not list weighs 1, unless its own weight is 0.
func (p *Policy) Split(pool *Pool) Split {
	if split, ok := p.splits[pool]; ok {
		return split
	}
	split := pool.base
	if split.Strategy == "" {
		split.Strategy, split.StrategyFrom = p.Strategy, p.strategy
	}
	return split
}

// Fallbacks are the models and groups to try, in order, when all of source has
// failed by that class. It is empty when the policy forbids leaving the model.
func (p *Policy) Fallbacks(class Class, source *Pool) []*Pool {
	if p.DisableFallbacks {
		return nil
	}
	if chain, ok := p.fallbacks[class][source]; ok {
		return chain
	}
	return source.fallbacks[class]
}

// Affinity is the stickiness in force for a pool, never unset: a group's own
// overrides the template's, and NotSticky rules where affinity or session
// identification is switched off.
func (p *Policy) Affinity(pool *Pool) Stickiness {
	switch {
	case p.off:
		return NotSticky
	case pool.affinity != StickinessUnset:
		return pool.affinity
	case p.affinity != StickinessUnset:
		return p.affinity
	}
	return Sticky
}
