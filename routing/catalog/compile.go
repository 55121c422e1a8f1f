package catalog

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// The waits of a deployment that sets none.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultTimeoutJSON = 600 * time.Second
	DefaultIdleTimeout = 120 * time.Second
)

// Compile makes a catalog of a document. A document that Validate refuses gives
// a nil catalog. Secrets resolves the references of caller keys; a key that it
// cannot resolve is a problem, and is missing from the catalog, which stands
// nevertheless: whether to go on without that key is for the caller to decide.
// The document must not change afterwards.
func Compile(doc *Document, revision string, secrets Secrets) (*Catalog, []Problem) {
	found := problems{list: doc.Validate()}
	if HasErrors(found.list) {
		return nil, found.list
	}
	c := &Catalog{
		revision: revision, session: doc.Session, affinity: doc.Affinity, ledger: doc.Ledger,
		accounts: map[string]*Account{}, targets: map[string]*Target{}, pools: map[string]*Pool{},
		policies: map[string]*Policy{}, orgs: map[string]Organization{}, teams: map[string]Team{},
		byID: map[string]*Caller{}, bySum: map[[8]byte][]*Caller{},
	}
	c.addTargets(doc)
	c.addModels(doc)
	c.addGroups(doc)
	c.addFallbacks(doc)
	c.addPolicies(doc)
	c.addGuards(doc)
	c.addCallers(doc, secrets, &found)
	return c, found.list
}

func (c *Catalog) addTargets(doc *Document) {
	for i := range doc.Connections {
		account := newAccount(&doc.Connections[i])
		c.accounts[account.ID] = account
	}
	for i := range doc.Deployments {
		d := &doc.Deployments[i]
		c.targets[d.ID] = newTarget(d, c.accounts[d.Connection], time.Duration(doc.Affinity.TTL))
	}
}

// newAccount fills in what the preset knows.
func newAccount(c *Connection) *Account {
	preset, _ := LookupPreset(c.Provider)
	a := &Account{
		ID: c.ID, Provider: c.Provider, Preset: preset, AuthType: authType(c, preset),
		BaseURL: strings.TrimRight(c.BaseURL, "/"), Boundary: boundaryOf(c), Headers: c.Headers,
		StickyKeys: orTrue(c.Auth.SessionStickyKeys), Hints: orTrue(c.Hints),
		AllowPrivateNetwork: c.AllowPrivateNetwork,
	}
	if a.BaseURL == "" {
		a.BaseURL = preset.BaseURL
		// A preset that points at this machine would be of no use otherwise.
		u, _ := parseBaseURL(preset.BaseURL)
		a.AllowPrivateNetwork = a.AllowPrivateNetwork || u != nil && loopbackHost(u.Hostname())
	}
	if a.AuthType != AuthNone && a.AuthType != AuthSigV4 {
		a.Keys = c.Auth.Keys
		if c.Auth.Key != "" {
			a.Keys = []string{c.Auth.Key}
		}
	}
	return a
}

// newTarget fills in a deployment's defaults. Capabilities that are not told are
// assumed.
func newTarget(d *Deployment, account *Account, ttl time.Duration) *Target {
	t := &Target{
		ID: d.ID, Model: d.Model, UpstreamModel: or(d.UpstreamModel, d.Model),
		Account: account, BaseURL: account.BaseURL, Protocol: or(d.Protocol, account.Preset.Protocols[0]),
		Enabled: orTrue(d.Enabled), Weight: weightOf(d), Limits: d.Limits,
		Timeout:     or(time.Duration(d.Timeout), DefaultTimeout),
		TimeoutJSON: or(time.Duration(d.TimeoutJSON), DefaultTimeoutJSON),
		IdleTimeout: or(time.Duration(d.IdleTimeout), DefaultIdleTimeout),
		CacheTTL:    or(time.Duration(d.CacheTTL), ttl),
		Stream:      orTrue(d.Capabilities.Stream), Tools: orTrue(d.Capabilities.Tools),
		Images: orTrue(d.Capabilities.Images), Documents: orTrue(d.Capabilities.Documents),
		JSONSchema: orTrue(d.Capabilities.JSONSchema), Context: d.Capabilities.Context,
		endpoints: d.Endpoints,
	}
	t.Usage = account.Preset.Usage
	if t.Protocol == Messages {
		t.Usage = UsageOutside
		if own := account.Preset.MessagesBaseURL; own != "" && account.BaseURL == account.Preset.BaseURL {
			t.BaseURL = own
		}
	}
	if len(t.endpoints) == 0 {
		t.endpoints = []string{Chat, Responses, Messages}
	}
	if d.Price != nil {
		t.Price = d.Price.price()
	} else {
		t.Price, t.ListPrice = listPrice(account.Provider, t.UpstreamModel)
	}
	return t
}

