package affinity

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Preference is one stored preference, as an operator sees it.
type Preference struct {
	Key      string // names the record: for SetPreference and ClearPreference
	Endpoint string
	Target   Target
	Revision string
	Expires  time.Time // zero: never
}

// SessionKey names a session's preferences without telling its id. It is made
// of the letters 0-9, a-f and '-'.
func SessionKey(scope identity.Scope, session string) string {
	return partitionKey(sessionPartition(scope, session))
}

// partitionKey is a session's key by the partition of its preferences.
func partitionKey(partition string) string { return strings.Replace(partition, "/", "-", 1) }

// Preferences lists the live preferences of a session: one for each lane,
// requested model and endpoint in use, at most 200. It is an operator's look,
// not part of any exchange. ErrNotFound for a malformed key; store errors.
func (s *State) Preferences(ctx context.Context, sessionKey string) ([]Preference, error) {
	key, ok := parseKey(sessionKey + "-" + strings.Repeat("0", 64))
	if !ok {
		return nil, ErrNotFound
	}
	page, err := s.store.Query(ctx, store.Query{Table: store.Affinity, Partition: key.Partition, From: preferenceSort, To: preferenceSort + "g"})
	if err != nil {
		return nil, err
	}
	all := make([]Preference, 0, len(page.Handles))
	for _, h := range page.Handles {
		record, _ := h.Record()
		var p preference
		if err := json.Unmarshal(record.Value, &p); err != nil {
			continue
		}
		all = append(all, Preference{
			Key:      sessionKey + "-" + strings.TrimPrefix(h.Key().Sort, preferenceSort),
			Endpoint: p.Endpoint, Revision: h.Revision(), Expires: record.Expires,
			Target: Target{Deployment: p.Deployment, Model: p.Model, Pool: p.Pool, Path: p.Path},
		})
	}
	return all, nil
}

// SetPreference points a live preference at a deployment, keeping its expiry: an
// operator's switch. Exchanges that have read the record before it do not undo
// it. ErrNotFound where there is none to set; store errors.
func (s *State) SetPreference(ctx context.Context, key string, t Target) error {
	return s.edit(ctx, key, func(r store.Record) (store.Record, error) {
		var p preference
		if err := json.Unmarshal(r.Value, &p); err != nil {
			return store.Record{}, ErrNotFound
		}
		r.Value = encodePreference(t, p.Endpoint, s.choice())
		return r, nil
	})
}

// ClearPreference removes a preference. ErrNotFound, store errors.
func (s *State) ClearPreference(ctx context.Context, key string) error {
	return s.edit(ctx, key, func(store.Record) (store.Record, error) { return store.Delete(), nil })
}

// edit swaps a live preference for another record, again where it has changed.
func (s *State) edit(ctx context.Context, key string, change func(store.Record) (store.Record, error)) error {
	at, ok := parseKey(key)
	if !ok {
		return ErrNotFound
	}
	handles, err := s.store.Read(ctx, at)
	if err != nil {
		return err
	}
	h := handles[0]
	for range swapTries {
		record, live := h.Record()
		if !live {
			return ErrNotFound
		}
		next, err := change(record)
		if err != nil {
			return err
		}
		if h, err = s.store.Swap(ctx, h, next); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// parseKey turns the name of a preference back into its address.
func parseKey(name string) (store.Key, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return store.Key{}, false
	}
	for i, want := range []int{8, 32, 32} {
		if b, err := hex.DecodeString(parts[i]); err != nil || len(b) != want {
			return store.Key{}, false
		}
	}
	return store.Key{
		Table:     store.Affinity,
		Partition: parts[0] + "/" + parts[1],
		Sort:      preferenceSort + parts[2],
	}, true
}
