package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (v *validator) deployments() {
	seen := map[string]string{}
	for i := range v.doc.Deployments {
		d := &v.doc.Deployments[i]
		path := fmt.Sprintf("deployments[%d]", i)
		v.id(path+".id", d.ID, anyCharacter, seen)
		v.name(path+".model", d.Model)
		if d.UpstreamModel != "" {
			v.name(path+".upstream_model", d.UpstreamModel)
		}
		preset, known := v.deploymentConnection(path, d)
		v.protocol(path, d, preset, known)
		if d.Weight != nil {
			v.number(path+".weight", *d.Weight)
		}
		v.limits(path+".limits", d.Limits)
		if d.Limits.Strict {
			v.errorf(path+".limits.strict", "only the limits of keys, teams and organizations can be strict")
		}
		v.count(path+".capabilities.context", d.Capabilities.Context)
		v.timers(path, d)
		v.price(path+".price", d.Price)
	}
}

// deploymentConnection checks the reference and returns what is known of the
// provider behind it.
func (v *validator) deploymentConnection(path string, d *Deployment) (Preset, bool) {
	c, ok := v.names.connections[d.Connection]
	switch {
	case d.Connection == "":
		v.errorf(path+".connection", "missing; name a connection by its id")
	case !ok:
		v.errorf(path+".connection", "no connection %s%s", quoted(d.Connection), didYouMean(d.Connection, slices.Collect(maps.Keys(v.names.connections))))
	default:
		return LookupPreset(c.Provider)
	}
	return Preset{}, false
}

// protocol checks the wire format, and that it can serve the endpoints that no
// bridge leads to.
func (v *validator) protocol(path string, d *Deployment, preset Preset, known bool) {
	v.oneOf(path+".protocol", d.Protocol, "", Chat, Responses, Messages)
	protocol := d.Protocol
	if known {
		if protocol == "" {
			protocol = preset.Protocols[0]
		} else if !slices.Contains(preset.Protocols, protocol) && v.names.connections[d.Connection].BaseURL == "" {
			v.warnf(path+".protocol", "%s does not speak %s at its own address, but %s", preset.Provider, protocol, strings.Join(preset.Protocols, ", "))
		}
	}
	if d.Endpoints != nil && len(d.Endpoints) == 0 {
		v.errorf(path+".endpoints", "empty; leave it out for every conversation endpoint, or set enabled: false")
	}
	for i, endpoint := range d.Endpoints {
		at := fmt.Sprintf("%s.endpoints[%d]", path, i)
		v.oneOf(at, endpoint, required, Chat, Responses, Messages, Embeddings, Videos)
		switch {
		case slices.Contains(d.Endpoints[:i], endpoint):
			v.errorf(at, "given twice; keep one")
		case (endpoint == Embeddings || endpoint == Videos) && protocol == Messages:
			v.errorf(at, "the messages protocol has no %s; use a chat or responses deployment", endpoint)
		}
	}
}

// timers checks a deployment's waits; zero is none given.
func (v *validator) timers(path string, d *Deployment) {
	v.duration(path+".timeout", d.Timeout)
	v.duration(path+".timeout_json", d.TimeoutJSON)
	v.duration(path+".idle_timeout", d.IdleTimeout)
	v.duration(path+".cache_ttl", d.CacheTTL)
	for _, t := range []struct {
		name string
		d    Duration
	}{{"timeout", d.Timeout}, {"timeout_json", d.TimeoutJSON}} {
		if time.Duration(t.d) > 15*time.Minute {
			v.warnf(path+"."+t.name, "longer than 15m, the longest that a function may run")
		}
	}
	if time.Duration(d.IdleTimeout) >= 5*time.Minute {
		v.warnf(path+".idle_timeout", "clients give up after 5m without an event; stay below that")
	}
}

func (v *validator) price(path string, p *Rates) {
	if p == nil {
		return
	}
	v.number(path+".input", p.Input)
	for _, part := range []struct {
		name  string
		price *float64
	}{{"cached_input", p.CachedInput}, {"cache_write", p.CacheWrite}} {
		if part.price != nil {
			v.number(path+"."+part.name, *part.price)
		}
	}
	v.number(path+".cache_write_1h", p.CacheWrite1h)
	v.number(path+".output", p.Output)
}
