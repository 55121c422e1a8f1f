package bolt

import "time"

// WithClock returns another client of the open file with a clock of its own.
func (s *Store) WithClock(now func() time.Time) *Store {
	return &Store{now: now, db: s.db, group: s.group}
}
