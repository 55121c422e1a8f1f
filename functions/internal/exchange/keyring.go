package exchange

import (
	"context"
	"strconv"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// ringKey addresses what is known of a connection's keys: which of them rest.
func ringKey(connection string) store.Key {
	return store.Key{Table: store.Affinity, Partition: deploymentPart("keys", connection), Sort: "ring"}
}

// rings are the connections of the pool that have several keys.
func (e *exchange) rings() []*catalog.Account {
	var found []*catalog.Account
	for _, t := range e.pool.Deployments {
		if len(t.Account.Keys) > 1 && (len(found) == 0 || found[len(found)-1] != t.Account) {
			found = append(found, t.Account)
		}
	}
	return found
}

// order is the order in which this exchange uses a connection's keys: a session
// keeps its own wherever it is served, and a key that rests comes last.
func (e *exchange) order(a *catalog.Account) []int {
	order := routing.KeyRotation(e.turn, len(a.Keys))
	if a.StickyKeys && e.session.ID != "" && !e.off() {
		seed := identity.Hash("account key", e.in.Principal.Scope.String(), e.session.ID)
		order = routing.KeyOrder(seed[:], a.Keys)
	}
	resting, known := e.resting[a.ID]
	if !known {
		return order
	}
	now := e.Now()
	awake, asleep := make([]int, 0, len(order)), []int(nil)
	for _, i := range order {
		if resting.Of(keyName(i)).Cooling(now) {
			asleep = append(asleep, i)
			continue
		}
		awake = append(awake, i)
	}
	return append(awake, asleep...)
}

// keyName names a key of a connection in its ring, never by its secret.
func keyName(i int) string { return "key " + strconv.Itoa(i) }

// keyOf is the index of the key that the current attempt uses.
func (e *exchange) keyOf(a *catalog.Account) int {
	if len(a.Keys) == 1 {
		return 0
	}
	order := e.order(a)
	return order[e.shift%len(order)]
}

// passOver lets a key rest that was refused or limited while another one is
// there, for every process. The preference and the deployment's health stay as
// they are.
func (e *exchange) passOver(t tried) {
	account, class := e.serving.Target.Account, t.outcome.Class
	if len(account.Keys) < 2 || !class.Keyed() {
		return
	}
	f := cooldown.Failure{
		Deployment: keyName(e.keyOf(account)), At: e.Now(), Cause: cooldown.Refused, RetryAfter: t.outcome.RetryAfter,
	}
	if class == routing.RateLimited {
		f.Cause = cooldown.Asked
	}
	rules := e.rules()
	rules.AllowedFails, rules.MaxWait = 1, 0
	e.promptly(func(ctx context.Context) {
		if err := e.bookOne(ctx, ringKey(account.ID), f, rules); err != nil {
			e.Log.WarnContext(ctx, "a key's rest was not recorded", "connection", account.ID, "error", err)
		}
	})
}
