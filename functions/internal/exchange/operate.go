package exchange

import (
	"context"
	"errors"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// Rests reads what all processes know of the deployments' health, by id. One
// that nothing is known of is left out.
func (x *Exchange) Rests(ctx context.Context, known *catalog.Catalog) (map[string]cooldown.Status, error) {
	var models []*catalog.Pool
	for _, pool := range known.Public() {
		if !pool.Group() {
			models = append(models, pool)
		}
	}
	all := map[string]cooldown.Status{}
	for len(models) > 0 {
		n := min(len(models), store.MaxReadKeys)
		keys := make([]store.Key, n)
		for i, model := range models[:n] {
			keys[i] = cooldownKey(model.Name)
		}
		read, err := x.Store.Read(ctx, keys...)
		if err != nil {
			return nil, err
		}
		for i, model := range models[:n] {
			pool := decode(read[i])
			for _, t := range model.Deployments {
				if rest := pool.Of(t.ID); rest != (cooldown.Status{}) {
					all[t.ID] = rest
				}
			}
		}
		models = models[n:]
	}
	return all, nil
}

// ChangeRest changes what all processes know of a deployment's health: an
// operator's switch. The change reports whether there is one to write. It returns
// what was known before and after.
func (x *Exchange) ChangeRest(ctx context.Context, t *catalog.Target, change func(cooldown.Pool) (cooldown.Pool, bool)) (before, after cooldown.Status, err error) {
	read, err := x.Store.Read(ctx, cooldownKey(t.Model))
	if err != nil {
		return before, after, err
	}
	at := read[0]
	for range bookTries {
		pool := decode(at)
		before = pool.Of(t.ID)
		next, changed := change(pool)
		if !changed {
			return before, before, nil
		}
		newer, err := x.Store.Swap(ctx, at, store.Record{Value: next.Encode(x.Now()), Expires: next.Expires()})
		if err == nil || !errors.Is(err, store.ErrConflict) {
			return before, next.Of(t.ID), err
		}
		at = newer
	}
	return before, before, store.ErrConflict
}
