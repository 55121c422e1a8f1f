package catalog

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

func (v *validator) templates() {
	seen := map[string]string{}
	for i := range v.doc.Templates {
		t := &v.doc.Templates[i]
		path := fmt.Sprintf("templates[%d]", i)
		v.id(path+".id", t.ID, anyCharacter, seen)
		v.strategy(path+".strategy", t.Strategy)
		v.stickiness(path+".session_affinity", t.SessionAffinity)
		v.attempts(path, t)
		v.rules(path+".model_rules", t.ModelRules, false)
		v.rules(path+".group_rules", t.GroupRules, true)
		v.chains(path+".fallbacks", t.Fallbacks)
		v.chains(path+".context_window_fallbacks", t.ContextWindowFallbacks)
		v.chains(path+".content_policy_fallbacks", t.ContentPolicyFallbacks)
		v.duration(path+".response_cache.ttl", t.ResponseCache.TTL)
	}
	v.template("platform.template", v.doc.Platform.Template)
}

// maxAttempts bounds the calls that one deployment may cost an exchange.
const maxAttempts = 20

// attempts checks the numbers of retries and cooling; 0 attempts is none given.
func (v *validator) attempts(path string, t *Template) {
	switch n := t.RetryPolicy.MaxAttempts; {
	case n < 0:
		v.errorf(path+".retry_policy.max_attempts", "must be at least 1; it counts the first attempt too")
	case n > maxAttempts:
		v.errorf(path+".retry_policy.max_attempts", "at most %d attempts on one deployment are possible", maxAttempts)
	}
	if t.AllowedFails != nil {
		switch n := *t.AllowedFails; {
		case n < 0:
			v.errorf(path+".allowed_fails", "must not be negative")
		case n == 0:
			v.warnf(path+".allowed_fails", "0 is read as 1: the first failure cools")
		}
	}
	if t.Cooldown != nil {
		v.duration(path+".cooldown", *t.Cooldown)
	}
}

// rules checks the rules of models or of groups; the two have a table each.
func (v *validator) rules(path string, rules map[string]Rule, ofGroups bool) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		at, rule := join(path, name), rules[name]
		public, ok := v.names.public(name)
		_, isGroup := v.names.groups[name]
		switch {
		case !ok:
			v.errorf(at, "no model or group %s%s", quoted(name), didYouMean(name, v.names.known()))
		case isGroup && !ofGroups:
			v.errorf(at, "%s is a group; its rule belongs in group_rules", quoted(name))
		case !isGroup && ofGroups:
			v.errorf(at, "%s is a model; its rule belongs in model_rules", quoted(name))
		case seen[public] != "":
			v.errorf(at, "the same model as %s; keep one rule", quoted(seen[public]))
		default:
			v.weights(at+".weights", rule.Weights, name)
		}
		seen[public] = name
		v.strategy(at+".strategy", rule.Strategy)
	}
}

// chains checks a template's table of fallbacks. A source that is mapped to an
// empty list has its fallbacks switched off, which is legal.
func (v *validator) chains(path string, chains map[string][]string) {
	seen := map[string]string{}
	for _, source := range slices.Sorted(maps.Keys(chains)) {
		at := join(path, source)
		public, ok := v.names.public(source)
		switch {
		case !ok:
			v.errorf(at, "no model or group %s%s", quoted(source), didYouMean(source, v.names.known()))
		case seen[public] != "":
			v.errorf(at, "the same model as %s; keep one chain", quoted(seen[public]))
		}
		seen[public] = source
		v.chain(at, source, chains[source])
	}
}

// The strategies that order candidates.
const (
	Weighted   = "weighted"    // weighted rendezvous hash of the session
	Cost       = "cost"        // cheapest for the expected tokens
	Latency    = "latency"     // quickest first byte, as a moving average
	LeastUsage = "usage"       // fewest tokens this minute
	RoundRobin = "round_robin" // in turn, per process
)

func (v *validator) strategy(path, strategy string) {
	v.oneOf(path, strategy, "", Weighted, Cost, Latency, LeastUsage, RoundRobin)
}

func (v *validator) stickiness(path string, s Stickiness) {
	v.oneOf(path, string(s), "", string(Sticky), string(NotSticky), string(Strict))
}

func (v *validator) template(path, id string) {
	if id != "" && !v.names.templates[id] {
		v.errorf(path, "no template %s%s", quoted(id), didYouMean(id, slices.Collect(maps.Keys(v.names.templates))))
	}
}

