package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/functions/internal/wire"
)

// lifetime is how long somebody stays signed in.
const lifetime = 12 * time.Hour

// maxCredential bounds the body of a sign-in, in bytes.
const maxCredential = 8192

// The roles of those who are signed in.
const (
	roleAdmin = "admin" // the whole console
	roleKey   = "key"   // the playground alone
)

// identity is what a cookie says.
type identity struct {
	Role    string `json:"role"`
	Key     string `json:"key,omitzero"` // the API key's id, never the key
	Expires int64  `json:"expires"`      // Unix seconds
}

// view is what the front end is told of who is signed in.
type view struct {
	Role    string `json:"role"` // "" for nobody
	Key     string `json:"key,omitempty"`
	Expires int64  `json:"expires,omitempty"`
	Gateway string `json:"gateway"`            // "": this origin
	DemoKey string `json:"demo_key,omitempty"` // that everybody may know
}

// session tells who is signed in, signs in, and signs out.
func (c *Console) session(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		who, _ := c.read(r)
		answer(w, c.view(who))
	case http.MethodPost:
		c.signIn(w, r)
	case http.MethodDelete:
		http.SetCookie(w, cookie(r, "", -1))
		answer(w, c.view(identity{}))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, DELETE")
		refuse(w, wire.Refuse(wire.MethodNotAllowed))
	}
}

func (c *Console) view(who identity) view {
	return view{Role: who.Role, Key: who.Key, Expires: who.Expires, Gateway: strings.TrimSuffix(c.Gateway, "/"), DemoKey: c.DemoKey}
}

// signIn takes the admin key or an API key and answers with a cookie.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	key, p := c.credential(w, r)
	if p != nil {
		refuse(w, p)
		return
	}
	who := identity{Role: roleAdmin, Expires: c.Now().Add(lifetime).Unix()}
	if !equal(key, c.AdminKey) {
		caller, _, p := c.Callers.Caller(r.Context(), key)
		if p != nil {
			c.failed(r, p)
			refuse(w, p)
			return
		}
		who.Role, who.Key = roleKey, caller.ID
	}
	http.SetCookie(w, cookie(r, c.seal(who), int(lifetime.Seconds())))
	answer(w, c.view(who))
}

// failed counts an attempt with a key that nobody has. A gateway that cannot
// say so counts nothing.
func (c *Console) failed(r *http.Request, p *wire.Problem) {
	if p.Status < http.StatusInternalServerError {
		c.attempts.fail(origin(r), c.Now())
	}
}

// credential reads {"key":"…"}, from those who have not guessed too often.
func (c *Console) credential(w http.ResponseWriter, r *http.Request) (string, *wire.Problem) {
	if wait := c.attempts.wait(origin(r), c.Now()); wait > 0 {
		return "", wire.Refuse(wire.RateLimited).Saying("Too many wrong keys. Wait a minute and try again.").After(wait)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCredential))
	var given struct {
		Key string `json:"key"`
	}
	if err != nil || json.Unmarshal(text, &given, json.RejectUnknownMembers(true)) != nil {
		return "", wire.Refuse(wire.InvalidJSON).Saying(`Send {"key":"<admin key or API key>"}.`)
	}
	given.Key = strings.TrimSpace(given.Key)
	if given.Key == "" {
		return "", wire.Refuse(wire.InvalidAPIKey).Saying("Enter the admin key or an API key.")
	}
	return given.Key, nil
}

// seal signs who is signed in. The admin key is part of the signature: an
// operator who replaces it signs everybody out.
func (c *Console) seal(who identity) string {
	text, err := json.Marshal(who)
	if err != nil {
		panic(err) // our own values always encode
	}
	payload := base64.RawURLEncoding.EncodeToString(text)
	return payload + "." + c.Hash("console session", c.AdminKey, payload)
}

// read returns who a request's cookie says is signed in.
func (c *Console) read(r *http.Request) (identity, bool) {
	sent, err := r.Cookie(cookieName(r))
	if err != nil {
		return identity{}, false
	}
	payload, signature, _ := strings.Cut(sent.Value, ".")
	if !equal(signature, c.Hash("console session", c.AdminKey, payload)) {
		return identity{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return identity{}, false
	}
	var who identity
	if json.Unmarshal(text, &who) != nil || c.Now().Unix() >= who.Expires {
		return identity{}, false
	}
	return who, true
}

// cookie is the session's. A negative age removes it.
func cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r)}
}

// cookieName differs by port, which cookies do not: several gateways on one
// machine sign nobody out of each other. Under TLS it is tied to the host.
func cookieName(r *http.Request) string {
	if secure(r) {
		return "__Host-holdfast"
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "holdfast-" + port
	}
	return "holdfast"
}

// equal compares in constant time, whatever the lengths.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
