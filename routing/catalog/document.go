// Package catalog is the configuration document: connections, deployments,
// models, groups, templates, callers and prices.
//
// A Document is what a file, the built-in demo, provider variables or the admin
// API say; it is strict: an unknown field, a wrong type, a dangling reference
// is a Problem that names its path. A Catalog is a valid Document compiled for
// look-ups; it never changes and is shared by all goroutines. A changed
// document is another Catalog.
//
// The package does no I/O: provider secrets stay references (env:, ssm:,
// secretsmanager:) and are resolved by whoever sends a request; those of callers
// are resolved by the function that Compile is given, and only their SHA-256 is
// kept. What is wrong is never an error value but a list of Problems, complete,
// in the order of the document; none repeats a secret.
package catalog

// Document is the whole configuration, field by field as an operator writes it.
// Where a zero stands for a value that was left out and would mean something else
// if it were written, the tag zero:"refused" has Parse refuse a written one.
type Document struct {
	Session       Session        `json:"session"`
	Affinity      Affinity       `json:"affinity"`
	Connections   []Connection   `json:"connections"`
	Deployments   []Deployment   `json:"deployments"`
	Models        []Model        `json:"models,omitzero"`
	Groups        []Group        `json:"groups,omitzero"`
	Templates     []Template     `json:"templates,omitzero"`
	Platform      Platform       `json:"platform,omitzero"`
	Organizations []Organization `json:"organizations,omitzero"`
	Teams         []Team         `json:"teams,omitzero"`
	Keys          []Key          `json:"keys,omitzero"`
	Guardrails    []Guardrail    `json:"guardrails,omitzero"`
	Ledger        Ledger         `json:"ledger"`
}

// Ledger says how long usage is kept.
type Ledger struct {
	Retention Duration `json:"retention"` // of events and sums; default 9600h, 400 days; 0 keeps for ever
}

// Session says how requests are told apart into conversations.
type Session struct {
	Enabled      bool            `json:"enabled"`       // default true
	AutoDetect   bool            `json:"auto_detect"`   // default true
	BuiltinRules bool            `json:"builtin_rules"` // default true
	Headers      []SessionHeader `json:"headers,omitzero"`
}

// SessionHeader is one more request header that carries a session id.
type SessionHeader struct {
	Header    string `json:"header"`
	Transform string `json:"transform,omitzero"` // "" or session-uuid
}

// Affinity bounds what is remembered of a conversation.
type Affinity struct {
	Enabled   bool     `json:"enabled"`   // default true
	TTL       Duration `json:"ttl"`       // default 1h
	Retention Duration `json:"retention"` // default 720h; 0 keeps for ever
	MaxWait   Duration `json:"max_wait"`  // default 2s
}

// Connection is one provider account.
type Connection struct {
	ID                  string            `json:"id"`
	Provider            string            `json:"provider"`
	BaseURL             string            `json:"base_url,omitzero"` // default: the provider preset's
	Auth                Auth              `json:"auth,omitzero"`
	Boundary            string            `json:"boundary,omitzero"` // default: ID
	Headers             map[string]string `json:"headers,omitzero"`
	AllowPrivateNetwork bool              `json:"allow_private_network,omitzero"`
	Hints               *bool             `json:"hints,omitzero"` // upstream identity hints; default true
}

// Auth is how a connection proves itself. Key and Keys are secret references
// (env:NAME, ssm:/path, secretsmanager:arn) or, warned about, literals.
type Auth struct {
	Type              string   `json:"type,omitzero"` // bearer, x-api-key, api-key, sigv4, none; default: the preset's
	Key               string   `json:"key,omitzero"`
	Keys              []string `json:"keys,omitzero"`
	SessionStickyKeys *bool    `json:"session_sticky_keys,omitzero"` // default true
}

// Deployment is one routable target.
type Deployment struct {
	ID            string       `json:"id"`
	Model         string       `json:"model"`
	UpstreamModel string       `json:"upstream_model,omitzero"` // default: Model
	Connection    string       `json:"connection"`
	Protocol      string       `json:"protocol"` // chat, responses, messages
	Endpoints     []string     `json:"endpoints,omitzero"`
	Capabilities  Capabilities `json:"capabilities,omitzero"`
	Weight        *float64     `json:"weight,omitzero"`  // default 1; 0 excludes
	Enabled       *bool        `json:"enabled,omitzero"` // default true
	Limits        Limits       `json:"limits,omitzero"`
	Timeout       Duration     `json:"timeout,omitzero" zero:"refused"`      // default 60s: first byte of a streamed attempt
	TimeoutJSON   Duration     `json:"timeout_json,omitzero" zero:"refused"` // default 600s: first byte of a JSON attempt
	IdleTimeout   Duration     `json:"idle_timeout,omitzero" zero:"refused"` // default 120s: between bytes
	CacheTTL      Duration     `json:"cache_ttl,omitzero"`                   // 0: affinity.ttl
	Price         *Rates       `json:"price,omitzero"`                       // nil: unknown
}

// Capabilities that are unset are assumed.
type Capabilities struct {
	Stream     *bool `json:"stream,omitzero"`
	Tools      *bool `json:"tools,omitzero"`
	Images     *bool `json:"images,omitzero"`
	Documents  *bool `json:"documents,omitzero"`
	JSONSchema *bool `json:"json_schema,omitzero"`
	Context    int   `json:"context,omitzero" zero:"refused"` // tokens; 0: unknown
}

// Limits are per minute, except concurrency; 0 is none.
type Limits struct {
	Concurrency int  `json:"concurrency,omitzero"` // of deployments
	RPM         int  `json:"rpm,omitzero"`
	TPM         int  `json:"tpm,omitzero"`
	Strict      bool `json:"strict,omitzero"` // of callers: reserved before the call, never overshot
}

