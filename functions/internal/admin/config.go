package admin

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// getConfig answers the document in force, with its revision as the ETag.
func (a *api) getConfig(w http.ResponseWriter, r *http.Request) {
	document, revision, err := a.Configuration.Stored(r.Context())
	if err != nil {
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	w.Header().Set("ETag", strconv.Quote(revision))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

// putConfig replaces the document that was read at the revision in If-Match.
// The next request of every process acts on it.
func (a *api) putConfig(w http.ResponseWriter, r *http.Request) {
	match := r.Header.Get("If-Match")
	if match == "" {
		p := wire.Refuse(wire.InvalidRequest).About("If-Match").Saying("Send If-Match with the revision that the document was read at: the ETag of GET /admin/config.")
		p.Status = http.StatusPreconditionRequired
		refuse(w, p)
		return
	}
	text, p := body(r, catalog.MaxDocument)
	if p != nil {
		refuse(w, p)
		return
	}
	doc, problems := catalog.Load(text)
	if catalog.HasErrors(problems) {
		refuse(w, invalid(), problems...)
		return
	}
	from := strings.Trim(strings.TrimPrefix(match, "W/"), `"`)
	next, found, err := a.replace(r, from, doc)
	problems = append(problems, found...)
	switch {
	case errors.Is(err, store.ErrConflict):
		refuse(w, wire.Refuse(wire.RevisionConflict))
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
	case catalog.HasErrors(problems):
		refuse(w, invalid(), problems...)
	default:
		w.Header().Set("ETag", strconv.Quote(next))
		answer(w, map[string]any{"revision": next, "problems": listed(problems)})
	}
}

// errProblems is a document that may not rule, in the audit trail.
var errProblems = errors.New("admin: the document has problems")

// replace puts a document in the place of a revision and records it.
func (a *api) replace(r *http.Request, from string, doc *catalog.Document) (next string, found []catalog.Problem, err error) {
	revision := func(name string) jsontext.Value { return trail.State(map[string]string{"revision": name}) }
	change := &trail.Change{Who: who(r), Action: "config.replace", Target: "config", Before: revision(from)}
	err = a.Trail.Do(r.Context(), change, func() (err error) {
		next, found, err = a.Configuration.Replace(r.Context(), from, doc)
		if err == nil && catalog.HasErrors(found) {
			return errProblems
		}
		change.After = revision(next)
		return err
	})
	if errors.Is(err, errProblems) {
		err = nil
	}
	return next, found, err
}

func invalid() *wire.Problem {
	return wire.Refuse(wire.InvalidRequest).Saying("The document may not rule. Mend the problems that are listed, each at its path, and send it again.")
}

// getRevisions lists what was stored, newest first.
func (a *api) getRevisions(w http.ResponseWriter, r *http.Request) {
	limit, from, to, p := a.stretchOf(r)
	if p != nil {
		refuse(w, p)
		return
	}
	names, next, err := a.Configuration.Revisions(r.Context(), from, to, r.URL.Query().Get("cursor"), limit)
	switch {
	case errors.Is(err, store.ErrInvalid):
		refuse(w, badCursor())
		return
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	entries := make([]map[string]string, len(names))
	for i, name := range names {
		entries[i] = map[string]string{"revision": name}
	}
	answerList(w, r, []string{"revision"}, entries, next)
}
