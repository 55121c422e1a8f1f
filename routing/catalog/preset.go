package catalog

// Preset is what is known of a provider.
type Preset struct {
	Provider        string
	BaseURL         string   // "": the document must give one
	MessagesBaseURL string   // of the messages protocol, where it differs
	BaseURLForm     string   // what a base URL looks like, where the document must give one
	AuthType        string   // bearer, x-api-key, api-key, none
	Protocols       []string // spoken natively, the default first
	Usage           Usage
	Hint            Hint
	Takes           []string // body fields of the gateway's own that this provider takes as well
	SigV4           bool     // AWS signatures are possible
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
// load balancer finds the warm cache. At most one of the two is set.
type Hint struct {
	Header string // request header
	Body   string // top-level body field
}
