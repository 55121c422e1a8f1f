package catalog

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Discover makes a document of the provider keys in an environment ("NAME=value"
// each), for whoever has no configuration file. Every <PROVIDER>_API_KEY or
// <PROVIDER>_API_KEYS makes one connection; a suffix, as in OPENAI_EAST_API_KEY,
// makes another one of the same provider. _BASE_URL, _MODELS and
// _SESSION_STICKY_KEYS beside it belong to that connection. The document holds
// references to the variables, never their values, and no caller key.
//
// It returns nil when the environment holds no provider key. The paths of
// problems are the names of variables.
func Discover(environ []string) (*Document, []Problem) {
	env := variables(environ)
	finder := discoverer{env: env, doc: blank()}
	for _, found := range accountsIn(env) {
		finder.connect(found)
	}
	if len(finder.doc.Connections) == 0 && len(finder.list) == 0 {
		return nil, nil
	}
	finder.serve()
	return finder.doc, finder.list
}

// variables are the non-empty variables of an environment by name.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); value != "" {
			env[name] = value
		}
	}
	return env
}

// account is one provider account that the environment names.
type account struct {
	preset Preset
	prefix string // of its variables: OPENAI, OPENAI_EAST
	id     string // of its connection: openai, openai-east
}

// accountsIn are the accounts of an environment: those of each provider in
// turn, the one without a suffix first.
func accountsIn(env map[string]string) []account {
	found := map[string]account{}
	for name := range env {
		prefix, isKey := strings.CutSuffix(name, "_API_KEY")
		if !isKey {
			prefix, isKey = strings.CutSuffix(name, "_API_KEYS")
		}
		keyless := false
		if !isKey {
			prefix, keyless = strings.CutSuffix(name, "_BASE_URL")
		}
		preset, ok := presetOf(prefix)
		if ok && (isKey || keyless && preset.AuthType == AuthNone) {
			found[prefix] = account{preset: preset, prefix: prefix, id: strings.ToLower(strings.ReplaceAll(prefix, "_", "-"))}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b account) int { return strings.Compare(a.id, b.id) })
}

// presetOf is the provider whose name begins a prefix; the longest name wins,
// so that OPENAI_COMPATIBLE is no suffix of OPENAI.
func presetOf(prefix string) (Preset, bool) {
	var best Preset
	for _, p := range presets() {
		name := variableName(p.Provider)
		if (prefix == name || strings.HasPrefix(prefix, name+"_")) && len(p.Provider) > len(best.Provider) && p.Provider != Simulated {
			best = p
		}
	}
	return best, best.Provider != ""
}

// variableName is how a provider or connection begins the names of its variables.
func variableName(id string) string { return strings.ToUpper(strings.ReplaceAll(id, "-", "_")) }

// discoverer makes the document.
type discoverer struct {
	problems
	env    map[string]string
	doc    *Document
	serves []service
}

// service is one model of one connection.
type service struct {
	model  string
	by     account
	native []string // protocols that the connection speaks, the default first
}

// connect makes the connection of one account, or tells what it lacks.
func (d *discoverer) connect(a account) {
	c := Connection{ID: a.id, Provider: a.preset.Provider, BaseURL: d.env[a.prefix+"_BASE_URL"]}
	native := a.preset.Protocols
	switch u, why := parseBaseURL(c.BaseURL); {
	case c.BaseURL == "" && a.preset.BaseURL == "":
		d.errorf(a.prefix+"_BASE_URL", "not set; provider %s has no address of its own, give one like %s", a.preset.Provider, a.preset.BaseURLForm)
		return
	case c.BaseURL == "":
	case why != "":
		d.errorf(a.prefix+"_BASE_URL", "%s", why)
		return
	default:
		c.AllowPrivateNetwork = privateHost(u.Hostname())
		if !sameProvider(u, a.preset) {
			native = native[:1] // what else another server speaks is not known
		}
	}
	c.Auth = d.auth(a)
	models := d.models(a)
	if len(models) == 0 {
		d.errorf(a.prefix+"_MODELS", "not set; name the models that %s serves, with commas between them", a.id)
		return
	}
	d.doc.Connections = append(d.doc.Connections, c)
	for _, model := range models {
		d.serves = append(d.serves, service{model: model, by: a, native: native})
	}
}

// sameProvider reports whether an address belongs to the provider itself, such
// as another region of it.
func sameProvider(u *url.URL, preset Preset) bool {
	own, why := parseBaseURL(preset.BaseURL)
	return why == "" && domain(own.Hostname()) == domain(u.Hostname())
}

// domain is the last two labels of a host.
func domain(host string) string {
	labels := strings.Split(strings.ToLower(host), ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}

// auth refers to the variables that hold the keys. Equal keys count once.
func (d *discoverer) auth(a account) Auth {
	var refs []string
	seen := map[string]bool{}
	if name := a.prefix + "_API_KEY"; d.env[name] != "" {
		refs, seen[d.env[name]] = append(refs, SchemeEnv+":"+name), true
	}
	for i, value := range several(d.env[a.prefix+"_API_KEYS"]) {
		if !seen[value] {
			refs, seen[value] = append(refs, fmt.Sprintf("%s:%s_API_KEYS[%d]", SchemeEnv, a.prefix, i)), true
		}
	}
	auth := Auth{}
	switch len(refs) {
	case 0:
	case 1:
		auth.Key = refs[0]
	default:
		auth.Keys = refs
	}
	name := a.prefix + "_SESSION_STICKY_KEYS"
	if d.env[name] != "" {
		sticky := true
		d.boolean(name, d.env[name], &sticky)
		auth.SessionStickyKeys = &sticky
	}
	return auth
}

// models are the connection's own list, else its provider's, else a short one.
func (d *discoverer) models(a account) []string {
	for _, prefix := range []string{a.prefix, variableName(a.preset.Provider)} {
		var names []string
		for _, name := range several(d.env[prefix+"_MODELS"]) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return a.preset.Models
}
