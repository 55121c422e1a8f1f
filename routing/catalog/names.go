package catalog

import (
	"fmt"
	"maps"
	"slices"
)

// names are the names of a document by what they stand for.
type names struct {
	connections map[string]*Connection
	deployments map[string]*Deployment
	models      map[string][]string // the ids of the deployments of each public model
	groups      map[string]*Group
	aliases     map[string]string // alias → model
	templates   map[string]bool
	orgs        map[string]bool
	teams       map[string]*Team
}

// indexNames takes names as they stand; clashes are reported where they stand.
func indexNames(d *Document) names {
	n := names{
		connections: map[string]*Connection{}, deployments: map[string]*Deployment{},
		models: map[string][]string{}, groups: map[string]*Group{}, aliases: map[string]string{},
		templates: map[string]bool{}, orgs: map[string]bool{}, teams: map[string]*Team{},
	}
	for i := range d.Connections {
		n.connections[d.Connections[i].ID] = &d.Connections[i]
	}
	for i := range d.Deployments {
		dep := &d.Deployments[i]
		n.deployments[dep.ID] = dep
		n.models[dep.Model] = append(n.models[dep.Model], dep.ID)
	}
	for _, m := range d.Models {
		for _, alias := range m.Aliases {
			n.aliases[alias] = m.Name
		}
	}
	for i := range d.Groups {
		n.groups[d.Groups[i].Name] = &d.Groups[i]
	}
	for _, t := range d.Templates {
		n.templates[t.ID] = true
	}
	for _, o := range d.Organizations {
		n.orgs[o.ID] = true
	}
	for i := range d.Teams {
		n.teams[d.Teams[i].ID] = &d.Teams[i]
	}
	return n
}

// model is the configured name of a model or alias.
func (n *names) model(name string) (string, bool) {
	if canonical, ok := n.aliases[name]; ok {
		name = canonical
	}
	_, ok := n.models[name]
	return name, ok
}

// public is the configured name of a model, an alias or a group.
func (n *names) public(name string) (string, bool) {
	if _, ok := n.groups[name]; ok {
		return name, true
	}
	return n.model(name)
}

// pool are the ids of the deployments behind a configured name.
func (n *names) pool(name string) []string {
	group, ok := n.groups[name]
	if !ok {
		return n.models[name]
	}
	var ids []string
	for _, member := range group.Members {
		model, _ := n.model(member)
		ids = append(ids, n.models[model]...)
	}
	return ids
}

// known are all names that a client may ask for.
func (n *names) known() []string {
	all := slices.Collect(maps.Keys(n.models))
	all = slices.AppendSeq(all, maps.Keys(n.groups))
	return slices.AppendSeq(all, maps.Keys(n.aliases))
}

// models checks the entries of models, and that no public name stands for two
// things.
func (v *validator) models() {
	taken := map[string]string{}
	for _, d := range v.doc.Deployments {
		taken[d.Model] = "" // a model's own entry may take its name once
	}
	for i := range v.doc.Models {
		m := &v.doc.Models[i]
		path := fmt.Sprintf("models[%d]", i)
		v.modelName(path+".name", m.Name, taken)
		for j, alias := range m.Aliases {
			v.freshName(fmt.Sprintf("%s.aliases[%d]", path, j), alias, taken)
		}
		v.weights(path+".weights", m.Weights, m.Name)
		v.chain(path+".fallbacks", m.Name, m.Fallbacks)
		v.chain(path+".context_window_fallbacks", m.Name, m.ContextWindowFallbacks)
		v.chain(path+".content_policy_fallbacks", m.Name, m.ContentPolicyFallbacks)
	}
	for i, g := range v.doc.Groups {
		v.freshName(fmt.Sprintf("groups[%d].name", i), g.Name, taken)
	}
}

// modelName checks the name of a model's entry: a deployment serves it, and it
// has no other entry.
func (v *validator) modelName(path, name string, taken map[string]string) {
	v.name(path, name)
	by, served := taken[name]
	switch {
	case name == "":
	case by != "":
		v.errorf(path, "%s is taken by %s; names are unique over models, aliases and groups", quoted(name), by)
	case !served:
		v.errorf(path, "no deployment serves %s%s", quoted(name), didYouMean(name, slices.Collect(maps.Keys(v.names.models))))
	default:
		taken[name] = path
	}
}

