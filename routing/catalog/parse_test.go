package catalog_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"holdfast/routing/catalog"
)

// rest completes the example of the documentation, which names a second model
// and two more deployments without showing them.
const rest = `
  - {id: gpt-b, model: gpt-5, connection: openai-a, protocol: chat}
  - {id: claude-a, model: claude-sonnet-5, connection: openai-a, protocol: chat}
models: `

// The example of the documentation is a valid document, every field of it.
func TestExampleOfTheDocumentation(t *testing.T) {
	t.Setenv("HOLDFAST_DEMO_KEY", "sk-example")
	page := read(t, "testdata/example.yaml")
	if _, problems := catalog.Parse([]byte(page)); len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	doc := load(t, strings.Replace(page, "\nmodels: ", rest, 1))
	c, problems := catalog.Compile(doc, "r", func(ref string) (string, error) {
		r, err := catalog.ParseReference(ref)
		if err != nil {
			return "", err
		}
		return r.FromEnv(os.LookupEnv)
	})
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	demo := c.Caller("demo")
	if demo.UserPath != "/acme/core/demo-user" || demo.Policy.Template != "standard" || demo.PolicySource != catalog.FromOrganization {
		t.Errorf("the example's key: %+v", demo)
	}
	if split := demo.Policy.Split(c.Pool("gpt-5-high")); split.Strategy != "cost" || !cmp.Equal(split.Weights, []float64{1, 0}) {
		t.Errorf("the example's model rule: %+v", split)
	}
}

