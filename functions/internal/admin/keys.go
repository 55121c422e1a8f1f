package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/auth/keys"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// maxKey bounds the fields of a key, in bytes.
const maxKey = 64 << 10

// tries bounds how often a change meets a newer record.
const tries = 5

// Where a key is kept, and so where it is changed.
const (
	keyStored     = "stored"        // here
	keyConfigured = "configuration" // in the document
)

// shownKey is a key as the API tells it: never its secret, nor the sum.
type shownKey struct {
	ID           string          `json:"id"`
	Source       string          `json:"source"` // stored or configuration
	User         string          `json:"user"`
	Team         string          `json:"team"`
	Organization string          `json:"organization"`
	UserPath     string          `json:"user_path"`
	Models       []string        `json:"models"` // null: all
	Template     string          `json:"template"`
	Budget       *catalog.Budget `json:"budget"`
	Spending     *spending       `json:"spending,omitempty"` // of the budget, where a key is read
	Limits       limits          `json:"limits"`
	Enabled      bool            `json:"enabled"`
	Expires      string          `json:"expires"`
	Created      *time.Time      `json:"created"` // null: it stands in the document
	Updated      *time.Time      `json:"updated"`
	Revision     string          `json:"revision,omitempty"`
	Key          string          `json:"key,omitempty"` // in the answer that makes it
}

// limits are those of a caller.
type limits struct {
	RPM    int  `json:"rpm"`
	TPM    int  `json:"tpm"`
	Strict bool `json:"strict"`
}

// show is an entry as the API tells it. Organization and path follow from its
// team as configured now.
func (a *api) show(e keys.Entry) shownKey {
	shown := shownKey{
		ID: e.ID, Source: keyConfigured, User: e.User, Team: e.Team, Organization: e.Organization, Models: e.Models, Template: e.Template, Budget: e.Budget,
		Limits:  limits{RPM: e.Limits.RPM, TPM: e.Limits.TPM, Strict: e.Limits.Strict},
		Enabled: e.Enabled == nil || *e.Enabled, Expires: e.Expires, Revision: e.Revision(),
	}
	if !e.Created.IsZero() {
		shown.Source, shown.Created, shown.Updated = keyStored, &e.Created, &e.Updated
	}
	if caller, _ := a.Snapshot().Catalog.CallerFor(e.Key); caller != nil {
		shown.Organization, shown.UserPath = caller.Organization, caller.UserPath
	}
	return shown
}

// state is an entry in the audit trail.
func (a *api) state(e keys.Entry) []byte {
	shown := a.show(e)
	shown.Revision = ""
	return trail.State(shown)
}

// makeKey makes a key of the fields that are sent and tells it, this once.
func (a *api) makeKey(w http.ResponseWriter, r *http.Request) {
	text, p := body(r, maxKey)
	if p != nil {
		refuse(w, p)
		return
	}
	key, problems := a.parseKey(text)
	if key.ID == "" && problems == nil {
		key.ID = keys.NewID()
	}
	problems = append(problems, a.Snapshot().Catalog.CheckKey(key)...)
	if catalog.HasErrors(problems) {
		refuse(w, badKey(), problems...)
		return
	}
	var e keys.Entry
	var secret string
	change := &trail.Change{Who: who(r), Action: "key.create", Target: key.ID}
	err := a.Trail.Do(r.Context(), change, func() (err error) {
		if e, secret, err = a.Keys.Make(r.Context(), key); err == nil {
			change.After = a.state(e)
		}
		return err
	})
	if err != nil {
		refuse(w, keyTrouble(err))
		return
	}
	shown := a.show(e)
	shown.Key = secret
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	answer(w, shown)
}

// parseKey reads the fields of a key. Its secret is never given from outside.
func (a *api) parseKey(text []byte) (catalog.Key, []catalog.Problem) {
	key, problems := catalog.ParseKey(text)
	for _, given := range []struct{ name, value string }{{"key", key.Key}, {"key_sha256", key.KeySHA256}} {
		if given.value != "" {
			problems = append(problems, catalog.Problem{Path: given.name, Message: "the gateway makes the key itself; leave this out"})
		}
	}
	return key, problems
}

func badKey() *wire.Problem {
	return wire.Refuse(wire.InvalidRequest).Saying("The key's fields are not valid. Mend the problems that are listed, each at its field, and send it again.")
}

// getKey answers one key.
func (a *api) getKey(w http.ResponseWriter, r *http.Request) {
	e, err := a.findKey(r)
	if err != nil {
		refuse(w, keyTrouble(err))
		return
	}
	shown := []shownKey{a.show(e)}
	if err := a.spend(r.Context(), shown); err != nil {
		refuse(w, keyTrouble(err))
		return
	}
	if e.Revision() != "" {
		w.Header().Set("ETag", strconv.Quote(e.Revision()))
	}
	answer(w, shown[0])
}

