package catalog_test

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"holdfast/routing/catalog"
)

// FuzzParse: no text makes the parser fail otherwise than by problems; a text
// without problems is read back as it was written, in both languages; and what
// validates compiles.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		base, pool, "{}", "[", "---", "a: &a [*a]", "platform: &p {<<: *p}", "<<: {<<: {}}", `{"session":{"headers":null},"keys":[{"id":"\u0000"}]}`,
		"affinity: {ttl: 1e9h}", "deployments: [{weight: .nan}, {weight: -.inf}, {weight: 0x1F}, {weight: 1_000}]", "models: [{weights: {? a : 1}}]",
		"groups: [{session_affinity: !!str true}]", "keys: [{id: !!binary aGk=, expires: 2027-01-01}]", "%YAML 1.1\n---\nkeys: []",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		doc, problems := catalog.Load(text)
		if doc == nil {
			t.Fatal("no document")
		}
		if catalog.HasErrors(problems) {
			return
		}
		if _, problems := catalog.Compile(doc, "r", func(string) (string, error) { return "secret", nil }); len(doc.Keys) < 2 && catalog.HasErrors(problems) {
			t.Fatalf("does not compile: %q", lines(problems))
		}
		asJSON, err := doc.JSON()
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, written := range [][]byte{asJSON, asYAML} {
			back, problems := catalog.Parse(written)
			if len(problems) > 0 {
				t.Fatalf("%q in\n%s", lines(problems), written)
			}
			if diff := cmp.Diff(doc, back); diff != "" {
				t.Fatalf("%s\nin %s", diff, written)
			}
		}
	})
}

// FuzzParseReference: a reference is never taken for the secret itself.
func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{"env:A", "env:A[1]", "ssm:/x", "local:c[0]", "sk-x", "env:", "[", "env:[1]", "env:A[-1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc := &catalog.Document{Keys: []catalog.Key{{ID: "k", Key: text}}}
		public := doc.Public().Keys[0]
		ref, err := catalog.ParseReference(text)
		if hashed := public.KeySHA256 != ""; hashed != (text != "" && err == nil && ref.Literal()) {
			t.Errorf("%q: %+v, %v, hashed %t", text, ref, err, hashed)
		}
		if sum := sha256.Sum256([]byte(text)); public.KeySHA256 != "" && public.KeySHA256 != hexOf(sum) {
			t.Errorf("%q: another sum", text)
		}
	})
}