// or is value, or otherwise where value was left out.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func orTrue(value *bool) bool { return value == nil || *value }

func weightOf(d *Deployment) float64 {
	if d.Weight == nil {
		return 1
	}
	return *d.Weight
}

// addModels makes a pool of the deployments of each public model, in the order
// in which the document first names them.
func (c *Catalog) addModels(doc *Document) {
	for i := range doc.Deployments {
		d := &doc.Deployments[i]
		pool := c.pools[d.Model]
		if pool == nil {
			pool = &Pool{Name: d.Model, position: map[string]int{}}
			c.pools[d.Model] = pool
			c.public = append(c.public, pool)
		}
		pool.add(c.targets[d.ID])
	}
	for _, pool := range c.public {
		pool.base = Split{Weights: make([]float64, len(pool.Deployments)), WeightsFrom: FromDeployments}
		for i, target := range pool.Deployments {
			pool.base.Weights[i] = target.Weight
		}
	}
	for _, m := range doc.Models {
		pool := c.pools[m.Name]
		pool.Aliases = m.Aliases
		for _, alias := range m.Aliases {
			c.pools[alias] = pool
		}
		if m.Weights != nil {
			pool.base.Weights, pool.base.WeightsFrom = pool.weigh(m.Weights), FromModel
		}
	}
}

// add keeps positions in step with deployments.
func (p *Pool) add(target *Target) {
	p.position[target.ID] = len(p.Deployments)
	p.Deployments = append(p.Deployments, target)
}

// weigh shares out a pool by a table. A deployment that the table leaves out
// weighs 1, unless its own weight of 0 excludes it.
func (p *Pool) weigh(table map[string]float64) []float64 {
	weights := make([]float64, len(p.Deployments))
	for i, target := range p.Deployments {
		weight, listed := table[target.ID]
		switch {
		case listed:
			weights[i] = weight
		case target.Weight != 0:
			weights[i] = 1
		}
	}
	return weights
}

// addGroups makes a pool of the deployments of each group's members, in turn.
func (c *Catalog) addGroups(doc *Document) {
	for i := range doc.Groups {
		g := &doc.Groups[i]
		pool := &Pool{Name: g.Name, position: map[string]int{}, affinity: g.SessionAffinity}
		for _, member := range g.Members {
			model := c.pools[member]
			model.groups = append(model.groups, pool)
			pool.Members = append(pool.Members, model)
			for _, target := range model.Deployments {
				pool.add(target)
			}
		}
		pool.base = Split{Weights: pool.weigh(g.Weights), WeightsFrom: FromGroup}
		if g.Strategy != "" {
			pool.base.Strategy, pool.base.StrategyFrom = g.Strategy, FromGroup
		}
		c.public = append(c.public, pool)
	}
	for _, pool := range c.public { // last, so that no group could become a member
		c.pools[pool.Name] = pool
	}
}

// addFallbacks resolves the chains of models and groups once all names exist.
func (c *Catalog) addFallbacks(doc *Document) {
	for _, m := range doc.Models {
		c.pools[m.Name].fallbacks = [classes][]*Pool{
			General: c.chain(m.Fallbacks), ContextWindow: c.chain(m.ContextWindowFallbacks), ContentPolicy: c.chain(m.ContentPolicyFallbacks),
		}
	}
	for _, g := range doc.Groups {
		c.pools[g.Name].fallbacks = [classes][]*Pool{
			General: c.chain(g.Fallbacks), ContextWindow: c.chain(g.ContextWindowFallbacks), ContentPolicy: c.chain(g.ContentPolicyFallbacks),
		}
	}
}

// chain resolves names; aliases lead to their models.
func (c *Catalog) chain(names []string) []*Pool {
	chain := make([]*Pool, 0, len(names))
	for _, name := range names {
		chain = append(chain, c.pools[name])
	}
	return chain
}

func (c *Catalog) addGuards(doc *Document) {
	for _, g := range doc.Guardrails {
		on := or(g.On, OnInput)
		guard := Guard{Name: g.Name, MaxBytes: g.MaxBytes, Action: g.Action, Input: on == OnInput, Output: on == OnOutput}
		if g.Match != "" {
			guard.Match = regexp.MustCompile(g.Match)
		}
		c.guards = append(c.guards, guard)
	}
}

// allowed is the set of configured names that a list permits; nil is all.
func (c *Catalog) allowed(models []string) map[string]bool {
	if models == nil || slices.Contains(models, everything) {
		return nil
	}
	set := map[string]bool{}
	for _, name := range models {
		if pool := c.pools[name]; pool != nil {
			set[pool.Name] = true
		}
	}
	return set
}
