package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// listGroups lists the groups of the document in force: all of them, or those
// that stand for a model, or reach a deployment or a provider.
func (a *api) listGroups(w http.ResponseWriter, r *http.Request) {
	doc, revision, err := a.document(r.Context())
	if err != nil {
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	groups := slices.DeleteFunc(doc.Groups, func(g catalog.Group) bool { return !a.reaches(r, g) })
	page, next, p := cut(r, groups, func(g catalog.Group) string { return g.Name })
	if p != nil {
		refuse(w, p)
		return
	}
	w.Header().Set("ETag", strconv.Quote(revision))
	answerList(w, r, []string{"name", "members", "strategy", "weights", "session_affinity", "fallbacks", "context_window_fallbacks", "content_policy_fallbacks"}, page, next)
}

// reaches reports whether a group is among those that are asked for.
func (a *api) reaches(r *http.Request, g catalog.Group) bool {
	q, known := r.URL.Query(), a.Snapshot().Catalog
	if model := q.Get("model"); model != "" && model != g.Name && !slices.Contains(g.Members, model) {
		return false
	}
	deployment, provider := q.Get("deployment"), q.Get("provider")
	if deployment == "" && provider == "" {
		return true
	}
	pool := known.Pool(g.Name)
	return pool != nil && slices.ContainsFunc(pool.Deployments, func(t *catalog.Target) bool {
		return (deployment == "" || deployment == t.ID) && (provider == "" || provider == t.Account.Provider)
	})
}

// document reads the document in force, to be changed and put back.
func (a *api) document(ctx context.Context) (*catalog.Document, string, error) {
	text, revision, err := a.Configuration.Stored(ctx)
	if err != nil {
		return nil, "", err
	}
	doc, problems := catalog.Load(text)
	if catalog.HasErrors(problems) {
		return nil, "", errProblems
	}
	return doc, revision, nil
}

// at is the place of a group in a document, -1 where it has none.
func at(doc *catalog.Document, name string) int {
	return slices.IndexFunc(doc.Groups, func(g catalog.Group) bool { return g.Name == name })
}

// getGroup answers one group, with the document's revision as the ETag.
func (a *api) getGroup(w http.ResponseWriter, r *http.Request) {
	doc, revision, err := a.document(r.Context())
	if err != nil {
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	i := at(doc, r.PathValue("name"))
	if i < 0 {
		refuse(w, noGroup())
		return
	}
	w.Header().Set("ETag", strconv.Quote(revision))
	answer(w, doc.Groups[i])
}

func noGroup() *wire.Problem {
	return wire.Refuse(wire.RouteNotFound).Saying("There is no group of this name. GET /admin/groups lists them.")
}

// putGroup makes or replaces a group in the document that was read at the
// revision in If-Match.
func (a *api) putGroup(w http.ResponseWriter, r *http.Request) {
	text, p := body(r, maxKey)
	if p != nil {
		refuse(w, p)
		return
	}
	name := r.PathValue("name")
	group, problems := catalog.ParseGroup(text)
	if group.Name == "" {
		group.Name = name
	}
	if group.Name != name {
		problems = append(problems, catalog.Problem{Path: "name", Message: "is not the name in the path; to rename a group, put it under its new name and delete the old one"})
	}
	if catalog.HasErrors(problems) {
		refuse(w, invalid(), problems...)
		return
	}
	a.changeGroup(w, r, "group.put", func(doc *catalog.Document, c *trail.Change) error {
		if i := at(doc, name); i >= 0 {
			c.Before = trail.State(doc.Groups[i])
			doc.Groups[i] = group
		} else {
			doc.Groups = append(doc.Groups, group)
		}
		c.After = trail.State(group)
		return nil
	})
}

// errNoGroup is a group that is not there.
var errNoGroup = errors.New("admin: there is no such group")

// removeGroup takes a group out of the document.
func (a *api) removeGroup(w http.ResponseWriter, r *http.Request) {
	a.changeGroup(w, r, "group.remove", func(doc *catalog.Document, c *trail.Change) error {
		i := at(doc, r.PathValue("name"))
		if i < 0 {
			return errNoGroup
		}
		c.Before = trail.State(doc.Groups[i])
		doc.Groups = slices.Delete(doc.Groups, i, i+1)
		return nil
	})
}

// changeGroup changes the document by its groups, validates all of it, and puts
// it in force, as a whole document is.
func (a *api) changeGroup(w http.ResponseWriter, r *http.Request, action string, change func(*catalog.Document, *trail.Change) error) {
	match := r.Header.Get("If-Match")
	if match == "" {
		p := wire.Refuse(wire.InvalidRequest).About("If-Match").Saying("Send If-Match with the revision that the group was read at: the ETag of GET /admin/groups or /admin/config.")
		p.Status = http.StatusPreconditionRequired
		refuse(w, p)
		return
	}
	var next string
	var problems []catalog.Problem
	c := &trail.Change{Who: who(r), Action: action, Target: r.PathValue("name")}
	err := a.Trail.Do(r.Context(), c, func() error {
		doc, revision, err := a.document(r.Context())
		if err != nil {
			return err
		}
		from := strings.Trim(strings.TrimPrefix(match, "W/"), `"`)
		if from != revision {
			return store.ErrConflict
		}
		if err = change(doc, c); err != nil {
			return err
		}
		if problems = doc.Validate(); !catalog.HasErrors(problems) {
			var found []catalog.Problem
			next, found, err = a.Configuration.Replace(r.Context(), from, doc)
			problems = append(problems, found...)
		}
		if err == nil && catalog.HasErrors(problems) {
			c.After = jsontext.Value("null")
			return errProblems
		}
		return err
	})
	switch {
	case errors.Is(err, errProblems):
		refuse(w, invalid(), problems...)
	case errors.Is(err, errNoGroup):
		refuse(w, noGroup())
	case err != nil:
		refuse(w, unchanged(err))
	default:
		w.Header().Set("ETag", strconv.Quote(next))
		answer(w, map[string]any{"revision": next, "problems": listed(problems)})
	}
}
