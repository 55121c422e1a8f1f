package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"holdfast/affinity/store"
	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// maxPools bounds how many models' cooldowns one exchange reads: those of the
// pool and of its fallbacks, within the one read.
const maxPools = 12

// cooldownKeys address the cooldown records of models: one item for all the
// deployments of a model.
func cooldownKeys(models []string) []store.Key {
	keys := make([]store.Key, 0, len(models)+1)
	for _, model := range models {
		keys = append(keys, cooldownKey(model))
	}
	return keys
}

func cooldownKey(model string) store.Key {
	sum := sha256.Sum256([]byte(model))
	return store.Key{Table: store.Affinity, Partition: "cooldown/" + hex.EncodeToString(sum[:16]), Sort: "pool"}
}

// models are the names whose deployments this exchange may come to: the pool's
// and those that its fallback chains lead to.
func (e *exchange) models() []string {
	if e.in.Bypass != nil {
		return publicModels(e.pool)
	}
	if !e.pool.Group() && len(e.chains(e.pool)) == 0 {
		return []string{e.pool.Name} // the usual case
	}
	var names []string
	seen := map[*catalog.Pool]bool{}
	for queue := []*catalog.Pool{e.pool}; len(queue) > 0 && len(names) < maxPools; queue = queue[1:] {
		at := queue[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		if !at.Group() {
			names = append(names, at.Name)
		}
		queue = append(append(queue, at.Members...), e.chains(at)...)
	}
	return names
}

// chains are all pools that the caller's fallback chains name after a source.
func (e *exchange) chains(source *catalog.Pool) []*catalog.Pool {
	policy := e.in.Principal.Caller.Policy
	if policy == nil || e.facts.DisableFallbacks {
		return nil
	}
	return slices.Concat(policy.Fallbacks(catalog.General, source), policy.Fallbacks(catalog.ContextWindow, source),
		policy.Fallbacks(catalog.ContentPolicy, source))
}

// health is what the store says of deployments: who rests, and who is in use.
type health struct {
	pools  []cooldown.Pool
	load   *load
	now    time.Time
	known  *catalog.Catalog
	strict bool                      // a strict budget is in force
	locked map[*catalog.Account]bool // cannot be called: their keys are not here
}

// decode reads a cooldown record. One that is not there, or that cannot be read,
// is the pool that knows nothing: it is advice only.
func decode(h store.Handle) cooldown.Pool {
	record, live := h.Record()
	if !live {
		return cooldown.Pool{}
	}
	pool, err := cooldown.Decode(record.Value)
	if err != nil {
		return cooldown.Pool{}
	}
	return pool
}

// Of returns a deployment's condition.
func (h health) Of(deployment string) routing.Condition {
	var c routing.Condition
	for _, pool := range h.pools {
		if rest := pool.Of(deployment); rest.Until.After(c.Rest.Until) || rest.Drained {
			c.Rest = rest
		}
	}
	h.load.fill(&c, deployment, h.now)
	if h.strict && !priced(h.known, deployment) {
		c.Refused = routing.Budget
	}
	if len(h.locked) > 0 {
		if t := h.known.Deployment(deployment); t != nil && h.locked[t.Account] {
			c.Refused = routing.NoCredential
		}
	}
	return c
}

// bookTries bounds how often a cooldown meets a newer record.
const bookTries = 5

// book writes what the exchange has learned about deployments' health, each
// onto the record that stands. A store that fails loses advice, nothing else.
func (e *exchange) book(ctx context.Context, failures []cooldown.Failure) {
	for _, f := range failures {
		target := e.in.Snapshot.Catalog.Deployment(f.Deployment)
		if target == nil {
			continue
		}
		if err := e.bookOne(ctx, cooldownKey(target.Model), f, e.rules()); err != nil {
			e.Log.WarnContext(ctx, "a failure was not counted", "deployment", f.Deployment, "error", err)
		}
	}
}

func (e *exchange) bookOne(ctx context.Context, key store.Key, f cooldown.Failure, rules cooldown.Rules) error {
	read, err := e.Store.Read(ctx, key)
	if err != nil {
		return err
	}
	at := read[0]
	for range bookTries {
		next, learned := decode(at).Fail(f, rules)
		if !learned {
			return nil
		}
		newer, err := e.Store.Swap(ctx, at, store.Record{Value: next.Encode(f.At), Expires: next.Expires()})
		if err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
		at = newer
	}
	return store.ErrConflict
}

// rules are the caller's template's numbers.
func (e *exchange) rules() cooldown.Rules {
	policy := e.in.Principal.Caller.Policy
	return cooldown.Rules{
		AllowedFails: policy.AllowedFails, Cooldown: policy.Cooldown,
		MaxWait: time.Duration(e.in.Snapshot.Catalog.Affinity().MaxWait),
	}
}
