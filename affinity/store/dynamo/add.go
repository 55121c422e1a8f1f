package dynamo

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/store"
)

// maxRounds bounds how often a write whose condition failed tries anew, where
// it may; each round lost means that another writer has won one.
const maxRounds = 32

var errOutrun = errors.New("outrun by other writers")

// add is one Add under way.
type add struct {
	*Store
	key     store.Key
	deltas  map[string]int64
	expires time.Time // rounded; zero: never
	own     string    // the revision that it writes
	values  map[string]int64
}

// Add implements store.Store with one conditional UpdateItem, or a PutItem over
// an expired record.
func (s *Store) Add(ctx context.Context, key store.Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	if err := store.CheckAdd(ctx, key, deltas); err != nil {
		return nil, err
	}
	if err := checkNames(deltas); err != nil {
		return nil, err
	}
	own, err := s.newRevision()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	a := &add{Store: s, key: key, deltas: deltas, expires: store.RoundExpiry(expires), own: own}
	return a.run(ctx)
}

func (a *add) run(ctx context.Context) (map[string]int64, error) {
	f := extend
	for range maxRounds {
		e, err := a.send(ctx, f)
		switch {
		case e == done:
			return a.values, nil
		case e == conflict:
			stands, err := a.standing(ctx, a.key, err)
			if err != nil {
				return nil, err // nothing was written
			}
			f = a.formFor(stands)
		case e.doubtful():
			return a.settle(ctx, err)
		default:
			return nil, unavailable(f.operation(), err)
		}
	}
	return nil, unavailable(f.operation(), errOutrun)
}

// send resends only what was certainly not applied.
func (a *add) send(ctx context.Context, f form) (end, error) {
	for number := 1; ; number++ {
		e, err := a.attempt(ctx, f.operation(), number, func(ctx context.Context) error { return a.write(ctx, f) })
		if e != busy || number == maxAttempts || !wait(ctx, pause) {
			return e, err
		}
	}
}

// settle looks for the own revision: where it stands, the deltas were added
// once and nothing came after. Where it does not, others may have come after.
func (a *add) settle(ctx context.Context, cause error) (map[string]int64, error) {
	stands, err := a.get(ctx, a.key)
	if err != nil || stands.revision != a.own {
		return nil, unknown("Add", cause)
	}
	return a.named(stands.record.Counters), nil
}

func (a *add) named(counters map[string]int64) map[string]int64 {
	values := make(map[string]int64, len(a.deltas))
	for name := range a.deltas {
		values[name] = counters[name]
	}
	return values
}
