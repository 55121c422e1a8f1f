package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// load is what the store tells of how deployments are used, read in the
// exchange's one trip. Only deployments with limits of their own, and pools whose
// strategy asks for it, cost keys.
type load struct {
	targets []*catalog.Target       // whose use is read, in the order of the keys
	minutes map[string]store.Handle // counters of this minute, by deployment
	slots   map[string]store.Handle // leases, by deployment
	latency store.Handle            // averages of the pool, where its strategy asks for them
	average latencies
}

// The counters of a deployment's minute.
const (
	requestCounter = "requests"
	tokenCounter   = "tokens"
)

// counterLife is how long a minute's counters are kept: until no clock that
// lags behind still asks for them.
const counterLife = 3 * time.Minute

// deploymentPart is the partition of what is counted of one deployment.
func deploymentPart(kind, deployment string) string {
	sum := sha256.Sum256([]byte(deployment))
	return kind + "/" + hex.EncodeToString(sum[:16])
}

// minuteKey addresses a deployment's counters of one minute. One record is
// enough: what its limits let through is far below what one record can take.
func minuteKey(deployment string, at time.Time) store.Key {
	return store.Key{Table: store.Affinity, Partition: deploymentPart("minute", deployment), Sort: strconv.FormatInt(at.Unix()/60, 10)}
}

// slotsKey addresses a deployment's leases.
func slotsKey(deployment string) store.Key {
	return store.Key{Table: store.Affinity, Partition: deploymentPart("slots", deployment), Sort: "slots"}
}

// counts reports whether a deployment's requests and tokens are counted for
// this exchange.
func (e *exchange) counts(t *catalog.Target) bool {
	return t.Limits.RPM > 0 || t.Limits.TPM > 0 || e.strategy() == catalog.LeastUsage
}

// strategy is the one in force for what was asked for.
func (e *exchange) strategy() string {
	policy := e.in.Principal.Caller.Policy
	if policy == nil {
		return ""
	}
	return policy.Split(e.pool).Strategy
}

// keys lists what is read of deployments' use, at most room keys.
func (l *load) keys(e *exchange, room int) []store.Key {
	var keys []store.Key
	if e.measures() && room > 0 {
		keys = append(keys, latencyKey(e.pool.Name))
	}
	now := e.Now()
	for _, t := range e.pool.Deployments {
		var own []store.Key
		if e.counts(t) {
			own = append(own, minuteKey(t.ID, now))
		}
		if t.Limits.Concurrency > 0 {
			own = append(own, slotsKey(t.ID))
		}
		if len(own) == 0 || len(keys)+len(own) > room {
			continue
		}
		keys = append(keys, own...)
		l.targets = append(l.targets, t)
	}
	return keys
}

// take notes what was read by keys.
func (l *load) take(e *exchange, read []store.Handle) {
	if e.measures() && len(read) > 0 {
		l.latency, read = read[0], read[1:]
		l.average = latenciesIn(l.latency)
	}
	l.minutes, l.slots = map[string]store.Handle{}, map[string]store.Handle{}
	for _, t := range l.targets {
		if e.counts(t) {
			l.minutes[t.ID], read = read[0], read[1:]
		}
		if t.Limits.Concurrency > 0 {
			l.slots[t.ID], read = read[0], read[1:]
		}
	}
}

// fill adds what is known of a deployment's use to its condition.
func (l *load) fill(c *routing.Condition, deployment string, now time.Time) {
	c.Latency = time.Duration(l.average[deployment] * float64(time.Millisecond))
	if h, known := l.minutes[deployment]; known {
		record, _ := h.Record()
		c.Requests, c.Tokens = int(record.Counters[requestCounter]), int(record.Counters[tokenCounter])
	}
	if h, known := l.slots[deployment]; known {
		c.InFlight = len(leasesIn(h, now))
	}
}

// bookUse counts an answered or failed attempt against its deployment's minute:
// where that is limited, before the next request comes. Limits are soft: what was
// in flight may overshoot.
func (e *exchange) bookUse(t *catalog.Target, usage *wire.Usage) {
	e.booked = true
	if !e.counts(t) {
		return
	}
	book := e.later
	if t.Limits.RPM > 0 || t.Limits.TPM > 0 {
		book = e.promptly
	}
	deltas := map[string]int64{requestCounter: 1}
	if usage != nil {
		deltas[tokenCounter] = usage.Input + usage.CacheRead + usage.CacheWrite5m + usage.CacheWrite1h + usage.Output
	}
	book(func(ctx context.Context) {
		now := e.Now()
		if _, err := e.Store.Add(ctx, minuteKey(t.ID, now), deltas, now.Add(counterLife)); err != nil {
			e.Log.WarnContext(ctx, "use of a deployment was not counted", "deployment", t.ID, "error", err)
		}
	})
}
