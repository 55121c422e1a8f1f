package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

// base is a valid document that uses everything; rows below spoil it.
const base = `
connections:
  - {id: a, provider: openai, auth: {key: "env:A"}}
  - {id: b, provider: anthropic, auth: {keys: ["env:B", "ssm:/b", "secretsmanager:arn:aws:x"]}}
deployments:
  - {id: gpt-a, model: gpt-5, connection: a}
  - {id: claude-b, model: claude, connection: b}
  - {id: embed-a, model: embed, connection: a, endpoints: [embeddings]}
models: [{name: gpt-5, aliases: [gpt]}]
groups: [{name: smart, members: [gpt, claude]}]
templates: [{id: t}]
organizations: [{id: org}]
teams: [{id: team, organization: org}]
keys: [{id: k, key: "env:K", team: team, models: [smart, gpt]}]
guardrails: [{name: aws keys, match: "AKIA[0-9A-Z]{16}", action: block}]
`

func TestValidDocuments(t *testing.T) {
	load(t, base)
	for name, change := range map[string]string{
		"a deployment of another protocol at an own address": "a, provider: openai, base_url: \"https://x.example/v1\"",
		"a loopback address over http":                       "a, provider: openai, base_url: \"http://127.0.0.1:9/v1\", allow_private_network: true",
		"a simulated account":                                "a, provider: simulated, base_url: \"demo://alpha\"",
	} {
		if _, problems := catalog.Load([]byte(replace(base, "a, provider: openai", change))); catalog.HasErrors(problems) {
			t.Errorf("%s: %q", name, lines(problems))
		}
	}
}

// row is a document spoilt in one place, and all that is said of it.
type row struct {
	name  string
	spoil func(*catalog.Document)
	want  []string
}

