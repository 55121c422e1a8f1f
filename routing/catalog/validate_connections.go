package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

func (v *validator) connections() {
	seen := map[string]string{}
	boundaries := map[string]string{}
	for i := range v.doc.Connections {
		c := &v.doc.Connections[i]
		path := fmt.Sprintf("connections[%d]", i)
		v.id(path+".id", c.ID, pathSegment, seen)
		v.oneOf(path+".provider", c.Provider, required, Providers()...)
		preset, known := LookupPreset(c.Provider)
		if known {
			v.auth(path+".auth", c, preset)
		}
		if known && c.BaseURL == "" && preset.BaseURL == "" {
			v.errorf(path+".base_url", "missing; provider %s has no address of its own, give one like %s", c.Provider, preset.BaseURLForm)
		}
		v.baseURL(path+".base_url", c)
		v.fixedHeaders(path+".headers", c.Headers)
		v.boundary(path, c, boundaries)
	}
}

// boundary warns of ids and ciphertext that would be taken where they are not
// valid: no two providers understand each other's.
func (v *validator) boundary(path string, c *Connection, providers map[string]string) {
	v.text(path+".boundary", c.Boundary, "")
	name := boundaryOf(c)
	if other, ok := providers[name]; ok && other != c.Provider {
		v.warnf(path+".boundary", "shared by %s and %s, which cannot read each other's response ids and ciphertext", other, c.Provider)
	}
	providers[name] = c.Provider
}

// boundaryOf is the boundary in force: a connection's own id when none is given.
func boundaryOf(c *Connection) string {
	if c.Boundary == "" {
		return c.ID
	}
	return c.Boundary
}

// baseURL checks an address that the document gives.
func (v *validator) baseURL(path string, c *Connection) {
	if c.BaseURL == "" {
		return
	}
	u, why := parseBaseURL(c.BaseURL)
	if why != "" {
		v.errorf(path, "%s", why)
		return
	}
	if u.Scheme == "http" && !loopbackHost(u.Hostname()) {
		v.warnf(path, "http sends keys and prompts in clear over the network; use https")
	}
	if privateHost(u.Hostname()) && !c.AllowPrivateNetwork {
		v.warnf(path, "a private address, which is refused when dialled; set allow_private_network: true if it is meant")
	}
}

// parseBaseURL reads a base URL, or says what is wrong with it.
func parseBaseURL(text string) (*url.URL, string) {
	if len(text) > 2048 || !visibleASCII(text) {
		return nil, "not a URL: it may hold up to 2048 visible ASCII characters"
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, "not a valid URL; write one such as https://api.openai.com/v1"
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "demo":
		return nil, "must begin with https:// or http:// (or demo:// for a simulated account)"
	case u.Hostname() == "":
		return nil, "names no host; write one such as https://api.openai.com/v1"
	case u.User != nil:
		return nil, "must not hold a user name or password; put the credential in auth: key"
	case u.RawQuery != "" || u.ForceQuery:
		return nil, "must not hold a query (?…); the gateway appends paths to it"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, "must not hold a fragment (#…)"
	case u.Scheme == "demo" && (strings.Trim(u.Path, "/") != "" || u.Port() != ""):
		return nil, "demo:// is followed by the name of a simulated account and nothing else"
	case slices.Contains(strings.Split(u.Path, "/"), ".."):
		return nil, "must not hold .."
	}
	return u, ""
}

// loopbackHost reports whether a host is this machine.
func loopbackHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// privateHost reports whether a host is written as an address that is not
// reached over the public internet. Names are judged when they are dialled.
func privateHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return loopbackHost(host)
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
}

// auth checks that a connection has what its way of proving itself needs.
func (v *validator) auth(path string, c *Connection, preset Preset) {
	a := &c.Auth
	v.oneOf(path+".type", a.Type, "", AuthBearer, AuthXAPIKey, AuthAPIKey, AuthSigV4, AuthNone)
	given := a.Key != "" || len(a.Keys) > 0
	switch kind := authType(c, preset); {
	case a.Key != "" && len(a.Keys) > 0:
		v.errorf(path+".keys", "give either key or keys, not both")
	case kind == AuthSigV4 && !preset.SigV4:
		v.errorf(path+".type", "sigv4 signs requests to AWS; provider %s is not there", c.Provider)
	case kind == AuthSigV4 && given:
		v.errorf(path, "sigv4 signs with the credentials of the process; remove the key, or use type: bearer for a Bedrock API key")
	case kind == AuthNone && given:
		v.warnf(path, "type none sends no key; the one given is not used")
	case (kind == AuthBearer || kind == AuthXAPIKey || kind == AuthAPIKey) && !given:
		v.errorf(path+".key", "missing; give a reference such as env:NAME, ssm:/path or secretsmanager:arn")
	}
	v.secret(path+".key", a.Key)
	v.atMost(path+".keys", len(a.Keys), maxKeys)
	for i, key := range a.Keys {
		at := fmt.Sprintf("%s.keys[%d]", path, i)
		v.secret(at, key)
		if key == "" {
			v.errorf(at, "empty")
		} else if slices.Contains(a.Keys[:i], key) {
			v.errorf(at, "given twice; keep one")
		}
	}
}

// authType is the way in force: a key alone turns a preset that needs none into
// a bearer.
func authType(c *Connection, preset Preset) string {
	switch {
	case c.Auth.Type != "":
		return c.Auth.Type
	case preset.AuthType == AuthNone && (c.Auth.Key != "" || len(c.Auth.Keys) > 0):
		return AuthBearer
	}
	return preset.AuthType
}

// secret checks a provider's secret without ever repeating it.
func (v *validator) secret(path, text string) {
	ref, err := ParseReference(text)
	switch {
	case text == "":
	case err != nil:
		v.errorf(path, "%v", err)
	case ref.Literal() && !visibleASCII(text):
		v.errorf(path, "a key may hold visible ASCII characters only")
	case ref.Literal():
		v.warnf(path, "a literal secret; keep it elsewhere and write a reference: env:NAME, ssm:/path or secretsmanager:arn")
	}
}

// fixedHeaders checks headers that go out with every request: none may pass for
// a credential or disturb the connection, whatever its spelling.
func (v *validator) fixedHeaders(path string, headers map[string]string) {
	v.atMost(path, len(headers), maxHeaders)
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		if why := fixedHeaderProblem(name, headers[name]); why != "" {
			v.errorf(join(path, name), "%s", why)
		} else if seen[lower] {
			v.errorf(join(path, name), "given twice in different spellings; keep one")
		}
		seen[lower] = true
	}
}
