package catalog_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/routing/catalog"
)

// sum is a made-up SHA-256 that ends in one digit.
func sum(digit byte) string { return `"` + strings.Repeat("0", 63) + string(digit) + `"` }

func replace(text, old, with string) string { return strings.ReplaceAll(text, old, with) }

// The template is the first that key, team, organization and platform name, and
// it applies whole.
func TestTemplateOfCaller(t *testing.T) {
	const doc = pool + `
templates: [{id: of-key}, {id: of-team}, {id: of-org, strategy: cost}, {id: of-platform}]
platform: {template: of-platform}
organizations: [{id: org, template: of-org}, {id: bare}]
teams:
  - {id: named, organization: org, template: of-team}
  - {id: silent, organization: org, template: ""}
  - {id: alone, organization: bare}
`
	for _, row := range []struct {
		key, template string
		source        catalog.Source
	}{
		{"template: of-key, team: named", "of-key", catalog.FromKey},
		{"team: named", "of-team", catalog.FromTeam},
		{"team: silent", "of-org", catalog.FromOrganization},
		{"organization: org", "of-org", catalog.FromOrganization},
		{"team: alone", "of-platform", catalog.FromPlatform},
		{"user: u", "of-platform", catalog.FromPlatform},
	} {
		c := compile(t, doc+"keys: [{id: k, key_sha256: "+sum('1')+", "+row.key+"}]\n")
		caller := c.Caller("k")
		if caller.Policy.Template != row.template || caller.PolicySource != row.source || caller.Policy != c.Template(row.template) {
			t.Errorf("%s: %s from %s, want %s from %s", row.key, caller.Policy.Template, caller.PolicySource, row.template, row.source)
		}
	}
	c := compile(t, replace(doc, "platform: {template: of-platform}", "")+"keys: [{id: k, key_sha256: "+sum('1')+"}]\n")
	if caller := c.Caller("k"); caller.Policy.Template != "" || caller.PolicySource != catalog.FromDefault {
		t.Errorf("nobody names one: %q from %s", caller.Policy.Template, caller.PolicySource)
	}
}

// Permissions narrow: organization ∩ team ∩ key.
func TestPermissions(t *testing.T) {
	const doc = pool + `
models: [{name: gpt, aliases: [g]}]
groups: [{name: smart, members: [gpt, claude]}]
organizations: [{id: org%ORG}]
teams: [{id: team, organization: org%TEAM}]
keys: [{id: k, team: team, key_sha256: "` + "0000000000000000000000000000000000000000000000000000000000000001" + `"%KEY}]
`
	all := []string{"gpt", "claude", "mini", "smart"}
	for _, row := range []struct {
		org, team, key string
		want           []string
	}{
		{"", "", "", all},
		{`["*"]`, `["*"]`, `["*"]`, all},
		{"", "", "[gpt]", []string{"gpt"}},
		{"", "", "[g]", []string{"gpt"}},
		{"", "", "[smart]", []string{"smart"}},
		{"[gpt, claude]", "", "[claude, mini]", []string{"claude"}},
		{"[gpt, claude]", "[mini]", "", []string{}},
		{`["*", gpt]`, "[gpt, mini]", "", []string{"gpt", "mini"}},
		{"", `["*"]`, "[mini]", []string{"mini"}},
		{"[gpt]", "[gpt]", `["*"]`, []string{"gpt"}},
	} {
		text := doc
		for name, models := range map[string]string{"%ORG": row.org, "%TEAM": row.team, "%KEY": row.key} {
			if models != "" {
				models = ", models: " + models
			}
			text = replace(text, name, models)
		}
		c := compile(t, text)
		if diff := cmp.Diff(row.want, names(c.Models(c.Caller("k")))); diff != "" {
			t.Errorf("organization %s, team %s, key %s (-want +got):\n%s", row.org, row.team, row.key, diff)
		}
	}
}

func TestCallerInItsPlace(t *testing.T) {
	c := compile(t, pool+`
organizations: [{id: acme, budget: {usd: 500, period: monthly}, limits: {rpm: 9}}]
teams: [{id: core, organization: acme, limits: {tpm: 8}}]
keys:
  - {id: full, key_sha256: `+sum('1')+`, user: ann, team: core, budget: {usd: 1, period: daily, strict: true}, limits: {rpm: 7, strict: true}, enabled: false, expires: 2027-01-31}
  - {id: bare, key_sha256: `+sum('2')+`}
  - {id: "a|b", key_sha256: `+sum('3')+`, organization: acme, user: bob, expires: "2027-01-31T12:00:00+02:00"}
`)
	full := c.Caller("full")
	want := []catalog.Allowance{
		{Level: catalog.FromKey, ID: "full", Limits: catalog.Limits{RPM: 7, Strict: true}, Budget: &catalog.Budget{USD: 1, Period: "daily", Strict: true}},
		{Level: catalog.FromTeam, ID: "core", Limits: catalog.Limits{TPM: 8}},
		{Level: catalog.FromOrganization, ID: "acme", Limits: catalog.Limits{RPM: 9}, Budget: &catalog.Budget{USD: 500, Period: "monthly"}},
	}
	if diff := cmp.Diff(want, full.Allowances); diff != "" {
		t.Errorf("allowances (-want +got):\n%s", diff)
	}
	if full.UserPath != "/acme/core/ann" || full.Organization != "acme" || full.Enabled {
		t.Errorf("full: path %s, organization %s, enabled %t", full.UserPath, full.Organization, full.Enabled)
	}
	if bare := c.Caller("bare"); bare.UserPath != "/" || !bare.Enabled || bare.Expired(time.Now().AddDate(100, 0, 0)) || len(bare.Allowances) != 1 {
		t.Errorf("bare: %+v", bare)
	}
	if piped := c.Caller("a|b"); piped.UserPath != "/acme/bob" || len(piped.Allowances) != 2 {
		t.Errorf("a|b: %+v", piped)
	}
	day := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	if full.Expired(day.Add(-time.Second)) || !full.Expired(day) {
		t.Error("a key that expires on a day works until that day begins, UTC")
	}
	if at := day.Add(10 * time.Hour); c.Caller("a|b").Expired(at.Add(-time.Second)) || !c.Caller("a|b").Expired(at) {
		t.Error("a key that expires at an instant works until then")
	}
	if len(c.Callers()) != 3 || c.Callers()[0] != full {
		t.Error("callers in the document's order")
	}
}