func runRows(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			doc := load(t, base)
			r.spoil(doc)
			if diff := cmp.Diff(r.want, lines(doc.Validate())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestValidateConnections(t *testing.T) {
	connection := func(change func(*catalog.Connection)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Connections[0]) }
	}
	url := func(text string) func(*catalog.Document) {
		return connection(func(c *catalog.Connection) { c.BaseURL = text })
	}
	header := func(name, value string) func(*catalog.Document) {
		return connection(func(c *catalog.Connection) { c.Headers = map[string]string{name: value} })
	}
	key := func(text string) func(*catalog.Document) {
		return connection(func(c *catalog.Connection) { c.Auth.Key = text })
	}
	const literal = "a literal secret; keep it elsewhere and write a reference: env:NAME, ssm:/path or secretsmanager:arn"
	runRows(t, []row{
		{"no id", connection(func(c *catalog.Connection) { c.ID = "" }), []string{
			"connections[0].id: missing",
			`deployments[0].connection: no connection "a"`, `deployments[2].connection: no connection "a"`}},
		{"same id", connection(func(c *catalog.Connection) { c.ID = "b" }), []string{
			`connections[1].id: "b" is taken by connections[0].id; ids are unique`,
			"warning: connections[1].boundary: shared by openai and anthropic, which cannot read each other's response ids and ciphertext",
			`deployments[0].connection: no connection "a"`, `deployments[2].connection: no connection "a"`}},
		{"slash in id", func(d *catalog.Document) {
			d.Connections[0].ID, d.Deployments[0].Connection, d.Deployments[2].Connection = "a/b", "a/b", "a/b"
		}, []string{"connections[0].id: must not contain any of /\\?#%&[]\"'<>{}|^`;,"}},
		{"space in id", func(d *catalog.Document) { d.Deployments[2].ID = "a b" }, []string{"deployments[2].id: may hold visible ASCII characters only, and no spaces"}},
		{"line feed in id", func(d *catalog.Document) { d.Deployments[2].ID = "a\r\nX: y" }, []string{"deployments[2].id: may hold visible ASCII characters only, and no spaces"}},
		{"long id", func(d *catalog.Document) { d.Deployments[2].ID = strings.Repeat("x", 129) }, []string{"deployments[2].id: longer than 128 bytes"}},
		{"no provider", connection(func(c *catalog.Connection) { c.Provider = "" }), []string{
			"connections[0].provider: missing; must be one of " + strings.Join(catalog.Providers(), ", ")}},
		{"unknown provider", connection(func(c *catalog.Connection) { c.Provider = "opanai" }), []string{
			`connections[0].provider: "opanai" is not possible, did you mean openai? Must be one of ` + strings.Join(catalog.Providers(), ", ")}},
		{"no address", connection(func(c *catalog.Connection) { c.Provider = "azure" }), []string{
			"connections[0].base_url: missing; provider azure has no address of its own, give one like https://RESOURCE.openai.azure.com/openai/v1"}},
		{"no scheme", url("api.openai.com/v1"), []string{"connections[0].base_url: must begin with https:// or http:// (or demo:// for a simulated account)"}},
		{"other scheme", url("ftp://x/v1"), []string{"connections[0].base_url: must begin with https:// or http:// (or demo:// for a simulated account)"}},
		{"no host", url("https:///v1"), []string{"connections[0].base_url: names no host; write one such as https://api.openai.com/v1"}},
		{"user", url("https://me:pass@x.example/v1"), []string{"connections[0].base_url: must not hold a user name or password; put the credential in auth: key"}},
		{"query", url("https://x.example/v1?key=1"), []string{"connections[0].base_url: must not hold a query (?…); the gateway appends paths to it"}},
		{"empty query", url("https://x.example/v1?"), []string{"connections[0].base_url: must not hold a query (?…); the gateway appends paths to it"}},
		{"fragment", url("https://x.example/v1#"), []string{"connections[0].base_url: must not hold a fragment (#…)"}},
		{"dots", url("https://x.example/a/../v1"), []string{"connections[0].base_url: must not hold .."}},
		{"line feed", url("https://x.example/v1\r\nX: y"), []string{"connections[0].base_url: not a URL: it may hold up to 2048 visible ASCII characters"}},
		{"bad port", url("https://x.example:port/v1"), []string{"connections[0].base_url: not a valid URL; write one such as https://api.openai.com/v1"}},
		{"demo with a path", url("demo://alpha/v1"), []string{"connections[0].base_url: demo:// is followed by the name of a simulated account and nothing else"}},
		{"http", url("http://x.example/v1"), []string{"warning: connections[0].base_url: http sends keys and prompts in clear over the network; use https"}},
		{"private address", url("https://10.1.2.3/v1"), []string{
			"warning: connections[0].base_url: a private address, which is refused when dialled; set allow_private_network: true if it is meant"}},
		{"loopback name", url("http://localhost:8000/v1"), []string{
			"warning: connections[0].base_url: a private address, which is refused when dialled; set allow_private_network: true if it is meant"}},
		{"mapped loopback", url("http://[::ffff:127.0.0.1]/v1"), []string{
			"warning: connections[0].base_url: a private address, which is refused when dialled; set allow_private_network: true if it is meant"}},
		{"auth type", connection(func(c *catalog.Connection) { c.Auth.Type = "berer" }), []string{
			`connections[0].auth.type: "berer" is not possible, did you mean bearer? Must be one of bearer, x-api-key, api-key, sigv4, none`}},
		{"no key", key(""), []string{"connections[0].auth.key: missing; give a reference such as env:NAME, ssm:/path or secretsmanager:arn"}},
		{"key and keys", connection(func(c *catalog.Connection) { c.Auth.Keys = []string{"env:B"} }), []string{"connections[0].auth.keys: give either key or keys, not both"}},
		{"key twice", func(d *catalog.Document) { d.Connections[1].Auth.Keys[1] = "env:B" }, []string{"connections[1].auth.keys[1]: given twice; keep one"}},
		{"empty key of several", func(d *catalog.Document) { d.Connections[1].Auth.Keys[1] = "" }, []string{"connections[1].auth.keys[1]: empty"}},
		{"literal key", key("sk-proj-secret"), []string{"warning: connections[0].auth.key: " + literal}},
		{"literal with a colon", key("vault:path"), []string{"warning: connections[0].auth.key: " + literal}},
		{"literal that no header can carry", key("sk-\r\nX: y"), []string{"connections[0].auth.key: a key may hold visible ASCII characters only"}},
		{"reference without name", key("env:"), []string{"connections[0].auth.key: env: needs a name after the colon, without spaces"}},
		{"reference to no variable", key("env:MY-KEY"), []string{"connections[0].auth.key: env: must name a variable, as in env:OPENAI_API_KEY"}},
		{"reference to no path", key("ssm:key"), []string{"connections[0].auth.key: ssm: must name a parameter by its path, as in ssm:/holdfast/openai"}},
		{"reference with a bad number", key("env:KEYS[x]"), []string{"connections[0].auth.key: env: the number in brackets must be 0 to 100"}},
		{"key that is not used", connection(func(c *catalog.Connection) { c.Auth.Type = "none" }), []string{"warning: connections[0].auth: type none sends no key; the one given is not used"}},
		{"sigv4 elsewhere", connection(func(c *catalog.Connection) { c.Auth = catalog.Auth{Type: "sigv4"} }), []string{
			"connections[0].auth.type: sigv4 signs requests to AWS; provider openai is not there"}},
		{"sigv4 with a key", connection(func(c *catalog.Connection) {
			c.Provider, c.BaseURL, c.Auth.Type = "bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", "sigv4"
		}), []string{"connections[0].auth: sigv4 signs with the credentials of the process; remove the key, or use type: bearer for a Bedrock API key"}},
		{"header name", header("X Y", "v"), []string{`connections[0].headers["X Y"]: not a valid header name`}},
		{"header value", header("X-Y", "v\r\nX-Z: w"), []string{"connections[0].headers.X-Y: the value may hold visible ASCII characters and spaces only"}},
		{"padded header value", header("X-Y", " v"), []string{"connections[0].headers.X-Y: the value must not begin or end with white space"}},
		{"long header value", header("X-Y", strings.Repeat("v", 5000)), []string{"connections[0].headers.X-Y: longer than 4096 bytes"}},
		{"credential header", header("authorization", "Bearer x"), []string{"connections[0].headers.authorization: credentials belong in auth: key, where they may be references"}},
		{"credential header in other spelling", header("X_Api_Key", "x"), []string{"connections[0].headers.X_Api_Key: credentials belong in auth: key, where they may be references"}},
		{"hop-by-hop header", header("Transfer-Encoding", "chunked"), []string{"connections[0].headers.Transfer-Encoding: set by the gateway for each request; remove it"}},
		{"host header", header("Host", "x"), []string{"connections[0].headers.Host: set by the gateway for each request; remove it"}},
		{"header twice", connection(func(c *catalog.Connection) { c.Headers = map[string]string{"X-Y": "1", "x-y": "2"} }), []string{
			"connections[0].headers.x-y: given twice in different spellings; keep one"}},
		{"boundary", connection(func(c *catalog.Connection) { c.Boundary = "a\nb" }), []string{"connections[0].boundary: must not contain control characters"}},
		{"boundary of two providers", connection(func(c *catalog.Connection) { c.Boundary = "b" }), []string{
			"warning: connections[1].boundary: shared by openai and anthropic, which cannot read each other's response ids and ciphertext"}},
		{"none at all", func(d *catalog.Document) {
			d.Connections, d.Deployments = nil, nil
			d.Models, d.Groups, d.Keys[0].Models = nil, nil, nil
		}, []string{
			"connections: empty; a gateway needs at least one provider account", "deployments: empty; a gateway needs at least one deployment to route to"}},
		{"too many headers", connection(func(c *catalog.Connection) {
			c.Headers = map[string]string{}
			for i := range 51 {
				c.Headers[fmt.Sprintf("X-%d", i)] = "v"
			}
		}), []string{"connections[0].headers: 51 entries; at most 50 are possible"}},
	})
}

