package catalog

import (
	"cmp"
	"slices"
)

// Allowances are those of all organizations, teams and configured keys: in this
// order, by id within a level, whether a key stands below them or not.
func (c *Catalog) Allowances() []Allowance {
	all := make([]Allowance, 0, len(c.orgs)+len(c.teams)+len(c.callers))
	for _, o := range c.orgs {
		all = append(all, Allowance{Level: FromOrganization, ID: o.ID, Limits: o.Limits, Budget: o.Budget})
	}
	for _, t := range c.teams {
		all = append(all, Allowance{Level: FromTeam, ID: t.ID, Limits: t.Limits, Budget: t.Budget})
	}
	for _, k := range c.callers {
		all = append(all, k.Allowances[0]) // its own
	}
	rank := map[Source]int{FromOrganization: 0, FromTeam: 1, FromKey: 2}
	slices.SortFunc(all, func(a, b Allowance) int {
		return cmp.Or(rank[a.Level]-rank[b.Level], cmp.Compare(a.ID, b.ID))
	})
	return all
}