func TestCallerBySecret(t *testing.T) {
	doc := load(t, pool+`
keys:
  - {id: hashed, key_sha256: "`+fmt.Sprintf("%X", sha256.Sum256([]byte("one")))+`"}
  - {id: in-env, key: "env:TWO"}
  - {id: missing, key: "ssm:/three"}
  - {id: again, key: "env:ONE"}
  - {id: empty, key: "env:EMPTY"}
`)
	doc.Keys = append(doc.Keys, catalog.Key{ID: "literal", Key: "four-literal"})
	secrets := func(ref string) (string, error) {
		switch ref {
		case "env:ONE":
			return "one", nil
		case "env:TWO":
			return "two", nil
		case "env:EMPTY":
			return "", nil
		}
		return "", errors.New(ref + " is not there")
	}
	c, problems := catalog.Compile(doc, "r", secrets)
	want := []string{
		"warning: keys[5].key: a literal secret; write a reference (env:NAME, ssm:/path, secretsmanager:arn) or key_sha256 instead",
		"keys[2].key: no key: ssm:/three is not there",
		`keys[3].key: the same secret as key "hashed"; every key needs its own`,
		"keys[4].key: env: the secret is empty",
	}
	if diff := cmp.Diff(want, lines(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if c == nil {
		t.Fatal("the catalog stands without the keys that could not be resolved")
	}
	for secret, id := range map[string]string{"one": "hashed", "two": "in-env", "four-literal": "literal"} {
		if got := c.CallerBySHA256(sha256.Sum256([]byte(secret))); got == nil || got.ID != id {
			t.Errorf("secret of %s: %v", id, got)
		}
	}
	for _, secret := range []string{"", "One", "env:TWO", "three"} {
		if got := c.CallerBySHA256(sha256.Sum256([]byte(secret))); got != nil {
			t.Errorf("%q opens %s", secret, got.ID)
		}
	}
	near := sha256.Sum256([]byte("one"))
	near[31]++
	if c.CallerBySHA256(near) != nil {
		t.Error("a sum that differs in its last byte opens a key")
	}
	if _, problems := catalog.Compile(doc, "r", nil); len(problems) != 5 {
		t.Errorf("without secrets every reference is a problem: %q", lines(problems))
	}
}

func TestCallerForStoredKey(t *testing.T) {
	c := compile(t, pool+`
templates: [{id: t}]
organizations: [{id: org, models: [gpt, mini]}, {id: other}]
teams: [{id: team, organization: org, template: t}]
`)
	key := catalog.Key{ID: "stored", KeySHA256: strings.Repeat("ab", 32), Team: "team", User: "u", Models: []string{"mini", "gone"}}
	caller, problems := c.CallerFor(key)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", lines(problems))
	}
	if caller.UserPath != "/org/team/u" || caller.Policy.Template != "t" || caller.PolicySource != catalog.FromTeam {
		t.Errorf("its place: %+v", caller)
	}
	if diff := cmp.Diff([]string{"mini"}, names(c.Models(caller))); diff != "" {
		t.Errorf("a model that is gone permits nothing (-want +got):\n%s", diff)
	}
	for _, row := range []struct {
		change func(*catalog.Key)
		want   string
	}{
		{func(k *catalog.Key) { k.Team = "gone" }, `team: no team "gone"`},
		{func(k *catalog.Key) { k.Template = "gone" }, `template: no template "gone"`},
		{func(k *catalog.Key) { k.Team, k.Organization = "", "gone" }, `organization: no organization "gone"`},
		{func(k *catalog.Key) { k.Organization = "other" }, `organization: team "team" belongs to another organization`},
		{func(k *catalog.Key) { k.Expires = "soon" }, "expires: must be a date (2027-01-31) or a time with its zone (2027-01-31T18:00:00Z)"},
	} {
		changed := key
		row.change(&changed)
		caller, problems := c.CallerFor(changed)
		if caller != nil || len(problems) == 0 || problems[0].String() != row.want {
			t.Errorf("caller %v, problems %q; want %q", caller, lines(problems), row.want)
		}
	}
}
