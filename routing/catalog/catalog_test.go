package catalog_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

// lines are problems as an operator reads them.
func lines(problems []catalog.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

// load reads a document that must be free of problems and warnings.
func load(t *testing.T, text string) *catalog.Document {
	t.Helper()
	doc, problems := catalog.Load([]byte(text))
	if len(problems) > 0 {
		t.Fatalf("problems in a valid document: %q", lines(problems))
	}
	return doc
}

// compile makes a catalog of a document that must be valid.
func compile(t *testing.T, text string) *catalog.Catalog {
	t.Helper()
	c, problems := catalog.Compile(load(t, text), "r1", nil)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	return c
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pool is a document with three accounts, two models, a group over both, and
// room for more at its end.
const pool = `
connections:
  - {id: a, provider: openai, auth: {key: "env:A"}}
  - {id: b, provider: openai, auth: {key: "env:B"}}
  - {id: c, provider: anthropic, auth: {key: "env:C"}}
deployments:
  - {id: gpt-a, model: gpt, connection: a, protocol: chat, weight: 3}
  - {id: gpt-b, model: gpt, connection: b, protocol: chat, weight: 2}
  - {id: gpt-z, model: gpt, connection: b, protocol: chat, weight: 0}
  - {id: claude-c, model: claude, connection: c, protocol: messages, weight: 5}
  - {id: mini-a, model: mini, connection: a, protocol: chat}
`

func names(pools []*catalog.Pool) []string {
	all := []string{}
	for _, p := range pools {
		all = append(all, p.Name)
	}
	return all
}

func TestCompileFillsInDefaults(t *testing.T) {
	c := compile(t, `
affinity: {ttl: 30m}
connections:
  - {id: plain, provider: openai, auth: {key: "env:A"}}
  - {id: full, provider: deepseek, auth: {type: x-api-key, keys: ["env:A", "env:B"], session_sticky_keys: false}, boundary: shared, headers: {X-Team: core}, hints: false}
  - {id: own, provider: openai, base_url: "https://eu.example.com/v1/", auth: {key: "env:A"}}
  - {id: home, provider: ollama}
deployments:
  - {id: d1, model: m, connection: plain}
  - id: d2
    model: m
    upstream_model: up
    connection: full
    protocol: messages
    endpoints: [messages, chat]
    capabilities: {images: false, context: 1000}
    weight: 0.5
    enabled: false
    limits: {concurrency: 1, rpm: 2, tpm: 3}
    timeout: 1s
    timeout_json: 2s
    idle_timeout: 3s
    cache_ttl: 5m
    price: {input: 1, output: 2}
  - {id: d3, model: gpt-5, connection: own}
  - {id: d4, model: gpt-5, connection: home}
`)
	plain := c.Deployment("d1")
	want := map[string]any{
		"upstream": "m", "base": "https://api.openai.com/v1", "protocol": "chat", "enabled": true, "weight": 1.0,
		"timeout": 60 * time.Second, "json": 600 * time.Second, "idle": 120 * time.Second, "ttl": 30 * time.Minute,
		"serves": []bool{true, true, true, false, false}, "auth": "bearer", "boundary": "plain", "sticky": true, "hints": true,
		"private": false, "able": true, "usage": catalog.UsageInside, "price": true,
	}
	got := map[string]any{
		"upstream": plain.UpstreamModel, "base": plain.BaseURL, "protocol": plain.Protocol, "enabled": plain.Enabled, "weight": plain.Weight,
		"timeout": plain.Timeout, "json": plain.TimeoutJSON, "idle": plain.IdleTimeout, "ttl": plain.CacheTTL,
		"serves": []bool{plain.Serves("chat"), plain.Serves("responses"), plain.Serves("messages"), plain.Serves("embeddings"), plain.Serves("videos")},
		"auth":   plain.Account.AuthType, "boundary": plain.Account.Boundary, "sticky": plain.Account.StickyKeys, "hints": plain.Account.Hints,
		"private": plain.Account.AllowPrivateNetwork, "able": plain.Stream && plain.Tools && plain.Images && plain.Documents && plain.JSONSchema,
		"usage": plain.Usage, "price": plain.Price == nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}

	full := c.Deployment("d2")
	want = map[string]any{
		"upstream": "up", "base": "https://api.deepseek.com/anthropic", "protocol": "messages", "enabled": false, "weight": 0.5,
		"limits": catalog.Limits{Concurrency: 1, RPM: 2, TPM: 3}, "ttl": 5 * time.Minute, "endpoints": []string{"messages", "chat"},
		"auth": "x-api-key", "keys": []string{"env:A", "env:B"}, "boundary": "shared", "sticky": false, "hints": false,
		"able": []bool{true, false}, "context": 1000, "usage": catalog.UsageOutside, "price": &catalog.Price{Input: 1, CachedInput: 1, CacheWrite: 1, CacheWrite1h: 1, Output: 2}, "list": "",
		"headers": map[string]string{"X-Team": "core"}, "waits": []time.Duration{time.Second, 2 * time.Second, 3 * time.Second},
	}
	got = map[string]any{
		"upstream": full.UpstreamModel, "base": full.BaseURL, "protocol": full.Protocol, "enabled": full.Enabled, "weight": full.Weight,
		"limits": full.Limits, "ttl": full.CacheTTL, "endpoints": full.Endpoints(),
		"auth": full.Account.AuthType, "keys": full.Account.Keys, "boundary": full.Account.Boundary, "sticky": full.Account.StickyKeys, "hints": full.Account.Hints,
		"able": []bool{full.Tools, full.Images}, "context": full.Context, "usage": full.Usage, "price": full.Price, "list": full.ListPrice,
		"headers": full.Account.Headers, "waits": []time.Duration{full.Timeout, full.TimeoutJSON, full.IdleTimeout},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written values (-want +got):\n%s", diff)
	}

	if own := c.Deployment("d3"); own.BaseURL != "https://eu.example.com/v1" || own.Price == nil || own.ListPrice == "" {
		t.Errorf("own address %q with the public list price %v of %q", own.BaseURL, own.Price, own.ListPrice)
	}
	if home := c.Connection("home"); home.AuthType != "none" || !home.AllowPrivateNetwork || home.BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("a server at home: %+v", home)
	}
}

func TestLookUps(t *testing.T) {
	c := compile(t, pool+`
models:
  - {name: gpt, aliases: [gpt-high, openai/gpt]}
groups:
  - {name: smart, members: [claude, gpt-high]}
`)
	for name, want := range map[string]string{"gpt": "gpt", "gpt-high": "gpt", "openai/gpt": "gpt", "claude": "claude", "smart": "smart"} {
		if got := c.Pool(name); got == nil || got.Name != want {
			t.Errorf("Pool(%q) = %v, want %s", name, got, want)
		}
	}
	for _, name := range []string{"", "GPT", "nothing", "gpt-a", "*"} {
		if got := c.Pool(name); got != nil {
			t.Errorf("Pool(%q) = %s, want none", name, got.Name)
		}
	}
	smart := c.Pool("smart")
	var ids []string
	for i, target := range smart.Deployments {
		ids = append(ids, target.ID)
		if at, ok := smart.Position(target.ID); !ok || at != i {
			t.Errorf("Position(%s) = %d, %t; want %d", target.ID, at, ok, i)
		}
	}
	if diff := cmp.Diff([]string{"claude-c", "gpt-a", "gpt-b", "gpt-z"}, ids); diff != "" {
		t.Errorf("a group's deployments follow its members (-want +got):\n%s", diff)
	}
	if _, ok := smart.Position("mini-a"); ok || !smart.Group() || c.Pool("gpt").Group() {
		t.Error("mini-a is not in smart; smart is a group and gpt is none")
	}
	if diff := cmp.Diff([]string{"gpt", "claude", "mini", "smart"}, names(c.Public())); diff != "" {
		t.Errorf("public names (-want +got):\n%s", diff)
	}
	if c.Deployment("nothing") != nil || c.Connection("nothing") != nil || c.Template("nothing") != nil || c.Caller("nothing") != nil {
		t.Error("what is not there must be nil")
	}
	if c.Revision() != "r1" || c.Affinity().TTL != catalog.Duration(time.Hour) || !c.Session().AutoDetect {
		t.Error("revision, affinity and session of the document")
	}
}

func TestCompileRefusesWhatDoesNotValidate(t *testing.T) {
	doc := load(t, pool)
	doc.Deployments[0].Connection = "gone"
	c, problems := catalog.Compile(doc, "r", nil)
	if want := []string{`deployments[0].connection: no connection "gone"`}; c != nil || !cmp.Equal(want, lines(problems)) {
		t.Errorf("catalog %v, problems %q", c, lines(problems))
	}
}

// Every look-up of the request path is free of allocations.
func TestLookUpsDoNotAllocate(t *testing.T) {
	c := compile(t, pool+`
models: [{name: gpt, aliases: [gpt-high], fallbacks: [claude]}]
groups: [{name: smart, members: [claude, gpt]}]
templates: [{id: t, model_rules: {gpt: {weights: {gpt-a: 1}}}, fallbacks: {gpt: [mini]}}]
platform: {template: t}
keys: [{id: k, key_sha256: "00000000000000000000000000000000000000000000000000000000000000ff", models: [gpt, smart]}]
`)
	var sum [32]byte
	sum[31] = 0xff
	total := 0.0
	allocs := testing.AllocsPerRun(100, func() {
		caller := c.CallerBySHA256(sum)
		pool := c.Pool("gpt-high")
		if !caller.MayUse(pool) || caller.Expired(time.Time{}) {
			t.Fatal("the key may use gpt")
		}
		for _, p := range [...]*catalog.Pool{pool, c.Pool("smart")} {
			split := caller.Policy.Split(p)
			for i, target := range p.Deployments {
				if target.Serves("chat") && target.Enabled {
					total += split.Weights[i]
				}
			}
			total += float64(len(caller.Policy.Fallbacks(catalog.General, p)))
			if caller.Policy.Affinity(p) == catalog.NotSticky {
				total++
			}
		}
		if c.Deployment("gpt-a") == nil || c.Connection("a") == nil || c.Template("t") == nil || c.Caller("k") == nil {
			t.Fatal("missing")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a request, want none (checked %v)", allocs, total)
	}
}

// TestPrices: what a cache costs is what is written, nothing included, and what
// fresh input costs where nothing is written.
func TestPrices(t *testing.T) {
	for written, want := range map[string]catalog.Price{
		"{input: 3, output: 15}":                                    {Input: 3, CachedInput: 3, CacheWrite: 3, CacheWrite1h: 3, Output: 15},
		"{input: 3, cached_input: 0, cache_write: 0, output: 15}":   {Input: 3, Output: 15},
		"{input: 3, cached_input: 0.3, cache_write: 4, output: 15}": {Input: 3, CachedInput: 0.3, CacheWrite: 4, CacheWrite1h: 4, Output: 15},
		"{input: 3, cache_write: 4, cache_write_1h: 0, output: 15}": {Input: 3, CachedInput: 3, CacheWrite: 4, CacheWrite1h: 4, Output: 15},
		"{input: 3, cache_write: 4, cache_write_1h: 6, output: 15}": {Input: 3, CachedInput: 3, CacheWrite: 4, CacheWrite1h: 6, Output: 15},
		"{input: 0, output: 0}":                                     {},
	} {
		doc := load(t, replace(base, "{id: gpt-a, ", "{id: gpt-a, price: "+written+", "))
		text, err := doc.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"as written": "", "read back": string(text)} {
			if text != "" {
				doc = load(t, text)
			}
			c, _ := catalog.Compile(doc, "", nil)
			if diff := cmp.Diff(&want, c.Deployment("gpt-a").Price); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", written, name, diff)
			}
		}
	}
}
