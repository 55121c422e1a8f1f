package catalog

// Native is what a connection's or a provider's name stands for when an upstream is
// addressed by it: the deployments there of an upstream model, those that speak
// a protocol where there are some, as one pool. A connection comes before a
// provider of the same name.
//
// Only deployments of models that the caller may use are in it. Where no model
// is asked for, the caller must be allowed all that are deployed there, since
// nobody can tell which of them is used. pool is nil where nothing is left;
// known is false where nothing has the name.
func (c *Catalog) Native(caller *Caller, name, upstreamModel, protocol string) (pool *Pool, known bool) {
	there := func(a *Account) bool { return a.Provider == name }
	if account := c.accounts[name]; account != nil {
		there = func(a *Account) bool { return a == account }
	}
	var all, speaking []*Target
	for _, model := range c.public {
		if model.Group() {
			continue
		}
		for _, t := range model.Deployments {
			if !there(t.Account) {
				continue
			}
			known = true
			switch mine := caller.MayUse(model); {
			case upstreamModel == "" && !mine:
				return nil, true
			case upstreamModel != "" && (t.UpstreamModel != upstreamModel || !mine):
				continue
			}
			all = append(all, t)
			if t.Protocol == protocol {
				speaking = append(speaking, t)
			}
		}
	}
	if len(speaking) > 0 {
		all = speaking
	}
	if len(all) == 0 {
		return nil, known || c.accounts[name] != nil
	}
	return nativePool("bypass/"+name+"/"+upstreamModel, all), true
}

// nativePool is a pool with its deployments' own weights.
func nativePool(name string, targets []*Target) *Pool {
	p := &Pool{Name: name, Deployments: targets, position: make(map[string]int, len(targets))}
	p.base.WeightsFrom = FromDeployments
	for i, t := range targets {
		p.position[t.ID] = i
		p.base.Weights = append(p.base.Weights, t.Weight)
	}
	return p
}

// Unrestricted is the caller as it is, but for the models: for pools whose models
// have been judged already.
func (c *Caller) Unrestricted() *Caller {
	free := *c
	free.models = nil
	return &free
}