func TestValidateDeployments(t *testing.T) {
	deployment := func(change func(*catalog.Deployment)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Deployments[0]) }
	}
	runRows(t, []row{
		{"no connection", deployment(func(d *catalog.Deployment) { d.Connection = "" }), []string{"deployments[0].connection: missing; name a connection by its id"}},
		{"dangling connection", deployment(func(d *catalog.Deployment) { d.Connection = "openai" }), []string{`deployments[0].connection: no connection "openai"`}},
		{"no model", func(d *catalog.Document) { d.Deployments[2].Model = "" }, []string{"deployments[2].model: missing"}},
		{"model with a space", func(d *catalog.Document) { d.Deployments[2].Model = "my model" }, []string{"deployments[2].model: must not contain spaces or control characters"}},
		{"long model", func(d *catalog.Document) { d.Deployments[2].Model = strings.Repeat("m", 257) }, []string{"deployments[2].model: longer than 256 bytes"}},
		{"model called everything", func(d *catalog.Document) { d.Deployments[2].Model = "*" }, []string{`deployments[2].model: "*" stands for every model and cannot be the name of one`}},
		{"upstream model", deployment(func(d *catalog.Deployment) { d.UpstreamModel = "a\tb" }), []string{"deployments[0].upstream_model: must not contain spaces or control characters"}},
		{"protocol", deployment(func(d *catalog.Deployment) { d.Protocol = "chats" }), []string{
			`deployments[0].protocol: "chats" is not possible, did you mean chat? Must be one of chat, responses, messages`,
			"warning: deployments[0].protocol: openai does not speak chats at its own address, but chat, responses"}},
		{"protocol that the provider does not speak", deployment(func(d *catalog.Deployment) { d.Protocol = "messages" }), []string{
			"warning: deployments[0].protocol: openai does not speak messages at its own address, but chat, responses"}},
		{"endpoint", deployment(func(d *catalog.Deployment) { d.Endpoints = []string{"chat", "image", "chat", ""} }), []string{
			`deployments[0].endpoints[1]: "image" is not possible. Must be one of chat, responses, messages, embeddings, videos`,
			"deployments[0].endpoints[2]: given twice; keep one",
			"deployments[0].endpoints[3]: missing; must be one of chat, responses, messages, embeddings, videos"}},
		{"endpoint without protocol", func(d *catalog.Document) { d.Deployments[1].Endpoints = []string{"messages", "videos"} }, []string{
			"deployments[1].endpoints[1]: the messages protocol has no videos; use a chat or responses deployment"}},
		{"negative weight", deployment(func(d *catalog.Deployment) { d.Weight = ptr(-1.0) }), []string{"deployments[0].weight: must not be negative"}},
		{"weight that is no number", deployment(func(d *catalog.Deployment) { d.Weight = ptr(math.NaN()) }), []string{"deployments[0].weight: must be a finite number"}},
		{"infinite weight", deployment(func(d *catalog.Deployment) { d.Weight = ptr(math.Inf(1)) }), []string{"deployments[0].weight: must be a finite number"}},
		{"limits", deployment(func(d *catalog.Deployment) {
			d.Limits = catalog.Limits{Concurrency: -1, RPM: -1, TPM: -1}
			d.Capabilities.Context = -1
		}), []string{
			"deployments[0].limits.concurrency: must not be negative; 0 is no limit", "deployments[0].limits.rpm: must not be negative; 0 is no limit",
			"deployments[0].limits.tpm: must not be negative; 0 is no limit", "deployments[0].capabilities.context: must not be negative; 0 is no limit"}},
		{"strict", deployment(func(d *catalog.Deployment) { d.Limits = catalog.Limits{RPM: 1, Strict: true} }), []string{
			"deployments[0].limits.strict: only the limits of keys, teams and organizations can be strict"}},
		{"timers", deployment(func(d *catalog.Deployment) { d.Timeout, d.TimeoutJSON, d.IdleTimeout, d.CacheTTL = -1, -1, -1, -1 }), []string{
			"deployments[0].timeout: a duration must not be negative", "deployments[0].timeout_json: a duration must not be negative",
			"deployments[0].idle_timeout: a duration must not be negative", "deployments[0].cache_ttl: a duration must not be negative"}},
		{"long timers", deployment(func(d *catalog.Deployment) { d.Timeout, d.IdleTimeout = 16*60e9, 5*60e9 }), []string{
			"warning: deployments[0].timeout: longer than 15m, the longest that a function may run",
			"warning: deployments[0].idle_timeout: clients give up after 5m without an event; stay below that"}},
		{"price", deployment(func(d *catalog.Deployment) {
			below, endless := -1.0, math.Inf(1)
			d.Price = &catalog.Rates{Input: -1, CachedInput: &endless, CacheWrite: &below, CacheWrite1h: -1, Output: -1}
		}), []string{
			"deployments[0].price.input: must not be negative", "deployments[0].price.cached_input: must be a finite number", "deployments[0].price.cache_write: must not be negative",
			"deployments[0].price.cache_write_1h: must not be negative", "deployments[0].price.output: must not be negative"}},
	})
}

