// Package affinity keeps conversations with the deployment whose prompt cache
// is warm, and account-bound things with the account that made them.
//
// Two kinds of memory, kept apart on purpose:
//
//   - A preference is a wish: where a session last succeeded, for one range of
//     scope, session, lane, requested model or group, and endpoint. It orders
//     candidates and grants nothing; every request validates it again.
//   - Ownership is binding: a response, conversation, file or task goes back to
//     the deployment that made it, or is refused.
//
// One exchange runs Plan, then Claim where there is no preference, then its
// calls, then Commit after a success, and Publish where an id was handed out.
// A failure, a cancellation or a cut stream calls none of the last two, so
// nothing is written and nothing is deleted.
//
// Invariants. A record changes only by comparing with what this exchange read
// or claimed: one winner per race, and a late success never undoes a newer
// switch. A store error is never a miss: ordinary exchanges go on degraded,
// whatever needs ownership is refused with ErrOwnershipUnavailable. What
// belongs to one scope is invisible to every other. Keys are hashes of
// length-prefixed tuples: no session, response or task id appears in one.
//
// A deployment is an opaque string here: this package knows no HTTP server, no
// routing and no cloud.
//
// Concurrency: a State is made once and shared by all goroutines; a Plan belongs
// to one exchange. Errors: branch with errors.Is on the sentinels below and with
// errors.As on *identity.Error. Store errors are wrapped, never swallowed.
package affinity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"holdfast/affinity/store"
)

// Defaults of a zero Config, and of tasks.
const (
	defaultTTL       = time.Hour
	defaultRetention = 720 * time.Hour
	taskRetention    = 7 * 24 * time.Hour
)

// Forever, as a TTL or a retention, keeps records without end.
const Forever time.Duration = -1

// The sentinels that callers branch on.
var (
	// ErrNotFound: unknown, expired, or another scope's; the three look alike.
	ErrNotFound = errors.New("affinity: not found")
	// ErrParentNotFound: the previous response is unknown, foreign, expired, was
	// made for another model or endpoint, or cannot be restored. One identical
	// value for all of them; it also is an ErrNotFound.
	ErrParentNotFound = fmt.Errorf("previous response: %w", ErrNotFound)
	// ErrOwnershipUnavailable: the store could not say who owns the thing, or did
	// not durably take it. Never a miss; the request may be repeated later.
	ErrOwnershipUnavailable = errors.New("affinity: ownership unavailable")
	// ErrHistoryLimit: the turn or its chain is larger than what is restored.
	ErrHistoryLimit = errors.New("affinity: history too large")
	// ErrTaskExists: a task of this kind and id has other creation facts.
	ErrTaskExists = errors.New("affinity: task exists with other facts")
)

// Config says what a State works with. The zero Config works, in memory.
type Config struct {
	Store     store.Store      // default: a new memory store
	Now       func() time.Time // default: time.Now
	Random    io.Reader        // default: crypto/rand; need not be safe for concurrent use
	TTL       time.Duration    // of a preference whose Target names none; 0: 1 h
	Retention time.Duration    // of ownership and history without one of their own; 0: 720 h; or Forever
	Log       *slog.Logger     // default: discards; never sees ids or content
}

// State is the shared entry point. All its methods are safe for concurrent use.
type State struct {
	store     store.Store
	now       func() time.Time
	random    io.Reader
	randomMu  sync.Mutex
	ttl       time.Duration
	retention time.Duration
	log       *slog.Logger
	local     *local
	codec     func() (*codec, error)
}

// New returns a State over the configured store. It makes no call and starts
// nothing.
func New(c Config) *State {
	s := &State{
		store: c.Store, now: c.Now, random: c.Random, log: c.Log,
		ttl: c.TTL, retention: c.Retention,
		local: newLocal(), codec: sync.OnceValues(newCodec),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.store == nil {
		s.store = store.NewMemory(store.MemoryConfig{Now: s.now})
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.ttl == 0 {
		s.ttl = defaultTTL
	}
	if s.retention == 0 {
		s.retention = defaultRetention
	}
	return s
}

// nonce returns 16 random bytes. A configured source that runs dry gives way to
// the system's.
func (s *State) nonce() [16]byte {
	var b [16]byte
	s.randomMu.Lock()
	defer s.randomMu.Unlock()
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		_, _ = rand.Read(b[:])
	}
	return b
}

// expiry returns when a record of the given lifetime ends; zero means the
// default, and the zero time means never.
func (s *State) expiry(lifetime, byDefault time.Duration) time.Time {
	if lifetime == 0 {
		lifetime = byDefault
	}
	if lifetime < 0 {
		return time.Time{}
	}
	return s.now().Add(lifetime)
}

// create writes a record under a key that nobody should have used yet. It
// assumes absence instead of reading first; where that is wrong nothing is
// written, and the conflict carries the record that stands.
func (s *State) create(ctx context.Context, key store.Key, r store.Record) (store.Handle, error) {
	return s.store.Swap(ctx, absent(key), r)
}

// absent is the handle of a key that holds no live record.
func absent(key store.Key) store.Handle {
	return store.NewHandle(key, "", store.Record{})
}

// unavailable marks a store error as one of ownership, keeping its cause.
func unavailable(cause error) error {
	return fmt.Errorf("%w: %w", ErrOwnershipUnavailable, cause)
}
