package catalog

import "slices"

// Preset is what is known of a provider.
type Preset struct {
	Provider        string
	BaseURL         string   // "": the document must give one
	MessagesBaseURL string   // of the messages protocol, where it differs
	BaseURLForm     string   // what a base URL looks like, where the document must give one
	AuthType        string   // bearer, x-api-key, api-key, none
	Protocols       []string // spoken at BaseURL, the default first
	Usage           Usage    // of the chat and responses protocols
	Hint            Hint
	Takes           []string // body fields of the gateway's own that this provider takes as well
	SigV4           bool     // AWS signatures are possible
	Models          []string // a short list, for whoever names none
}

// Usage is how a provider counts cached tokens.
type Usage string

// The shapes of usage.
const (
	UsageInside  Usage = "inside"  // cached tokens are part of the prompt tokens (OpenAI, Gemini)
	UsageOutside Usage = "outside" // input excludes cached tokens (Anthropic, Bedrock)
	UsageHitMiss Usage = "hitmiss" // hit and miss are told apart (DeepSeek)
)

// Hint is where a provider takes the identity of a session, so that its own
// load balancer finds the warm cache. At most one of Header and Body is set.
type Hint struct {
	Header   string // request header
	Body     string // top-level body field
	Protocol string // the one that has it; "": all
}

// The wire formats that a deployment may speak; each is an endpoint as well.
const (
	Chat      = "chat"
	Responses = "responses"
	Messages  = "messages"
)

// The endpoints that no other protocol can stand in for.
const (
	Embeddings = "embeddings"
	Videos     = "videos"
)

// The ways in which a connection proves itself.
const (
	AuthBearer  = "bearer"    // Authorization: Bearer
	AuthXAPIKey = "x-api-key" // x-api-key
	AuthAPIKey  = "api-key"   // api-key
	AuthSigV4   = "sigv4"     // AWS signature version 4, with the process's own credentials
	AuthNone    = "none"
)

// Simulated is the provider of the demo's accounts.
const Simulated = "simulated"

// LookupPreset is what is known of a provider.
func LookupPreset(provider string) (Preset, bool) {
	for _, p := range presets() {
		if p.Provider == provider {
			return p, true
		}
	}
	return Preset{}, false
}

// Providers are the names that provider: may have, in alphabetical order.
func Providers() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.Provider)
	}
	slices.Sort(names)
	return names
}

// presets is every provider that is known by name. An address in capitals has
// parts that only the operator knows.
func presets() []Preset {
	return append(hosted(), ownAddress()...)
}