// freshName checks an alias or a group's name: nothing else may have it.
func (v *validator) freshName(path, name string, taken map[string]string) {
	v.name(path, name)
	by, isTaken := taken[name]
	switch {
	case name == "":
	case isTaken && by == "":
		v.errorf(path, "%s is the name of a model; names are unique over models, aliases and groups", quoted(name))
	case isTaken:
		v.errorf(path, "%s is taken by %s; names are unique over models, aliases and groups", quoted(name), by)
	default:
		taken[name] = path
	}
}

func (v *validator) groups() {
	for i := range v.doc.Groups {
		g := &v.doc.Groups[i]
		path := fmt.Sprintf("groups[%d]", i)
		v.members(path+".members", g)
		v.strategy(path+".strategy", g.Strategy)
		v.stickiness(path+".session_affinity", g.SessionAffinity)
		v.weights(path+".weights", g.Weights, g.Name)
		v.chain(path+".fallbacks", g.Name, g.Fallbacks)
		v.chain(path+".context_window_fallbacks", g.Name, g.ContextWindowFallbacks)
		v.chain(path+".content_policy_fallbacks", g.Name, g.ContentPolicyFallbacks)
	}
}

func (v *validator) members(path string, g *Group) {
	if len(g.Members) == 0 {
		v.errorf(path, "empty; name the models that the group stands for")
	}
	v.atMost(path, len(g.Members), maxMembers)
	seen := map[string]bool{}
	for i, member := range g.Members {
		at := fmt.Sprintf("%s[%d]", path, i)
		model, ok := v.names.model(member)
		_, isGroup := v.names.groups[member]
		switch {
		case isGroup:
			v.errorf(at, "%s is a group; groups hold models only", quoted(member))
		case !ok:
			v.errorf(at, "no deployment serves %s%s", quoted(member), didYouMean(member, slices.Collect(maps.Keys(v.names.models))))
		case seen[model]:
			v.errorf(at, "%s is a member already; keep one", quoted(member))
		}
		seen[model] = true
	}
}

// weights checks a table of shares: every deployment that it names belongs to
// the pool of the public name that it shares out.
func (v *validator) weights(path string, weights map[string]float64, public string) {
	public, ok := v.names.public(public)
	if !ok {
		return // reported where the name stands
	}
	pool := v.names.pool(public)
	for _, id := range slices.Sorted(maps.Keys(weights)) {
		at := join(path, id)
		d, known := v.names.deployments[id]
		switch {
		case !known:
			v.errorf(at, "no deployment %s%s", quoted(id), didYouMean(id, slices.Clone(pool)))
		case !slices.Contains(pool, id):
			v.errorf(at, "deployment %s serves %s, not %s", quoted(id), quoted(d.Model), quoted(public))
		}
		v.number(at, weights[id])
	}
	open := func(id string) bool {
		weight, listed := weights[id]
		return !listed || weight != 0
	}
	if len(pool) > 0 && !slices.ContainsFunc(pool, open) {
		v.warnf(path, "every deployment of %s has weight 0; nothing is left to serve it", quoted(public))
	}
}

// chain checks fallbacks: each exists, none is the source itself. Chains may
// lead back to a model; an exchange never tries one twice.
func (v *validator) chain(path, source string, chain []string) {
	source, _ = v.names.public(source)
	seen := map[string]bool{}
	for i, target := range chain {
		at := fmt.Sprintf("%s[%d]", path, i)
		name, ok := v.names.public(target)
		switch {
		case !ok:
			v.errorf(at, "no model or group %s%s", quoted(target), didYouMean(target, v.names.known()))
		case name == source:
			v.errorf(at, "%s cannot be its own fallback; remove it", quoted(target))
		case seen[name]:
			v.errorf(at, "%s is in the chain already; keep one", quoted(target))
		}
		seen[name] = true
	}
	if len(chain) >= maxChain {
		v.warnf(path, "an exchange tries at most %d models; the end of the chain is never reached", maxChain)
	}
}
