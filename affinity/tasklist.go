package affinity

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// TaskPage asks for a part of a scope's tasks, by the id where the last part
// ended.
type TaskPage struct {
	Kind        Kind
	After       string // the id of the last task seen; "": from the beginning. It may have been forgotten since
	OldestFirst bool
	Limit       int // 1 to store.MaxPage
}

// TasksAfter lists a scope's tasks and reports whether there are more. ErrNotFound
// where After is unknown, expired or another scope's; ErrOwnershipUnavailable.
func (s *State) TasksAfter(ctx context.Context, scope identity.Scope, p TaskPage) (tasks []Task, more bool, err error) {
	if scope.IsZero() {
		return nil, false, nil
	}
	q := store.Query{Table: store.State, Partition: taskListPartition(scope, p.Kind), Reverse: !p.OldestFirst, Limit: min(p.Limit+2, store.MaxPage)}
	if p.After != "" {
		if err := s.after(ctx, scope, p, &q); err != nil {
			return nil, false, err
		}
	}
	for len(tasks) <= p.Limit {
		page, err := s.store.Query(ctx, q)
		if err != nil {
			return nil, false, unavailable(err)
		}
		for _, t := range s.decodeListed(p.Kind, page.Handles) {
			if t.ID != p.After {
				tasks = append(tasks, t)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if more = len(tasks) > p.Limit; more {
		tasks = tasks[:p.Limit]
	}
	return tasks, more, s.readFinished(ctx, scope, tasks)
}

// after bounds a query by the place of the last task seen, which its facts tell
// even where the task itself is forgotten.
func (s *State) after(ctx context.Context, scope identity.Scope, p TaskPage, q *store.Query) error {
	handles, err := s.store.Read(ctx, taskKey(scope, p.Kind, p.After, factsSort))
	if err != nil {
		return unavailable(err)
	}
	last := Task{Kind: p.Kind, ID: p.After}
	record, live := handles[0].Record()
	if !live || json.Unmarshal(record.Value, &last.Facts) != nil {
		return ErrNotFound
	}
	if at := listKey(scope, last).Sort; p.OldestFirst {
		q.From = at
	} else {
		q.To = at
	}
	return nil
}

// Tasks lists a scope's tasks of one kind, newest first, by pages of at most
// limit (0: store.MaxPage). The cursor is opaque; "" begins and ends. A page may
// be shorter than limit while a cursor is given. ErrOwnershipUnavailable;
// store.ErrInvalid for a cursor that is not one of these.
func (s *State) Tasks(ctx context.Context, scope identity.Scope, kind Kind, cursor string, limit int) ([]Task, string, error) {
	if scope.IsZero() {
		return nil, "", nil
	}
	page, err := s.store.Query(ctx, store.Query{
		Table: store.State, Partition: taskListPartition(scope, kind),
		Reverse: true, Cursor: cursor, Limit: limit,
	})
	if errors.Is(err, store.ErrInvalid) {
		return nil, "", err
	}
	if err != nil {
		return nil, "", unavailable(err)
	}
	tasks := s.decodeListed(kind, page.Handles)
	if err := s.readFinished(ctx, scope, tasks); err != nil {
		return nil, "", err
	}
	return tasks, page.Cursor, nil
}

// decodeListed reads the entries of a scope's list.
func (s *State) decodeListed(kind Kind, handles []store.Handle) []Task {
	tasks := make([]Task, 0, len(handles))
	for _, h := range handles {
		record, _ := h.Record()
		var e listed
		if err := json.Unmarshal(record.Value, &e); err != nil {
			s.log.Warn("affinity: a task record cannot be read")
			continue
		}
		tasks = append(tasks, Task{Kind: kind, ID: e.ID, Facts: e.Facts, Owner: e.Owner.Owner})
	}
	return tasks
}

// readFinished fills in which of the tasks are marked, by as few reads as there
// can be.
func (s *State) readFinished(ctx context.Context, scope identity.Scope, tasks []Task) error {
	for part := range slices.Chunk(tasks, store.MaxReadKeys) {
		keys := make([]store.Key, len(part))
		for i, t := range part {
			keys[i] = taskKey(scope, t.Kind, t.ID, finishSort)
		}
		handles, err := s.store.Read(ctx, keys...)
		if err != nil {
			return unavailable(err)
		}
		for i, h := range handles {
			part[i].Finished = h.Revision() != ""
		}
	}
	return nil
}
