package routing

import (
	"math"
	"slices"
	"time"

	"holdfast/routing/catalog"
)

// Explanation is a decision's reasoning as data, as the admin API shows it.
type Explanation struct {
	Model          string         `json:"model"`
	Template       string         `json:"template"`
	TemplateSource catalog.Source `json:"template_source"` // the level of the caller that named it
	Strategy       string         `json:"strategy"`
	StrategySource catalog.Source `json:"strategy_source"` // the rule that set it
	WeightsSource  catalog.Source `json:"weights_source"`
	Affinity       string         `json:"session_affinity"` // true, false or strict
	Preference     *Preference    `json:"preference"`       // null: the session has none
	Spilled        bool           `json:"spilled,omitempty"`
	Refusal        Code           `json:"refusal,omitempty"` // when nobody may serve
	Candidates     []Considered   `json:"candidates"`
}

// Preference is what became of the session's preference, or of the owner of
// what is continued.
type Preference struct {
	Deployment string `json:"deployment"`
	Required   bool   `json:"required,omitempty"`
	Kept       bool   `json:"kept"`
	Reason     Reason `json:"reason,omitempty"`
}

// Considered is one deployment that was looked at.
type Considered struct {
	Deployment string   `json:"deployment"`
	Model      string   `json:"model,omitempty"`
	Pool       string   `json:"pool,omitempty"`
	Path       []string `json:"path,omitempty"`
	Chain      string   `json:"chain,omitempty"` // the class of failure that leads to it; empty: any
	Kept       bool     `json:"kept"`
	Reason     Reason   `json:"reason"`         // empty when kept
	Rank       int      `json:"rank"`           // from 1 within its chain; 0 when not kept
	Until      int64    `json:"until,omitzero"` // when a transient reason passes, Unix seconds
	Scores     *Scores  `json:"scores"`         // null: it was not rated
}

// Scores are what the strategy looks at. Those that are unknown are left out.
type Scores struct {
	Weight    float64  `json:"weight"`
	Share     float64  `json:"rendezvous"`
	USD       *float64 `json:"usd,omitempty"` // of the expected tokens
	LatencyMS float64  `json:"latency_ms,omitzero"`
	Tokens    int      `json:"tokens_this_minute,omitzero"`
}

// The names of the chains in Considered.Chain.
const (
	GeneralChain = "fallbacks"
	ContextChain = "context_window_fallbacks"
	ContentChain = "content_policy_fallbacks"
)

// Explain says how the decision came about: every deployment of the requested
// pool, of the preference, and of the chains, kept or skipped, in the order in
// which a run that meets nothing but transient failures would come to them. It
// looks again at the request as it was, so it is as good after the exchange as
// before, and an exchange that nobody asks about does not pay for it.
func (d *Decision) Explain() Explanation { return d.explain(true) }

// Reasons is Explain without what the strategy looks at: less work, for those who
// ask after every exchange.
func (d *Decision) Reasons() Explanation { return d.explain(false) }

func (d *Decision) explain(scores bool) Explanation {
	if d.policy == nil {
		return Explanation{Refusal: d.refusal.Code, Candidates: []Considered{}}
	}
	split := d.policy.Split(d.r.Pool)
	e := Explanation{
		Model: d.r.Pool.Name, Template: d.policy.Template, TemplateSource: d.r.Caller.PolicySource,
		Strategy: split.Strategy, StrategySource: split.StrategyFrom, WeightsSource: split.WeightsFrom,
		Affinity: string(d.policy.Affinity(d.r.Pool)), Preference: d.preference(), Spilled: d.spilled,
	}
	x := explainer{d: d, now: d.r.Now, scores: scores}
	x.pin()
	if d.r.Owner == nil {
		x.pool(hop{pool: d.r.Pool}, "")
		x.chain(catalog.General, GeneralChain)
		x.chain(catalog.ContextWindow, ContextChain)
		x.chain(catalog.ContentPolicy, ContentChain)
	}
	e.Candidates = x.rows
	if !slices.ContainsFunc(x.rows, func(c Considered) bool { return c.Kept }) {
		e.Refusal = d.verdictOfAll()
	}
	return e
}

// verdictOfAll is the refusal of a run that finds nobody.
func (d *Decision) verdictOfAll() Code {
	_, step := d.Start(d.r.Now)
	return step.Refusal.Code
}

func (d *Decision) preference() *Preference {
	p := Preference{Deployment: d.r.Pin.Deployment, Kept: d.pin.Target != nil, Reason: d.why}
	switch {
	case d.r.Owner != nil:
		p.Deployment, p.Required = d.r.Owner.Deployment, true
	case p.Deployment == "":
		return nil
	}
	return &p
}

