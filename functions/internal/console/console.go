// Package console serves the web console: the built front end under /console/,
// signing in and out, and the way from a signed-in browser to the admin API.
//
// Invariants: the admin key and API keys come in and never go out; who is signed
// in stands in a cookie that scripts cannot read, that other sites cannot send
// and that only this installation can sign; a cookie opens the admin API to
// requests of this very origin alone, and only where it was given for the admin
// key; pages run no script but their own and talk to this origin and the
// gateway's. Without an admin key there is no console.
//
// Concurrency: the handlers are shared by all requests.
//
// Errors: OpenAI's error form, with the code in X-Holdfast-Error.
package console

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// Prefix is where the console is served.
const Prefix = "/console/"

// Callers tells whom an API key belongs to.
type Callers interface {
	// Caller returns the key's caller and the catalog that rules it, or the
	// refusal that the gateway would answer.
	Caller(ctx context.Context, key string) (*catalog.Caller, *catalog.Catalog, *wire.Problem)
}

// Config says what the console is made of.
type Config struct {
	AdminKey string // "" closes the console
	DemoKey  string // an API key that everybody may know; "" for none
	Files    fs.FS  // the built front end
	Gateway  string // the gateway's URL; "": this origin
	Callers  Callers
	Hash     func(parts ...string) string // keyed by the installation's secret
	Now      func() time.Time
}

// Console serves everything under Prefix.
type Console struct {
	Config
	mux      *http.ServeMux
	pages    *pages
	policy   string
	attempts *attempts
	own      *http.CrossOriginProtection
}

// New makes a console.
func New(c Config) *Console {
	made := &Console{Config: c, mux: http.NewServeMux(), pages: load(c.Files), attempts: newAttempts(),
		own: http.NewCrossOriginProtection(), policy: policy(c.Gateway)}
	made.mux.HandleFunc(Prefix+"session", made.session)
	made.mux.HandleFunc(Prefix+"caller", made.caller)
	made.mux.HandleFunc(Prefix, made.page)
	return made
}

// ServeHTTP serves the console's pages and its own routes.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.AdminKey == "" {
		refuse(w, wire.Refuse(wire.RouteNotFound).Saying("The console is closed. It opens when HOLDFAST_ADMIN_KEY is set."))
		return
	}
	c.harden(w.Header(), r)
	if r.URL.Path+"/" == Prefix {
		http.Redirect(w, r, Prefix, http.StatusPermanentRedirect)
		return
	}
	if err := c.own.Check(r); err != nil {
		refuse(w, foreign())
		return
	}
	c.mux.ServeHTTP(w, r)
}

// Admit lets those who are signed in with the admin key through to the admin
// API. A request that brings a credential of its own is none of its business.
func (c *Console) Admit(admin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || c.AdminKey == "" {
			admin.ServeHTTP(w, r)
			return
		}
		if who, in := c.read(r); !in || who.Role != roleAdmin {
			admin.ServeHTTP(w, r)
			return
		}
		if err := c.own.Check(r); err != nil || !sameOrigin(r) {
			refuse(w, foreign())
			return
		}
		inside := r.Clone(r.Context())
		inside.Header.Set("Authorization", "Bearer "+c.AdminKey)
		inside.Header.Del("Cookie")
		w.Header().Set("Cache-Control", "no-store")
		admin.ServeHTTP(w, inside)
	})
}

// sameOrigin reports whether a browser says that one of our pages, or nobody's,
// asks. Reading is refused as well: what another page may not read it need not
// cause.
func sameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

func foreign() *wire.Problem {
	p := wire.Refuse(wire.InvalidRequest).Saying("Another site's page sent this. Open the console by its own address.")
	p.Status = http.StatusForbidden
	return p
}

// policy is the Content-Security-Policy of every page.
func policy(gateway string) string {
	connect := "'self'"
	if gateway != "" {
		connect += " " + strings.TrimSuffix(gateway, "/")
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src " + connect +
		"; img-src 'self' data:; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}

// harden says what browsers must not do with an answer.
func (c *Console) harden(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", c.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
	if secure(r) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// secure reports whether the browser came by TLS, which ends before Lambda.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// refuse answers a problem.
func refuse(w http.ResponseWriter, p *wire.Problem) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Holdfast-Error", string(p.Code))
	if text := p.RetrySeconds(); text != "" {
		header.Set("Retry-After", text)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(wire.OpenAIError(p))
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own values always encode
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
