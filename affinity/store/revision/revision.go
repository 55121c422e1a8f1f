// Package revision keeps a document in the store: every version of it under a
// name of its own, never changed, and one record that names the version in
// force. The gateway reads it, the admin API and the seeding command write it,
// and all of them do so through here, since they must agree on every byte.
//
// Invariants: the record in force changes only by compare-and-swap on what was
// read; it never names a version that is not written yet; a version is bytes to
// this package, at most MaxDocument of them.
//
// Concurrency: a Log has no state of its own beside the store.
//
// Errors: those of the store, ErrTooLarge and ErrDamaged.
package revision

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"holdfast/affinity/store"
)

// MaxDocument bounds a document, in bytes before compression.
const MaxDocument = 4 << 20

// What is wrong with a document.
var (
	// ErrTooLarge: the document does not fit, whole or compressed.
	ErrTooLarge = errors.New("revision: document is too large to store")
	// ErrDamaged: a version is named, but it is missing or cannot be unpacked.
	ErrDamaged = errors.New("revision: document is missing or damaged")
)

// partition holds all records of the configuration.
const partition = "configuration"

// Key addresses the record that names the version in force.
func Key() store.Key {
	return store.Key{Table: store.Config, Partition: partition, Sort: "current"}
}

// stamp is the form of the time that a version's name begins with: fine enough
// that versions put one after the other stand in that order.
const stamp = "20060102T150405.000000000"

// documentKey addresses one version. Versions sort by the time they were
// written.
func documentKey(name string) store.Key {
	return store.Key{Table: store.Config, Partition: partition, Sort: "revision/" + name}
}

// head is the value of the record in force.
type head struct {
	Revision string    `json:"revision"`
	At       time.Time `json:"at"`
}

// Name returns the version that a record read under Key names, "" for none.
func Name(read store.Handle) string {
	record, live := read.Record()
	if !live {
		return ""
	}
	return nameIn(record.Value)
}

// Names reads names as Name does, and remembers the last one: nearly every read
// brings the record that the one before has brought. The zero Names is ready,
// and safe for use by many goroutines.
type Names struct {
	last atomic.Pointer[named]
}

// named is a record's value with the name in it.
type named struct {
	value []byte
	name  string
}

// Of is Name.
func (n *Names) Of(read store.Handle) string {
	record, live := read.Record()
	if !live {
		return ""
	}
	if last := n.last.Load(); last != nil && bytes.Equal(last.value, record.Value) {
		return last.name
	}
	name := nameIn(record.Value)
	n.last.Store(&named{bytes.Clone(record.Value), name})
	return name
}

func nameIn(value []byte) string {
	var h head
	if json.Unmarshal(value, &h) != nil {
		return ""
	}
	return h.Revision
}

// Log is the sequence of a document's versions in a store.
type Log struct {
	Store store.Store
}

// Head reads the record that names the version in force.
func (l Log) Head(ctx context.Context) (store.Handle, error) {
	read, err := l.Store.Read(ctx, Key())
	if err != nil {
		return store.Handle{}, err
	}
	return read[0], nil
}

// Put stores a document and makes it rule, if head is still what rules, and
// returns the new head. On store.ErrConflict it returns the head that stands.
func (l Log) Put(ctx context.Context, head store.Handle, document []byte, now time.Time) (store.Handle, error) {
	packed, err := pack(document)
	if err != nil {
		return head, err
	}
	name := now.UTC().Format(stamp) + "-" + rand.Text()[:8]
	absent, err := l.Store.Read(ctx, documentKey(name))
	if err != nil {
		return head, err
	}
	if _, err := l.Store.Swap(ctx, absent[0], store.Record{Value: packed}); err != nil {
		return head, notHead(err)
	}
	return l.swap(ctx, head, name, now)
}

// notHead keeps a conflict over the version's own, random name from being taken
// for one over the head. It cannot happen twice.
func notHead(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: the version's name is taken", store.ErrUnavailable)
	}
	return err
}

func (l Log) swap(ctx context.Context, from store.Handle, name string, now time.Time) (store.Handle, error) {
	value, err := json.Marshal(head{Revision: name, At: now.UTC()})
	if err != nil {
		return from, err
	}
	return l.Store.Swap(ctx, from, store.Record{Value: value})
}

// Document loads the version of a name.
func (l Log) Document(ctx context.Context, name string) ([]byte, error) {
	read, err := l.Store.Read(ctx, documentKey(name))
	if err != nil {
		return nil, err
	}
	record, live := read[0].Record()
	if !live {
		return nil, ErrDamaged
	}
	return unpack(record.Value)
}

// List returns the names of versions that were stored in [from, to), newest
// first, and the cursor of the next page; zero times are no bounds. A bad cursor
// is store.ErrInvalid.
func (l Log) List(ctx context.Context, from, to time.Time, cursor string, limit int) (names []string, next string, err error) {
	const prefix = "revision/"
	q := store.Query{Table: store.Config, Partition: partition, From: prefix, To: prefix + "~", Reverse: true, Cursor: cursor, Limit: limit}
	if !from.IsZero() {
		q.From = prefix + from.UTC().Format(stamp)
	}
	if !to.IsZero() {
		q.To = prefix + to.UTC().Format(stamp) // before all names of that instant
	}
	page, err := l.Store.Query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	for _, h := range page.Handles {
		names = append(names, strings.TrimPrefix(h.Key().Sort, prefix))
	}
	return names, page.Cursor, nil
}

func pack(document []byte) ([]byte, error) {
	if len(document) > MaxDocument {
		return nil, fmt.Errorf("%w: %d bytes, %d allowed", ErrTooLarge, len(document), MaxDocument)
	}
	compress, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	packed := compress.EncodeAll(document, nil)
	if len(packed) > store.MaxValue {
		return nil, fmt.Errorf("%w: %d bytes compressed, %d allowed", ErrTooLarge, len(packed), store.MaxValue)
	}
	return packed, nil
}

func unpack(packed []byte) ([]byte, error) {
	decompress, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxDocument))
	if err != nil {
		return nil, err
	}
	defer decompress.Close()
	document, err := decompress.DecodeAll(packed, nil)
	if err != nil {
		return nil, ErrDamaged
	}
	return document, nil
}
