// Package catalog is the configuration document: connections, deployments,
// models, groups, templates, callers and prices.
//
// A Document is what a file, the built-in demo, provider variables or the admin
// API say; it is strict: an unknown field, a wrong type, a dangling reference
// is a Problem that names its path. A Catalog is a valid Document compiled for
// look-ups; it never changes and is shared by all goroutines. A changed
// document is another Catalog.
//
// The package does no I/O: secrets stay references (env:, ssm:,
// secretsmanager:) and are resolved by whoever sends a request.
package catalog

import "time"

// Document is the whole configuration, field by field as an operator writes it.
type Document struct {
	Session       Session        `yaml:"session" json:"session"`
	Affinity      Affinity       `yaml:"affinity" json:"affinity"`
	Connections   []Connection   `yaml:"connections" json:"connections"`
	Deployments   []Deployment   `yaml:"deployments" json:"deployments"`
	Models        []Model        `yaml:"models" json:"models,omitempty"`
	Groups        []Group        `yaml:"groups" json:"groups,omitempty"`
	Templates     []Template     `yaml:"templates" json:"templates,omitempty"`
	Platform      Platform       `yaml:"platform" json:"platform"`
	Organizations []Organization `yaml:"organizations" json:"organizations,omitempty"`
	Teams         []Team         `yaml:"teams" json:"teams,omitempty"`
	Keys          []Key          `yaml:"keys" json:"keys,omitempty"`
	Guardrails    []Guardrail    `yaml:"guardrails" json:"guardrails,omitempty"`
}

// Session says how requests are told apart into conversations.
type Session struct {
	Enabled      bool            `yaml:"enabled" json:"enabled"`             // default true
	AutoDetect   bool            `yaml:"auto_detect" json:"auto_detect"`     // default true
	BuiltinRules bool            `yaml:"builtin_rules" json:"builtin_rules"` // default true
	Headers      []SessionHeader `yaml:"headers" json:"headers,omitempty"`
}

// SessionHeader is one more request header that carries a session id.
type SessionHeader struct {
	Header    string `yaml:"header" json:"header"`
	Transform string `yaml:"transform" json:"transform,omitempty"` // "" or session-uuid
}

// Affinity bounds what is remembered of a conversation.
type Affinity struct {
	Enabled   bool     `yaml:"enabled" json:"enabled"`     // default true
	TTL       Duration `yaml:"ttl" json:"ttl"`             // default 1h
	Retention Duration `yaml:"retention" json:"retention"` // default 720h; 0 keeps for ever
	MaxWait   Duration `yaml:"max_wait" json:"max_wait"`   // default 2s
}

// Connection is one provider account.
type Connection struct {
	ID                  string            `yaml:"id" json:"id"`
	Provider            string            `yaml:"provider" json:"provider"`
	BaseURL             string            `yaml:"base_url" json:"base_url,omitempty"` // default: the provider preset's
	Auth                Auth              `yaml:"auth" json:"auth"`
	Boundary            string            `yaml:"boundary" json:"boundary,omitempty"` // default: ID
	Headers             map[string]string `yaml:"headers" json:"headers,omitempty"`
	AllowPrivateNetwork bool              `yaml:"allow_private_network" json:"allow_private_network,omitempty"`
	Hints               *bool             `yaml:"hints" json:"hints,omitempty"` // upstream identity hints; default true
}

// Auth is how a connection proves itself. Key and Keys are secret references
// (env:NAME, ssm:/path, secretsmanager:arn) or, warned about, literals.
type Auth struct {
	Type              string   `yaml:"type" json:"type,omitempty"` // bearer, x-api-key, api-key, sigv4, none; default: the preset's
	Key               string   `yaml:"key" json:"key,omitempty"`
	Keys              []string `yaml:"keys" json:"keys,omitempty"`
	SessionStickyKeys *bool    `yaml:"session_sticky_keys" json:"session_sticky_keys,omitempty"` // default true
}

