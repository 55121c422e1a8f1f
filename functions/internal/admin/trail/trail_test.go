package trail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// faulty fails the nth Swap, before it is applied or after.
type faulty struct {
	store.Store
	fail    int
	applied bool
}

func (f *faulty) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	f.fail--
	if f.fail != 0 {
		return f.Store.Swap(ctx, h, next)
	}
	if f.applied {
		_, _ = f.Store.Swap(ctx, h, next)
		return store.Handle{}, store.ErrUnknown
	}
	return store.Handle{}, store.ErrUnavailable
}

// No change is made that is not on record; what cannot be completed says begun.
func TestDo(t *testing.T) {
	own := errors.New("not possible")
	for _, row := range []struct {
		name     string
		fail     int
		applied  bool
		change   error
		made     int
		err      error
		outcomes string
	}{
		{"made", 0, false, nil, 1, nil, "done"},
		{"refused", 0, false, own, 1, own, "failed"},
		{"nobody knows", 0, false, store.ErrUnknown, 1, store.ErrUnknown, "unknown"},
		{"not recorded", 1, false, nil, 0, store.ErrUnavailable, ""},
		{"recorded, unknown", 1, true, nil, 0, store.ErrUnknown, "begun"},
		{"not completed", 2, false, nil, 1, nil, "begun"},
		{"completed, unknown", 2, true, nil, 1, nil, "done"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &faulty{Store: store.NewMemory(store.MemoryConfig{}), fail: row.fail, applied: row.applied}
			log, made := trail.Trail{Store: s, Now: func() time.Time { return start }}, 0
			c := &trail.Change{Who: "admin", Action: "key.create", Target: "k"}
			err := log.Do(t.Context(), c, func() error {
				made++
				c.After = trail.State(map[string]string{"user": "ann"})
				return row.change
			})
			if !errors.Is(err, row.err) || made != row.made {
				t.Errorf("made %d times, %v", made, err)
			}
			all, _, err := log.List(t.Context(), time.Time{}, time.Time{}, "", 0)
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []string
			for _, c := range all {
				outcomes = append(outcomes, c.Outcome)
			}
			if got := strings.Join(outcomes, " "); got != row.outcomes {
				t.Errorf("on record: %q, want %q", got, row.outcomes)
			}
		})
	}
}

func TestListIsNewestFirstWithinBounds(t *testing.T) {
	now := start
	log := trail.Trail{Store: store.NewMemory(store.MemoryConfig{}), Now: func() time.Time { return now }}
	for _, target := range []string{"a", "b", "c"} {
		if err := log.Do(t.Context(), &trail.Change{Target: target}, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	for _, row := range []struct {
		from, to time.Time
		want     string
	}{
		{time.Time{}, time.Time{}, "cba"}, {start.Add(time.Hour), time.Time{}, "cb"}, {time.Time{}, start.Add(time.Hour), "a"},
		{start.Add(time.Hour), start.Add(2 * time.Hour), "b"}, {start.Add(time.Minute), start.Add(2 * time.Minute), ""},
	} {
		got, cursor := "", ""
		for {
			page, next, err := log.List(t.Context(), row.from, row.to, cursor, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				got += c.Target
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if got != row.want {
			t.Errorf("%s to %s: %q, want %q", row.from, row.to, got, row.want)
		}
	}
}

func TestStateIsBounded(t *testing.T) {
	if s := trail.State(strings.Repeat("x", 65<<10)); len(s) > 100 || !strings.Contains(string(s), "left_out_bytes") {
		t.Errorf("%d bytes", len(s))
	}
}

// TestOrderWithinAMillisecond: what was done later is listed first, however soon.
func TestOrderWithinAMillisecond(t *testing.T) {
	now, want := start, ""
	log := trail.Trail{Store: store.NewMemory(store.MemoryConfig{}), Now: func() time.Time { return now }}
	for i := range 20 {
		target := string(rune('a' + i))
		want = target + want
		if err := log.Do(t.Context(), &trail.Change{Target: target}, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Microsecond)
	}
	all, _, err := log.List(t.Context(), start, now, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range all {
		got += c.Target
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
