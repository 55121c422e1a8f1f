package store

import (
	"fmt"
	"time"
)

// WithClock returns another client of m's tables with a clock of its own.
func (m *Memory) WithClock(now func() time.Time) *Memory {
	return &Memory{now: now, tables: m.tables}
}

// Stored returns how many records a table has, expired ones included, after
// holding its structures against each other.
func (m *Memory) Stored(t Table) (int, error) {
	s := m.tables[t]
	s.writer.Lock()
	defer s.writer.Unlock()
	records, taken, expiring, indexed := 0, 0, 0, 0
	owned := map[string]int{}
	for i := range s.shards {
		for k, n := range s.shards[i].nodes {
			v := n.current.Load()
			if n.key != k || v == nil || n.seat.places != s.room.size(v.record) {
				return 0, fmt.Errorf("node of %q is wrong", k)
			}
			if !s.primary.Has(n.primaryPlace()) {
				return 0, fmt.Errorf("%q is not in the tree", k)
			}
			if ix := v.record.Index; ix != (Index{}) {
				indexed++
				if !s.index.Has(n.indexPlace(ix)) {
					return 0, fmt.Errorf("%q is not in the index", k)
				}
			}
			if !v.record.Expires.IsZero() {
				expiring++
			}
			records++
			taken += n.seat.places
			owned[ownerOf(k)] += n.seat.places
		}
	}
	if s.primary.Len() != records || s.index.Len() != indexed || s.room.taken != taken || s.room.leaves.Len() != expiring {
		return 0, fmt.Errorf("%d records, %d in the tree, %d of %d in the index, %d of %d places, %d of %d expire",
			records, s.primary.Len(), s.index.Len(), indexed, s.room.taken, taken, s.room.leaves.Len(), expiring)
	}
	for name, o := range s.room.owners {
		if o.places != owned[name] || o.at >= len(s.room.largest) || s.room.largest[o.at] != o {
			return 0, fmt.Errorf("owner %q has %d places, want %d", name, o.places, owned[name])
		}
	}
	if s.room.owners != nil && len(s.room.owners) != len(owned) {
		return 0, fmt.Errorf("%d owners, want %d", len(s.room.owners), len(owned))
	}
	return records, nil
}