// Alone, the example names what it does not hold, and every such name is told.
func TestEveryDanglingReferenceIsTold(t *testing.T) {
	_, problems := catalog.Load([]byte(read(t, "testdata/example.yaml")))
	want := []string{
		`groups[0].members[1]: no deployment serves "claude-sonnet-5"`,
		`groups[0].weights.claude-a: no deployment "claude-a"`,
		`templates[0].model_rules.gpt-5.weights.gpt-b: no deployment "gpt-b", did you mean gpt-a?`,
		`templates[0].fallbacks.gpt-5[0]: no model or group "claude-sonnet-5"`,
	}
	if diff := cmp.Diff(want, lines(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestParseFillsInSessionAndAffinity(t *testing.T) {
	doc, problems := catalog.Parse([]byte("session: {auto_detect: false}\naffinity: {retention: 0, max_wait: }\n"))
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	want := &catalog.Document{
		Session:  catalog.Session{Enabled: true, BuiltinRules: true},
		Affinity: catalog.Affinity{Enabled: true, TTL: catalog.Duration(time.Hour), MaxWait: catalog.Duration(2 * time.Second)},
		Ledger:   catalog.Ledger{Retention: catalog.Duration(400 * 24 * time.Hour)},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// TestParseProblems holds what is wrong with the shape of documents, and what is
// said of it.
func TestParseProblems(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"unknown field", "deployments:\n- {id: a}\n- {id: b, wieght: 3}", []string{"deployments[1].wieght: unknown field, did you mean weight?"}},
		{"unknown field, nothing like it", "colour: red", []string{"colour: unknown field"}},
		{"all of them at once", "sesion: {}\nkeys: [{id: 1, modells: []}]\ngroups: x\n", []string{
			"sesion: unknown field, did you mean session?", "keys[0].id: must be text, not a number; put it in quotes",
			"keys[0].modells: unknown field, did you mean models?", "groups: must be a list, not text"}},
		{"field of another place", "affinity: {auto_detect: true}", []string{"affinity.auto_detect: unknown field"}},
		{"duplicate key", "platform: {template: a, template: b}", []string{"platform.template: given twice; keep one"}},
		{"duplicate top-level key", "keys: []\nkeys: []", []string{"keys: given twice; keep one"}},
		{"duplicate map key", "models: [{weights: {a.b: 1, a.b: 2}}]", []string{`models[0].weights["a.b"]: given twice; keep one`}},
		{"duplicate JSON name", `{"keys": [{"id": "a", "id": "b"}]}`, []string{"keys[0].id: given twice; keep one"}},
		{"escaped duplicate JSON name", `{"keys": [{"id": "a", "\u0069d": "b"}]}`, []string{"keys[0].id: given twice; keep one"}},
		{"zeros that would be taken for nothing", `templates: [{retry_policy: {max_attempts: 0}, response_cache: {ttl: 0}}, {retry_policy: {max_attempts: }}]
deployments: [{timeout: 0, timeout_json: "0s", idle_timeout: &zero 0, capabilities: {context: 0}, cache_ttl: 0, limits: {rpm: 0, tpm: 0, concurrency: 0}, weight: 0}, {timeout: *zero}]
guardrails: [{match: x, max_bytes: 0}]
`, []string{
			"templates[0].retry_policy.max_attempts: must be more than 0; leave it out to have the default",
			"templates[0].response_cache.ttl: must be more than 0; leave it out to have the default",
			"deployments[0].timeout: must be more than 0; leave it out to have the default",
			"deployments[0].timeout_json: must be more than 0; leave it out to have the default",
			"deployments[0].idle_timeout: must be more than 0; leave it out to have the default",
			"deployments[0].capabilities.context: must be more than 0; leave it out to have the default",
			"deployments[1].timeout: must be more than 0; leave it out to have the default",
			"guardrails[0].max_bytes: must be more than 0; leave it out to have the default"}},
		{"zero in JSON", `{"templates": [{"retry_policy": {"max_attempts": 0}}, {"retry_policy": {"max_attempts": "0"}}]}`, []string{
			"templates[0].retry_policy.max_attempts: must be more than 0; leave it out to have the default",
			"templates[1].retry_policy.max_attempts: must be a whole number, not text"}},
		{"list for text", "connections: [{id: [a]}]", []string{"connections[0].id: must be text, not a list"}},
		{"mapping for text", "connections: [{id: {a: b}}]", []string{"connections[0].id: must be text, not a mapping"}},
		{"text for list", "keys: [{models: gpt}]", []string{"keys[0].models: must be a list, not text"}},
		{"text for mapping", "platform: standard", []string{"platform: must be a mapping, not text"}},
		{"list for table", "models: [{weights: [a]}]", []string{"models[0].weights: must be a mapping, not a list"}},
		{"text for number", "deployments: [{weight: heavy, limits: {rpm: many}}]", []string{
			"deployments[0].weight: must be a number, not text", "deployments[0].limits.rpm: must be a whole number, not text"}},
		{"fraction for whole number", "deployments: [{limits: {rpm: 1.5}}]", []string{"deployments[0].limits.rpm: must be a whole number, in plain digits"}},
		{"number too large", "deployments: [{limits: {rpm: 99999999999999999999}}]", []string{"deployments[0].limits.rpm: must be a whole number, in plain digits"}},
		{"JSON whole number too large", `{"deployments": [{"limits": {"rpm": 99999999999999999999}}]}`, []string{"deployments[0].limits.rpm: is too large a number"}},
		{"JSON number too large", `{"deployments": [{"weight": 1e999}]}`, []string{"deployments[0].weight: is too large a number"}},
		{"word for boolean", "session: {enabled: yes}", []string{"session.enabled: must be true or false, not text"}},
		{"quoted boolean", `session: {enabled: "true"}`, []string{"session.enabled: must be true or false, not text"}},
		{"number for boolean", "session: {enabled: 1}", []string{"session.enabled: must be true or false, not a number"}},
		{"boolean for text", "keys: [{user: true}]", []string{"keys[0].user: must be text, not true or false; put it in quotes"}},
		{"binary", "keys: [{user: !!binary aGk=}]", []string{"keys[0].user: must be text, not something else"}},
		{"null key", "models: [{weights: {~: 1}}]", []string{"models[0].weights: a key must be text, not nothing"}},
		{"mapping as key", "models: [{weights: {[a]: 1}}]", []string{"models[0].weights: a key must be text, not a list"}},
		{"duration without unit", "affinity: {ttl: 90}", []string{`affinity.ttl: a duration needs a unit; write "90s" or "1h"`}},
		{"duration in days", "affinity: {ttl: 30d}", []string{`affinity.ttl: not a duration; write hours, minutes and seconds, such as "720h", "90s" or "1h30m"`}},
		{"duration that overflows", "affinity: {ttl: 9999999999h}", []string{`affinity.ttl: not a duration; write hours, minutes and seconds, such as "720h", "90s" or "1h30m"`}},
		{"negative duration", "affinity: {ttl: -1h}\ntemplates: [{cooldown: -1s}]", []string{
			"affinity.ttl: a duration must not be negative", "templates[0].cooldown: a duration must not be negative"}},
		{"boolean for duration", "affinity: {ttl: true}", []string{`affinity.ttl: not a duration; write one with its unit, such as "90s" or "1h"`}},
		{"list for duration", "affinity: {ttl: [1h]}", []string{"affinity.ttl: must be a single value, not a list"}},
		{"stickiness", "groups: [{session_affinity: sticky}, {session_affinity: 1}, {session_affinity: [true]}]", []string{
			"groups[0].session_affinity: must be true, false or strict", "groups[1].session_affinity: must be true, false or strict",
			"groups[2].session_affinity: must be a single value, not a list"}},
		{"two documents", "keys: []\n---\nkeys: []\n", []string{"several YAML documents in one; keep the first and remove what follows ---"}},
		{"nothing", "", []string{"the document is empty"}},
		{"a comment", "# nothing\n", []string{"the document is empty"}},
		{"a list", "- a", []string{"must be a mapping, not a list"}},
		{"a word", "hello", []string{"must be a mapping, not text"}},
		{"broken YAML", "keys: [\n", []string{"not valid YAML: line 1: did not find expected node content"}},
		{"broken JSON", `{"keys": [}`, []string{`not valid JSON: invalid character '}' at start of value within "/keys/0" after offset 10`}},
		{"JSON and more", `{"keys": []} x`, []string{"not valid JSON: text after the end of the document"}},
		{"not UTF-8", "keys: \"\xff\"", []string{"the document is not UTF-8 text"}},
		{"merge of a word", "platform: {<<: word}", []string{"platform: << must name a mapping, not text"}},
		{"long unknown field", strings.Repeat("x", 300) + ": 1", []string{`["` + strings.Repeat("x", 80) + `…"]: unknown field`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, problems := catalog.Parse([]byte(row.text))
			if diff := cmp.Diff(row.want, lines(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if doc == nil {
				t.Error("no document")
			}
		})
	}
}

// A problem of the shape is told once, and does not hide the others.
func TestLoadTellsAllAndNothingTwice(t *testing.T) {
	_, problems := catalog.Load([]byte(`
connections: [{id: a, provider: openai, auth: {key: "env:A"}}]
deployments:
  - {id: [x], model: m, connection: b}
  - {id: y, modle: m, connection: a}
`))
	want := []string{
		"deployments[0].id: must be text, not a list",
		"deployments[1].modle: unknown field, did you mean model?",
		`deployments[0].connection: no connection "b"`,
		"deployments[1].model: missing",
	}
	if diff := cmp.Diff(want, lines(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, problems := catalog.Load([]byte("connections: 3")); !cmp.Equal(lines(problems), []string{
		"connections: must be a list, not a number", "deployments: empty; a gateway needs at least one deployment to route to"}) {
		t.Errorf("problems: %q", lines(problems))
	}
}

// Anchors and merges work, and cannot be made to stand for more than a bound.
func TestAliases(t *testing.T) {
	doc := load(t, `
connections: [{id: a, provider: openai, auth: {key: "env:A"}}]
deployments:
  - &first {id: d1, model: m, connection: a, weight: 2, limits: {rpm: 5}}
  - {<<: *first, id: d2}
  - {<<: [{weight: 9, timeout: 5s}, *first], id: d3}
`)
	two, three := doc.Deployments[1], doc.Deployments[2]
	if two.ID != "d2" || *two.Weight != 2 || two.Limits.RPM != 5 || *three.Weight != 9 || three.Timeout != catalog.Duration(5*time.Second) || three.Model != "m" {
		t.Errorf("merged: %+v, %+v", two, three)
	}

	var bomb strings.Builder
	bomb.WriteString("connections:\n- &c {id: x, headers: {")
	for i := range 2000 {
		bomb.WriteString("h" + strconv.Itoa(i) + ": v, ")
	}
	bomb.WriteString("}}\n")
	bomb.WriteString(strings.Repeat("- *c\n", 20_000))
	bombed, problems := catalog.Parse([]byte(bomb.String()))
	if !strings.Contains(strings.Join(lines(problems), "\n"), "once its aliases are followed") || len(bombed.Connections) > 200 {
		t.Errorf("%d connections, %q", len(bombed.Connections), lines(problems)[:min(3, len(problems))])
	}
	for _, text := range []string{"a: &a {b: *a}", "keys: &k [*k]"} {
		if _, problems := catalog.Parse([]byte(text)); len(problems) == 0 {
			t.Errorf("%s: no problem", text)
		}
	}
}

func TestSizeAndDepthAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"larger than": "keys: [] #" + strings.Repeat("x", catalog.MaxDocument),
		"deep":        `{"a": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}",
		"exceeded":    "a: " + strings.Repeat("[", 100_000),
	} {
		_, problems := catalog.Parse([]byte(text))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, strings.Fields(name)[0]) && name != "deep" {
			t.Errorf("%s: %q", name, lines(problems))
		}
	}
	_, problems := catalog.Parse([]byte("models:" + strings.Repeat("\n- {x: 1}", 5000)))
	if len(problems) != 1001 || problems[1000].Message != "more problems follow; mend these first" {
		t.Errorf("%d problems", len(problems))
	}
}

// JSON is the same document: what YAML reads otherwise is read as JSON means it.
func TestJSONIsTheSameDocument(t *testing.T) {
	page := read(t, "testdata/example.yaml")
	fromYAML, problems := catalog.Parse([]byte(page))
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	var tree any
	if err := yaml.Unmarshal([]byte(page), &tree); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(tree, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, problems := catalog.Parse(text)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Errorf("YAML and JSON differ (-yaml +json):\n%s", diff)
	}
	doc, problems := catalog.Parse([]byte("\ufeff{\"keys\":\t[{\"user\": \"\\ud83d\\ude00\\/\", \"limits\": {\"rpm\": 5}}], \"affinity\": {\"ttl\": \"90s\", \"retention\": 0}}\n"))
	if len(problems) > 0 || doc.Keys[0].User != "😀/" || doc.Keys[0].Limits.RPM != 5 || doc.Affinity.TTL != catalog.Duration(90*time.Second) || doc.Affinity.Retention != 0 {
		t.Errorf("JSON's own escapes: %+v, %q", doc.Keys, lines(problems))
	}
	flow, problems := catalog.Parse([]byte("{session: {enabled: false}, keys: [{id: a}],}"))
	if len(problems) > 0 || flow.Session.Enabled || flow.Keys[0].ID != "a" {
		t.Errorf("YAML's flow style: %+v, %q", flow, lines(problems))
	}
}

func TestParseOneKeyOrGroup(t *testing.T) {
	key, problems := catalog.ParseKey([]byte(`{"id": "k", "budget": {"usd": 1.5, "period": "daily"}, "enabled": false}`))
	off := false
	if diff := cmp.Diff(catalog.Key{ID: "k", Budget: &catalog.Budget{USD: 1.5, Period: "daily"}, Enabled: &off}, key); diff != "" || len(problems) > 0 {
		t.Errorf("key: %s %q", diff, lines(problems))
	}
	group, problems := catalog.ParseGroup([]byte(`{"name": "g", "members": ["m"], "weights": {}, "session_affinity": "strict"}`))
	want := catalog.Group{Name: "g", Members: []string{"m"}, Weights: map[string]float64{}, SessionAffinity: catalog.Strict}
	if diff := cmp.Diff(want, group); diff != "" || len(problems) > 0 {
		t.Errorf("group: %s %q", diff, lines(problems))
	}
	if _, problems := catalog.ParseKey([]byte(`{"ids": 1}`)); !cmp.Equal(lines(problems), []string{"ids: unknown field, did you mean id?"}) {
		t.Errorf("problems: %q", lines(problems))
	}
}
