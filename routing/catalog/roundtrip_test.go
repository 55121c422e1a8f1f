package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"holdfast/routing/catalog"
)

// What is written is what is read, by every encoder that may meet a document:
// an empty table stays empty, an absent one absent, and defaults stay unsaid.
func TestRoundTrip(t *testing.T) {
	documents := map[string]*catalog.Document{"demo": catalog.Demo()}
	for name, text := range map[string]string{
		"example": strings.Replace(read(t, "testdata/example.yaml"), "\nmodels: ", rest, 1),
		"base":    base,
		"empty tables": base + `
platform: {template: t2}
affinity: {ttl: 90s, retention: 0, max_wait: 1500ms, enabled: false}
`,
		"odd values": replace(base, "models: [{name: gpt-5, aliases: [gpt]}]", `
models: [{name: gpt-5, aliases: [gpt, "true", "1", "null", "~x", "a: b", "ü"], weights: {}, fallbacks: []}]`),
	} {
		doc, _ := catalog.Parse([]byte(text))
		documents[name] = doc
	}
	odd := documents["odd values"]
	odd.Deployments[0].Weight = ptr(0.0000001)
	odd.Deployments[1].Weight = ptr(1e21)
	odd.Deployments[2].Price = &catalog.Rates{Input: 123456789.25, CachedInput: new(float64)}
	odd.Templates[0] = catalog.Template{
		ID: "t", Cooldown: ptr(catalog.Duration(0)), AllowedFails: ptr(0), Fallbacks: map[string][]string{"gpt": {}},
		ModelRules: map[string]catalog.Rule{"gpt": {Weights: map[string]float64{}}, "claude": {Strategy: "cost"}}, SessionAffinity: catalog.NotSticky,
	}
	odd.Keys[0].Enabled, odd.Keys[0].Models = ptr(false), []string{}
	for name, doc := range documents {
		for encoder, encode := range map[string]func(*catalog.Document) ([]byte, error){
			"JSON":      (*catalog.Document).JSON,
			"std json":  func(d *catalog.Document) ([]byte, error) { return json.Marshal(d) },
			"json v2":   func(d *catalog.Document) ([]byte, error) { return jsonx.Marshal(d) },
			"yaml":      func(d *catalog.Document) ([]byte, error) { return yaml.Marshal(d) },
			"twice":     func(d *catalog.Document) ([]byte, error) { return again(d, t) },
			"yaml of v": func(d *catalog.Document) ([]byte, error) { return yaml.Marshal(map[string]any{"config": d}) },
		} {
			text, err := encode(doc)
			if err != nil {
				t.Fatalf("%s by %s: %v", name, encoder, err)
			}
			if encoder == "yaml of v" {
				text = []byte(strings.ReplaceAll(strings.TrimPrefix(string(text), "config:\n"), "\n    ", "\n"))
				text = []byte(strings.TrimPrefix(string(text), "    "))
			}
			got, problems := catalog.Parse(text)
			if len(problems) > 0 {
				t.Errorf("%s by %s: %q in\n%s", name, encoder, lines(problems), text)
			}
			if diff := cmp.Diff(doc, got); diff != "" {
				t.Errorf("%s by %s (-written +read):\n%s", name, encoder, diff)
			}
		}
	}
}

// again writes, reads and writes; the two texts must be equal.
func again(doc *catalog.Document, t *testing.T) ([]byte, error) {
	first, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	read, _ := catalog.Parse(first)
	second, err := read.JSON()
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("unstable text:\n%s", diff)
	}
	return second, err
}

func TestDurationForms(t *testing.T) {
	for _, row := range []struct {
		value     time.Duration
		json, yml string
	}{
		{0, "0", "0\n"},
		{time.Second, `"1s"`, "1s\n"},
		{60 * time.Second, `"60s"`, "60s\n"},
		{90 * time.Second, `"90s"`, "90s\n"},
		{10 * time.Minute, `"10m"`, "10m\n"},
		{601 * time.Second, `"601s"`, "601s\n"},
		{time.Hour, `"1h"`, "1h\n"},
		{720 * time.Hour, `"720h"`, "720h\n"},
		{1500 * time.Millisecond, `"1.5s"`, "1.5s\n"},
		{300 * time.Millisecond, `"300ms"`, "300ms\n"},
	} {
		value := catalog.Duration(row.value)
		text, err := json.Marshal(value)
		if err != nil || string(text) != row.json {
			t.Errorf("%s in JSON: %s, %v; want %s", row.value, text, err, row.json)
		}
		var back catalog.Duration
		if err := json.Unmarshal(text, &back); err != nil || back != value {
			t.Errorf("%s back: %s, %v", text, back, err)
		}
		if text, err := yaml.Marshal(value); err != nil || string(text) != row.yml {
			t.Errorf("%s in YAML: %q, %v; want %q", row.value, text, err, row.yml)
		}
	}
	for text, want := range map[string]string{
		`"1d"`: "not a duration; write hours, minutes and seconds, such as \"720h\", \"90s\" or \"1h30m\"",
		`5`:    "a duration needs a unit; write \"90s\" or \"1h\"", `"-1s"`: "a duration must not be negative",
		`[1]`: "must be a single value, not a list", `{}`: "must be a single value, not an object",
		`true`: "not a duration; write one with its unit, such as \"90s\" or \"1h\"",
	} {
		var d catalog.Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	kept := catalog.Duration(time.Second)
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || kept != catalog.Duration(time.Second) {
		t.Errorf("null is absent: %s, %v", kept, err)
	}
}

func TestStickinessForms(t *testing.T) {
	for _, row := range []struct {
		value     catalog.Stickiness
		json, yml string
	}{
		{catalog.Sticky, "true", "true\n"}, {catalog.NotSticky, "false", "false\n"},
		{catalog.Strict, `"strict"`, "strict\n"}, {catalog.StickinessUnset, "null", "null\n"},
	} {
		text, err := json.Marshal(row.value)
		if err != nil || string(text) != row.json {
			t.Errorf("%q in JSON: %s, %v", row.value, text, err)
		}
		var back catalog.Stickiness
		if err := json.Unmarshal(text, &back); err != nil || back != row.value {
			t.Errorf("%s back: %q, %v", text, back, err)
		}
		if text, err := yaml.Marshal(row.value); err != nil || string(text) != row.yml {
			t.Errorf("%q in YAML: %q, %v", row.value, text, err)
		}
	}
	for _, text := range []string{"true", "True", "TRUE", `"true"`} {
		doc, problems := catalog.Parse([]byte("templates: [{session_affinity: " + text + "}]"))
		if len(problems) > 0 || doc.Templates[0].SessionAffinity != catalog.Sticky {
			t.Errorf("%s: %q, %q", text, doc.Templates[0].SessionAffinity, lines(problems))
		}
	}
}
