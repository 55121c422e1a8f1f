// Package keys keeps callers' keys in the store: those that are made through the
// admin API, beside those of the configuration.
//
// Invariants: a key itself is made here, told once and never stored; what is
// kept is its SHA-256, which addresses the record, so that looking a key up is
// one read; a record changes by compare-and-swap only; an id is taken by one
// key, since what names it is written after the record and never over one that
// stands.
//
// Concurrency: a Book has no state beside the store; a Ring may be used by many
// goroutines.
//
// Errors: those of the store, ErrTaken, ErrNotFound and ErrDamaged.
package keys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// What keeps a key from being found or made.
var (
	ErrTaken    = errors.New("keys: the id is taken")
	ErrNotFound = errors.New("keys: there is no such key")
	ErrDamaged  = errors.New("keys: the record cannot be read")
)

// prefix begins every key that is made here.
const prefix = "sk-hf-"

// digits is how many base62 digits 32 bytes have.
const digits = 43

// newSecret returns a key: the prefix and 32 random bytes.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	text := new(big.Int).SetBytes(b[:]).Text(62)
	return prefix + strings.Repeat("0", digits-len(text)) + text
}

// Formed reports whether a credential may be a key that was made here. What is
// not is never looked up.
func Formed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, prefix)
	if !ok || len(rest) != digits {
		return false
	}
	for _, c := range []byte(rest) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// NewID returns an id for a key that its operator has not named.
func NewID() string { return "key_" + rand.Text()[:16] }

// partition holds all keys, ordered by their sums.
const partition = "keys"

// Address is where the key with that SHA-256 is kept.
func Address(sum [32]byte) store.Key {
	return store.Key{Table: store.Config, Partition: partition, Sort: hex.EncodeToString(sum[:])}
}

// nameKey addresses what tells a key's sum by its id.
func nameKey(id string) store.Key {
	sum := identity.Hash("key id", id)
	return store.Key{Table: store.Config, Partition: "key-id/" + hex.EncodeToString(sum[:16]), Sort: "sum"}
}

