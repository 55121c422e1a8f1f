package catalog

import (
	"slices"
	"strings"
)

// serve makes the deployments. A model is served by its name over all
// connections that have it, and as <provider>/<model> and <connection>/<model>
// over those of that provider or that connection alone. Where the narrower name
// means the same deployments it is an alias, so that both share a preference.
func (d *discoverer) serve() {
	byModel := map[string][]service{}
	var order []string
	for _, s := range d.serves {
		if byModel[s.model] == nil {
			order = append(order, s.model)
		}
		byModel[s.model] = append(byModel[s.model], s)
	}
	for _, model := range order {
		all := byModel[model]
		entry := Model{Name: model}
		for _, s := range all {
			d.deploy(model, s, s.by.id+"-"+model)
		}
		for _, owner := range owners(all) {
			narrow := owner + "/" + model
			own := slices.DeleteFunc(slices.Clone(all), func(s service) bool { return s.by.id != owner && s.by.preset.Provider != owner })
			switch {
			case byModel[narrow] != nil: // a model that really has that name comes first
			case len(own) == len(all):
				entry.Aliases = append(entry.Aliases, narrow)
			default:
				for _, s := range own {
					d.deploy(narrow, s, s.by.id+"-"+narrow)
				}
			}
		}
		if len(entry.Aliases) > 0 {
			d.doc.Models = append(d.doc.Models, entry)
		}
	}
}

// owners are the providers and the connections of some services, once each.
func owners(services []service) []string {
	var names []string
	for _, s := range services {
		for _, name := range []string{s.by.preset.Provider, s.by.id} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// deploy serves a model over a connection: by its default protocol, and each
// endpoint whose protocol the connection speaks as well by a deployment of its
// own, so that no bridge stands between equals.
func (d *discoverer) deploy(model string, s service, id string) {
	id = strings.ToValidUTF8(id[:min(len(id), maxID-len("-"+Responses))], "")
	first := Deployment{ID: id, Model: model, UpstreamModel: s.model, Connection: s.by.id, Protocol: s.native[0]}
	if len(s.native) > 1 {
		for _, endpoint := range []string{Chat, Responses, Messages} {
			if endpoint == s.native[0] || !slices.Contains(s.native, endpoint) {
				first.Endpoints = append(first.Endpoints, endpoint)
			}
		}
	}
	d.doc.Deployments = append(d.doc.Deployments, first)
	for _, protocol := range s.native[1:] {
		d.doc.Deployments = append(d.doc.Deployments, Deployment{
			ID: id + "-" + protocol, Model: model, UpstreamModel: s.model, Connection: s.by.id, Protocol: protocol, Endpoints: []string{protocol},
		})
	}
}
