package store

import (
	"context"
	"fmt"
	"time"
)

// lastSecond is the end of the year 9999 in Unix seconds, the latest expiry
// that is kept.
const lastSecond = 253402300799

// CheckRead holds every precondition of Read: ErrInvalid where keys break a
// bound, ErrUnavailable together with the context's error where ctx has ended.
// Drivers ask it, and its siblings, before they do anything.
func CheckRead(ctx context.Context, keys []Key) error {
	if len(keys) > MaxReadKeys {
		return invalid("%d keys in one read, at most %d", len(keys), MaxReadKeys)
	}
	for _, k := range keys {
		if err := checkKey(k); err != nil {
			return err
		}
	}
	return ended(ctx)
}

// CheckSwap holds every precondition of Swap. The zero Handle fails, since its
// key is empty.
func CheckSwap(ctx context.Context, h Handle, next Record) error {
	if err := checkKey(h.key); err != nil {
		return err
	}
	if len(next.Value) > MaxValue {
		return invalid("value of %d bytes, at most %d", len(next.Value), MaxValue)
	}
	if next.Index != (Index{}) {
		if !h.key.Table.Indexed() {
			return invalid("table %v has no index", h.key.Table)
		}
		if err := checkParts("index", next.Index.Partition, next.Index.Sort); err != nil {
			return err
		}
	}
	return ended(ctx)
}

// CheckAdd holds every precondition of Add.
func CheckAdd(ctx context.Context, key Key, deltas map[string]int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(deltas) == 0 || len(deltas) > MaxDeltas {
		return invalid("%d deltas, from 1 to %d", len(deltas), MaxDeltas)
	}
	for name := range deltas {
		if name == "" || len(name) > MaxNameBytes {
			return invalid("counter name of %d bytes, from 1 to %d", len(name), MaxNameBytes)
		}
	}
	return ended(ctx)
}

// CheckQuery holds every precondition of Query but the cursor's, which
// Query.Position tests.
func CheckQuery(ctx context.Context, q Query) error {
	if q.Table > Ledger {
		return invalid("no table %d", q.Table)
	}
	if q.Indexed && !q.Table.Indexed() {
		return invalid("table %v has no index", q.Table)
	}
	if q.Partition == "" {
		return invalid("empty partition")
	}
	if max(len(q.Partition), len(q.From), len(q.To)) > MaxKeyBytes {
		return invalid("partition or bound longer than %d bytes", MaxKeyBytes)
	}
	if q.Limit < 0 || q.Limit > MaxPage {
		return invalid("limit %d, from 0 to %d", q.Limit, MaxPage)
	}
	return ended(ctx)
}

// PageSize returns the limit with its default.
func (q Query) PageSize() int {
	if q.Limit == 0 {
		return MaxPage
	}
	return q.Limit
}

// RoundExpiry returns t as every driver keeps it: zero stays zero, anything
// else is rounded up to the second, in UTC, and lies between Unix second 1 and
// the end of the year 9999, so that drivers may keep 0 for "never".
func RoundExpiry(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	seconds := t.Unix()
	if t.Nanosecond() > 0 {
		seconds++
	}
	return time.Unix(min(max(seconds, 1), lastSecond), 0).UTC()
}

// LaterExpiry returns the later of two expiries as Add keeps it; zero, which is
// never, is the latest.
func LaterExpiry(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if a.After(b) {
		return a
	}
	return b
}

// checkKey never lets an empty part through: DynamoDB has no empty key, and the
// zero Handle and Index stay recognizable.
func checkKey(k Key) error {
	if k.Table > Ledger {
		return invalid("no table %d", k.Table)
	}
	return checkParts("key", k.Partition, k.Sort)
}

func checkParts(what, partition, sort string) error {
	if partition == "" || sort == "" {
		return invalid("%s with an empty partition or sort", what)
	}
	if max(len(partition), len(sort)) > MaxKeyBytes {
		return invalid("%s longer than %d bytes", what, MaxKeyBytes)
	}
	return nil
}

// invalid never carries a key: what the error says may be logged.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// ended is the same for every driver: nothing was done, and the caller can tell
// its own cancellation from a store that is away.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
