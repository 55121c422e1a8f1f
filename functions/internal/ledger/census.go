package ledger

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/store"
)

// census counts sessions by the hour of their last activity.
type census struct {
	hours map[int64]int64 // by the hour since 1970
	now   int64
}

// count reads the census since the filter's beginning.
func (r *Reader) count(ctx context.Context, from time.Time) (census, error) {
	c := census{hours: map[int64]int64{}, now: r.Now().Unix() / 3600}
	err := r.days(ctx, byTotal, from, time.Time{}, func(date time.Time, _ string, d *day) {
		for hour := range d.hours {
			if n := d.hours[hour][Settled]; n != 0 {
				c.hours[date.Unix()/3600+int64(hour)] += n
			}
		}
	})
	return c, err
}

// since is how many sessions were active last since a time. Those of an hour that
// the time is within are counted one by one.
func (r *Reader) since(ctx context.Context, c census, at time.Time) (total int, atLeast bool, err error) {
	first := int64(0)
	if !at.IsZero() {
		first = (at.Unix() + 3599) / 3600
	}
	for hour, n := range c.hours {
		if hour >= first {
			total += int(n)
		}
	}
	if hour := at.Truncate(time.Hour); !at.IsZero() && !hour.Equal(at) && c.hours[hour.Unix()/3600] > 0 {
		w := newWalk(r.Store, sessionQueries(store.MaxPage, at, hour.Add(time.Hour)), "", filteredBudget)
		more := true
		for more && err == nil {
			if _, _, more, err = w.next(ctx); more {
				total++
			}
		}
		if errors.Is(err, errSpent) {
			atLeast, err = true, nil
		}
	}
	return total, atLeast || total > maxTotal, err
}

// leap takes whole hours off an offset, and returns the end of those that are
// left; the zero time where that is now.
func (c census) leap(skip *int) time.Time {
	to := time.Time{}
	if *skip == 0 || len(c.hours) == 0 {
		return to
	}
	first := c.now
	for hour := range c.hours {
		first = min(first, hour)
	}
	for hour := c.now + 1; hour >= first && int64(*skip) >= c.hours[hour]; hour-- {
		*skip -= int(c.hours[hour])
		to = time.Unix(hour*3600, 0)
	}
	return to
}

// days visits the days of a dimension. To is the first that does not count.
func (r *Reader) days(ctx context.Context, dimension string, from, to time.Time, visit func(date time.Time, name string, d *day)) error {
	queries := make([]store.Query, shards)
	for i := range queries {
		queries[i] = store.Query{Partition: dayPartition(i, dimension)}
		if !from.IsZero() {
			queries[i].From = dateOf(from)
		}
		if !to.IsZero() {
			queries[i].To = dateOf(to.Add(-1)) + "0" // behind the names of that day
		}
	}
	w := newWalk(r.Store, queries, "", maxDayRequests)
	for {
		h, sort, ok, err := w.next(ctx)
		if err != nil || !ok {
			return err
		}
		d, err := decodeDay(h)
		if err != nil {
			return err
		}
		date, name := dayName(sort)
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return ErrCorrupt
		}
		visit(at, name, d)
	}
}

// maxDayRequests bounds what one dimension of a summary costs.
const maxDayRequests = 48
