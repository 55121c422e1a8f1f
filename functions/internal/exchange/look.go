package exchange

import (
	"context"
	"strings"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// look finds the session, what was asked for, and reads the store once.
func (e *exchange) look(ctx context.Context) *wire.Problem {
	e.plan = nil
	signals, err := e.in.Snapshot.Sessions.Read(identity.Request{
		Endpoint: e.shape(), Header: e.http.Header, Member: e.facts.Member,
	})
	if err != nil {
		return refusal(err)
	}
	if signals.ParentResponse == "" {
		e.session, _ = signals.Session(nil) // fails for continuations only
	}
	if p := e.permit(); p != nil {
		return p
	}
	if p := e.refer(); p != nil {
		return p
	}
	bindings := e.bound.all()
	bindings = append(bindings[:min(len(bindings), maxRiding)], e.seals()...)
	also := e.lookups(len(bindings))
	e.plan, err = e.Affinity.Plan(ctx, affinity.Request{
		Scope: e.in.Principal.Scope, Signals: signals, Model: e.pool.Name, Endpoint: e.in.Endpoint,
		Off: e.off(), Bindings: bindings, Also: also,
	})
	if err != nil {
		return refusal(err)
	}
	e.session = e.plan.Session
	e.take(e.plan.Also())
	if p := e.bind(ctx); p != nil {
		return p
	}
	if p := e.unseal(); p != nil {
		return p
	}
	return e.remember(ctx)
}

// lookups are the records beside the preference that the one read brings: the
// configuration's revision, the caller's limits, cooldowns, rests of keys, and
// use. As many keys as taken says are asked for by others.
func (e *exchange) lookups(taken int) []store.Key {
	keys := e.Configuration.Keys()
	if e.stored() {
		keys = append(keys, e.in.Principal.Record)
	}
	if token := e.returned(); token != "" {
		keys = append(keys, e.turnStateKey(token))
	}
	if e.caches = e.cacheable(); e.caches {
		var key store.Key
		if key, e.caches = e.answerKey(); e.caches {
			keys = append(keys, key)
		}
	}
	keys = append(keys, e.claims()...)
	keys = append(keys, e.allowanceKeys()...)
	e.pooled = e.models()
	e.pooled = e.pooled[:min(len(e.pooled), max(1, store.MaxReadKeys-1-taken-maxRings-len(keys)))]
	keys = append(keys, cooldownKeys(e.pooled)...)
	e.ringed = e.rings()
	e.ringed = e.ringed[:min(len(e.ringed), maxRings)]
	for _, account := range e.ringed {
		keys = append(keys, ringKey(account.ID))
	}
	e.load = load{}
	return append(keys, e.load.keys(e, store.MaxReadKeys-1-taken-len(keys))...)
}

// maxRings bounds how many connections' keys one exchange asks about.
const maxRings = 4

// take sorts what lookups has brought.
func (e *exchange) take(read []store.Handle) {
	read = read[len(e.Configuration.Keys()):]
	if e.stored() {
		read = read[1:] // follow has taken it
	}
	if e.issuer = ""; e.returned() != "" {
		record, _ := read[0].Record()
		e.issuer, read = string(record.Value), read[1:]
	}
	if e.caches {
		e.cached, read = read[0], read[1:]
	}
	read = e.takeClaim(read)
	read = e.takeAllowances(read)
	e.health = health{load: &e.load, now: e.Now(), known: e.in.Snapshot.Catalog, strict: e.strictMoney(), locked: e.in.Snapshot.Locked}
	for range e.pooled {
		if pool := decode(read[0]); !pool.Empty() {
			e.health.pools = append(e.health.pools, pool)
		}
		read = read[1:]
	}
	for _, account := range e.ringed {
		if ring := decode(read[0]); !ring.Empty() {
			if e.resting == nil {
				e.resting = map[string]cooldown.Pool{}
			}
			e.resting[account.ID] = ring
		}
		read = read[1:]
	}
	if len(read) > 0 {
		e.load.take(e, read)
	}
}

// permit finds the model or group that was asked for, if the caller may use it.
func (e *exchange) permit() *wire.Problem {
	if e.in.Bypass != nil {
		return e.permitBypass()
	}
	e.pool = e.in.Snapshot.Catalog.Pool(e.facts.Model)
	switch {
	case e.pool == nil:
		return wire.Refuse(wire.ModelNotFound).About("model")
	case !e.in.Principal.Caller.MayUse(e.pool):
		e.pool = nil
		return wire.Refuse(wire.ModelForbidden).About("model")
	}
	e.line.Model = e.pool.Name
	return nil
}

// off reports whether this exchange plans as if new and writes nothing.
func (e *exchange) off() bool {
	policy := e.in.Principal.Caller.Policy
	return strings.EqualFold(strings.TrimSpace(e.http.Header.Get("X-Holdfast-Affinity")), "off") || policy != nil && policy.Affinity(e.pool) == catalog.NotSticky
}

// newer returns the snapshot of a configuration that the read has told of, nil
// where the current one rules.
func (e *exchange) newer(ctx context.Context) (*Snapshot, error) {
	n := len(e.Configuration.Keys())
	if e.plan == nil && e.pool == nil { // refused for its model, without a read
		if fresh, _ := e.Configuration.Refresh(ctx); fresh != e.in.Snapshot { // without the store, what is known rules
			return fresh, nil
		}
	}
	if e.plan == nil || e.plan.Degraded || n == 0 || len(e.plan.Also()) < n {
		return nil, nil
	}
	follow, err := e.Configuration.Follow(ctx, e.plan.Also()[:n])
	if err != nil || follow == e.in.Snapshot {
		return nil, err
	}
	return follow, nil
}