// Entry is a key as it is kept.
type Entry struct {
	catalog.Key           // KeySHA256 set, Key empty
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`

	handle store.Handle
}

// Revision marks the entry's last write.
func (e Entry) Revision() string { return e.handle.Revision() }

// Read decodes the record under Address. ErrNotFound where there is none.
func Read(h store.Handle) (Entry, error) {
	record, live := h.Record()
	if !live {
		return Entry{}, ErrNotFound
	}
	e := Entry{handle: h}
	if err := json.Unmarshal(record.Value, &e); err != nil || e.KeySHA256 != h.Key().Sort {
		return Entry{}, ErrDamaged
	}
	return e, nil
}

// Book is all stored keys.
type Book struct {
	Store store.Store
	Now   func() time.Time
}

// Make keeps a new key and returns it with the secret, which nobody can be told
// again. ErrTaken where another has the id, or had it.
func (b Book) Make(ctx context.Context, k catalog.Key) (Entry, string, error) {
	secret := newSecret()
	sum := sha256.Sum256([]byte(secret))
	k.Key, k.KeySHA256 = "", hex.EncodeToString(sum[:])
	now := b.Now().UTC()
	read, err := b.Store.Read(ctx, Address(sum), nameKey(k.ID))
	if err != nil {
		return Entry{}, "", err
	}
	name := read[1]
	if free, err := b.free(ctx, name); err != nil || !free {
		return Entry{}, "", errors.Join(err, taken(free))
	}
	e, err := b.write(ctx, Entry{Key: k, Created: now, Updated: now, handle: read[0]})
	if err != nil {
		return Entry{}, "", err
	}
	_, err = b.Store.Swap(ctx, name, store.Record{Value: []byte(k.KeySHA256)})
	if err != nil { // nobody knows the secret: take the record back
		_, _ = b.Store.Swap(context.WithoutCancel(ctx), e.handle, store.Delete())
		if errors.Is(err, store.ErrConflict) {
			err = ErrTaken
		}
		return Entry{}, "", err
	}
	return e, secret, nil
}

func taken(free bool) error {
	if free {
		return nil
	}
	return ErrTaken
}

// retired ends the name of a key that was removed. What the key has left behind,
// sessions, responses and jobs, is found by its id, so nobody else ever gets it.
const retired = "!"

// free reports whether an id may be taken: nothing names it, or a key that could
// not be made and that nobody was ever told.
func (b Book) free(ctx context.Context, name store.Handle) (bool, error) {
	sum, named := sumIn(name)
	if !named {
		return true, nil
	}
	if record, _ := name.Record(); strings.HasSuffix(string(record.Value), retired) {
		return false, nil
	}
	read, err := b.Store.Read(ctx, Address(sum))
	if err != nil {
		return true, err
	}
	_, live := read[0].Record()
	return !live, nil
}

func sumIn(name store.Handle) (sum [32]byte, ok bool) {
	record, live := name.Record()
	raw, err := hex.DecodeString(strings.TrimSuffix(string(record.Value), retired))
	if !live || err != nil || len(raw) != len(sum) {
		return sum, false
	}
	return [32]byte(raw), true
}

// write puts an entry in the place of what its handle saw.
func (b Book) write(ctx context.Context, e Entry) (Entry, error) {
	value, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("keys: %w", err)
	}
	h, err := b.Store.Swap(ctx, e.handle, store.Record{Value: value})
	if err != nil {
		return e, err
	}
	e.handle = h
	return e, nil
}

// Find returns the key of an id. ErrNotFound where there is none.
func (b Book) Find(ctx context.Context, id string) (Entry, error) {
	read, err := b.Store.Read(ctx, nameKey(id))
	if err != nil {
		return Entry{}, err
	}
	sum, named := sumIn(read[0])
	if !named {
		return Entry{}, ErrNotFound
	}
	if read, err = b.Store.Read(ctx, Address(sum)); err != nil {
		return Entry{}, err
	}
	e, err := Read(read[0])
	if err == nil && e.ID != id {
		return Entry{}, ErrNotFound
	}
	return e, err
}

// Change gives a key other fields; id and secret stay. store.ErrConflict where
// it has changed since it was read.
func (b Book) Change(ctx context.Context, e Entry, to catalog.Key) (Entry, error) {
	to.ID, to.Key, to.KeySHA256 = e.ID, "", e.KeySHA256
	e.Key, e.Updated = to, b.Now().UTC()
	return b.write(ctx, e)
}

// Remove ends a key for good; its id stays taken. store.ErrConflict where it has
// changed since it was read.
func (b Book) Remove(ctx context.Context, e Entry) error {
	read, err := b.Store.Read(ctx, nameKey(e.ID), Address(sumOf(e)))
	if err != nil {
		return err
	}
	if read[1].Revision() != e.Revision() {
		return store.ErrConflict
	}
	// The name first: until the key is gone as well it can be found and removed again.
	if _, err = b.Store.Swap(ctx, read[0], store.Record{Value: []byte(e.KeySHA256 + retired)}); err != nil {
		return err
	}
	_, err = b.Store.Swap(ctx, e.handle, store.Delete())
	return err
}

func sumOf(e Entry) (sum [32]byte) {
	_, _ = hex.Decode(sum[:], []byte(e.KeySHA256)) // it was read under this sum
	return sum
}

// List returns a page of keys in no meaningful order. A record that cannot be
// read is left out.
func (b Book) List(ctx context.Context, cursor string, limit int) ([]Entry, string, error) {
	page, err := b.Store.Query(ctx, store.Query{Table: store.Config, Partition: partition, Cursor: cursor, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	all := make([]Entry, 0, len(page.Handles))
	for _, h := range page.Handles {
		if e, err := Read(h); err == nil {
			all = append(all, e)
		}
	}
	return all, page.Cursor, nil
}