func TestValidateNames(t *testing.T) {
	model := func(change func(*catalog.Model)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Models[0]) }
	}
	group := func(change func(*catalog.Group)) func(*catalog.Document) {
		return func(d *catalog.Document) { change(&d.Groups[0]) }
	}
	const unique = "; names are unique over models, aliases and groups"
	runRows(t, []row{
		{"model without deployment", func(d *catalog.Document) { d.Models = append(d.Models, catalog.Model{Name: "claud"}) }, []string{
			`models[1].name: no deployment serves "claud", did you mean claude?`}},
		{"model twice", func(d *catalog.Document) { d.Models = append(d.Models, catalog.Model{Name: "gpt-5"}) }, []string{
			`models[1].name: "gpt-5" is taken by models[0].name` + unique}},
		{"no name", func(d *catalog.Document) { d.Models = append(d.Models, catalog.Model{Aliases: []string{""}}) }, []string{
			"models[1].name: missing", "models[1].aliases[0]: missing"}},
		{"alias that is a model", model(func(m *catalog.Model) { m.Aliases = append(m.Aliases, "embed") }), []string{
			`models[0].aliases[1]: "embed" is the name of a model` + unique}},
		{"alias twice", model(func(m *catalog.Model) { m.Aliases = append(m.Aliases, "gpt") }), []string{`models[0].aliases[1]: "gpt" is taken by models[0].aliases[0]` + unique}},
		{"group that is a model", func(d *catalog.Document) { d.Groups[0].Name, d.Keys[0].Models = "embed", nil }, []string{
			`groups[0].name: "embed" is the name of a model` + unique}},
		{"group that is an alias", func(d *catalog.Document) { d.Groups[0].Name, d.Keys[0].Models = "gpt", nil }, []string{
			`groups[0].name: "gpt" is taken by models[0].aliases[0]` + unique, `groups[0].members[0]: "gpt" is a group; groups hold models only`}},
		{"group twice", func(d *catalog.Document) { d.Groups = append(d.Groups, d.Groups[0]) }, []string{`groups[1].name: "smart" is taken by groups[0].name` + unique}},
		{"no members", group(func(g *catalog.Group) { g.Members = nil }), []string{"groups[0].members: empty; name the models that the group stands for"}},
		{"unknown member", group(func(g *catalog.Group) { g.Members = append(g.Members, "gpt-6") }), []string{`groups[0].members[2]: no deployment serves "gpt-6", did you mean gpt-5?`}},
		{"member twice, once by alias", group(func(g *catalog.Group) { g.Members = append(g.Members, "gpt-5") }), []string{`groups[0].members[2]: "gpt-5" is a member already; keep one`}},
		{"group in a group", func(d *catalog.Document) {
			d.Groups = append(d.Groups, catalog.Group{Name: "all", Members: []string{"smart"}})
		}, []string{
			`groups[1].members[0]: "smart" is a group; groups hold models only`}},
		{"group of itself", group(func(g *catalog.Group) { g.Members = append(g.Members, "smart") }), []string{`groups[0].members[2]: "smart" is a group; groups hold models only`}},
		{"strategy and stickiness", group(func(g *catalog.Group) { g.Strategy, g.SessionAffinity = "roundrobin", "maybe" }), []string{
			`groups[0].strategy: "roundrobin" is not possible, did you mean round_robin? Must be one of weighted, cost, latency, usage, round_robin`,
			`groups[0].session_affinity: "maybe" is not possible. Must be one of true, false, strict`}},
		{"weights", model(func(m *catalog.Model) {
			m.Weights = map[string]float64{"gpt-a": -1, "gpt-b": 1, "claude-b": math.Inf(1)}
		}), []string{
			`models[0].weights.claude-b: deployment "claude-b" serves "claude", not "gpt-5"`, "models[0].weights.claude-b: must be a finite number",
			"models[0].weights.gpt-a: must not be negative", `models[0].weights.gpt-b: no deployment "gpt-b", did you mean gpt-a?`}},
		{"nothing left", model(func(m *catalog.Model) { m.Weights = map[string]float64{"gpt-a": 0} }), []string{
			`warning: models[0].weights: every deployment of "gpt-5" has weight 0; nothing is left to serve it`}},
		{"group weights", group(func(g *catalog.Group) { g.Weights = map[string]float64{"gpt-a": 1, "claude-b": 0, "embed-a": 1} }), []string{
			`groups[0].weights.embed-a: deployment "embed-a" serves "embed", not "smart"`}},
		{"fallbacks", model(func(m *catalog.Model) {
			m.Fallbacks = []string{"claude", "smart", "claud", "gpt", "claude"}
			m.ContextWindowFallbacks, m.ContentPolicyFallbacks = []string{"gpt-5"}, []string{"nothing"}
		}), []string{
			`models[0].fallbacks[2]: no model or group "claud", did you mean claude?`, `models[0].fallbacks[3]: "gpt" cannot be its own fallback; remove it`,
			`models[0].fallbacks[4]: "claude" is in the chain already; keep one`, `models[0].context_window_fallbacks[0]: "gpt-5" cannot be its own fallback; remove it`,
			`models[0].content_policy_fallbacks[0]: no model or group "nothing"`}},
		{"fallbacks of a group", group(func(g *catalog.Group) {
			g.Fallbacks, g.ContextWindowFallbacks, g.ContentPolicyFallbacks = []string{"smart"}, []string{"gpt"}, []string{"x"}
		}), []string{`groups[0].fallbacks[0]: "smart" cannot be its own fallback; remove it`, `groups[0].content_policy_fallbacks[0]: no model or group "x"`}},
		{"fallbacks that lead back", func(d *catalog.Document) {
			d.Models[0].Fallbacks = []string{"claude"}
			d.Models = append(d.Models, catalog.Model{Name: "claude", Fallbacks: []string{"gpt"}})
		}, nil},
	})
}
