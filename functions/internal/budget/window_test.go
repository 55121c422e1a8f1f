package budget_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/functions/internal/budget"
)

func TestPeriods(t *testing.T) {
	for _, row := range []struct{ period, at, name, start, end string }{
		{"daily", "2026-11-30T23:59:59Z", "daily/2026-11-30", "2026-11-30", "2026-12-01"},
		{"daily", "2026-12-01T00:30:00+01:00", "daily/2026-11-30", "2026-11-30", "2026-12-01"},
		{"weekly", "2026-11-30T00:00:00Z", "weekly/2026-W49", "2026-11-30", "2026-12-07"},
		{"weekly", "2026-11-29T23:59:59Z", "weekly/2026-W48", "2026-11-23", "2026-11-30"},
		{"weekly", "2027-01-01T12:00:00Z", "weekly/2026-W53", "2026-12-28", "2027-01-04"},
		{"monthly", "2028-02-29T12:00:00Z", "monthly/2028-02", "2028-02-01", "2028-03-01"},
		{"monthly", "2026-12-31T23:00:00-02:00", "monthly/2027-01", "2027-01-01", "2027-02-01"},
	} {
		at, err := time.Parse(time.RFC3339, row.at)
		if err != nil {
			t.Fatal(err)
		}
		w := budget.Period(row.period, at)
		if w.Name != row.name || w.Start.Format(time.DateOnly) != row.start || w.End.Format(time.DateOnly) != row.end {
			t.Errorf("%s at %s: %+v", row.period, row.at, w)
		}
	}
}

// Windows of one kind tile time: every instant is in exactly one.
func TestWindowsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0)
		period := rapid.SampledFrom([]string{budget.Daily, budget.Weekly, budget.Monthly, "minute"}).Draw(t, "period")
		window := func(at time.Time) budget.Window {
			if period == "minute" {
				return budget.Minute(at)
			}
			return budget.Period(period, at)
		}
		w := window(at)
		if at.Before(w.Start) || !at.Before(w.End) {
			t.Fatalf("%s is outside of %+v", at, w)
		}
		if window(w.Start) != w || window(w.End.Add(-time.Nanosecond)) != w {
			t.Fatalf("%+v is not one window", w)
		}
		if next := window(w.End); next.Start != w.End || next.Name == w.Name {
			t.Fatalf("%+v is followed by %+v", w, next)
		}
	})
}
