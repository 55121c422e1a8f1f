package catalog

import (
	"crypto/subtle"
	"regexp"
	"time"
)

// Catalog is a valid document compiled for look-ups. It never changes, so any
// number of goroutines may share it, and nothing that it returns may be
// written to. Look-ups do not allocate.
type Catalog struct {
	revision   string
	session    Session
	affinity   Affinity
	ledger     Ledger
	accounts   map[string]*Account
	targets    map[string]*Target
	pools      map[string]*Pool // by configured name and by alias
	public     []*Pool          // models, then groups, in document order
	policies   map[string]*Policy
	platform   *Policy // of callers who have no other
	platformBy Source
	guards     []Guard
	orgs       map[string]Organization
	teams      map[string]Team
	callers    []*Caller
	keys       []Key // of the document, without what proves them
	byID       map[string]*Caller
	bySum      map[[8]byte][]*Caller
}

// Account is a connection with its defaults filled in.
type Account struct {
	ID                  string
	Provider            string
	Preset              Preset
	BaseURL             string            // without a trailing slash; what the document or the preset says
	AuthType            string            // bearer, x-api-key, api-key, sigv4, none
	Keys                []string          // references or literals, in the document's order; empty for sigv4 and none
	StickyKeys          bool              // a session keeps its key
	Boundary            string            // within which account-bound ids and ciphertext stay valid
	Headers             map[string]string // fixed extra headers, names as written
	AllowPrivateNetwork bool
	Hints               bool // tell the provider the session in its own way
}

// Target is a deployment with its defaults filled in.
type Target struct {
	ID            string
	Model         string // the public model that it serves
	UpstreamModel string
	Account       *Account
	BaseURL       string // Account.BaseURL, or the preset's own address for this protocol
	Protocol      string // chat, responses, messages
	Enabled       bool
	Weight        float64 // the default share; 0 excludes
	Limits        Limits  // 0: none
	Timeout       time.Duration
	TimeoutJSON   time.Duration
	IdleTimeout   time.Duration
	CacheTTL      time.Duration // of a preference on it; never 0
	Price         *Price        // nil: unknown
	ListPrice     string        // the date of the list that Price comes from; "" when the document gives it
	Usage         Usage         // how it counts cached tokens

	Stream, Tools, Images, Documents, JSONSchema bool
	Context                                      int // tokens; 0: unknown

	endpoints []string
}

// Serves reports whether the deployment takes requests of an endpoint.
func (t *Target) Serves(endpoint string) bool {
	for _, e := range t.endpoints {
		if e == endpoint {
			return true
		}
	}
	return false
}

// Endpoints are the endpoints that the deployment takes.
func (t *Target) Endpoints() []string { return t.endpoints }

// Pool is what a public name stands for: a model's deployments, or a group's.
type Pool struct {
	Name        string    // the configured name, whichever alias was asked for
	Aliases     []string  // of a model
	Members     []*Pool   // of a group: its models in order; nil for a model
	Deployments []*Target // in document order; a group's are its members' in turn

	position  map[string]int
	base      Split            // without any template
	fallbacks [classes][]*Pool // the model's or group's own
	affinity  Stickiness       // a group's own; unset for models
	groups    []*Pool          // of a model: the groups it is a member of
}

// Group reports whether the name stands for several models.
func (p *Pool) Group() bool { return p.Members != nil }

// Position is the index of a deployment in Deployments.
func (p *Pool) Position(deployment string) (int, bool) {
	i, ok := p.position[deployment]
	return i, ok
}

// Caller is a key with everything that follows from its place: what it may
// use, by which rules, within which limits.
type Caller struct {
	ID           string
	User         string
	Team         string
	Organization string
	UserPath     string // /organization/team/user, absent parts left out
	Enabled      bool
	Expires      time.Time // zero: never
	Policy       *Policy
	PolicySource Source
	Allowances   []Allowance // the key's, the team's, the organization's, in this order

	models map[string]bool // configured names; nil: all
	sum    [32]byte
}

// Allowance is what one level of a caller may use up.
type Allowance struct {
	Level  Source // key, team, organization
	ID     string
	Limits Limits  // 0: none
	Budget *Budget // nil: none
}

// MayUse reports whether organization, team and key all allow a public name.
// A group that is allowed brings its members, reached through it.
func (c *Caller) MayUse(pool *Pool) bool { return c.models == nil || c.models[pool.Name] }

// Expired reports whether the key had run out at a time.
func (c *Caller) Expired(now time.Time) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) }

// Guard is a compiled guardrail. Exactly one of Input and Output is set.
type Guard struct {
	Name          string
	Match         *regexp.Regexp // nil: the rule bounds the size
	MaxBytes      int            // of all text together, where Match is nil
	Input, Output bool
	Action        string // block, redact, log
}

// Revision is the revision of the document that was compiled.
func (c *Catalog) Revision() string { return c.revision }

// Session says how requests are told apart into conversations.
func (c *Catalog) Session() Session { return c.session }

// Affinity bounds what is remembered of a conversation.
func (c *Catalog) Affinity() Affinity { return c.affinity }

// Ledger says how long usage is kept.
func (c *Catalog) Ledger() Ledger { return c.ledger }

// Connection is the provider account of that id, nil when there is none.
func (c *Catalog) Connection(id string) *Account { return c.accounts[id] }

// Deployment is the deployment of that id, nil when there is none: it was
// deleted, or never was.
func (c *Catalog) Deployment(id string) *Target { return c.targets[id] }

// Pool is what a public name or alias stands for, nil when nothing has it.
func (c *Catalog) Pool(name string) *Pool { return c.pools[name] }

// Public are all models, then all groups, in document order.
func (c *Catalog) Public() []*Pool { return c.public }

// Models are the models and groups that a caller may use, in document order.
func (c *Catalog) Models(caller *Caller) []*Pool {
	var allowed []*Pool
	for _, pool := range c.public {
		if caller.MayUse(pool) {
			allowed = append(allowed, pool)
		}
	}
	return allowed
}

// Template is a template's policy, nil when there is none of that id.
func (c *Catalog) Template(id string) *Policy { return c.policies[id] }

// Guards are the guardrails in order.
func (c *Catalog) Guards() []Guard { return c.guards }

// Callers are the keys of the document, in its order.
func (c *Catalog) Callers() []*Caller { return c.callers }

// Keys are the keys of the document as they are written there, in its order,
// without what proves them: Key and KeySHA256 are empty. One whose secret is not
// known here is among them.
func (c *Catalog) Keys() []Key { return c.keys }

// Caller is the document's key of that id, nil when there is none.
func (c *Catalog) Caller(id string) *Caller { return c.byID[id] }

// CallerBySHA256 is the document's key whose secret has that SHA-256, nil when
// there is none. Disabled and expired keys are found too; whoever asks refuses
// them. The comparison takes the same time whatever the rest of the sum is.
func (c *Catalog) CallerBySHA256(sum [32]byte) *Caller {
	var found *Caller
	for _, caller := range c.bySum[[8]byte(sum[:8])] {
		if subtle.ConstantTimeCompare(caller.sum[:], sum[:]) == 1 {
			found = caller
		}
	}
	return found
}
