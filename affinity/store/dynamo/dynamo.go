// Package dynamo is the store on DynamoDB: single-item conditional writes,
// strongly consistent reads, nothing else. It never scans, deletes, or opens a
// transaction, so the permissions it needs are GetItem, BatchGetItem, PutItem,
// UpdateItem and Query.
//
// Invariants, beside those of package store:
//
//   - Read is one BatchGetItem; only keys that DynamoDB leaves unprocessed cost
//     another.
//   - Every write is conditional on the revision and on the expiry, since
//     DynamoDB deletes expired items days late. The time in a condition is read
//     afresh for every attempt; that is why the resending is done here and the
//     SDK's own is switched off (it would resend the bytes of the first
//     attempt).
//   - All attempts of one Swap write the same new revision. Where the condition
//     fails and the item that stands carries it, an earlier attempt whose answer
//     was lost has succeeded.
//
// Deadlines: 300 ms an attempt, two attempts, 10 to 30 ms between them, 1 s for
// the whole call with any read-back; the caller's context may be shorter.
//
// Ends of a write. Throttled, any other 4xx, or never sent: nothing was
// written, ErrUnavailable. A 5xx or no answer: it may have been applied, so
// Swap sends it again and, if that does not settle it, reads the item back.
// The own revision stands: success. After a 5xx, which is an answer, the
// revision that was replaced stands unchanged: nothing was written,
// ErrUnavailable. Anything else is ErrUnknown: without an answer the write may
// still be under way, and a third revision may have replaced ours or never have
// seen it. Add is not sent again after a 5xx or a lost answer, because it would
// count twice; it is settled by the own revision alone.
//
// Late duplicates: an attempt that was given up on can reach DynamoDB later.
// Its condition then fails, because revisions are never reused; only where a
// record was absent at first and is absent again by then, it writes a record
// that the caller already knew as unknown or written.
//
// Concurrency: a Store is safe for use by many goroutines.
package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

// The client's default deadlines.
const (
	DefaultAttemptTimeout = 300 * time.Millisecond
	DefaultTimeout        = time.Second
)

// Config configures a Store. The zero Config takes region, credentials and
// endpoint from the environment and opens the default tables.
type Config struct {
	// Client is used as it is, but for its retries. Nil: NewClient makes one of
	// the four fields after it.
	Client *dynamodb.Client

	Region     string              // "": the environment's
	Endpoint   string              // "": AWS_ENDPOINT_URL_DYNAMODB, else the region's
	HTTPClient dynamodb.HTTPClient // nil: NewHTTPClient

	Credentials aws.CredentialsProvider // nil: the access key of the environment

	Prefix string           // of the tables' names; "": table.DefaultPrefix
	Now    func() time.Time // nil: time.Now
	Random io.Reader        // source of revisions, used concurrently; nil: crypto/rand

	AttemptTimeout time.Duration // one request; 0: DefaultAttemptTimeout
	Timeout        time.Duration // one call of the store; 0: DefaultTimeout

	// Observe is told of every request on the wire after it has ended, from the
	// goroutine that sent it. Nil: nobody is.
	Observe func(Attempt)
}

// Attempt is one request on the wire.
type Attempt struct {
	Operation string // such as "BatchGetItem"
	Number    int    // 1, or 2 for a resent one
	Took      time.Duration
	Err       error // nil where DynamoDB answered with success
}

// Store implements store.Store. Make it with New.
type Store struct {
	client         *dynamodb.Client
	names          map[store.Table]string
	tables         map[string]store.Table
	now            func() time.Time
	random         io.Reader
	attemptTimeout time.Duration
	timeout        time.Duration
	observe        func(Attempt)
	hangUp         func() // closes idle connections
}

var _ store.Store = (*Store)(nil)

// New returns a Store. It does not contact DynamoDB.
func New(c Config) (*Store, error) {
	if c.Client == nil {
		client, err := NewClient(c)
		if err != nil {
			return nil, err
		}
		c.Client = client
	}
	s := &Store{
		client: c.Client, now: c.Now, random: c.Random, observe: c.Observe,
		attemptTimeout: c.AttemptTimeout, timeout: c.Timeout,
		hangUp: hangUpOf(c.Client),
	}
	s.setDefaults()
	return s, s.setTables(c.Prefix)
}

func (s *Store) setDefaults() {
	if s.now == nil {
		s.now = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.observe == nil {
		s.observe = func(Attempt) {}
	}
	if s.attemptTimeout == 0 {
		s.attemptTimeout = DefaultAttemptTimeout
	}
	if s.timeout == 0 {
		s.timeout = DefaultTimeout
	}
}

func (s *Store) setTables(prefix string) error {
	prefix, err := checkPrefix(prefix)
	if err != nil {
		return err
	}
	s.names = map[store.Table]string{}
	s.tables = map[string]store.Table{}
	for _, t := range store.Tables() {
		s.names[t] = prefix + t.String()
		s.tables[prefix+t.String()] = t
	}
	return nil
}

// errPrefix is told at start-up instead of by every call.
var errPrefix = errors.New("dynamo: table prefix has characters other than letters, digits, '_', '-' and '.', or is too long")

func checkPrefix(prefix string) (string, error) {
	if prefix == "" {
		return table.DefaultPrefix, nil
	}
	for _, c := range prefix {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '.' {
			return "", errPrefix
		}
	}
	if len(prefix) > 200 { // names have at most 255
		return "", errPrefix
	}
	return prefix, nil
}

// newRevision returns 16 random bytes as text; it is never used for two writes.
func (s *Store) newRevision() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		return "", fmt.Errorf("%w: no random revision: %w", store.ErrUnavailable, err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// bounded gives a call of the store its deadline.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// once switches the SDK's own retries off for one request.
func once(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
}
