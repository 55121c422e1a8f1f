package admin

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/affinity/store"
	"holdfast/functions/internal/auth/keys"
	"holdfast/functions/internal/wire"
)

// listKeys lists keys: all of them, or the one of an id, those of a user_path and
// below it, that may use a model, that were made in a stretch of time. Those that
// are stored come first, then those of the configuration, which were made at no
// time that anybody knows.
func (a *api) listKeys(w http.ResponseWriter, r *http.Request) {
	limit, from, to, p := a.stretchOf(r)
	if p != nil {
		refuse(w, p)
		return
	}
	path, model := pathOf(r), r.URL.Query().Get("model")
	all, next, err := gather(r.URL.Query().Get("cursor"), limit, a.allKeysOf(r), func(e keys.Entry) bool {
		return (from.IsZero() || !e.Created.Before(from)) && (to.IsZero() || e.Created.Before(to) && !e.Created.IsZero()) && a.belongs(e, path, model)
	})
	switch {
	case errors.Is(err, store.ErrInvalid):
		refuse(w, badCursor())
		return
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	shown := make([]shownKey, len(all))
	for i, e := range all {
		shown[i] = a.show(e)
	}
	if err := a.spend(r.Context(), shown); err != nil {
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
		return
	}
	columns := []string{"id", "source", "user", "team", "organization", "user_path", "models", "template", "budget", "limits", "enabled", "expires", "created", "updated"}
	answerList(w, r, columns, shown, next)
}

// configuredMark begins a cursor among the configuration's keys; what follows is how
// many of them have been seen.
const configuredMark = "c."

// allKeysOf returns what reads a page of keys, first of the stored ones.
func (a *api) allKeysOf(r *http.Request) func(cursor string, limit int) ([]keys.Entry, string, error) {
	stored, configured := a.keysOf(r), a.configuredKeys(r.URL.Query().Get("key"))
	return func(cursor string, limit int) (page []keys.Entry, next string, err error) {
		place, among := strings.CutPrefix(cursor, configuredMark)
		seen := 0
		if among {
			if seen, err = strconv.Atoi(place); err != nil || seen < 0 {
				return nil, "", store.ErrInvalid
			}
		} else if page, next, err = stored(cursor, limit); err != nil || next != "" {
			return page, next, err
		}
		rest := configured[min(seen, len(configured)):]
		some := rest[:min(limit-len(page), len(rest))]
		if len(some) < len(rest) {
			next = configuredMark + strconv.Itoa(seen+len(some))
		}
		return append(page, some...), next, nil
	}
}

// configuredKeys are the keys of the configuration, or the one of an id.
func (a *api) configuredKeys(id string) []keys.Entry {
	var all []keys.Entry
	for _, k := range a.Snapshot().Catalog.Keys() {
		if id == "" || k.ID == id {
			all = append(all, keys.Entry{Key: k})
		}
	}
	return all
}

// keysOf returns what reads a page of stored keys: all of them, or the one that is
// asked for.
func (a *api) keysOf(r *http.Request) func(cursor string, limit int) ([]keys.Entry, string, error) {
	id := r.URL.Query().Get("key")
	if id == "" {
		return func(cursor string, limit int) ([]keys.Entry, string, error) {
			return a.Keys.List(r.Context(), cursor, limit)
		}
	}
	return func(cursor string, _ int) ([]keys.Entry, string, error) {
		if cursor != "" {
			return nil, "", store.ErrInvalid // one key has one page
		}
		e, err := a.Keys.Find(r.Context(), id)
		switch {
		case errors.Is(err, keys.ErrNotFound):
			return nil, "", nil
		case err != nil:
			return nil, "", err
		}
		return []keys.Entry{e}, "", nil
	}
}

// belongs reports whether a key is at a path or below it, and may use a model;
// "" is all of them. A key without a place in the configuration may use nothing.
func (a *api) belongs(e keys.Entry, path, model string) bool {
	if path == "" && model == "" {
		return true
	}
	known := a.Snapshot().Catalog
	caller, _ := known.CallerFor(e.Key)
	if caller == nil {
		return false
	}
	pool := known.Pool(model)
	return (path == "" || caller.UserPath == path || strings.HasPrefix(caller.UserPath, path+"/")) &&
		(model == "" || pool != nil && caller.MayUse(pool))
}