// Rates are a deployment's price as it is written, in USD per million tokens. What
// the cache costs is what fresh input costs where it is left out, and nothing where
// it is written as 0; an hour's entry costs what a short one does in both cases.
type Rates struct {
	Input        float64  `json:"input"`
	CachedInput  *float64 `json:"cached_input,omitzero"`
	CacheWrite   *float64 `json:"cache_write,omitzero"`
	CacheWrite1h float64  `json:"cache_write_1h,omitzero"`
	Output       float64  `json:"output"`
}

// Model holds the defaults of one public model.
type Model struct {
	Name                   string             `json:"name"`
	Aliases                []string           `json:"aliases,omitzero"`
	Weights                map[string]float64 `json:"weights,omitzero"`
	Fallbacks              []string           `json:"fallbacks,omitzero"`
	ContextWindowFallbacks []string           `json:"context_window_fallbacks,omitzero"`
	ContentPolicyFallbacks []string           `json:"content_policy_fallbacks,omitzero"`
}

// Group is a public name that stands for several models.
type Group struct {
	Name                   string             `json:"name"`
	Members                []string           `json:"members"`
	Strategy               string             `json:"strategy,omitzero"`
	Weights                map[string]float64 `json:"weights,omitzero"`
	SessionAffinity        Stickiness         `json:"session_affinity,omitzero"`
	Fallbacks              []string           `json:"fallbacks,omitzero"`
	ContextWindowFallbacks []string           `json:"context_window_fallbacks,omitzero"`
	ContentPolicyFallbacks []string           `json:"content_policy_fallbacks,omitzero"`
}

// Template is the complete set of routing rules in force for a caller.
type Template struct {
	ID                     string              `json:"id"`
	Strategy               string              `json:"strategy,omitzero"` // default weighted
	RetryPolicy            RetryPolicy         `json:"retry_policy,omitzero"`
	AllowedFails           *int                `json:"allowed_fails,omitzero"` // default 3
	Cooldown               *Duration           `json:"cooldown,omitzero"`      // default 60s
	ModelRules             map[string]Rule     `json:"model_rules,omitzero"`
	GroupRules             map[string]Rule     `json:"group_rules,omitzero"`
	Fallbacks              map[string][]string `json:"fallbacks,omitzero"`
	ContextWindowFallbacks map[string][]string `json:"context_window_fallbacks,omitzero"`
	ContentPolicyFallbacks map[string][]string `json:"content_policy_fallbacks,omitzero"`
	DisableFallbacks       bool                `json:"disable_fallbacks,omitzero"`
	SessionAffinity        Stickiness          `json:"session_affinity,omitzero"`
	ResponseCache          ResponseCache       `json:"response_cache,omitzero"`
}

// RetryPolicy counts all attempts on one deployment, the first included.
type RetryPolicy struct {
	MaxAttempts int `json:"max_attempts,omitzero" zero:"refused"` // default 2
}

// Rule overrides the strategy and weights of one model or group. Weights that
// are nil are unset; an empty map is equal weights.
type Rule struct {
	Strategy string             `json:"strategy,omitzero"`
	Weights  map[string]float64 `json:"weights,omitzero"`
}

// ResponseCache is the opt-in exact-match cache of answers.
type ResponseCache struct {
	Enabled bool     `json:"enabled,omitzero"`
	TTL     Duration `json:"ttl,omitzero" zero:"refused"` // default 10m
}

// Platform names the template of callers who have no other.
type Platform struct {
	Template string `json:"template,omitzero"`
}

// Organization, Team and Key narrow what a caller may do, from left to right.
type Organization struct {
	ID       string   `json:"id"`
	Template string   `json:"template,omitzero"`
	Models   []string `json:"models,omitzero"` // nil or "*": all
	Budget   *Budget  `json:"budget,omitzero"`
	Limits   Limits   `json:"limits,omitzero"`
}

// Team belongs to an organization.
type Team struct {
	ID           string   `json:"id"`
	Organization string   `json:"organization,omitzero"`
	Template     string   `json:"template,omitzero"`
	Models       []string `json:"models,omitzero"`
	Budget       *Budget  `json:"budget,omitzero"`
	Limits       Limits   `json:"limits,omitzero"`
}

// Key is one caller's credential. Exactly one of Key and KeySHA256 is set.
type Key struct {
	ID           string   `json:"id"`
	Key          string   `json:"key,omitzero"`        // env:, ssm:, secretsmanager:, or a literal
	KeySHA256    string   `json:"key_sha256,omitzero"` // 64 hex digits
	User         string   `json:"user,omitzero"`
	Team         string   `json:"team,omitzero"`
	Organization string   `json:"organization,omitzero"` // default: the team's
	Models       []string `json:"models,omitzero"`
	Template     string   `json:"template,omitzero"`
	Budget       *Budget  `json:"budget,omitzero"`
	Limits       Limits   `json:"limits,omitzero"`
	Enabled      *bool    `json:"enabled,omitzero"` // default true
	Expires      string   `json:"expires,omitzero"` // RFC 3339, or a date; empty: never
}

// Budget is an amount of money a period (UTC).
type Budget struct {
	USD    float64 `json:"usd"`
	Period string  `json:"period"` // daily, weekly, monthly
	Strict bool    `json:"strict,omitzero"`
}

// Guardrail is one rule over text that goes in or comes out. Exactly one of
// Match and MaxBytes is set.
type Guardrail struct {
	Name     string `json:"name"`
	Match    string `json:"match,omitzero"`                    // RE2
	MaxBytes int    `json:"max_bytes,omitzero" zero:"refused"` // of all text together; 0: no bound
	On       string `json:"on,omitzero"`                       // input, output
	Action   string `json:"action"`                            // block, redact (of a match only), log
}
