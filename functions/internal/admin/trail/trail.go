// Package trail keeps the record of what operators have changed: who, when,
// what, before and after.
//
// Invariants: no change is made that is not on record, since the record is
// written first and completed afterwards; an entry whose outcome says begun is
// a change that may or may not have been made; before and after are given by
// the caller with secrets left out, and bounded here.
//
// Concurrency: a Trail has no state beside the store.
//
// Errors: those of the store. What the change itself returns passes through.
package trail

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/store"
)

// The outcomes of a change.
const (
	Begun   = "begun"   // written before the change; it stays where a process dies
	Done    = "done"    // made
	Failed  = "failed"  // not made
	Unknown = "unknown" // the store cannot tell
)

// maxState bounds before and after, in bytes each.
const maxState = 64 << 10

// Change is one thing that an operator does.
type Change struct {
	ID      string         `json:"id"` // sorts by time
	Time    time.Time      `json:"time"`
	Who     string         `json:"who"`
	Action  string         `json:"action"` // such as key.create
	Target  string         `json:"target"` // such as the key's id
	Before  jsontext.Value `json:"before"` // null: there was nothing
	After   jsontext.Value `json:"after"`  // null: there is nothing
	Outcome string         `json:"outcome"`
}

// State is a value as a Change shows it. It must hold no secret.
func State(value any) jsontext.Value {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	if len(text) > maxState {
		return jsontext.Value(fmt.Sprintf(`{"left_out_bytes":%d}`, len(text)))
	}
	return text
}

// Trail is all changes.
type Trail struct {
	Store store.Store
	Now   func() time.Time
}

// partition holds the whole trail, in the order of time.
const partition = "changes"

// stamp is the form of the time in an entry's id: fine enough that changes made
// one after the other stand in that order.
const stamp = "20060102T150405.000000000Z"

// Do makes a change and records it. It calls change once, after the entry is
// durable, and not at all where that fails; change may fill in c.After, and its
// error is returned as it is.
func (t Trail) Do(ctx context.Context, c *Change, change func() error) error {
	c.Time = t.Now().UTC()
	c.ID = c.Time.Format(stamp) + "-" + rand.Text()[:8]
	c.Outcome = Begun
	h := store.NewHandle(store.Key{Table: store.Config, Partition: partition, Sort: c.ID}, "", store.Record{})
	h, err := t.write(ctx, h, c)
	if err != nil {
		return err
	}
	err = change()
	switch {
	case err == nil:
		c.Outcome = Done
	case errors.Is(err, store.ErrUnknown):
		c.Outcome = Unknown
	default:
		c.Outcome = Failed
	}
	_, _ = t.write(context.WithoutCancel(ctx), h, c) // without it the entry says begun
	return err
}

func (t Trail) write(ctx context.Context, h store.Handle, c *Change) (store.Handle, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return h, err
	}
	return t.Store.Swap(ctx, h, store.Record{Value: text})
}

// List returns a page of changes made in [from, to), newest first; zero times
// are no bounds.
func (t Trail) List(ctx context.Context, from, to time.Time, cursor string, limit int) ([]Change, string, error) {
	q := store.Query{Table: store.Config, Partition: partition, Reverse: true, Cursor: cursor, Limit: limit}
	if !from.IsZero() {
		q.From = from.UTC().Format(stamp)
	}
	if !to.IsZero() {
		q.To = to.UTC().Format(stamp) // before every id of that instant
	}
	page, err := t.Store.Query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	all := make([]Change, 0, len(page.Handles))
	for _, h := range page.Handles {
		record, _ := h.Record()
		var c Change
		if json.Unmarshal(record.Value, &c) == nil {
			all = append(all, c)
		}
	}
	return all, page.Cursor, nil
}