// Deployment is one routable target.
type Deployment struct {
	ID            string       `yaml:"id" json:"id"`
	Model         string       `yaml:"model" json:"model"`
	UpstreamModel string       `yaml:"upstream_model" json:"upstream_model,omitempty"` // default: Model
	Connection    string       `yaml:"connection" json:"connection"`
	Protocol      string       `yaml:"protocol" json:"protocol"` // chat, responses, messages
	Endpoints     []string     `yaml:"endpoints" json:"endpoints,omitempty"`
	Capabilities  Capabilities `yaml:"capabilities" json:"capabilities"`
	Weight        *float64     `yaml:"weight" json:"weight,omitempty"`   // default 1; 0 excludes
	Enabled       *bool        `yaml:"enabled" json:"enabled,omitempty"` // default true
	Limits        Limits       `yaml:"limits" json:"limits"`
	Timeout       Duration     `yaml:"timeout" json:"timeout,omitempty"`           // default 60s: first byte of a streamed attempt
	TimeoutJSON   Duration     `yaml:"timeout_json" json:"timeout_json,omitempty"` // default 600s: first byte of a JSON attempt
	IdleTimeout   Duration     `yaml:"idle_timeout" json:"idle_timeout,omitempty"` // default 120s: between bytes
	CacheTTL      Duration     `yaml:"cache_ttl" json:"cache_ttl,omitempty"`       // 0: affinity.ttl
	Price         *Price       `yaml:"price" json:"price,omitempty"`               // nil: unknown
}

// Capabilities that are unset are assumed.
type Capabilities struct {
	Stream     *bool `yaml:"stream" json:"stream,omitempty"`
	Tools      *bool `yaml:"tools" json:"tools,omitempty"`
	Images     *bool `yaml:"images" json:"images,omitempty"`
	Documents  *bool `yaml:"documents" json:"documents,omitempty"`
	JSONSchema *bool `yaml:"json_schema" json:"json_schema,omitempty"`
	Context    int   `yaml:"context" json:"context,omitempty"` // tokens; 0: unknown
}

// Limits are per minute, except concurrency; 0 is none.
type Limits struct {
	Concurrency int `yaml:"concurrency" json:"concurrency,omitempty"`
	RPM         int `yaml:"rpm" json:"rpm,omitempty"`
	TPM         int `yaml:"tpm" json:"tpm,omitempty"`
}

// Price is in USD per million tokens.
type Price struct {
	Input        float64 `yaml:"input" json:"input"`
	CachedInput  float64 `yaml:"cached_input" json:"cached_input"`
	CacheWrite   float64 `yaml:"cache_write" json:"cache_write"`
	CacheWrite1h float64 `yaml:"cache_write_1h" json:"cache_write_1h"`
	Output       float64 `yaml:"output" json:"output"`
}

// Model holds the defaults of one public model.
type Model struct {
	Name                   string             `yaml:"name" json:"name"`
	Aliases                []string           `yaml:"aliases" json:"aliases,omitempty"`
	Weights                map[string]float64 `yaml:"weights" json:"weights,omitempty"`
	Fallbacks              []string           `yaml:"fallbacks" json:"fallbacks,omitempty"`
	ContextWindowFallbacks []string           `yaml:"context_window_fallbacks" json:"context_window_fallbacks,omitempty"`
	ContentPolicyFallbacks []string           `yaml:"content_policy_fallbacks" json:"content_policy_fallbacks,omitempty"`
}

// Group is a public name that stands for several models.
type Group struct {
	Name                   string             `yaml:"name" json:"name"`
	Members                []string           `yaml:"members" json:"members"`
	Strategy               string             `yaml:"strategy" json:"strategy,omitempty"`
	Weights                map[string]float64 `yaml:"weights" json:"weights,omitempty"`
	SessionAffinity        Stickiness         `yaml:"session_affinity" json:"session_affinity,omitempty"`
	Fallbacks              []string           `yaml:"fallbacks" json:"fallbacks,omitempty"`
	ContextWindowFallbacks []string           `yaml:"context_window_fallbacks" json:"context_window_fallbacks,omitempty"`
	ContentPolicyFallbacks []string           `yaml:"content_policy_fallbacks" json:"content_policy_fallbacks,omitempty"`
}

// Stickiness is session_affinity: true, false, or the word strict. The zero
// value is unset.
type Stickiness string

// The values of Stickiness.
const (
	StickinessUnset Stickiness = ""
	Sticky          Stickiness = "true"
	NotSticky       Stickiness = "false"
	Strict          Stickiness = "strict"
)

