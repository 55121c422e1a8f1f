package catalog

import (
	"fmt"
	"maps"
	"slices"
)

// CheckKey says what keeps a key from being kept outside of the document, each
// problem at its field: the key's secret is not looked at. It is stricter than
// CallerFor, since a key is checked while its operator is there to mend it.
func (c *Catalog) CheckKey(key Key) []Problem {
	v := validator{names: c.callerNames(), doc: &Document{}}
	v.id("id", key.ID, pathSegment, map[string]string{})
	if c.byID[key.ID] != nil {
		v.errorf("id", "%s is a key of the configuration; ids are unique", quoted(key.ID))
	}
	v.text("user", key.User, noSlash)
	for i, name := range key.Models {
		if name != everything && c.pools[name] == nil {
			v.errorf(fmt.Sprintf("models[%d]", i), "no model or group %s%s", quoted(name), didYouMean(name, slices.Collect(maps.Keys(c.pools))))
		}
	}
	if key.Models != nil && len(key.Models) == 0 {
		v.warnf("models", `empty, which allows no model at all; leave it out or write ["*"] for all`)
	}
	v.budget("budget", key.Budget)
	v.limits("limits", key.Limits)
	if key.Limits.Concurrency > 0 {
		v.errorf("limits.concurrency", "only deployments bound how much runs at once; leave this out")
	}
	_, found := c.CallerFor(key)
	return append(v.list, found...)
}
