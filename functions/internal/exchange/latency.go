package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// Latencies of a pool are shared through one record: a moving average of the
// time to the first byte of each deployment. Only pools whose strategy asks for
// it have one.
const (
	latencyWeight = 0.2              // of the newest measurement
	latencyLife   = 10 * time.Minute // without a measurement nothing is known
	latencyTries  = 4                // how often a measurement meets others
)

// latencies are milliseconds by deployment.
type latencies map[string]float64

func latencyKey(pool string) store.Key {
	return store.Key{Table: store.Affinity, Partition: deploymentPart("latency", pool), Sort: "average"}
}

// latenciesIn reads a record. One that is not there, or that cannot be read,
// knows nothing.
func latenciesIn(h store.Handle) latencies {
	known := latencies{}
	if record, live := h.Record(); live && json.Unmarshal(record.Value, &known) != nil {
		return latencies{}
	}
	return known
}

// measures reports whether this exchange's pool is ordered by latency.
func (e *exchange) measures() bool { return e.strategy() == catalog.Latency }

// bookLatency takes the time to an answer's first byte into its deployment's
// average. A measurement that meets too many others is dropped: they say as
// much.
func (e *exchange) bookLatency(t *catalog.Target, took time.Duration) {
	if _, member := e.pool.Position(t.ID); !member || !e.measures() || took <= 0 {
		return
	}
	at := e.load.latency
	e.later(func(ctx context.Context) {
		for range latencyTries {
			known := latenciesIn(at)
			ms := float64(took) / float64(time.Millisecond)
			if before, measured := known[t.ID]; measured {
				ms = before + latencyWeight*(ms-before)
			}
			known[t.ID] = ms
			for id := range known { // deployments that were taken out of the pool
				if _, member := e.pool.Position(id); !member {
					delete(known, id)
				}
			}
			value, err := json.Marshal(known, json.Deterministic(true))
			if err != nil {
				return
			}
			next, err := e.Store.Swap(ctx, at, store.Record{Value: value, Expires: e.Now().Add(latencyLife)})
			if !errors.Is(err, store.ErrConflict) {
				return
			}
			at = next
		}
	})
}
