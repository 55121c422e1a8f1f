// Package admin is the operator's API under /admin/.
//
// Invariants: without an admin key every route is 404; a key is compared in
// constant time; no answer holds a secret or a caller's raw session id; what
// changes, changes by compare-and-swap on the revision that was read.
//
// Concurrency: the handler is shared by all requests.
//
// Errors: OpenAI's error form, with the code in X-Holdfast-Error. Problems of a
// document are listed beside it, each with its path.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/auth/keys"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// Configuration is the stored document with its revisions.
type Configuration interface {
	// Stored returns the document in force, fit to be shown, and its revision.
	Stored(ctx context.Context) (document []byte, revision string, err error)
	// Replace makes a document rule if the given revision is still in force. It
	// returns every problem of a document that may not rule. Errors:
	// store.ErrConflict, and the store's others.
	Replace(ctx context.Context, revision string, doc *catalog.Document) (next string, problems []catalog.Problem, err error)
	// Revisions lists what was stored in [from, to), newest first; zero times are
	// no bounds.
	Revisions(ctx context.Context, from, to time.Time, cursor string, limit int) (names []string, next string, err error)
	// Revision returns the document that was stored under a name, fit to be
	// shown. Errors: ErrNoRevision, and the store's.
	Revision(ctx context.Context, name string) (document []byte, err error)
}

// Planner explains requests without sending them.
type Planner interface {
	Explain(context.Context, exchange.Question) (exchange.Explanation, *wire.Problem)
}

// Config says what the API stands before. Key "" closes it.
type Config struct {
	Key           string
	Configuration Configuration
	Snapshot      func() *exchange.Snapshot
	Planner       Planner
	Keys          keys.Book
	Trail         trail.Trail
	Ledger        Ledger
	Budgets       Budgets
	Health        Health
	Affinity      Preferences
	Metrics       func(io.Writer) error
	Hash          func(parts ...string) string // of scoped session ids
	Now           func() time.Time
}

type api struct {
	Config
	sum [sha256.Size]byte
	mux *http.ServeMux
}

// New returns the handler of everything under /admin/.
func New(c Config) http.Handler {
	a := &api{Config: c, sum: sha256.Sum256([]byte(c.Key)), mux: http.NewServeMux()}
	a.routes()
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, wire.Refuse(wire.RouteNotFound)) })
	return http.HandlerFunc(a.serve)
}

// serve lets the operator in.
func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	if a.Key == "" {
		refuse(w, wire.Refuse(wire.RouteNotFound))
		return
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(key)))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], a.sum[:]) != 1 {
		refuse(w, wire.Refuse(wire.InvalidAPIKey).Saying("The admin key is missing or wrong. Send it as Authorization: Bearer."))
		return
	}
	if p := sound(r); p != nil {
		refuse(w, p)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// sound refuses what no route could mean: a path that is not the one it seems to
// be (the mux would answer with a redirect, which is no answer of this API), and
// a query that is no text.
func sound(r *http.Request) *wire.Problem {
	if r.URL.Path != path.Clean(r.URL.Path) {
		return wire.Refuse(wire.RouteNotFound)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wire.Refuse(wire.InvalidRequest).Saying("The query is not of the form name=value&name=value, percent-encoded. Mend it and ask again.")
	}
	for name, values := range query {
		if !utf8.ValidString(name + strings.Join(values, "")) {
			return wire.Refuse(wire.InvalidRequest).Saying("The query must be UTF-8 text. Mend its parameters and ask again.")
		}
	}
	return nil
}

// methods serves each method by its own function, and says which there are. What
// can be read can be asked for its headers alone: the host leaves the body out.
func methods(by map[string]http.HandlerFunc) http.HandlerFunc {
	if by["GET"] != nil {
		by["HEAD"] = by["GET"]
	}
	var known []string
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if by[m] != nil {
			known = append(known, m)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		serve, found := by[r.Method]
		if !found {
			w.Header().Set("Allow", strings.Join(known, ", "))
			refuse(w, wire.Refuse(wire.MethodNotAllowed))
			return
		}
		serve(w, r)
	}
}

// refuse answers a problem, with those of a document beside it.
func refuse(w http.ResponseWriter, p *wire.Problem, found ...catalog.Problem) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Holdfast-Error", string(p.Code))
	if text := p.RetrySeconds(); text != "" {
		header.Set("Retry-After", text)
	}
	w.WriteHeader(p.Status)
	if len(found) == 0 {
		_, _ = w.Write(wire.OpenAIError(p))
		return
	}
	body, _ := json.Marshal(map[string]any{"error": json.RawMessage(wire.ErrorObject(p)), "problems": listed(found)})
	_, _ = w.Write(body)
}

// problem is a catalog.Problem as the API shows it.
type problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
}

func listed(found []catalog.Problem) []problem {
	all := make([]problem, len(found))
	for i, p := range found {
		all[i] = problem(p)
	}
	return all
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

// maxDrain is how much of a body that is too large is still taken in, in bytes.
const maxDrain = 32 << 20

// body reads a request's body, at most limit bytes.
func body(r *http.Request, limit int64) ([]byte, *wire.Problem) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, wire.Refuse(wire.UnsupportedMediaType).Saying("Compressed request bodies are not taken. Send it without Content-Encoding.")
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, wire.Refuse(wire.InvalidRequest).Saying("The request body did not arrive whole. Send it again.")
	case int64(len(read)) > limit:
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // so that the client reads the answer
		return nil, wire.Refuse(wire.RequestTooLarge).Saying("The request body is larger than " + strconv.FormatInt(limit>>10, 10) + " KiB, the limit of this route. Send less.")
	}
	return read, nil
}