// Template is the complete set of routing rules in force for a caller.
type Template struct {
	ID                     string              `yaml:"id" json:"id"`
	Strategy               string              `yaml:"strategy" json:"strategy,omitempty"` // default weighted
	RetryPolicy            RetryPolicy         `yaml:"retry_policy" json:"retry_policy"`
	AllowedFails           *int                `yaml:"allowed_fails" json:"allowed_fails,omitempty"` // default 3
	Cooldown               *Duration           `yaml:"cooldown" json:"cooldown,omitempty"`           // default 60s
	ModelRules             map[string]Rule     `yaml:"model_rules" json:"model_rules,omitempty"`
	GroupRules             map[string]Rule     `yaml:"group_rules" json:"group_rules,omitempty"`
	Fallbacks              map[string][]string `yaml:"fallbacks" json:"fallbacks,omitempty"`
	ContextWindowFallbacks map[string][]string `yaml:"context_window_fallbacks" json:"context_window_fallbacks,omitempty"`
	ContentPolicyFallbacks map[string][]string `yaml:"content_policy_fallbacks" json:"content_policy_fallbacks,omitempty"`
	DisableFallbacks       bool                `yaml:"disable_fallbacks" json:"disable_fallbacks,omitempty"`
	SessionAffinity        Stickiness          `yaml:"session_affinity" json:"session_affinity,omitempty"`
	ResponseCache          ResponseCache       `yaml:"response_cache" json:"response_cache"`
}

// RetryPolicy counts all attempts on one deployment, the first included.
type RetryPolicy struct {
	MaxAttempts int `yaml:"max_attempts" json:"max_attempts,omitempty"` // default 2
}

// Rule overrides the strategy and weights of one model or group. Weights that
// are nil are unset; an empty map is equal weights.
type Rule struct {
	Strategy string             `yaml:"strategy" json:"strategy,omitempty"`
	Weights  map[string]float64 `yaml:"weights" json:"weights"`
}

// ResponseCache is the opt-in exact-match cache of answers.
type ResponseCache struct {
	Enabled bool     `yaml:"enabled" json:"enabled,omitempty"`
	TTL     Duration `yaml:"ttl" json:"ttl,omitempty"` // default 10m
}

// Platform names the template of callers who have no other.
type Platform struct {
	Template string `yaml:"template" json:"template,omitempty"`
}

// Organization, Team and Key narrow what a caller may do, from left to right.
type Organization struct {
	ID       string   `yaml:"id" json:"id"`
	Template string   `yaml:"template" json:"template,omitempty"`
	Models   []string `yaml:"models" json:"models,omitempty"` // nil or "*": all
	Budget   *Budget  `yaml:"budget" json:"budget,omitempty"`
	Limits   Limits   `yaml:"limits" json:"limits"`
}

// Team belongs to an organization.
type Team struct {
	ID           string   `yaml:"id" json:"id"`
	Organization string   `yaml:"organization" json:"organization,omitempty"`
	Template     string   `yaml:"template" json:"template,omitempty"`
	Models       []string `yaml:"models" json:"models,omitempty"`
	Budget       *Budget  `yaml:"budget" json:"budget,omitempty"`
	Limits       Limits   `yaml:"limits" json:"limits"`
}

// Key is one caller's credential. Exactly one of Key and KeySHA256 is set.
type Key struct {
	ID           string   `yaml:"id" json:"id"`
	Key          string   `yaml:"key" json:"key,omitempty"`               // env:, ssm:, secretsmanager:, or a literal
	KeySHA256    string   `yaml:"key_sha256" json:"key_sha256,omitempty"` // 64 hex digits
	User         string   `yaml:"user" json:"user,omitempty"`
	Team         string   `yaml:"team" json:"team,omitempty"`
	Organization string   `yaml:"organization" json:"organization,omitempty"` // default: the team's
	Models       []string `yaml:"models" json:"models,omitempty"`
	Template     string   `yaml:"template" json:"template,omitempty"`
	Budget       *Budget  `yaml:"budget" json:"budget,omitempty"`
	Limits       Limits   `yaml:"limits" json:"limits"`
	Enabled      *bool    `yaml:"enabled" json:"enabled,omitempty"` // default true
	Expires      string   `yaml:"expires" json:"expires,omitempty"` // RFC 3339, or a date; empty: never
}

// Budget is an amount of money a period (UTC).
type Budget struct {
	USD    float64 `yaml:"usd" json:"usd"`
	Period string  `yaml:"period" json:"period"` // daily, weekly, monthly
	Strict bool    `yaml:"strict" json:"strict,omitempty"`
}

// Guardrail is one rule over text that goes in or comes out.
type Guardrail struct {
	Name   string `yaml:"name" json:"name"`
	Match  string `yaml:"match" json:"match"`     // RE2
	On     string `yaml:"on" json:"on,omitempty"` // input, output
	Action string `yaml:"action" json:"action"`   // block, redact, log
}

// Duration is a time.Duration written as "90s" or "1h"; 0 may be a bare number.
type Duration time.Duration