// callers checks organizations, teams and keys.
func (v *validator) callers() {
	orgs, teams, keys := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range v.doc.Organizations {
		o := &v.doc.Organizations[i]
		path := fmt.Sprintf("organizations[%d]", i)
		v.id(path+".id", o.ID, noSlash, orgs)
		v.template(path+".template", o.Template)
		v.permissions(path+".models", o.Models)
		v.budget(path+".budget", o.Budget)
		v.limits(path+".limits", o.Limits)
	}
	for i := range v.doc.Teams {
		t := &v.doc.Teams[i]
		path := fmt.Sprintf("teams[%d]", i)
		v.id(path+".id", t.ID, noSlash, teams)
		v.organization(path+".organization", t.Organization)
		v.template(path+".template", t.Template)
		v.permissions(path+".models", t.Models)
		v.budget(path+".budget", t.Budget)
		v.limits(path+".limits", t.Limits)
	}
	for i := range v.doc.Keys {
		v.key(fmt.Sprintf("keys[%d]", i), &v.doc.Keys[i], keys)
	}
}

func (v *validator) organization(path, id string) {
	if id != "" && !v.names.orgs[id] {
		v.errorf(path, "no organization %s%s", quoted(id), didYouMean(id, slices.Collect(maps.Keys(v.names.orgs))))
	}
}

// key checks everything of a key but its secret's whereabouts.
func (v *validator) key(path string, k *Key, seen map[string]string) {
	v.id(path+".id", k.ID, anyCharacter, seen)
	v.keySecret(path, k)
	v.text(path+".user", k.User, noSlash)
	team, known := v.names.teams[k.Team]
	if k.Team != "" && !known {
		v.errorf(path+".team", "no team %s%s", quoted(k.Team), didYouMean(k.Team, slices.Collect(maps.Keys(v.names.teams))))
	}
	v.organization(path+".organization", k.Organization)
	if known && k.Organization != "" && k.Organization != team.Organization {
		v.errorf(path+".organization", "team %s belongs to another organization; leave this out to take the team's", quoted(k.Team))
	}
	v.template(path+".template", k.Template)
	v.permissions(path+".models", k.Models)
	v.budget(path+".budget", k.Budget)
	v.limits(path+".limits", k.Limits)
	if _, err := parseExpiry(k.Expires); err != nil {
		v.errorf(path+".expires", "%v", err)
	}
}

// keySecret checks that there is exactly one way to know the key. The demo's key
// is no secret, as long as nothing real is behind it.
func (v *validator) keySecret(path string, k *Key) {
	ref, err := ParseReference(k.Key)
	switch {
	case k.Key == "" && k.KeySHA256 == "":
		v.errorf(path+".key", "missing; give a reference such as env:NAME, or key_sha256")
	case k.Key != "" && k.KeySHA256 != "":
		v.errorf(path+".key_sha256", "give either key or key_sha256, not both")
	case k.KeySHA256 != "":
		if sum, err := hex.DecodeString(k.KeySHA256); err != nil || len(sum) != 32 {
			v.errorf(path+".key_sha256", "must be 64 hexadecimal digits, the SHA-256 of the key")
		}
	case err != nil:
		v.errorf(path+".key", "%v", err)
	case ref.Scheme == SchemeLocal:
		v.errorf(path+".key", "local: is for the keys of connections; give env:NAME, ssm:/path, secretsmanager:arn or key_sha256")
	case ref.Literal() && !visibleASCII(k.Key):
		v.errorf(path+".key", "a key may hold visible ASCII characters only")
	case ref.Literal() && !(k.Key == DemoKey && v.simulated()):
		v.warnf(path+".key", "a literal secret; write a reference (env:NAME, ssm:/path, secretsmanager:arn) or key_sha256 instead")
	}
}

// simulated reports whether no real provider is behind the document, so that a
// key that everybody knows gives nothing away.
func (v *validator) simulated() bool {
	return !slices.ContainsFunc(v.doc.Connections, func(c Connection) bool { return c.Provider != Simulated })
}

// permissions checks a list of allowed names. Absent is everything.
func (v *validator) permissions(path string, models []string) {
	if models != nil && len(models) == 0 {
		v.warnf(path, `empty, which allows no model at all; leave it out or write ["*"] for all`)
	}
	for i, name := range models {
		if _, ok := v.names.public(name); !ok && name != everything {
			v.errorf(fmt.Sprintf("%s[%d]", path, i), "no model or group %s%s", quoted(name), didYouMean(name, v.names.known()))
		}
	}
}

func (v *validator) budget(path string, b *Budget) {
	if b == nil {
		return
	}
	v.number(path+".usd", b.USD)
	if b.USD == 0 {
		v.warnf(path+".usd", "0 lets nothing through; leave the budget out for no limit")
	}
	v.oneOf(path+".period", b.Period, required, "daily", "weekly", "monthly")
}

// parseExpiry reads when a key runs out: an instant, or the first moment (UTC)
// of a day. The zero time is never.
func parseExpiry(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("must be a date (2027-01-31) or a time with its zone (2027-01-31T18:00:00Z)")
}