// findKey finds the key that the path names: a stored one, or one of the
// configuration.
func (a *api) findKey(r *http.Request) (keys.Entry, error) {
	e, err := a.Keys.Find(r.Context(), r.PathValue("id"))
	if errors.Is(err, keys.ErrNotFound) {
		if configured := a.configuredKeys(r.PathValue("id")); len(configured) > 0 {
			return configured[0], nil
		}
	}
	return e, err
}

// errConfigured is a key that stands in the document.
var errConfigured = errors.New("admin: the key is one of the configuration")

// changeKey changes the fields that are sent and leaves the others; null resets
// one. With If-Match it changes only the revision that was read.
func (a *api) changeKey(w http.ResponseWriter, r *http.Request) {
	patch, p := body(r, maxKey)
	if p != nil {
		refuse(w, p)
		return
	}
	var problems []catalog.Problem
	var e keys.Entry
	err := a.retry(r, "key.change", func(before keys.Entry, change *trail.Change) error {
		var key catalog.Key
		key, problems = a.patched(before, patch)
		if catalog.HasErrors(problems) {
			return errProblems
		}
		return a.Trail.Do(r.Context(), change, func() (err error) {
			if e, err = a.Keys.Change(r.Context(), before, key); err == nil {
				change.After = a.state(e)
			}
			return err
		})
	})
	switch {
	case errors.Is(err, errProblems):
		refuse(w, badKey(), problems...)
	case err != nil:
		refuse(w, keyTrouble(err))
	default:
		w.Header().Set("ETag", strconv.Quote(e.Revision()))
		answer(w, a.show(e))
	}
}

// removeKey ends a key for good.
func (a *api) removeKey(w http.ResponseWriter, r *http.Request) {
	err := a.retry(r, "key.remove", func(before keys.Entry, change *trail.Change) error {
		return a.Trail.Do(r.Context(), change, func() error { return a.Keys.Remove(r.Context(), before) })
	})
	if err != nil {
		refuse(w, keyTrouble(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// retry does something to a key as it stands now, again where it has changed
// meanwhile, unless the request names the revision that it means.
func (a *api) retry(r *http.Request, action string, do func(keys.Entry, *trail.Change) error) error {
	condition := r.Header.Get("If-Match")
	match := strings.Trim(strings.TrimPrefix(condition, "W/"), `"`)
	for range tries {
		e, err := a.findKey(r)
		switch {
		case err != nil:
			return err
		case e.Created.IsZero():
			return errConfigured
		}
		if condition != "" && match != "*" && match != e.Revision() {
			return store.ErrConflict
		}
		err = do(e, &trail.Change{Who: who(r), Action: action, Target: e.ID, Before: a.state(e)})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// patched is a key with the fields of a patch in the place of its own.
func (a *api) patched(e keys.Entry, patch []byte) (catalog.Key, []catalog.Problem) {
	was := e.Key
	was.KeySHA256 = ""
	text, _ := json.Marshal(was) // plain fields
	var fields, changes map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields)
	if json.Unmarshal(patch, &changes) != nil || changes == nil {
		return was, []catalog.Problem{{Message: "must be a JSON object of the fields to change"}}
	}
	if _, found := catalog.ParseKey(patch); catalog.HasErrors(found) { // as strict as a whole key: no field twice, none unknown
		return was, found
	}
	for name, value := range changes {
		fields[name] = value
		if bytes.Equal(value, []byte("null")) {
			delete(fields, name)
		}
	}
	if id, given := changes["id"]; given && string(id) != strconv.Quote(e.ID) {
		return was, []catalog.Problem{{Path: "id", Message: "an id cannot change; make another key"}}
	}
	fields["id"], _ = json.Marshal(e.ID)
	text, _ = json.Marshal(fields)
	key, problems := a.parseKey(text)
	return key, append(problems, a.Snapshot().Catalog.CheckKey(key)...)
}

// keyTrouble is the refusal for what the book of keys says.
func keyTrouble(err error) *wire.Problem {
	switch {
	case errors.Is(err, errConfigured):
		return wire.Refuse(wire.InvalidRequest).About("id").Saying("This key stands in the configuration document. Change it there: GET /admin/config, then PUT.")
	case errors.Is(err, keys.ErrNotFound):
		return wire.Refuse(wire.RouteNotFound).Saying("There is no key of this id. GET /admin/keys lists them.")
	case errors.Is(err, keys.ErrTaken):
		p := wire.Refuse(wire.RevisionConflict).About("id").Saying("Another key has this id. Choose another, or none to have one made.")
		return p
	case errors.Is(err, store.ErrConflict):
		return wire.Refuse(wire.RevisionConflict).Saying("The key has changed meanwhile. Read it again and repeat the change.")
	}
	return wire.Refuse(wire.ConfigurationUnavailable).Saying("The keys cannot be read or written now. Wait as long as Retry-After says, look whether the change was made, and try again.")
}