// explainer gathers rows.
type explainer struct {
	d      *Decision
	now    time.Time
	scores bool
	rows   []Considered
	rank   int
	seen   []*catalog.Pool
	queue  []hop
}

// pin is the first row, when it is not one of the requested pool.
func (x *explainer) pin() {
	d := x.d
	switch c := d.pin; {
	case c.Target != nil:
		x.rank++
		pool := d.r.Pool // one that is not in the catalog, or the one it is reached through
		if named := d.r.Catalog.Pool(c.Pool); named != nil {
			pool = named
		}
		weight, _ := d.weightIn(pool, c.Target.ID)
		x.rows = append(x.rows, Considered{
			Deployment: c.Target.ID, Model: c.Target.Model, Pool: c.Pool, Path: c.Path, Kept: true, Rank: x.rank,
			Scores: x.scored(c.Target, weight),
		})
	case d.r.Owner != nil:
		x.rows = append(x.rows, Considered{Deployment: d.r.Owner.Deployment, Reason: d.why})
	case d.why != "":
		if _, member := d.r.Pool.Position(d.r.Pin.Deployment); !member {
			x.rows = append(x.rows, Considered{Deployment: d.r.Pin.Deployment, Pool: d.r.Pin.Pool, Path: d.r.Pin.Path, Reason: d.why})
		}
	}
}

// pool adds the rows of one pool: those that are kept by rank, then the rest.
func (x *explainer) pool(h hop, chain string) {
	d := x.d
	x.seen = append(x.seen, h.pool)
	var kept ranking
	d.rank(&kept, x.now, h.pool)
	weights := d.policy.Split(h.pool).Weights
	row := func(t *catalog.Target, position int) Considered {
		return Considered{
			Deployment: t.ID, Model: t.Model, Pool: h.pool.Name, Path: h.path, Chain: chain,
			Scores: x.scored(t, weights[position]),
		}
	}
	for _, k := range kept.list() {
		if x.listed(k.target.ID, chain) {
			continue
		}
		x.rank++
		c := row(k.target, k.position)
		c.Kept, c.Rank = true, x.rank
		x.rows = append(x.rows, c)
	}
	for i, t := range h.pool.Deployments {
		if x.listed(t.ID, chain) {
			continue
		}
		v := d.eligible(x.now, question{target: t, pool: h.pool, weight: weights[i]})
		c := row(t, i)
		c.Reason = v.reason
		if !v.reset.IsZero() {
			c.Until = v.reset.Unix()
		}
		x.rows = append(x.rows, c)
	}
}

// listed reports whether a row for the deployment stands already: the pin's,
// which every chain comes after, or one of the same chain.
func (x *explainer) listed(deployment, chain string) bool {
	return slices.ContainsFunc(x.rows, func(c Considered) bool {
		return c.Deployment == deployment && (c.Chain == chain || c.Chain == "")
	})
}

// chain adds the rows of the pools that one class of failure leads to. Ranks
// of the general chain go on from the requested pool's; the others begin anew,
// since they are entered at once.
func (x *explainer) chain(class catalog.Class, name string) {
	if class != catalog.General {
		x.rank = 0
	}
	x.seen = x.seen[:1]
	x.queue = x.d.reach(class, x.d.r.Pool, nil)
	for len(x.queue) > 0 {
		next := x.queue[0]
		x.queue = x.queue[1:]
		if slices.Contains(x.seen, next.pool) {
			continue
		}
		x.pool(next, name)
		x.queue = append(x.queue, x.d.reach(class, next.pool, next.path)...)
	}
}

// reach are the hops of a pool's chain and, of a group, of its members' chains.
func (d *Decision) reach(class catalog.Class, pool *catalog.Pool, path []string) []hop {
	hops := d.hops(class, pool, path)
	for _, member := range pool.Members {
		hops = append(hops, d.hops(class, member, extend(path, pool.Name))...)
	}
	return hops
}

func (x *explainer) scored(t *catalog.Target, weight float64) *Scores {
	d := x.d
	if !x.scores {
		return nil
	}
	c := d.condition(t.ID)
	s := &Scores{
		Weight: weight, Share: round(rendezvous(d.r.Seed, t.ID, weight)),
		LatencyMS: float64(c.Latency) / float64(time.Millisecond), Tokens: c.Tokens,
	}
	if usd := d.cost(t); !math.IsInf(usd, 1) {
		s.USD = &usd
	}
	return s
}

// round drops digits in which processors differ.
func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }
