// Package store is a table of records that change only by compare-and-swap.
//
// Everything Holdfast remembers (preferences, claims, ownership, history,
// tasks, keys, limits, cooldowns, configuration, the ledger) is a thin mapping
// onto this one interface. The drivers memory (here), bolt and dynamo each
// implement it once and pass the same suite, storetest. Guard bounds the calls
// of a driver that can fail; Counter spreads a hot counter.
//
// Invariants: nothing is overwritten unread, since Swap takes the Handle that
// Read gave; one winner per race; an expired record is an absent one, in reads
// and in conditions alike, whether or not it was deleted yet; a write that is
// acknowledged is durable; a write whose end cannot be told is ErrUnknown and
// never reported as either success or conflict.
//
// Expiry has a granularity of one second: drivers round it up (RoundExpiry).
//
// Concurrency: every Store is safe for use by many goroutines.
//
// Errors: branch on ErrConflict, ErrUnknown, ErrUnavailable, ErrInvalid and
// ErrFull with errors.Is. A store error is never a miss. A call whose context
// has already ended does nothing and fails with ErrUnavailable and the
// context's error, both.
package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// Bounds that every driver enforces with ErrInvalid.
const (
	MaxReadKeys  = 25        // keys of one Read; the same key may come twice
	MaxValue     = 350 << 10 // bytes of one record's value, below DynamoDB's 400 KB item
	MaxKeyBytes  = 1024      // bytes of a partition or a sort, in a key and in an index
	MaxPage      = 200       // records of one Query page
	MaxDeltas    = 32        // counters of one Add
	MaxNameBytes = 64        // bytes of a counter's name
)

// Table names one of the four tables; what each is trusted for is written in
// infra/table.
type Table uint8

// The four tables.
const (
	Affinity Table = iota // preferences, claims, leases, cooldowns, rate counters
	State                 // response ownership, history, tasks
	Config                // configuration revisions, API keys, audit trail
	Ledger                // usage events, rollups, budget counters
)

// Tables lists every table, for drivers that create or check them.
func Tables() []Table { return []Table{Affinity, State, Config, Ledger} }

// String returns the table's plain name, without any deployment prefix.
func (t Table) String() string {
	switch t {
	case Affinity:
		return "affinity"
	case State:
		return "state"
	case Config:
		return "config"
	case Ledger:
		return "ledger"
	}
	return "unknown"
}

// Indexed reports whether the table has the secondary index. The ledger alone
// has one; elsewhere an Index or an indexed Query is ErrInvalid.
func (t Table) Indexed() bool { return t == Ledger }

// Key addresses one record. Partition and Sort are opaque bytes to the store,
// never empty and ordered bytewise; those who build them hash whatever a client
// chose.
type Key struct {
	Table     Table
	Partition string
	Sort      string
}

// Index is a record's place in the one secondary index of a table that has it
// (Table.Indexed). The zero Index keeps the record out of it; otherwise neither
// part is empty.
type Index struct {
	Partition string
	Sort      string
}

// Record is what is kept under a key.
type Record struct {
	Value    []byte           // opaque; at most MaxValue bytes
	Counters map[string]int64 // written by Add only; Swap drops those that were there
	Expires  time.Time        // zero keeps the record for ever
	Index    Index
}

// Live reports whether the record counts as present at now.
func (r Record) Live(now time.Time) bool {
	return r.Expires.IsZero() || r.Expires.After(now)
}

// Handle is the proof of having read a key: Swap takes it back. The zero
// Handle belongs to no key and is refused.
type Handle struct {
	key      Key
	revision string
	record   Record
}

// NewHandle is for drivers: it returns the handle of a record that was read
// live with the given revision; an empty revision means absent or expired.
func NewHandle(key Key, revision string, record Record) Handle {
	if revision == "" {
		record = Record{}
	}
	return Handle{key: key, revision: revision, record: record}
}

// Key returns the address that was read.
func (h Handle) Key() Key { return h.key }

// Revision returns the random value that marks the write that was read, or ""
// where there was no live record.
func (h Handle) Revision() string { return h.revision }

// Record returns what was read and whether there was a live record. The caller
// owns the copy.
func (h Handle) Record() (Record, bool) {
	r := h.record
	r.Value = slices.Clone(r.Value)
	r.Counters = maps.Clone(r.Counters)
	return r, h.revision != ""
}

// Query asks for records in the order of their sort key.
type Query struct {
	Table     Table
	Partition string
	Indexed   bool   // Partition, From and To belong to the secondary index
	From, To  string // inclusive bounds on the sort key; empty: no bound; crossed: no records
	Reverse   bool
	Cursor    string // opaque, from Page.Cursor of the same query
	Limit     int    // at most MaxPage; 0: MaxPage
}

// Page is one answer of Query. Expired records are left out, so a page may be
// shorter than its limit while a cursor is given.
type Page struct {
	Handles []Handle
	Cursor  string // "" at the end
}

// Store keeps records. See the package comment for what holds of all of them.
type Store interface {
	// Read returns one handle for each key, in their order, by one strongly
	// consistent round trip. Partial answers are completed or the call fails.
	Read(ctx context.Context, keys ...Key) ([]Handle, error)

	// Swap writes next where the record is still as h saw it: live with the
	// same revision, or absent (never written, emptied, or expired). It returns
	// the handle of the new record, an absent one where next has already expired.
	// On ErrConflict it returns the handle of what stands, read strongly
	// consistent, an absent one where nothing does. A write of our own whose
	// answer was lost counts as success; where it may have been applied and then
	// overwritten by somebody who read it, the outcome is ErrUnknown and no
	// conflict. Counters of next are ignored.
	Swap(ctx context.Context, h Handle, next Record) (Handle, error)

	// Add adds the deltas to the record's counters and returns the new values of
	// the counters named. An absent record is created with nothing but these
	// counters and the given expiry; a live one keeps its value and its index,
	// and the later of the two expiries (zero is the latest). The record gets a
	// new revision, so that a Swap by an earlier handle conflicts instead of
	// dropping what was added. ErrUnknown says that the deltas may or may not
	// have been added, once or, where the transport resent it, twice.
	Add(ctx context.Context, key Key, deltas map[string]int64, expires time.Time) (map[string]int64, error)

	// Query returns one page of live records. Going on by the cursor, a record
	// that was there throughout comes once, whatever else is written meanwhile.
	// A cursor of another query is ErrInvalid. Records with equal sort keys in
	// the index come in no particular order. A driver's index may lag behind.
	Query(ctx context.Context, q Query) (Page, error)
}

// Delete is the Record that deletes when swapped in: emptied and expired.
func Delete() Record { return Record{Expires: time.Unix(1, 0)} }

// The sentinels that callers branch on.
var (
	// ErrConflict: the record is not as the handle saw it.
	ErrConflict = errors.New("store: record has changed")
	// ErrUnknown: the write may or may not have been applied.
	ErrUnknown = errors.New("store: outcome unknown")
	// ErrUnavailable: the store did not answer in time, or refused; nothing was written.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrInvalid: the call breaks a bound written in this package.
	ErrInvalid = errors.New("store: invalid call")
	// ErrFull: the driver's stated cap on durable records is reached.
	ErrFull = errors.New("store: full")
)
