package affinity

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Facts are what was known about a task when it was created. They never change.
type Facts struct {
	Known      bool              `json:"known,omitzero"` // false: the price is unknown, never zero
	Started    time.Time         `json:"started"`        // zero on CreateTask: now
	Model      string            `json:"model,omitzero"`
	Parameters map[string]string `json:"parameters,omitempty"` // those that price it
}

// Task is an asynchronous job at a provider.
type Task struct {
	Kind      Kind
	ID        string
	Owner     Owner
	Facts     Facts
	Finished  bool          // FinishTask has marked it
	Retention time.Duration // 0: 7 days, or Forever. Not stored
}

// listed is the stored form of a task in its scope's list.
type listed struct {
	ID    string    `json:"id"`
	Facts Facts     `json:"facts"`
	Owner ownership `json:"owner"`
}

// CreateTask stores a task's facts, then its owner, and returns when both are
// durable: only then may the id reach the client. The same creation may be
// stored again. ErrTaskExists where the id has other facts or another owner;
// ErrOwnershipUnavailable. Without a scope or an id nothing is written.
func (s *State) CreateTask(ctx context.Context, scope identity.Scope, t Task) error {
	if scope.IsZero() || t.ID == "" {
		return nil
	}
	if t.Facts.Started.IsZero() {
		t.Facts.Started = s.now()
	}
	if t.Owner.Created.IsZero() {
		t.Owner.Created = t.Facts.Started
	}
	t.Facts.Started, t.Owner.Created = t.Facts.Started.UTC(), t.Owner.Created.UTC()
	expires := s.expiry(t.Retention, taskRetention)
	entry := listed{t.ID, t.Facts, ownership{Owner: t.Owner}}
	for _, record := range []struct {
		key   store.Key
		value []byte
	}{
		{taskKey(scope, t.Kind, t.ID, factsSort), encode(t.Facts)},
		{taskKey(scope, t.Kind, t.ID, ownerSort), encodeOwner(t.Owner)},
		{listKey(scope, t), encode(entry)},
	} {
		if err := s.once(ctx, record.key, store.Record{Value: record.value, Expires: expires}); err != nil {
			return err
		}
	}
	return nil
}

// once writes a record that may never be changed.
func (s *State) once(ctx context.Context, key store.Key, r store.Record) error {
	current, err := s.create(ctx, key, r)
	if err == nil {
		return nil
	}
	if !errors.Is(err, store.ErrConflict) {
		return unavailable(err)
	}
	if record, live := current.Record(); live && bytes.Equal(record.Value, r.Value) {
		return nil
	}
	return ErrTaskExists
}

// Task returns a task's owner and creation facts. ErrNotFound where it is
// unknown, expired or another scope's; ErrOwnershipUnavailable.
func (s *State) Task(ctx context.Context, scope identity.Scope, kind Kind, id string) (Task, error) {
	if scope.IsZero() || id == "" {
		return Task{}, ErrNotFound
	}
	handles, err := s.store.Read(ctx, taskKey(scope, kind, id, factsSort), taskKey(scope, kind, id, ownerSort), taskKey(scope, kind, id, finishSort))
	if err != nil {
		return Task{}, unavailable(err)
	}
	t := Task{Kind: kind, ID: id, Finished: handles[2].Revision() != ""}
	var ok bool
	if t.Owner, ok = s.decodeOwner(handles[1]); !ok {
		return Task{}, ErrNotFound // facts alone: its creation was never told
	}
	record, live := handles[0].Record()
	if !live || json.Unmarshal(record.Value, &t.Facts) != nil {
		return Task{}, ErrNotFound
	}
	return t, nil
}

// FinishTask marks a task's terminal success and returns true to exactly one of
// all callers, who bills it. ErrNotFound for a task that is unknown. On
// ErrOwnershipUnavailable the mark may or may not be there; who was told so
// bills under the task's own id, which the ledger takes once.
func (s *State) FinishTask(ctx context.Context, scope identity.Scope, kind Kind, id string) (bool, error) {
	handles, err := s.store.Read(ctx, taskKey(scope, kind, id, factsSort), taskKey(scope, kind, id, finishSort))
	if err != nil {
		return false, unavailable(err)
	}
	facts, live := handles[0].Record()
	if !live {
		return false, ErrNotFound
	}
	if handles[1].Revision() != "" {
		return false, nil
	}
	_, err = s.store.Swap(ctx, handles[1], store.Record{Value: encode(s.now().UTC()), Expires: facts.Expires})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, unavailable(err)
	}
	return true, nil
}

// ForgetTask removes a task from its scope's list, then its owner. Its facts
// stay until they expire, so that the id cannot get others. ErrNotFound,
// ErrOwnershipUnavailable.
func (s *State) ForgetTask(ctx context.Context, scope identity.Scope, kind Kind, id string) error {
	t, err := s.Task(ctx, scope, kind, id)
	if err != nil {
		return err
	}
	handles, err := s.store.Read(ctx, listKey(scope, t), taskKey(scope, kind, id, ownerSort))
	if err != nil {
		return unavailable(err)
	}
	for _, h := range handles {
		if err := s.remove(ctx, h, anything); err != nil {
			return err
		}
	}
	return nil
}

// listKey sorts a scope's tasks by their start.
func listKey(scope identity.Scope, t Task) store.Key {
	id := identity.Hash("listed", t.ID)
	return store.Key{
		Table:     store.State,
		Partition: taskListPartition(scope, t.Kind),
		Sort:      fmt.Sprintf("%020d/%s", max(0, t.Facts.Started.UnixNano()), hex.EncodeToString(id[:])),
	}
}
