package budget

import (
	"fmt"
	"time"
)

// The periods of a budget, all in UTC.
const (
	Daily   = "daily"
	Weekly  = "weekly" // ISO weeks, from Monday
	Monthly = "monthly"
)

// Window is the span of time that a limit counts in, [Start, End).
type Window struct {
	Name       string // unique among windows of one kind; no client's text
	Start, End time.Time
}

// Minute is the minute of the clock at a time.
func Minute(now time.Time) Window {
	start := now.UTC().Truncate(time.Minute)
	return Window{Name: fmt.Sprintf("minute/%d", start.Unix()/60), Start: start, End: start.Add(time.Minute)}
}

// Period is the day, ISO week or month at a time, in UTC. What is no period is
// taken as a month.
func Period(period string, now time.Time) Window {
	year, month, day := now.UTC().Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	switch period {
	case Daily:
		return Window{Name: midnight.Format("daily/2006-01-02"), Start: midnight, End: midnight.AddDate(0, 0, 1)}
	case Weekly:
		monday := midnight.AddDate(0, 0, -(int(midnight.Weekday())+6)%7)
		isoYear, week := monday.ISOWeek()
		return Window{Name: fmt.Sprintf("weekly/%04d-W%02d", isoYear, week), Start: monday, End: monday.AddDate(0, 0, 7)}
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return Window{Name: first.Format("monthly/2006-01"), Start: first, End: first.AddDate(0, 1, 0)}
}

// lapse is the grain in which reservations lapse: fine enough that what a dead
// process has reserved is soon free, coarse enough that a period's record holds
// some hundred counters at most.
func lapse(period string) time.Duration {
	switch period {
	case Daily:
		return 15 * time.Minute
	case Weekly:
		return time.Hour
	}
	return 4 * time.Hour
}
