package store

import "time"

// WithClock returns another client of m's tables with a clock of its own.
func (m *Memory) WithClock(now func() time.Time) *Memory {
	return &Memory{now: now, tables: m.tables}
}