// hosted are the providers with one public address for everybody.
func hosted() []Preset {
	return []Preset{
		{
			Provider: "openai", BaseURL: "https://api.openai.com/v1", AuthType: AuthBearer,
			Protocols: []string{Chat, Responses}, Usage: UsageInside, Hint: Hint{Body: "prompt_cache_key"},
			Models: []string{"gpt-6.2-astra", "gpt-6.2-sol", "gpt-6-luna", "gpt-5"},
		}, {
			Provider: "anthropic", BaseURL: "https://api.anthropic.com", AuthType: AuthXAPIKey,
			Protocols: []string{Messages}, Usage: UsageOutside,
			Models: []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-5", "claude-haiku-5-5", "claude-haiku-4-5"},
		}, {
			Provider: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside,
			Models: []string{"gemini-3.1-pro-preview", "gemini-3-flash-preview", "gemini-2.5-flash"},
		}, {
			Provider: "deepseek", BaseURL: "https://api.deepseek.com", MessagesBaseURL: "https://api.deepseek.com/anthropic", AuthType: AuthBearer,
			Protocols: []string{Chat, Messages}, Usage: UsageHitMiss,
			Models: []string{"deepseek-flash", "deepseek-v4-pro"},
		}, {
			Provider: "openrouter", BaseURL: "https://openrouter.ai/api/v1", MessagesBaseURL: "https://openrouter.ai/api", AuthType: AuthBearer,
			Protocols: []string{Chat, Messages}, Usage: UsageInside, Hint: Hint{Header: "x-session-id"}, Takes: []string{"session_id"},
			Models: []string{"openai/gpt-5.1", "google/gemini-3.1-pro-preview", "anthropic/claude-sonnet-4.5"},
		}, {
			Provider: "xai", BaseURL: "https://api.x.ai/v1", AuthType: AuthBearer,
			Protocols: []string{Chat, Responses}, Usage: UsageInside, Hint: Hint{Header: "x-grok-conv-id"},
			Models: []string{"grok-4.6", "grok-4.3"},
		}, {
			Provider: "groq", BaseURL: "https://api.groq.com/openai/v1", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside,
			Models: []string{"openai/gpt-oss-120b", "openai/gpt-oss-20b", "llama-3.3-70b-versatile"},
		}, {
			Provider: "mistral", BaseURL: "https://api.mistral.ai/v1", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside, Hint: Hint{Header: "x-affinity"},
			Models: []string{"mistral-large-latest", "mistral-medium-latest", "mistral-small-latest"},
		}, {
			Provider: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside, Hint: Hint{Header: "x-session-affinity"},
			Models: []string{"accounts/fireworks/models/gpt-oss-120b", "accounts/fireworks/models/gpt-oss-20b"},
		}, {
			Provider: "deepinfra", BaseURL: "https://api.deepinfra.com/v1/openai", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside, Hint: Hint{Header: "x-session-affinity"},
			Models: []string{"openai/gpt-oss-120b"},
		}, {
			Provider: "together", BaseURL: "https://api.together.ai/v1", AuthType: AuthBearer,
			Protocols: []string{Chat}, Usage: UsageInside,
			Models: []string{"openai/gpt-oss-120b", "openai/gpt-oss-20b"},
		},
	}
}

// ownAddress are the providers whose address depends on the account, and the
// servers that run at home.
func ownAddress() []Preset {
	return []Preset{
		{
			Provider: "azure", BaseURLForm: "https://RESOURCE.openai.azure.com/openai/v1", AuthType: AuthAPIKey,
			Protocols: []string{Chat, Responses}, Usage: UsageInside, Hint: Hint{Body: "prompt_cache_key"},
		}, {
			Provider: "bedrock", AuthType: AuthBearer, SigV4: true,
			BaseURLForm: "https://bedrock-runtime.REGION.amazonaws.com/openai/v1, or …/anthropic for the messages protocol",
			Protocols:   []string{Chat, Responses, Messages}, Usage: UsageOutside,
		}, {
			Provider: "vertex", AuthType: AuthBearer,
			BaseURLForm: "https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/endpoints/openapi",
			Protocols:   []string{Chat, Messages}, Usage: UsageInside, Hint: Hint{Header: "X-Vertex-Ai-Session-Id", Protocol: Messages},
		}, {
			Provider: "workers-ai", BaseURLForm: "https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1", AuthType: AuthBearer,
			Protocols: []string{Chat, Responses}, Usage: UsageInside, Hint: Hint{Header: "x-session-affinity"},
		}, {
			Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1", AuthType: AuthNone,
			Protocols: []string{Chat}, Usage: UsageInside,
		}, {
			Provider: "vllm", BaseURL: "http://127.0.0.1:8000/v1", AuthType: AuthNone,
			Protocols: []string{Chat}, Usage: UsageInside,
		}, {
			Provider: "openai-compatible", BaseURLForm: "https://HOST/v1", AuthType: AuthBearer,
			Protocols: []string{Chat, Responses, Messages}, Usage: UsageInside,
		}, {
			Provider: Simulated, BaseURLForm: "demo://alpha", AuthType: AuthNone,
			Protocols: []string{Chat, Responses, Messages}, Usage: UsageInside,
		},
	}
}
