package app

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"sync"

	"holdfast/affinity/store"
)

// installationSecret keys every hash that leaves the gateway: scoped session
// ids and upstream hints. Changing it renames sessions and cools caches.
type installationSecret []byte

// hash returns 32 hex digits that stand for the parts, here and nowhere else.
// The parts are length-prefixed, so that no two lists meet.
func (s installationSecret) hash(parts ...string) string {
	return digest(hmac.New(sha256.New, s), parts)
}

// hasher is hash for those who often ask: what the secret makes of a hash is made
// once.
func (s installationSecret) hasher() func(parts ...string) string {
	keyed := sync.Pool{New: func() any { return hmac.New(sha256.New, s) }}
	return func(parts ...string) string {
		mac := keyed.Get().(hash.Hash)
		defer keyed.Put(mac)
		mac.Reset()
		return digest(mac, parts)
	}
}

func digest(mac hash.Hash, parts []string) string {
	text := make([]byte, 0, 192)
	for _, part := range parts {
		text = append(append(strconv.AppendInt(text, int64(len(part)), 10), ':'), part...)
	}
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(text[:0])[:16])
}

func installationKey() store.Key {
	return store.Key{Table: store.Config, Partition: "installation", Sort: "secret"}
}

// installation returns the configured secret or, without one, the one that the
// store keeps; the first process to start makes it.
func installation(ctx context.Context, s store.Store, configured string) (installationSecret, error) {
	if configured != "" {
		return installationSecret(configured), nil
	}
	read, err := s.Read(ctx, installationKey())
	if err != nil {
		return nil, fmt.Errorf("installation secret: %w", err)
	}
	if record, live := read[0].Record(); live {
		return record.Value, nil
	}
	made, err := s.Swap(ctx, read[0], store.Record{Value: []byte(rand.Text() + rand.Text())})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return nil, fmt.Errorf("installation secret: %w", err)
	}
	record, _ := made.Record() // after a conflict: what the winner made
	return record.Value, nil
}
