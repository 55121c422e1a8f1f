// Package ledger books what exchanges used and cost, and reports it.
//
// An exchange is one Event, written once. Beside it stand sums: one record a
// session, and one a day for the whole gateway, each key, each model and each
// deployment, with a bucket an hour. A Book writes them, a Reader reads them; the
// two need different rights: a Book reads by key and writes by compare-and-swap, a
// Reader reads and queries. Neither reads a whole table.
//
// Invariants: an event counts exactly once in every sum, however often its writes
// were sent, resent or resumed. A Book first writes a batch of events to one of a
// fixed number of slots, under a number that only grows, and every sum remembers
// the number of each slot that it has taken in. Whoever comes upon a batch that
// was left behind (its process has died, the store went away) books what is
// missing of it and nothing twice. Once the slot is written, nothing is lost.
//
// Money is kept in whole pico-dollars, so that sums agree to the last digit in
// whatever order they were added. A price that is not known is null, never zero,
// and so is a sum with such a part.
//
// No event holds a prompt, an answer, a key or a caller's raw session id.
//
// Concurrency: a Book and a Reader are each shared by all requests. A Book books
// what waits together; it has a goroutine only while something waits.
//
// Errors: those of the store, ErrCorrupt for a record that this package did not
// write, ErrBusy when more waits than a Book holds, ErrInvalid for a cursor that
// is none.
package ledger

import "errors"

// The errors of this package.
var (
	ErrCorrupt = errors.New("ledger: record is damaged")
	ErrBusy    = errors.New("ledger: too many events wait")
	ErrInvalid = errors.New("ledger: not a cursor of this list")
)

// Shards is over how many records and index partitions what everybody writes is
// spread. A list asks each once for a page.
const shards = 4

// slots is how many batches can be under way at a time, over all processes. A
// slot always writes to the same shard of the sums.
const slots = 128
