package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
)

// addCallers places every key of the document whose secret is known, and tells of
// the others.
func (c *Catalog) addCallers(doc *Document, secrets Secrets, found *problems) {
	for _, o := range doc.Organizations {
		c.orgs[o.ID] = o
	}
	for _, t := range doc.Teams {
		c.teams[t.ID] = t
	}
	for i := range doc.Keys {
		k := &doc.Keys[i]
		shown := *k
		shown.Key, shown.KeySHA256 = "", ""
		c.keys = append(c.keys, shown)
		path := fmt.Sprintf("keys[%d].key", i)
		sum, err := sumOf(k, secrets)
		if err != nil {
			found.errorf(path, "%v", err)
			continue
		}
		if other := c.CallerBySHA256(sum); other != nil {
			found.errorf(path, "the same secret as key %s; every key needs its own", quoted(other.ID))
			continue
		}
		caller := c.place(k)
		caller.sum = sum
		c.callers = append(c.callers, caller)
		c.byID[caller.ID] = caller
		c.bySum[[8]byte(sum[:8])] = append(c.bySum[[8]byte(sum[:8])], caller)
	}
}

// sumOf is the SHA-256 of a key's secret.
func sumOf(k *Key, secrets Secrets) ([32]byte, error) {
	if k.KeySHA256 != "" {
		raw, err := hex.DecodeString(k.KeySHA256)
		if err != nil {
			return [32]byte{}, err
		}
		return [32]byte(raw), nil
	}
	ref, err := ParseReference(k.Key)
	switch {
	case err != nil:
		return [32]byte{}, err
	case ref.Literal():
		return sha256.Sum256([]byte(k.Key)), nil
	case secrets == nil:
		return [32]byte{}, fmt.Errorf("%s: cannot be resolved here; give key_sha256", ref.Scheme)
	}
	secret, err := secrets(k.Key)
	if err != nil {
		return [32]byte{}, fmt.Errorf("no key: %w", err)
	}
	if secret == "" {
		return [32]byte{}, fmt.Errorf("%s: the secret is empty", ref.Scheme)
	}
	return sha256.Sum256([]byte(secret)), nil
}

// CallerFor is a key that the document does not hold, such as one made through
// the admin API, in its place among the document's teams, organizations,
// templates and models. Names of models that no longer exist permit nothing. A
// team, organization or template that no longer exists is a problem, and then
// there is no caller: rules that cannot be read are never replaced by others.
func (c *Catalog) CallerFor(key Key) (*Caller, []Problem) {
	v := validator{names: c.callerNames()}
	if team, ok := c.teams[key.Team]; key.Team != "" && !ok {
		v.errorf("team", "no team %s", quoted(key.Team))
	} else if ok && key.Organization != "" && key.Organization != team.Organization {
		v.errorf("organization", "team %s belongs to another organization", quoted(key.Team))
	}
	v.organization("organization", key.Organization)
	v.template("template", key.Template)
	if _, err := parseExpiry(key.Expires); err != nil {
		v.errorf("expires", "%v", err)
	}
	if len(v.list) > 0 {
		return nil, v.list
	}
	caller := c.place(&key)
	if raw, err := hex.DecodeString(key.KeySHA256); err == nil && len(raw) == 32 {
		caller.sum = [32]byte(raw)
	}
	return caller, nil
}

func (c *Catalog) callerNames() names {
	n := names{orgs: map[string]bool{}, templates: map[string]bool{}}
	for id := range c.orgs {
		n.orgs[id] = true
	}
	for id := range c.policies {
		n.templates[id] = true
	}
	return n
}

// place works out what follows from a key's place: the narrowest permissions,
// the first template, the limits of every level.
func (c *Catalog) place(k *Key) *Caller {
	team := c.teams[k.Team]
	org := c.orgs[or(k.Organization, team.Organization)]
	expires, _ := parseExpiry(k.Expires)
	caller := &Caller{
		ID: k.ID, User: k.User, Team: k.Team, Organization: org.ID,
		UserPath: userPath(org.ID, k.Team, k.User), Enabled: orTrue(k.Enabled), Expires: expires,
		models: narrow(narrow(c.allowed(org.Models), c.allowed(team.Models)), c.allowed(k.Models)),
	}
	caller.Policy, caller.PolicySource = c.policyOf(k.Template, team.Template, org.Template)
	caller.Allowances = append(caller.Allowances, Allowance{Level: FromKey, ID: k.ID, Limits: k.Limits, Budget: k.Budget})
	if k.Team != "" {
		caller.Allowances = append(caller.Allowances, Allowance{Level: FromTeam, ID: team.ID, Limits: team.Limits, Budget: team.Budget})
	}
	if org.ID != "" {
		caller.Allowances = append(caller.Allowances, Allowance{Level: FromOrganization, ID: org.ID, Limits: org.Limits, Budget: org.Budget})
	}
	return caller
}

// policyOf is the template of the first level that names one. It applies whole.
func (c *Catalog) policyOf(key, team, org string) (*Policy, Source) {
	switch {
	case key != "":
		return c.policies[key], FromKey
	case team != "":
		return c.policies[team], FromTeam
	case org != "":
		return c.policies[org], FromOrganization
	}
	return c.platform, c.platformBy
}

// narrow is what two sets of permissions both allow; nil allows all.
func narrow(a, b map[string]bool) map[string]bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := maps.Clone(a)
	maps.DeleteFunc(both, func(name string, _ bool) bool { return !b[name] })
	return both
}

// userPath is /organization/team/user without the parts that are empty.
func userPath(parts ...string) string {
	var path strings.Builder
	for _, part := range parts {
		if part != "" {
			path.WriteString("/" + part)
		}
	}
	return or(path.String(), "/")
}
